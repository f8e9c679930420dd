"""Publish the exact median once and never change it; the number of deletions bounds its rank error (M4).

    release   the lower median m
    forget    m stays; k ← k + 1

After k deletions at most max(0, ⌈k/2⌉ − 1) remaining records lie strictly between m and the true median;
the paper's bound is k.  The release is exact, so no ε is claimed.
"""

from dataclasses import dataclass

from undeleted.curate.engines import Totals
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import GridColumn, Number, Table


@dataclass(frozen=True)
class Frozen:
    """The code of the first median, and how many records have left since."""

    median: int
    deletions: int = 0

    @property
    def rank_error(self) -> int:
        """The most remaining records that can lie strictly between this and their median."""
        return max(0, (self.deletions + 1) // 2 - 1)


@dataclass(frozen=True)
class FrozenMedian:
    """The exact median at the time of release.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> age = Number("age", min=0, max=120)
    >>> people, mechanism = Schema([age]), FrozenMedian(age)
    >>> first = mechanism.release(Arrays(people.table([41, 17, 30])), seeded(7))
    >>> mechanism.forget(first, mechanism.contribution(people.table([41])))
    Frozen(median=30, deletions=1)
    """

    column: GridColumn

    def release(self, totals: Totals, coins: Coins) -> Frozen:
        return Frozen(totals.lower_median(self.column))

    def median(self, release: Frozen) -> int | float:
        """The published median as a value."""
        if not isinstance(self.column, Number):
            return release.median
        return self.column.value(release.median)

    def contribution(self, deleted: Table) -> int:
        return int(deleted.complete([self.column]).sum())

    def forget(self, release: Frozen, contribution: int) -> Frozen:
        return Frozen(release.median, release.deletions + contribution)
