"""Totals of several statistics in one pass over the blocks of a table, which need not fit in memory."""

from collections.abc import Iterable, Sequence

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.statistics import Statistic
from undeleted.foundations.arrays import IntArray, wide
from undeleted.foundations.schema import Table


def scan(blocks: Iterable[Table], statistics: Sequence[Statistic]) -> dict[Statistic, IntArray]:
    """Sum every statistic, block by block, exactly.

    >>> from undeleted.foundations.schema import Number, Schema
    >>> from undeleted.curate.statistics import ClippedSum
    >>> age = Number("age", min=0, max=120)
    >>> people = Schema([age])
    >>> scan([people.table([41, 17]), people.table([30])], [ClippedSum(age)])[ClippedSum(age)]
    array([88])
    """
    totals = {statistic: np.zeros(statistic.size, dtype=np.int64) for statistic in statistics}
    rows = 0
    for block in blocks:
        rows += block.rows
        codes = {name: wide(values) for name, values in block.codes.items()}
        whole = {name for name, kept in block.kept.items() if kept.all()}
        for statistic, total in totals.items():
            statistic.check_no_overflow(rows)
            block.schema.require(*statistic.columns)
            chosen, size = {name: codes[name] for name in statistic.names}, block.rows
            if not whole.issuperset(statistic.names):  # some rows do not count
                complete = block.complete(statistic.columns)
                chosen, size = {n: values[complete] for n, values in chosen.items()}, int(complete.sum())
            total += statistic.block_total(chosen, size)
    return totals


class Scanned(Arrays):
    """A table whose totals are known from a scan; everything else is computed from the table."""

    def __init__(self, table: Table, totals: dict[Statistic, IntArray]) -> None:
        super().__init__(table)
        object.__setattr__(self, "_totals", totals)

    def total(self, statistic: Statistic) -> IntArray:
        known: dict[Statistic, IntArray] = self._totals  # type: ignore[attr-defined]
        return known[statistic].copy() if statistic in known else super().total(statistic)
