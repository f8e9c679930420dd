"""Leaky mechanisms in the game: the adapter, their leakage, and the simulator that is told it (D4)."""

from collections.abc import Callable, Sequence
from typing import Any

from undeleted.curate.engines.arrays import Arrays
from undeleted.errors import NoRecords, NotStarted
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.games.algorithm import Point
from undeleted.games.dynamic import Attacker, Leakage
from undeleted.games.leaky import LeakyMechanism
from undeleted.games.simulator import SimulatedWorld
from undeleted.games.worlds import World


class WithLeakage:
    """A leaky mechanism, playing; `leaked` is what a simulator must be told.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.games.leaky.hidden_range_median import HiddenRangeMedian
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Number
    >>> age = Number("age", min=0, max=120)
    >>> curator = WithLeakage(HiddenRangeMedian(age, Budget(1.0)), Schema([age]))
    >>> curator.start([20, 30, 40] * 2000, seeded(7)), curator.delete([20] * 1999)
    (30, 40)
    """

    def __init__(self, mechanism: LeakyMechanism[Any, Any, Any], schema: Schema) -> None:
        self.mechanism, self.schema = mechanism, schema
        self.leaked: Any = None

    def start(self, data: Sequence[Point], coins: Coins) -> Any:
        if len(data) == 0:
            raise NoRecords(type(self.mechanism).__name__)
        first, self.leaked = self.mechanism.release(Arrays(self.schema.table(list(data))), coins)
        return first

    def delete(self, points: Sequence[Point]) -> Any:
        if self.leaked is None:
            raise NotStarted(type(self.mechanism).__name__)
        self.leaked = forget_points(self.mechanism, self.schema, self.leaked, points)
        return self.mechanism.answer(self.leaked)


# The leakage of a leaky mechanism as the useful reading of the definition has it: with the same coins.
SHARED = Leakage(lambda algorithm: algorithm.leaked, shares_coins=True)


def simulate_with_leakage(
    mechanism: LeakyMechanism[Any, Any, Any], schema: Schema, attacker: Attacker
) -> Callable[[World, Any], Any]:
    """The simulator of an attacker against a leaky mechanism, once it is told g."""

    def simulator(ideal: World, leaked: Any) -> Any:
        hidden = [leaked]

        def next_answer(_: Any, points: Sequence[Point]) -> Any:
            hidden[0] = forget_points(mechanism, schema, hidden[0], points)
            return mechanism.answer(hidden[0])

        world = SimulatedWorld(ideal, next_answer)
        said = attacker(world)
        return world.view() if said is None else said

    return simulator


def forget_points(
    mechanism: LeakyMechanism[Any, Any, Any], schema: Schema, leaked: Any, points: Sequence[Point]
) -> Any:
    return mechanism.forget(leaked, mechanism.contribution(schema.table(list(points))))
