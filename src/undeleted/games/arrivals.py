"""The dynamic game on a table that grows (beyond the paper): people join at ticks, and leave at any time.

    tick       the honest people of this tick and records of the attacker's own join; a row is published
    corrupt    the attacker takes control of a published record, and learns it
    delete     controlled records leave
    M₁ … M_t   what would be published on the arrivals that occurred if nobody had left

Both worlds compute M.  The real one shows what the curator publishes.  The ideal one gives every M_t to the
simulator as it comes, and the records that the simulator corrupts.  `GrowingTable` is the curator; its
variants differ in when they draw noise:

    never             the noise of a row is drawn once; a deletion subtracts from the rows
    at-deletion       published rows are drawn again when somebody leaves
    if-somebody-left  published rows are drawn again at the next tick if somebody has left, and only then
    every-tick        no rows: the total is published again at every tick, each time with new noise
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from undeleted.curate.releases.arrivals import Arrivals, Rows, Withdrawal
from undeleted.curate.statistics import Contribution, merged
from undeleted.errors import BadSetting, NotStarted
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Given, Output
from undeleted.games.algorithm import Algorithm, Point
from undeleted.games.dynamic import Outcome
from undeleted.games.transcript import plain
from undeleted.games.worlds import OVER, View, World

Redraws: TypeAlias = Literal["never", "at-deletion", "if-somebody-left", "every-tick"]
Person: TypeAlias = tuple[int, Point]  # the tick at which they join, which is public, and their record

PUBLISHED = "only published records are corrupted"
HORIZON = "no tick closes after the last one"


@dataclass(frozen=True)
class Tick:
    """A request: the open tick closes.  The attacker has put these records of its own into its batch."""

    own: tuple[Point, ...] = ()


class GrowingTable:
    """The curator of a table that grows.  Requests are ticks, and people who leave, as (tick, record).

    >>> from undeleted.curate.mechanisms import NoisySum
    >>> from undeleted.foundations.coins import NoNoise, seeded
    >>> from undeleted.foundations.schema import Number
    >>> x = Number("x", min=0, max=9)
    >>> table = GrowingTable(Arrivals(NoisySum(x, NoNoise()), 2, "cohorts"), Schema([x]))
    >>> table.start([(0, 3), (0, 4), (1, 5)], seeded(1))
    ()
    >>> table.delete([Tick()]), table.delete([Tick(own=(9,))]), table.delete([(0, 3)])
    (((7,),), ((7,), (14,)), ((4,), (14,)))
    """

    def __init__(self, arrivals: Arrivals, schema: Schema, *, redraws: Redraws = "never") -> None:
        if redraws != "never" and arrivals.leavers is not None:
            raise BadSetting("hidden leavers never change a row.", 'Choose redraws = "never".')
        self.arrivals, self.schema, self.redraws = arrivals, schema, redraws
        self._coming: dict[int, list[Point]] | None = None

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        """Take the honest people, each with their tick; nothing is published before the first closes."""
        people: Given = data
        self._coming, self._coins = {}, coins
        for tick, record in people:
            self._coming.setdefault(tick, []).append(record)
        self._there: list[list[Point]] = []  # by tick; hidden leavers stay in it
        self._left: list[list[Point]] = []  # hidden leavers, by the tick at which they depart
        self._leaving: list[Point] = []  # those who left since the last tick
        self._rows = self.arrivals.start()
        return self._seen()

    def delete(self, points: Sequence[Point]) -> Output:
        """Carry out the requests; return all rows as they are published now."""
        if self._coming is None:
            raise NotStarted("GrowingTable")
        for request in points:
            if isinstance(request, Tick):
                self._close(request)
            else:
                self._leave(request)
        return self._seen()

    def _close(self, tick: Tick) -> None:
        assert self._coming is not None
        self._there.append([*self._coming.pop(self._rows.ticks, ()), *tick.own])
        self._left.append(self._leaving if self.arrivals.leavers is not None else [])
        if self._leaving and self.redraws == "if-somebody-left":
            self._draw_again()
        self._rows = self._next(self._rows)
        self._leaving = []

    def _leave(self, person: Given) -> None:
        tick, record = person
        self._leaving.append(record)
        if self.arrivals.leavers is not None:
            return
        self._there[tick].remove(record)
        if self.redraws == "at-deletion":
            self._draw_again()
        else:
            self._rows = less(self.arrivals, self.schema, self._rows, person, totals=self._totals)

    @property
    def _totals(self) -> bool:
        return self.redraws == "every-tick"

    def _draw_again(self) -> None:
        """Publish all rows again, of those who remain, with new noise."""
        ticks, self._rows = self._rows.ticks, self.arrivals.start()
        for _ in range(ticks):
            self._rows = self._next(self._rows)

    def _next(self, rows: Rows) -> Rows:
        """One row more."""
        batches = [self._batch(people) for people in self._there[: rows.ticks + 1]]
        if not self._totals:
            departed = [self._batch(people) for people in self._left[: rows.ticks + 1]]
            return self.arrivals.tick(rows, batches, self._coins, departed)
        row = self.arrivals.noisy(np.sum(batches, axis=0), self._coins, rows.ticks)
        return Rows(np.vstack([rows.value, row]))

    def _batch(self, records: Sequence[Point]) -> IntArray:
        return self.arrivals.batch(self.schema.table(list(records)) if records else None)

    def _seen(self) -> Output:
        return shown(self._rows)


def shown(rows: Rows) -> Output:
    """All published rows, in plain numbers."""
    return tuple(tuple(row) for row in rows.value.tolist())


def less(arrivals: Arrivals, schema: Schema, rows: Rows, person: Given, *, totals: bool = False) -> Rows:
    """The rows without a person, by the mechanism's own `forget`; or, where each is a total, subtracted."""
    tick, record = person
    mechanism: Given = arrivals.mechanism
    gone = mechanism.contribution(schema.table([record]))
    if not totals:
        remaining: Rows = arrivals.forget(rows, gone, joined=tick)
        return remaining
    series = np.ones(rows.ticks - tick, dtype=np.int64)
    return rows.less(Withdrawal(tick, series, mechanism.moves((), gone)))


