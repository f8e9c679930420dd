"""A variance from three noisy power sums.

    release   N = n + η₀,  S = Σ c + η₁,  Q = Σ c² + η₂      c the centred code
    forget    subtract 1, c(z), c(z)²
    estimate  variance = step² · (Q/N − (S/N)²)

The interval combines Fieller's sets of Q/N and S/N, each at half the allowed error.  It covers at least as
often as stated, and more often when the mean is far from the centre of the grid.  No variance is below 0, or
above that of people of whom half are at either bound.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import Foreseen, Takes
from undeleted.curate.statistics.moments import Moments
from undeleted.foundations.intervals import Estimate, half_interval, ratio_interval, standard_deviation
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Number


@dataclass(frozen=True)
class NoisyVariance(Linear):
    """Noisy (population) variance of a bounded number.

    >>> from undeleted.foundations.privacy import Budget
    >>> NoisyVariance(Number("age", min=0, max=120), Budget(1.0)).statistic.reaches
    (1, 60, 3600)
    """

    kinds: ClassVar = {"variance": (Takes(of=(Number,), called="numbers"),)}

    column: Number
    budget: Noise
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> Moments:
        return Moments(self.column, degree=2)

    def foreseen(self, rows: float) -> Foreseen:
        """For values in the middle of the bounds; Q/N and S/N are each at half the allowed error."""
        count, _, squares = (half_interval(law, 0.975) for law in self.laws)
        most = ((self.column.cells - 1) / 2) ** 2
        half = math.inf if count >= rows else math.hypot(squares, most / 3 * count) / rows
        unit = float(self.column.step) ** 2
        return Foreseen(min(half, most) * unit, f"the variance of {self.column.name}, about", half >= most)

    def estimate(self, release: Cells, confidence: float = 0.95) -> Estimate:
        count, total, squares = (int(v) for v in release.value)
        n, s, q = self.laws
        each = (1 + confidence) / 2
        mean_low, mean_high = ratio_interval(total, count, (s, n), each)
        square_low, square_high = ratio_interval(squares, count, (q, n), each)
        nearest = 0.0 if mean_low <= 0 <= mean_high else min(abs(mean_low), abs(mean_high))
        furthest = max(abs(mean_low), abs(mean_high))
        mean, square = (total / count, squares / count) if count else (math.nan, math.nan)
        spread = math.hypot(
            standard_deviation(q),
            2 * mean * standard_deviation(s),
            (square - 2 * mean**2) * standard_deviation(n),
        )
        unit = float(self.column.step) ** 2
        noisy = Estimate(
            unit * (square - mean**2),
            unit * (square_low - furthest**2),
            unit * (square_high - nearest**2),
            confidence,
            unit * spread / abs(count) if count else math.inf,
        )
        return noisy.within(0.0, unit * ((self.column.cells - 1) / 2) ** 2)
