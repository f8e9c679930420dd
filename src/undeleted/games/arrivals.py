"""A table that grows, as an algorithm: people join at ticks, and leave later.

A point is (tick, value): when somebody joins is public.  `start` returns what would be published at every
tick if nobody left; in the definition both worlds compute it, and the ideal one hands it to the simulator.
`delete` returns what is published from the deletion on.  An attacker that sees all of the first at once is
stronger than a real one, so a curator that is safe against it is safe.

    never             the noise of a row is drawn once; a deletion subtracts from the rows
    hidden            leavers enter rows of their own, with noise of their own, from the next tick on
    at-deletion       published rows are drawn again when somebody leaves
    if-somebody-left  rows to come are drawn again if somebody has left, and only then
    every-tick        no rows: the total is published again at every tick, each time with new noise
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from undeleted.curate.releases.arrivals import Arrivals, Rows
from undeleted.errors import BadSetting, NotStarted
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Given, Output
from undeleted.games.algorithm import Point

Redraws: TypeAlias = Literal["never", "hidden", "at-deletion", "if-somebody-left", "every-tick"]


class GrowingTable:
    """Arrivals as an algorithm in a game; everybody who leaves does so after the same tick."""

    def __init__(
        self, arrivals: Arrivals, schema: Schema, *, ticks: int, leave_after: int, redraws: Redraws = "never"
    ) -> None:
        if not 0 <= leave_after < ticks <= arrivals.horizon:
            raise BadSetting(
                f"nobody can leave after tick {leave_after} of {ticks}.", "Choose an earlier tick."
            )
        self.arrivals, self.schema = arrivals, schema
        self.ticks, self.leave_after, self.redraws = ticks, leave_after, redraws
        self._left: list[Point] | None = None

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        """What every tick would publish if nobody left."""
        self._left, self._coins = list(data), coins
        self._rows = self._published(self._left)
        self._departures = self._published([]) if self.redraws == "hidden" else None
        return self._seen(range(self.ticks))

    def delete(self, points: Sequence[Point]) -> Output:
        """What is published from this deletion on."""
        if self._left is None:
            raise NotStarted("GrowingTable")
        for point in points:
            self._left.remove(point)
        if self._departures is not None:
            self._departures = self._less(self._departures, points, -1, self.leave_after + 1)
        elif self.redraws == "at-deletion":
            self._rows = self._published(self._left)
        else:
            self._rows = self._less(self._rows, points, 1, None)
        if self.redraws == "if-somebody-left":
            again = self._published(self._left).value
            kept = self._rows.value[: self.leave_after + 1]
            self._rows = Rows(np.vstack([kept, again[self.leave_after + 1 :]]))
        first = self.leave_after + (self.redraws == "hidden")  # hidden leavers are seen at ticks only
        return self._seen(range(first, self.ticks))

    def _published(self, points: Sequence[Point]) -> Rows:
        """All rows, with new noise."""
        people: Given = points
        batches = [self._batch([v for at, v in people if at == tick]) for tick in range(self.ticks)]
        rows = self.arrivals.start()
        for tick in range(self.ticks):
            if self.redraws == "every-tick":
                total = sum(batches[: tick + 1], np.zeros_like(batches[0]))
                alone = self.arrivals.tick(self.arrivals.start(), [total], self._coins)
                rows = Rows(np.vstack([rows.value, alone.value]))
            else:
                rows = self.arrivals.tick(rows, batches[: tick + 1], self._coins)
        return rows

    def _batch(self, values: Sequence[Point]) -> IntArray:
        return self.arrivals.batch(self.schema.table(list(values)) if values else None)

    def _less(self, rows: Rows, points: Sequence[Point], sign: int, joined: int | None) -> Rows:
        """The rows without these people; for departures, with them from the tick `joined` on."""
        people: Given = points
        for tick, value in people:
            gone = self.arrivals.added((), self.schema.table([value]))
            at = tick if joined is None else joined
            if self.redraws == "every-tick":
                after = np.array(rows.value)
                for cell, amount in gone.pairs():
                    after[at:, cell] -= amount * self.arrivals.factors.largest
                rows = Rows(after)
                continue
            moved = self.arrivals.forget(rows, gone, joined=at).value - rows.value
            rows = Rows(rows.value + sign * moved)
        return rows

    def _seen(self, ticks: range) -> Output:
        """The published rows at each of these ticks: all rows so far."""
        tables = [self._rows] if self._departures is None else [self._rows, self._departures]
        last = {tick: tuple(_plain(t.value[: tick + 1]) for t in tables) for tick in ticks}
        return tuple(last.values())


def _plain(rows: IntArray) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in rows.tolist())


def simulated(table: GrowingTable, first: Output, points: Sequence[Point]) -> Output:
    """What the simulator shows after deletions: from what every tick would publish, and the leavers alone.

    It calls the mechanism's own `forget`, as the store does; the data are not among its arguments.
    """
    people: Given = points
    rows = Rows(np.array(first[-1][0], dtype=np.int64))
    for tick, value in people:
        mechanism: Given = table.arrivals.mechanism
        gone = mechanism.contribution(table.schema.table([value]))
        rows = table.arrivals.forget(rows, gone, joined=tick)
    shown = range(table.leave_after, table.ticks)
    return tuple((_plain(rows.value[: tick + 1]),) for tick in shown)
