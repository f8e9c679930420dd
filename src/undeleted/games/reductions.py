"""D3 ⇒ D2 ⇒ D1 as code: a simulator for the stronger game gives one for the weaker game.

D3 ⇒ D2   the attacker corrupts its fixed points first; the static simulator runs the ideal dynamic game
          internally, and answers corruptions from the D|_Y that it was given
D2 ⇒ D1   the attacker fixes its order beforehand; the values y1, …, yk' come without their indices, so
          the simulator invents indices: sound if the algorithm treats points by value, not by
          position, or if the simulator is given the indices
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import TypeAlias

from undeleted.errors import RuleBroken
from undeleted.foundations.coins import exact_law
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.dynamic import Attacker, Simulator
from undeleted.games.non_adaptive import non_adaptive_game
from undeleted.games.static import StaticWorld, play_static
from undeleted.games.transcript import Transcript, plain
from undeleted.games.worlds import CONTROLLED, IdealWorld, View, World

# A static simulator takes n, z0, D|_Y and the side information, and returns a view.
StaticSimulator: TypeAlias = Callable[[int, Output, Mapping[int, Point], Output], View]
BY_VALUE = "without indices, the reduction holds only for an algorithm that treats points by value"


def static_from_dynamic(
    make_simulator: Callable[[Attacker], Simulator], attacker: Attacker
) -> StaticSimulator:
    """D3 ⇒ D2: a static simulator from one that plays the dynamic game."""

    def simulator(n: int, first: Output, controlled: Mapping[int, Point], side: Output) -> View:
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
) -> Callable[[Output, Sequence[Point]], Transcript]:
    """D2 ⇒ D1: a simulator of transcripts from one that plays the static game.

    It needs the indices, or the caller's assurance that the algorithm treats points `by_value`.
    """
    if indices is None and not by_value:
        raise RuleBroken(BY_VALUE, "a simulator that invents indices was requested")

    def simulator(first: Output, points: Sequence[Point]) -> Transcript:
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
    """Whether the law of the transcript is the same for every order of the data.

    Exact for algorithms on enumerated coins, and only for this data set and these deletions.
    """

    def law(order: tuple[int, ...]) -> Output:
        shuffled = [data[i] for i in order]
        moved = [order.index(i) for i in sequence]
        return exact_law(lambda coins: non_adaptive_game(make(), shuffled, moved, coins))

    first, *others = permutations(range(len(data)))
    return all(law(order) == law(first) for order in others)


class _KnownPoints(IdealWorld):
    """The ideal game that a static simulator runs internally; it knows only the controlled points."""

    def __init__(self, n: int, first: Output, known: Mapping[int, Point], side: Output) -> None:
        World.__init__(self, n, len(known), side, first)
        self._known = known

    def _reveal(self, index: int) -> Point:
        self._refuse_if(index not in self._known, CONTROLLED, f"the simulator corrupted index {index}")
        return self._known[index]
