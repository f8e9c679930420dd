"""Publish an exact sum, and subtract the deleted value: no noise, no ε, and still undeleted-safe (M1).

    release   y = Σ x
    forget    y ← y − z

Two consecutive sums reveal the deleted value, which the definition accepts: its owner chose to leave.
"""

from dataclasses import dataclass, field
from functools import cached_property

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.statistics.clipped_sum import ClippedSum
from undeleted.foundations.coins import NoNoise
from undeleted.foundations.intervals import Estimate
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Number


@dataclass(frozen=True)
class ExactSum(Linear):
    """The exact sum of a bounded number.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> age = Number("age", min=0, max=120)
    >>> people, total = Schema([age]), ExactSum(age)
    >>> first = total.release(Arrays(people.table([41, 17, 30])), seeded(7))
    >>> total.estimate(total.forget(first, total.contribution(people.table([17])))).value
    71.0
    """

    column: Number
    rows_per_person: int = 1
    budget: Noise = field(default=NoNoise(), init=False)

    @cached_property
    def statistic(self) -> ClippedSum:
        return ClippedSum(self.column)

    def estimate(self, release: Cells, confidence: float = 0.95) -> Estimate:
        return self.cell(release, 0, confidence, float(self.column.unit))