class GrowingSimulator:
    """The generic simulator: it is given M as it comes and who leaves, and computes what a curator shows.

    The data are not among its arguments.  It calls the mechanism's own `forget`, as a store does.
    """

    def __init__(self, arrivals: Arrivals, schema: Schema, *, totals: bool = False) -> None:
        self.arrivals, self.schema, self.totals = arrivals, schema, totals
        self._undisturbed = arrivals.start()
        self._left: list[tuple[Person, int]] = []  # and the first tick that closed without them

    def tick(self, undisturbed: Output) -> Output:
        """M_1 … M_t, now that a tick has closed."""
        self._undisturbed = Rows(np.array(undisturbed, dtype=np.int64))
        return self.rows()

    def leave(self, people: Sequence[Point]) -> Output:
        """These people leave."""
        named: Given = people
        self._left += [(person, self._undisturbed.ticks) for person in named]
        return self.rows()

    def rows(self) -> Output:
        """What the curator shows now: M, without those who have left."""
        rows = self._undisturbed
        for person, departed in self._left:
            if self.arrivals.leavers is None:
                rows = less(self.arrivals, self.schema, rows, person, totals=self.totals)
            else:
                rows = self._departing(rows, person[1], departed)
        return shown(rows)

    def _departing(self, rows: Rows, record: Point, tick: int) -> Rows:
        """The rows with somebody more among those who depart at a tick."""
        moved = self.arrivals.added((), self.schema.table([record]))
        series = -self.arrivals.factors.column(tick, rows.ticks)
        return rows.less(Withdrawal(tick, series, _shifted(moved, self.arrivals.cells(()))))


def _shifted(moved: Contribution, cells: int) -> Contribution:
    """A contribution to the cells of departures, which follow those of arrivals."""
    pairs = list(moved.pairs())
    return merged(
        np.array([cell + cells for cell, _ in pairs], dtype=np.int64),
        np.array([value for _, value in pairs], dtype=np.int64),
    )


class SimulatedTable:
    """The ideal world as an algorithm: M is computed, and `GrowingSimulator` shows what it makes of it.

    It takes the same requests as the curator, so that the two can be compared output by output.
    """

    def __init__(self, arrivals: Arrivals, schema: Schema, *, redraws: Redraws = "never") -> None:
        self._undisturbed = GrowingTable(arrivals, schema, redraws=redraws)
        self._simulator = GrowingSimulator(arrivals, schema, totals=redraws == "every-tick")

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        self._undisturbed.start(data, coins)
        return self._simulator.rows()

    def delete(self, points: Sequence[Point]) -> Output:
        shown: Output = self._simulator.rows()
        for request in points:
            if isinstance(request, Tick):
                shown = self._simulator.tick(self._undisturbed.delete([request]))
            else:
                shown = self._simulator.leave([request])
        return shown


class Undisturbed:
    """M alone, as an algorithm: ticks close, and nobody leaves."""

    def __init__(self, arrivals: Arrivals, schema: Schema, *, redraws: Redraws = "never") -> None:
        self._table = GrowingTable(arrivals, schema, redraws=redraws)

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        return self._table.start(data, coins)

    def delete(self, points: Sequence[Point]) -> Output:
        return self._table.delete([request for request in points if isinstance(request, Tick)])


