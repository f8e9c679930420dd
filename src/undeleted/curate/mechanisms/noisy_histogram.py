"""Publish noisy counts by value once; forget a record by subtracting one from its cell.

    release   y_v = #{x = v} + η_v      for every declared v, present or not; a record touches one cell
    forget    y_z ← y_z − 1

Sums of cells are linear and carry exact intervals; medians are read off a clamped copy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from undeleted.curate.releases.linear import Cells, Linear, Noise
from undeleted.curate.statistics.histogram import Histogram
from undeleted.errors import BadQuestion
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.intervals import Estimate, estimate
from undeleted.foundations.schema import Boolean, Category, GridColumn, Number
from undeleted.foundations.schema.centred_codes import as_columns


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

    over: tuple[GridColumn, ...]
    noise: Noise
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))

    @property
    def statistic(self) -> Histogram:
        return Histogram(self.over)

    def counts(self, release: Cells) -> IntArray:
        """The noisy counts, one axis per column; they may be negative."""
        return release.value.reshape(self.statistic.shape)

    def count(self, release: Cells, confidence: float = 0.95, **where: Any) -> Estimate:
        """How many records fit: `count(release, age=(18, 65), sex="f")`.

        A number takes a value or a (low, high) pair, both ends included; a category a value or several; a
        column that is not named is not asked about.
        """
        unknown = set(where) - {column.name for column in self.over}
        if unknown:
            known = ", ".join(column.name for column in self.over)
            raise BadQuestion(f"the histogram has no {', '.join(sorted(unknown))}.", f"Its columns: {known}.")
        chosen = [_cells(column, where.get(column.name)) for column in self.over]
        box = self.counts(release)[np.ix_(*chosen)]
        return estimate(int(box.sum()), self.laws[0], confidence=confidence, draws=box.size)

    def median(self, release: Cells) -> float:
        """The (lower) median of a single number, from counts clamped at zero on a copy."""
        [column] = self.over if len(self.over) == 1 else [None]
        if not isinstance(column, Number):
            raise BadQuestion("a median needs a histogram over one number.", "Publish one for this column.")
        below = np.cumsum(np.maximum(release.value, 0))
        cell = np.searchsorted(below, max(1, (int(below[-1]) + 1) // 2)).clip(0, below.size - 1)
        return column.decode(int(cell))


def _cells(column: GridColumn, wanted: Any) -> list[int]:
    """The cells of a column that a question names; all, if it names none."""
    if wanted is None:
        return list(range(column.cells))
    match column:
        case Number():
            low, high = wanted if isinstance(wanted, tuple) else (wanted, wanted)
            if not low <= high:
                raise BadQuestion(
                    f"the range ({low}, {high}) of {column.name!r} is inverted.", "Lower end first."
                )
            inside = max(0, column.first_at(low)), min(column.cells - 1, column.last_at(high))
            cells = list(range(inside[0], inside[1] + 1))
            if not isinstance(wanted, tuple) and not cells:
                problem = f"{wanted!r} is not a value of {column.name!r}."
                raise BadQuestion(
                    problem, f"It lies on a grid of step {column.step} in its bounds; or ask a range."
                )
            return cells
        case Boolean():
            return [int(bool(wanted))]
        case Category():
            names = wanted if isinstance(wanted, tuple | list | set) else (wanted,)
            unknown = [str(name) for name in names if str(name) not in column.values]
            if unknown:
                problem = f"{column.name!r} has no category {', '.join(unknown)}."
                raise BadQuestion(problem, f"The declared ones: {', '.join(column.values)}.")
            return sorted(column.values.index(str(name)) for name in names)
