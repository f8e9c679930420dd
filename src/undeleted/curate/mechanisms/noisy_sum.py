"""Publish a noisy sum once; forget a record by subtracting its value (M3).

    release   y = Σ x + η      η ~ discrete Laplace(Δ/ε) or discrete Gaussian, drawn once
    forget    y ← y − z        for a deleted value z

The error does not grow with deletions.  It is ε-DP for everybody at release, and for those who stay over the
whole transcript.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import Foreseen, Takes
from undeleted.curate.statistics.clipped_sum import ClippedSum
from undeleted.errors import BadColumns
from undeleted.foundations.intervals import Estimate, half_interval
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Date, Number


@dataclass(frozen=True)
class NoisySum(Linear):
    """Noisy sum of a bounded number: private at release; later updates cost nothing.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Schema
    >>> income = Number("income", min=0, max=100, out_of_range="clamp")
    >>> people, mechanism = Schema([income]), NoisySum(income, Budget(1.0))
    >>> before = mechanism.release(Arrays(people.table([3, 150])), seeded(7))
    >>> after = mechanism.forget(before, mechanism.contribution(people.table([150])))
    >>> after.value - before.value
    array([-100])
    """

    kinds: ClassVar = {"sum": (Takes(of=(Number,), called="numbers"),)}
    steady: ClassVar = True

    column: Number
    budget: Noise
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.column, Date):
            raise BadColumns([self.column.name], "dates have no sum.", "Publish their mean or quantiles.")

    @cached_property
    def statistic(self) -> ClippedSum:
        return ClippedSum(self.column)

    def foreseen(self, rows: float) -> Foreseen:
        unit = float(self.column.unit)
        half = half_interval(self.laws[0]) * unit
        return Foreseen(half, "a sum", half >= rows * self.statistic.reaches[0] * unit)

    def estimate(self, release: Cells, confidence: float = 0.95) -> Estimate:
        noisy = self.cell(release, 0, confidence, float(self.column.unit))
        return noisy.within(0 if self.column.min >= 0 else -math.inf, 0 if self.column.max <= 0 else math.inf)
