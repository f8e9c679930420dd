"""Sum statistics with numpy, in blocks of rows, exactly."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.statistics import Statistic
from undeleted.errors import NoRecords
from undeleted.foundations.arrays import IntArray, wide
from undeleted.foundations.schema import GridColumn, Table, Text
from undeleted.foundations.types import Expression, Terms

_ROWS = 1 << 16  # rows added at a time: small enough for the cache


@dataclass(frozen=True)
class Arrays:
    """An in-memory table, ready to be summed.

    >>> from undeleted.foundations.schema import Number, Schema
    >>> from undeleted.curate.statistics.clipped_sum import ClippedSum
    >>> age = Number("age", min=0, max=120)
    >>> Arrays(Schema([age]).table([41, 17])).total(ClippedSum(age))
    array([58])
    """

    table: Table
    is_snapshot = True  # sums and records come from the same data in memory

    @property
    def rows_per_person(self) -> int:
        return self.table.schema.rows_per_person

    @property
    def rows(self) -> int:
        return self.table.rows

    def blocks(self) -> Iterator[Table]:
        """The records, some thousands at a time."""
        for start in range(0, self.table.rows, _ROWS):
            yield self.table.take(np.arange(start, min(self.table.rows, start + _ROWS)))

    def total(self, statistic: Statistic) -> IntArray:
        statistic.check_no_overflow(self.table.rows)
        total = np.zeros(statistic.size, dtype=np.int64)
        for code, rows in self._blocks(statistic):
            total += statistic.block_total(code, rows)
        return total

    def total_at(self, statistic: Statistic, cells: IntArray) -> IntArray:
        """Count by bisection if a record adds a constant to one cell; else look up every record's cells."""
        statistic.check_no_overflow(self.table.rows)
        terms = statistic.terms(self._sorted_codes(statistic))
        if len(terms) > 1 or np.ndim(terms[0][1]) != 0:
            return _add_at(terms, cells)
        [(cell, value)] = terms
        ordered = np.sort(cell, kind="stable")  # linear where sorted codes give sorted cells
        cells = cells.astype(ordered.dtype)  # mixed signs would be compared as floating point
        first = np.searchsorted(ordered, cells, side="left")
        return np.asarray((np.searchsorted(ordered, cells, side="right") - first) * value, dtype=np.int64)

    def _sorted_codes(self, statistic: Statistic) -> dict[str, Expression]:
        """The codes of complete rows; those of a single column sorted, once for all levels of a tree."""
        complete = self.table.complete(statistic.columns)
        if statistic.names not in self._remembered:
            codes = {name: wide(self.table.codes[name][complete]) for name in statistic.names}
            alone = len(codes) == 1
            self._remembered[statistic.names] = {n: np.sort(c) if alone else c for n, c in codes.items()}
        return self._remembered[statistic.names]

    @cached_property
    def _remembered(self) -> dict[tuple[str, ...], dict[str, Expression]]:
        """Sorted codes, by column."""
        return {}

    def posts(self, column: Text) -> tuple[str, ...]:
        rows = np.flatnonzero(self.table.complete([column]))
        return tuple(sorted(self.table.texts[column.name][i] for i in rows))

    def lower_median(self, column: GridColumn) -> int:
        kept = self.table.complete([column])
        codes = self.table.codes[column.name][kept]
        if codes.size == 0:
            raise NoRecords(f"the median of {column.name!r}")
        rank = (codes.size + 1) // 2 - 1
        return int(np.partition(codes, rank)[rank])

    def _blocks(self, statistic: Statistic) -> Iterator[tuple[dict[str, Expression], int]]:
        complete = self.table.complete(statistic.columns)
        for start in range(0, self.table.rows, _ROWS):
            keep = complete[start : start + _ROWS]
            code = {
                name: wide(self.table.codes[name][start : start + _ROWS][keep]) for name in statistic.names
            }
            yield code, int(keep.sum())


def _add_at(terms: Terms, cells: IntArray) -> IntArray:
    """The sums of what records add to some cells, which may be in any order."""
    order = np.argsort(cells)
    wanted, total = cells[order], np.zeros(cells.size, dtype=np.int64)
    for cell, value in terms:
        at = np.minimum(np.searchsorted(wanted, cell), wanted.size - 1)
        there = wanted[at] == cell
        np.add.at(total, order[at[there]], value[there] if np.ndim(value) else value)
    return total
