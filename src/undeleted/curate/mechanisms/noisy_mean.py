"""A mean as the ratio of a noisy sum and a noisy count.

release   N = n + η₀,  S = Σ c + η₁      c the centred code, |c| ≤ h
forget    N ← N − 1,   S ← S − c(z)
estimate  mean = centre + step · S/N, with Fieller's interval, both within the column's bounds
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
from undeleted.foundations.schema import Boolean, Number


@dataclass(frozen=True)
class NoisyMean(Linear):
    """Noisy mean of a bounded number.

    >>> from undeleted.foundations.privacy import Budget
    >>> NoisyMean(Number("age", min=0, max=120), Budget(1.0)).statistic.reaches
    (1, 60)
    """

    kinds: ClassVar = {
        "mean": (Takes(of=(Number, Boolean), called="numbers or booleans"),),
        "share": (Takes(of=(Boolean,), called="booleans"),),
    }

    column: Number | Boolean
    budget: Noise
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> Moments:
        return Moments(self.column, degree=1)

    def foreseen(self, rows: float) -> Foreseen:
        """A mean at a bound has the noise of its count as well; with too few rows nothing is known."""
        count, total = map(half_interval, self.laws)
        bounds = (self.column.cells - 1) / 2
        half = math.inf if count >= rows else math.hypot(total, bounds * count) / rows
        step = float(self.column.step)
        width, of = min(half, bounds) * step, f"the mean of {self.column.name} (upper estimate)"
        return Foreseen(width, of, half >= bounds)

    def estimate(self, release: Cells, confidence: float = 0.95) -> Estimate:
        count, total = (int(v) for v in release.value)
        low, high = ratio_interval(total, count, (self.laws[1], self.laws[0]), confidence)
        ratio = total / count if count else math.nan
        centre, step = self.column.decode(self.column.middle), float(self.column.step)
        spread = math.hypot(standard_deviation(self.laws[1]), ratio * standard_deviation(self.laws[0]))
        error = step * spread / abs(count) if count else math.inf
        low, high = centre + step * low, centre + step * high
        noisy = Estimate(
            centre + step * ratio, low, high, confidence, error, getattr(self.column, "grain", "")
        )
        return noisy.within(self.column.decode(0), self.column.decode(self.column.cells - 1))
