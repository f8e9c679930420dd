"""Leaky mechanisms in the game (D4): the adapter, their leakage, and the simulator that receives it."""

from collections.abc import Callable, Sequence

from undeleted.curate.engines.arrays import Arrays
from undeleted.errors import NoRecords, NotStarted
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Point
from undeleted.games.dynamic import Attacker, Leakage
from undeleted.games.leaky import LeakyMechanism
from undeleted.games.simulator import SimulatedWorld
from undeleted.games.worlds import World


class WithLeakage:
    """A leaky mechanism as an algorithm in a game; a simulator must be given `leaked`.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.games.leaky.hidden_range_median import HiddenRangeMedian
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Number
    >>> age = Number("age", min=0, max=120)
    >>> curator = WithLeakage(HiddenRangeMedian(age, Budget(1.0)), Schema([age]))
    >>> curator.start([20, 30, 40] * 2000, seeded(7)), curator.delete([20] * 1999)
    (30, 40)
    """

    def __init__(self, mechanism: LeakyMechanism[Output, Output, Output], schema: Schema) -> None:
        self.mechanism, self.schema = mechanism, schema
        self.leaked: Output = None

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        if len(data) == 0:
            raise NoRecords(type(self.mechanism).__name__)
        first, self.leaked = self.mechanism.release(Arrays(self.schema.table(list(data))), coins)
        return first

    def delete(self, points: Sequence[Point]) -> Output:
        if self.leaked is None:
            raise NotStarted(type(self.mechanism).__name__)
        self.leaked = forget_points(self.mechanism, self.schema, self.leaked, points)
        return self.mechanism.answer(self.leaked)


# The leakage of a leaky mechanism in the useful reading of the definition: with the same coins.
SHARED = Leakage(lambda algorithm: algorithm.leaked, shares_coins=True)


def simulate_with_leakage(
    mechanism: LeakyMechanism[Output, Output, Output], schema: Schema, attacker: Attacker
) -> Callable[[World, Output], Output]:
    """Return the simulator of an attacker against a leaky mechanism; it must be given g."""

    def simulator(ideal: World, leaked: Output) -> Output:
        hidden = [leaked]

        def next_answer(_: Output, points: Sequence[Point]) -> Output:
            hidden[0] = forget_points(mechanism, schema, hidden[0], points)
            return mechanism.answer(hidden[0])

        world = SimulatedWorld(ideal, next_answer)
        said = attacker(world)
        return world.view() if said is None else said

    return simulator


def forget_points(
    mechanism: LeakyMechanism[Output, Output, Output], schema: Schema, leaked: Output, points: Sequence[Point]
) -> Output:
    return mechanism.forget(leaked, mechanism.contribution(schema.table(list(points))))
