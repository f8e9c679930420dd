"""D2, the static adaptive game: the attacker orders the deletion of fixed points (Definition 3.3).

StaticGame(A, D, B, Y, SideInfo): B sees D|_Y, SideInfo(D) and z0.  It deletes all of Y one by one, in
an order of its choice, and sees every output.  Its view is the output of the game.
"""

from collections.abc import Callable, Sequence

from undeleted.errors import RuleBroken
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point, SideInfo, nothing
from undeleted.games.worlds import ALL, FIXED, ONE_BY_ONE, RealWorld, View, World


def static_game(
    algorithm: Algorithm,
    data: Sequence[Point],
    attacker: Callable[[World], Output],
    controlled: Sequence[int],
    coins: Coins,
    *,
    side: SideInfo = nothing,
) -> View:
    """Play the game, and return the attacker's view."""
    data = tuple(data)
    first = algorithm.start(data, coins)
    world = StaticWorld(RealWorld(algorithm, data, len(controlled), side(data), first), controlled)
    return play_static(world, attacker)


def play_static(world: "StaticWorld", attacker: Callable[[World], Output]) -> View:
    """Let the attacker delete every point it controls, and return its view."""
    attacker(world)
    left = len(world.controlled) - len(world.deleted)
    if left:
        raise RuleBroken(ALL, f"the attacker stopped with {left} points left")
    world.end()
    return world.view()


class StaticWorld(World):
    """Another world under the static rules: no further corruption, and one deletion at a time."""

    def __init__(self, inside: World, controlled: Sequence[int]) -> None:
        super().__init__(inside.n, len(controlled), inside.side, inside.look())
        self._inside = inside
        self._controlled = inside.corrupt(*controlled)

    def corrupt(self, *indices: int) -> dict[int, Point]:
        raise RuleBroken(FIXED, f"a corruption of indices {indices} was requested")

    def delete(self, *indices: int) -> Output:
        self._refuse_if(len(indices) != 1, ONE_BY_ONE, f"a deletion of {len(indices)} points was requested")
        return super().delete(*indices)

    def _reveal(self, index: int) -> Point:
        return self._controlled[index]

    def _answer(self, indices: Sequence[int]) -> Output:
        return self._inside.delete(*indices)
