"""Engines sum a statistic over a table.  `Totals` is an engine bound to one table.

A mechanism sees data only through `Totals`, and requests sums; for the two mechanisms that need something
else, `Totals` has a separate method each.
"""

from typing import TYPE_CHECKING, Protocol

from undeleted.curate.statistics import Statistic
from undeleted.foundations import registry
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn, Text

if TYPE_CHECKING:
    from undeleted.curate.engines.arrays import Arrays
    from undeleted.curate.engines.ibis import Ibis

__all__ = [
    "Arrays",
    "Ibis",
    "Totals",
]


class Totals(Protocol):
    """The queries that a mechanism may make on the data, once."""

    @property
    def rows_per_person(self) -> int:
        """The most rows that one person has in the table."""

    def total(self, statistic: Statistic) -> IntArray:
        """The exact sum of the statistic over all records."""

    def total_at(self, statistic: Statistic, cells: IntArray) -> IntArray:
        """The exact sum at some cells of a one-block statistic, which may be too large for memory."""

    def posts(self, column: Text) -> tuple[str, ...]:
        """All texts of a column, sorted: for the bulletin board."""

    def lower_median(self, column: GridColumn) -> int:
        """The code of rank ⌈n/2⌉: for the frozen median."""


if not TYPE_CHECKING:
    __getattr__, __dir__ = registry.on_demand(__name__, __all__)
