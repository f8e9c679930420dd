"""A cache of the exact totals that noise is added to, for the duration of one publication.

A store needs them once, for a keyed digest of the noise.  They are added up once, and dropped with the cache.
"""

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.curate.statistics import Statistic
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn, Text
from undeleted.foundations.types import Given


class ExactTotals:
    """Forwards one mechanism's queries to the data, and remembers the totals."""

    def __init__(self, totals: Totals) -> None:
        self._totals, self._answers = totals, list[IntArray]()

    @property
    def rows_per_person(self) -> int:
        return self._totals.rows_per_person

    def total(self, statistic: Statistic) -> IntArray:
        self._answers.append(self._totals.total(statistic))
        return self._answers[-1]

    def total_at(self, statistic: Statistic, cells: IntArray) -> IntArray:
        self._answers.append(self._totals.total_at(statistic, cells))
        return self._answers[-1]

    def posts(self, column: Text) -> tuple[str, ...]:
        return self._totals.posts(column)

    def lower_median(self, column: GridColumn) -> int:
        return self._totals.lower_median(column)

    def of(self, mechanism: Given, release: Given) -> IntArray:
        """The exact total of every cell that the release publishes."""
        if not self._answers:
            return np.zeros(0, dtype=np.int64)
        exact: IntArray = mechanism.published_of(release.shape, self._answers)
        return exact
