"""Engines add a statistic up over a table.  `Totals` is an engine bound to one table.

A mechanism sees data through `Totals` alone, and asks for sums; the two that need something else ask for
just that, by name.
"""

from typing import Any, Protocol

from undeleted.curate.statistics import Statistic
from undeleted.foundations import registry
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn, Text


class Totals(Protocol):
    """What a mechanism may ask of the data, once."""

    @property
    def rows_per_person(self) -> int:
        """The most rows that one person has in the table."""

    def total(self, statistic: Statistic) -> IntArray:
        """The exact sum of the statistic over all records."""

    def total_at(self, statistic: Statistic, cells: IntArray) -> IntArray:
        """The exact sum at some cells of a statistic of one block, which may be too wide to hold."""

    def posts(self, column: Text) -> tuple[str, ...]:
        """All texts of a column, sorted: for the bulletin board."""

    def lower_median(self, column: GridColumn) -> int:
        """The code of rank ⌈n/2⌉: for the frozen median."""


def __getattr__(name: str) -> Any:
    return registry.lookup(__name__, name)


def __dir__() -> list[str]:
    return registry.directory(__name__)