class GrowingWorld(World):
    """The attacker's side: a world in which ticks close too.

    The honest people are numbered as they join; `k` of them may be corrupted.  The attacker's own records are
    controlled from the start, and are numbered after all honest ones.
    """

    def __init__(self, joins: Sequence[int], ticks: int, k: int, first: Output) -> None:
        super().__init__(len(joins), k, None, first)
        self.joins, self.ticks, self.closed = tuple(joins), ticks, 0
        self._requests: list[Output] = []
        self._own = 0  # records of the attacker's own

    def tick(self, *own: Point) -> Output:
        """Close the tick that is open, with these records of one's own in it; return the next output."""
        self._refuse_if(self._over, OVER, "a tick was requested")
        self._refuse_if(self.closed == self.ticks, HORIZON, f"tick {self.closed} was requested")
        output = self._close(Tick(own))
        for record in own:
            self._controlled[self.n + self._own] = self.closed, record
            self._own, self._k = self._own + 1, self._k + 1
        self.closed += 1
        self._requests.append(("tick", own))
        self._outputs.append(output)
        return output

    def corrupt(self, *indices: int) -> dict[int, Point]:
        for i in indices:
            joined = self.joins[i] if isinstance(i, int) and 0 <= i < self.n else -1
            self._refuse_if(joined >= self.closed, PUBLISHED, f"a corruption of index {i} was requested")
        return super().corrupt(*indices)

    def delete(self, *indices: int) -> Output:
        output = super().delete(*indices)
        self._requests.append(("delete", indices))
        return output

    def view(self) -> View:
        """Everything the attacker has seen and requested, in order."""
        return replace(super().view(), side=plain(self._requests))

    @abstractmethod
    def _close(self, tick: Tick) -> Output:
        """The output when a tick has closed."""


class RealGrowingWorld(GrowingWorld):
    """The world in which a curator answers."""

    def __init__(self, table: Algorithm, people: Sequence[Person], ticks: int, k: int, coins: Coins) -> None:
        super().__init__([tick for tick, _ in people], ticks, k, table.start(list(people), coins))
        self._table, self._people = table, list(people)

    def _reveal(self, index: int) -> Point:
        return self._people[index]

    def _answer(self, indices: Sequence[int]) -> Output:
        return self._table.delete([self._controlled[i] for i in indices])

    def _close(self, tick: Tick) -> Output:
        return self._table.delete([tick])


class IdealGrowingWorld(RealGrowingWorld):
    """The world of simulators: a tick gives M_t, and a deletion gives nothing."""

    def _answer(self, indices: Sequence[int]) -> Output:
        return None


class SimulatedGrowingWorld(GrowingWorld):
    """What the attacker sees when the generic simulator plays the curator."""

    def __init__(self, ideal: GrowingWorld, simulator: GrowingSimulator) -> None:
        super().__init__(ideal.joins, ideal.ticks, ideal.k, ideal.look())
        self._ideal, self._simulator = ideal, simulator

    def _reveal(self, index: int) -> Point:
        return self._ideal.corrupt(index)[index]

    def _answer(self, indices: Sequence[int]) -> Output:
        answer = self._simulator.leave([self._controlled[i] for i in indices])
        self._ideal.delete(*indices)
        return answer

    def _close(self, tick: Tick) -> Output:
        return self._simulator.tick(self._ideal.tick(*tick.own))


def growing_game(
    table: GrowingTable,
    attacker: Callable[[GrowingWorld], Output],
    people: Sequence[Person],
    ticks: int,
    k: int,
    coins: Coins,
) -> Outcome:
    """Play the real game.  If the attacker returns None, its view is its output."""
    return _play(RealGrowingWorld(table, people, ticks, k, coins), attacker)


def ideal_growing_game(
    table: GrowingTable,
    attacker: Callable[[GrowingWorld], Output],
    people: Sequence[Person],
    ticks: int,
    k: int,
    coins: Coins,
) -> Outcome:
    """Play the ideal game: the generic simulator runs the attacker, and shows it what it computes itself."""
    undisturbed = Undisturbed(table.arrivals, table.schema, redraws=table.redraws)
    ideal = IdealGrowingWorld(undisturbed, people, ticks, k, coins)
    simulator = GrowingSimulator(table.arrivals, table.schema, totals=table.redraws == "every-tick")
    simulated = SimulatedGrowingWorld(ideal, simulator)
    said = attacker(simulated)
    corrupted = tuple(sorted(ideal.controlled))
    return corrupted, plain(simulated.view() if said is None else said)


def _play(world: GrowingWorld, attacker: Callable[[GrowingWorld], Output]) -> Outcome:
    said = attacker(world)
    world.end()
    return tuple(sorted(world.controlled)), plain(world.view() if said is None else said)
