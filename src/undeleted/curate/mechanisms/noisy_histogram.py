"""Publish noisy counts by value once; forget a record by subtracting one from its cell.

    release   y_v = #{x = v} + η_v      for every declared v, present or not; a record touches one cell
    forget    y_z ← y_z − 1

Sums of cells are linear and carry exact intervals; medians are computed from a clamped copy.  Tables show
counts that are possible (`possible_counts`), so that cells and margins agree and none is below 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.possible_counts import possible_counts
from undeleted.curate.releases.publishable import Answers, Foreseen, Takes, values_of
from undeleted.curate.releases.selecting import cells_of, condition_of
from undeleted.curate.statistics.histogram import Histogram
from undeleted.errors import BadQuestion, NotFound
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.intervals import Estimate, estimate, half_interval
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import GridColumn, Number
from undeleted.foundations.types import Given

MOST_SHOWN = 1000  # largest number of cells that is shown completely


@dataclass(frozen=True)
class NoisyHistogram(Linear):
    """Noisy counts over one or several columns.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Boolean, Schema
    >>> sick = Boolean("sick")
    >>> people, mechanism = Schema([sick]), NoisyHistogram((sick,), Budget(1.0))
    >>> before = mechanism.release(Arrays(people.table([True, False, True])), seeded(7))
    >>> after = mechanism.forget(before, mechanism.contribution(people.table([True])))
    >>> mechanism.counts(after) - mechanism.counts(before)
    array([ 0, -1])
    """

    kinds: ClassVar = {"histogram": (Takes("columns"),)}
    questions: ClassVar = ("where", "by")
    steady: ClassVar = True

    over: tuple[GridColumn, ...]
    budget: Noise
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> Histogram:
        return Histogram(self.over)

    def counts(self, release: Cells) -> IntArray:
        """The noisy counts, one axis per column; they may be negative."""
        return release.value.reshape(self.statistic.shape)

    def count(self, release: Cells, confidence: float = 0.95, **where: Given) -> Estimate:
        """How many records match: `count(release, age=(18, 65), sex="f")`.

        A number takes a value or a (low, high) pair, both ends included; a category a value or several; a
        column that is not named matches every value.
        """
        unknown = set(where) - {column.name for column in self.over}
        if unknown:
            known = ", ".join(column.name for column in self.over)
            raise NotFound(f"the histogram has no {', '.join(sorted(unknown))}.", f"Its columns: {known}.")
        chosen = [cells_of(column, where.get(column.name)) for column in self.over]
        box = self.counts(release)[np.ix_(*chosen)]
        noisy = estimate(int(box.sum()), self.laws[0], confidence=confidence, draws=box.size)
        return noisy.within(0, math.inf)

    def foreseen(self, rows: float) -> Foreseen:
        cell, half = rows / self.statistic.size, half_interval(self.laws[0])
        about = f"{cell:,.0f}" if cell >= 100 else f"{cell:.3g}"
        return Foreseen(half, f"a cell of about {about}", half >= cell)

    def answers(self, release: Cells, asked: Mapping[str, Given], confidence: float) -> Answers:
        """Every cell, or each column alone if there are too many cells; or the box that `where` selects."""
        box: dict[str, Given] = {}
        if "where" in asked:
            conditions = [condition_of(self.over, text) for text in asked["where"]]
            box = dict(conditions)
            if len(box) < len(conditions):
                raise BadQuestion("a column is asked about twice.", "Ask once, or with a range low..high.")
        chosen = [cells_of(column, box.get(column.name)) for column in self.over]
        if box and "by" not in asked:
            [(_, answer)] = self._table(release, (), chosen, confidence)
            yield ", ".join(asked["where"]), answer
            return
        for columns in self._shown_columns(asked.get("by")):
            yield from self._table(release, columns, chosen, confidence)

    def _shown_columns(self, by: Sequence[str] | str | None) -> list[tuple[GridColumn, ...]]:
        """The tables to show: by the columns that are asked for, of all cells, or of each column alone."""
        if by is not None:
            known = {column.name: column for column in self.over}
            several = [by] if isinstance(by, str) else list(by)
            names = [n for text in several for n in ([text] if text in known else text.split(","))]
            unknown = [name for name in names if name not in known]
            if unknown:
                problem = f"the histogram has no {', '.join(unknown)}."
                raise NotFound(problem, f"Its columns: {', '.join(known)}.")
            tables = [tuple(known[name] for name in dict.fromkeys(names))]
        elif math.prod(column.cells for column in self.over) <= MOST_SHOWN:
            tables = [self.over]
        else:  # too many cells to show: each column alone
            tables = [(column,) for column in self.over]
        for columns in tables:
            cells = math.prod(column.cells for column in columns)
            if cells > MOST_SHOWN:
                along = " × ".join(repr(column.name) for column in columns)
                problem = f"the histogram has {cells:,} cells along {along}."
                raise BadQuestion(problem, "Ask with --where, or export it.")
        return tables

    def _table(
        self, release: Cells, columns: Sequence[GridColumn], chosen: Sequence[list[int]], confidence: float
    ) -> Answers:
        """Counts by some columns, added up over the chosen cells of the others.

        Margins and cells come from one set of possible counts, so they agree.  An interval is that of the
        noisy sum, extended where it does not hold what is shown.
        """
        axes, box = [self.over.index(column) for column in columns], np.ix_(*chosen)
        noisy = _margin(self.counts(release)[box], axes)
        counts = _margin(possible_counts(self.counts(release))[box], axes)
        draws = math.prod(map(len, chosen)) // noisy.size
        values = [[values_of(self.over[axis])[i] for i in chosen[axis]] for axis in axes]
        for cell in product(*(range(len(several)) for several in values)):
            labels = {c.name: several[i] for c, several, i in zip(columns, values, cell, strict=True)}
            linear = estimate(int(noisy[cell]), self.laws[0], confidence=confidence, draws=draws)
            shown = int(counts[cell])
            ends = max(0, min(linear.low, shown)), max(linear.high, shown)
            yield labels, replace(linear, value=shown, low=ends[0], high=ends[1])

    def median(self, release: Cells) -> float:
        """The (lower) median of a single number, from counts clamped at zero on a copy."""
        [column] = self.over if len(self.over) == 1 else [None]
        if not isinstance(column, Number):
            raise BadQuestion("a median needs a histogram over one number.", "Publish one for this column.")
        below = np.cumsum(np.maximum(release.value, 0))
        cell = np.searchsorted(below, max(1, (int(below[-1]) + 1) // 2)).clip(0, below.size - 1)
        return column.decode(int(cell))


def _margin(counts: IntArray, axes: Sequence[int]) -> IntArray:
    """The sums over all other axes, with these in the order in which they are named."""
    others = tuple(i for i in range(counts.ndim) if i not in axes)
    return np.asarray(counts.sum(axis=others)).transpose(np.argsort(np.argsort(axes)))
