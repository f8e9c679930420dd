"""Publish a noisy count once; forget a record by subtracting one.

release   y = n + η      η ~ discrete Laplace(1/ε), drawn once
forget    y ← y − 1
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import Foreseen, Takes
from undeleted.curate.statistics.count import Count
from undeleted.foundations.intervals import Estimate, half_interval
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import GridColumn


@dataclass(frozen=True)
class NoisyCount(Linear):
    """The noisy number of records, or of those that are complete in the columns of `over`.

    >>> from undeleted.foundations.privacy import Budget
    >>> NoisyCount(Budget(0.5)).laws
    (DiscreteLaplace(scale=2.0...),)
    """

    kinds: ClassVar = {"count": (Takes(""),)}
    steady: ClassVar = True

    budget: Noise
    over: tuple[GridColumn, ...] = ()
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> Count:
        return Count(self.over)

    def foreseen(self, rows: float) -> Foreseen:
        half = half_interval(self.laws[0])
        return Foreseen(half, "a count", half >= rows)

    def estimate(self, release: Cells, confidence: float = 0.95) -> Estimate:
        return self.cell(release, 0, confidence).within(0, math.inf)
