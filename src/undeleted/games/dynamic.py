"""D3, the dynamic adaptive game, real and ideal (Definition 3.4), and D4, with leakage (Definition 4.2).

    DynamicGame_0   real: the attacker corrupts and deletes as it goes, and sees every output
    DynamicGame_1   ideal: a simulator corrupts and deletes as it goes, and sees z0 only
    output          (Y, v): the corrupted points, and what the player reports

With leakage the simulator first receives g(D).  In the definition as written, g(D) is a fresh draw.  The
reading that is useful for range counts lets g share the algorithm's coins; `Leakage.shares_coins` says which.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from undeleted.errors import RuleBroken
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Algorithm, Point, SideInfo, nothing
from undeleted.games.transcript import plain
from undeleted.games.worlds import AT_MOST_K, IdealWorld, RealWorld, World

Attacker: TypeAlias = Callable[[World], Output]
Simulator: TypeAlias = Callable[[World], Output]  # it plays in the ideal world, where no curator answers
Outcome: TypeAlias = tuple[tuple[int, ...], Output]


@dataclass(frozen=True)
class Leakage:
    """What a simulator also receives: g(D, coins), or g(algorithm) after it started.

    A fresh g draws its own coins.  A sharing g reads what the algorithm drew, e.g. its hidden tree.
    """

    g: Callable[..., Output]
    shares_coins: bool

    def draw(self, data: tuple[Point, ...], algorithm: Algorithm, coins: Coins) -> Output:
        return self.g(algorithm) if self.shares_coins else self.g(data, coins)


def dynamic_game(
    algorithm: Algorithm,
    attacker: Attacker,
    data: Sequence[Point],
    k: int,
    coins: Coins,
    *,
    side: SideInfo = nothing,
) -> Outcome:
    """Play DynamicGame_0, the real world.  If the attacker returns None, its view is its output.

    >>> from undeleted.games.baselines.retrain import Retrain, median
    >>> from undeleted.foundations.coins import seeded
    >>> def attacker(world):
    ...     world.corrupt(4)
    ...     return world.look(), world.delete(4)
    >>> dynamic_game(Retrain(median), attacker, [0, 0, 5, 9, 9], 1, seeded(7))
    ((4,), (5, 0))
    """
    data = _checked(data, k)
    first = algorithm.start(data, coins)
    return _play(RealWorld(algorithm, data, k, side(data), first), attacker)


def ideal_game(
    algorithm: Algorithm,
    simulator: Callable[..., Output],
    data: Sequence[Point],
    k: int,
    coins: Coins,
    *,
    side: SideInfo = nothing,
    leakage: Leakage | None = None,
) -> Outcome:
    """Play DynamicGame_1, the ideal world.  With leakage the simulator is called with (world, leaked)."""
    data = _checked(data, k)
    world = IdealWorld(data, k, side(data), algorithm.start(data, coins))
    if leakage is None:
        return _play(world, simulator)
    leaked = leakage.draw(data, algorithm, coins)
    return _play(world, lambda world: simulator(world, leaked))


def _play(world: World, player: Callable[[World], Output]) -> Outcome:
    said = player(world)
    world.end()
    return tuple(sorted(world.controlled)), plain(world.view() if said is None else said)


def _checked(data: Sequence[Point], k: int) -> tuple[Point, ...]:
    if not 0 <= k <= len(data):
        raise RuleBroken(AT_MOST_K, f"k = {k} was requested (n = {len(data)})")
    return tuple(data)
