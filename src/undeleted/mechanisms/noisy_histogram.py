"""Publish noisy counts by value once; forget a record by subtracting one from its cell.

    release   y_v = #{x = v} + η_v      for every declared v, present or not; a record touches one cell
    forget    y_z ← y_z − 1

Sums of cells are linear and carry exact intervals; medians are read off a clamped copy.
"""

from dataclasses import dataclass

import numpy as np

from undeleted.arrays import IntArray
from undeleted.errors import BadQuestion
from undeleted.intervals import Estimate, estimate
from undeleted.mechanisms._linear import Cells, Linear, Noise
from undeleted.schema import GridColumn
from undeleted.statistics.histogram import Histogram


@dataclass(frozen=True)
class NoisyHistogram(Linear):
    """Noisy counts over one or several columns.

    >>> from undeleted.coins import seeded
    >>> from undeleted.engines.arrays import Arrays
    >>> from undeleted.privacy import Budget
    >>> from undeleted.schema import Boolean, Schema
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

    @property
    def statistic(self) -> Histogram:
        return Histogram(self.over)

    def counts(self, release: Cells) -> IntArray:
        """The noisy counts, one axis per column; they may be negative."""
        return release.value.reshape(self.statistic.shape)

    def count(self, release: Cells, *where: slice | int, confidence: float = 0.95) -> Estimate:
        """How many records lie in a box of cells, e.g. `count(release, slice(18, 65))`."""
        box = np.atleast_1d(self.counts(release)[where])
        return estimate(int(box.sum()), self.laws[0], confidence=confidence, draws=box.size)

    def median(self, release: Cells) -> int:
        """The cell of the (lower) median of a single column, from counts clamped at zero on a copy."""
        if len(self.over) != 1:
            raise BadQuestion("a median needs a histogram over one column.", "Publish one for this column.")
        below = np.cumsum(np.maximum(release.value, 0))
        return int(np.searchsorted(below, max(1, (int(below[-1]) + 1) // 2)).clip(0, below.size - 1))
