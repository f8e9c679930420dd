"""Publish a noisy number of people once; forget a person by subtracting one, however many rows they had.

release   y = #{people} + η      η ~ discrete Laplace(1/ε): a person counts once, so their rows cost nothing
forget    y ← y − 1

One row of each person is marked as the first, and only that row counts.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import Foreseen, Takes
from undeleted.curate.statistics.people import People
from undeleted.foundations.intervals import Estimate, half_interval
from undeleted.foundations.privacy import Noise

NOT_IN_SMALL_WORLDS = True  # with a row per person it is a count, which is verified


@dataclass(frozen=True)
class NoisyPeople(Linear):
    """The noisy number of people.  `rows_per_person` does not change its noise.

    >>> NoisyPeople(0.5, rows_per_person=7).laws
    (DiscreteLaplace(scale=2.0...),)
    """

    kinds: ClassVar = {"people": (Takes(""),)}
    steady: ClassVar = True
    rows_that_count: ClassVar = 1

    budget: Noise
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> People:
        return People()

    def foreseen(self, rows: float) -> Foreseen:
        half = half_interval(self.laws[0])
        return Foreseen(half, "a number of people", half >= rows / self.rows_per_person)

    def estimate(self, release: Cells, confidence: float = 0.95) -> Estimate:
        return self.cell(release, 0, confidence).within(0, math.inf)
