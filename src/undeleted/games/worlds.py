"""What an attacker may do: look at the latest output, corrupt, delete.

An attacker is a function of a `World`.  It cannot tell a real world, where a curator answers, from a
simulated one, where a simulator does.  A move against the rules is refused with an error that
names the rule, and does not change the game.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from undeleted.errors import RuleBroken
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.transcript import plain

IN_RANGE = "an index is one of 0, …, n − 1"
AT_MOST_K = "at most k points are controlled"
CONTROLLED = "only controlled points are deleted"
ONCE = "a point is deleted once"
FIXED = "in the static game the controlled points are fixed beforehand"
ONE_BY_ONE = "in the static game points are deleted one by one"
ALL = "the static game ends when every controlled point is deleted"
OVER = "no point is corrupted or deleted after the game is over"


@dataclass(frozen=True)
class View:
    """Everything an attacker saw; hashable, so that two worlds can be compared."""

    controlled: tuple[tuple[int, Point], ...]
    side: Output
    deleted: tuple[tuple[int, ...], ...]
    outputs: tuple[Output, ...]


class World(ABC):
    """The attacker's side of a game.  `n` and `k` are public; `side` is what the attacker knew beforehand."""

    def __init__(self, n: int, k: int, side: Output, first: Output) -> None:
        self._n, self._k, self._side = n, k, side
        self._controlled: dict[int, Point] = {}
        self._deleted: list[tuple[int, ...]] = []
        self._outputs: list[Output] = [first]
        self._gone: set[int] = set()
        self._over = False

    @property
    def n(self) -> int:
        return self._n

    @property
    def k(self) -> int:
        return self._k

    @property
    def side(self) -> Output:
        return self._side

    @property
    def controlled(self) -> Mapping[int, Point]:
        """The corrupted points and their values, read-only."""
        return MappingProxyType(self._controlled)

    @property
    def deleted(self) -> tuple[tuple[int, ...], ...]:
        return tuple(self._deleted)

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(self._outputs)

    def end(self) -> None:
        """End the game; later corruptions and deletions are refused."""
        self._over = True

    def look(self) -> Output:
        """The latest output."""
        return self._outputs[-1]

    def corrupt(self, *indices: int) -> dict[int, Point]:
        """Take control of points and learn their values."""
        self._refuse_if(self._over, OVER, "a corruption was requested")
        for i in indices:
            self._refuse_if(not isinstance(i, int), IN_RANGE, f"a corruption of {i!r} was requested")
            move = f"a corruption of index {i} was requested (n = {self.n})"
            self._refuse_if(not 0 <= i < self.n, IN_RANGE, move)
        wanted = set(self._controlled) | set(indices)
        move = f"control of {len(wanted)} points was requested (k = {self.k})"
        self._refuse_if(len(wanted) > self.k, AT_MOST_K, move)
        learned = {i: self._reveal(i) for i in indices}
        self._controlled.update(learned)
        return learned

    def delete(self, *indices: int) -> Output:
        """Delete controlled points and return the next output; without points, return the latest one."""
        self._refuse_if(self._over, OVER, "a deletion was requested")
        named: set[int] = set()
        for i in indices:
            self._refuse_if(not isinstance(i, int), IN_RANGE, f"a deletion of {i!r} was requested")
            self._refuse_if(i not in self._controlled, CONTROLLED, f"a deletion of index {i} was requested")
            move = f"a second deletion of index {i} was requested"
            self._refuse_if(i in self._gone or i in named, ONCE, move)
            named.add(i)
        if not indices:
            return self.look()
        output = self._answer(indices)
        self._gone |= named
        self._deleted.append(tuple(indices))
        self._outputs.append(output)
        return output

    def view(self) -> View:
        """Everything the attacker has seen so far, in plain values."""
        return View(
            tuple(sorted(self.controlled.items())),
            plain(self.side),
            self.deleted,
            tuple(plain(z) for z in self._outputs),
        )

    @abstractmethod
    def _reveal(self, index: int) -> Point:
        """The value of a point that was just corrupted."""

    @abstractmethod
    def _answer(self, indices: Sequence[int]) -> Output:
        """The output after deleting these points."""

    @staticmethod
    def _refuse_if(broken: bool, rule: str, move: str) -> None:
        if broken:
            raise RuleBroken(rule, move)


class RealWorld(World):
    """The world in which a curator answers."""

    def __init__(
        self, algorithm: Algorithm, data: tuple[Point, ...], k: int, side: Output, first: Output
    ) -> None:
        super().__init__(len(data), k, side, first)
        self._algorithm, self._data = algorithm, data

    def _reveal(self, index: int) -> Point:
        return self._data[index]

    def _answer(self, indices: Sequence[int]) -> Output:
        return self._algorithm.delete([self._data[i] for i in indices])


class IdealWorld(World):
    """The world of simulators: deletions happen, but nobody answers, so their effects stay hidden."""

    def __init__(self, data: tuple[Point, ...], k: int, side: Output, first: Output) -> None:
        super().__init__(len(data), k, side, first)
        self._data = data

    def _reveal(self, index: int) -> Point:
        return self._data[index]

    def _answer(self, indices: Sequence[int]) -> Output:
        return None

    def look(self) -> Output:
        """The first output; there are no others."""
        return self._outputs[0]
