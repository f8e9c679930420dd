"""D3 ⇒ D2 ⇒ D1 as code: a simulator for the stronger game makes one for the weaker.

D3 ⇒ D2   let the attacker corrupt its fixed points first; the static simulator plays the ideal dynamic
          game by itself, answering corruptions from the D|_Y that it was given
D2 ⇒ D1   let the attacker fix its order beforehand; the values y1, …, yk' come without their indices,
          so the simulator makes indices up: sound if the algorithm treats points by value, not by
          position, or if the simulator is told the indices
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any, TypeAlias

from undeleted.errors import RuleBroken
from undeleted.foundations.coins import exact_law
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.dynamic import Attacker, Simulator
from undeleted.games.non_adaptive import non_adaptive_game
from undeleted.games.static import StaticWorld, play_static
from undeleted.games.transcript import Transcript, plain
from undeleted.games.worlds import CONTROLLED, IdealWorld, View, World

# A static simulator takes n, z0, D|_Y and the side information, and gives a view.
StaticSimulator: TypeAlias = Callable[[int, Any, Mapping[int, Point], Any], View]
BY_VALUE = "without indices, only an algorithm that treats points by value is covered"


def static_from_dynamic(
    make_simulator: Callable[[Attacker], Simulator], attacker: Attacker
) -> StaticSimulator:
    """D3 ⇒ D2: a static simulator from one that plays the dynamic game."""

    def simulator(n: int, first: Any, controlled: Mapping[int, Point], side: Any) -> View:
        def corrupts_first(world: World) -> View:
            return play_static(StaticWorld(world, tuple(controlled)), attacker)

        view = make_simulator(corrupts_first)(_KnownPoints(n, first, controlled, side))
        assert isinstance(view, View)
        return view

    return simulator


def non_adaptive_from_static(
    make_simulator: Callable[[Attacker], StaticSimulator],
    *,
    n: int,
    by_value: bool,
    indices: Sequence[int] | None = None,
) -> Callable[[Any, Sequence[Point]], Transcript]:
    """D2 ⇒ D1: a simulator of transcripts from one that plays the static game.

    It must be told the indices, or be assured that the algorithm treats points `by_value`.
    """
    if indices is None and not by_value:
        raise RuleBroken(BY_VALUE, "a simulator was asked to make indices up")

    def simulator(first: Any, points: Sequence[Point]) -> Transcript:
        order = tuple(indices) if indices is not None else tuple(range(len(points)))

        def in_order(world: World) -> None:
            for i in order:
                world.delete(i)

        view = make_simulator(in_order)(n, first, dict(zip(order, points, strict=True)), None)
        rounds = tuple((plain((p,)), z) for p, z in zip(points, view.outputs[1:], strict=True))
        return Transcript(view.outputs[0], rounds)

    return simulator


def treats_points_by_value(
    make: Callable[[], Algorithm], data: Sequence[Point], sequence: Sequence[int]
) -> bool:
    """Whether the law of the transcript stays the same when the data are put in any other order.

    Exact, for algorithms on enumerated coins; for this data set and these deletions.
    """

    def law(order: tuple[int, ...]) -> Any:
        shuffled = [data[i] for i in order]
        moved = [order.index(i) for i in sequence]
        return exact_law(lambda coins: non_adaptive_game(make(), shuffled, moved, coins))

    first, *others = permutations(range(len(data)))
    return all(law(order) == law(first) for order in others)


class _KnownPoints(IdealWorld):
    """The ideal game as a static simulator plays it with itself: it knows the controlled points only."""

    def __init__(self, n: int, first: Any, known: Mapping[int, Point], side: Any) -> None:
        World.__init__(self, n, len(known), side, first)
        self._known = known

    def _reveal(self, index: int) -> Point:
        self._refuse_if(index not in self._known, CONTROLLED, f"the simulator corrupted index {index}")
        return self._known[index]
