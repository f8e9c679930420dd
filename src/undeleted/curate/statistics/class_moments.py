"""Counts, sums and sums of squares of several numbers, by class: the input of naive Bayes and scaling."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.kernels import kernel
from undeleted.curate.statistics._spread import spread, spread_block
from undeleted.curate.statistics._statistic import ALL, Block, Contribution, Statistic, gathered
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import (
    as_columns,
    halves_of,
    middles_of,
    require_columns,
    require_numbers,
)
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class ClassMoments(Statistic):
    """Σ 1, then for every number Σ 2hc and Σ (h² − c²), each by the class of the record.

    >>> from undeleted.foundations.schema import Boolean, Number
    >>> ClassMoments((Number("age", min=0, max=100),), Boolean("sick")).blocks[1].width
    4
    """

    over: tuple[GridColumn, ...]
    by: GridColumn | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_numbers(*self.over)
        if self.by is not None:
            require_columns(self.by)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over if self.by is None else (*self.over, self.by)

    @cached_property
    def classes(self) -> int:
        return 1 if self.by is None else self.by.cells

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        k = self.classes
        return Block(width=k, reach=1), *(spread_block(column, k, k, 1.0) for column in self.over)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        label = 0 if self.by is None else code[self.by.name]
        result = [(label, 1)]
        for column in self.over:
            total, squares = spread(column, code[column.name])
            result += [(label, total), (label + self.classes, squares)]
        return result

    def of_matrix(self, codes: IntArray) -> Contribution:
        cells, middles, halves = self._plan
        compiled = kernel("class") if len(codes) == 1 else None
        if compiled is not None:
            row, total = codes[0], np.zeros(self.size, dtype=np.int64)
            compiled(row, 0 if self.by is None else row[-1], self.classes, middles, halves, total)
            return Contribution(ALL, total)
        if len(codes) > 1:
            self.check_no_overflow(len(codes))
        if self.by is not None:
            cells = cells + codes[:, -1:]
            codes = codes[:, :-1]
        c = codes - middles
        ones = np.ones((len(c), 1), dtype=np.int64)
        values = np.concatenate([ones, 2 * halves * c, halves * halves - c * c], axis=1)
        return gathered(np.broadcast_to(cells, values.shape), values, self.size)

    @cached_property
    def size(self) -> int:
        return super().size

    @cached_property
    def _plan(self) -> tuple[IntArray, IntArray, IntArray]:
        """The cells (count, sums, squares) of a record of the first class; the grid's middles and halves."""
        starts = np.array(self.starts[1:], dtype=np.int64)
        cells = np.concatenate([[0], starts, starts + self.classes])[None]
        return cells, middles_of(self.over), halves_of(self.over)
