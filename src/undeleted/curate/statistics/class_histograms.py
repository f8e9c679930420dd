"""Counts by class and value for each column: the input of naive Bayes on categories."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.statistics._statistic import (
    Block,
    Contribution,
    Statistic,
    gathered,
    product_of_cells,
)
from undeleted.errors import BadSetting
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_columns
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class ClassHistograms(Statistic):
    """For every column, one cell per class and declared value, present or not; values vary fastest.

    >>> from undeleted.foundations.schema import Boolean, Category
    >>> ClassHistograms((Category("grade", values=("a", "b", "c")), Boolean("new")), Boolean("sick")).size
    10
    """

    over: tuple[GridColumn, ...]
    by: GridColumn

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_columns(*self.over, self.by)
        if not self.over:
            raise BadSetting("class histograms need a column.", "Name at least one.")
        for column in self.over:
            product_of_cells([self.by, column])

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return *self.over, self.by

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(Block(width=self.by.cells * column.cells, reach=1) for column in self.over)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        label = code[self.by.name]
        return [(label * column.cells + code[column.name], 1) for column in self.over]

    def of_matrix(self, codes: IntArray) -> Contribution:
        starts, widths = self._plan
        cells = starts + codes[:, -1:] * widths + codes[:, :-1]
        return gathered(cells, np.ones_like(cells), self.size)

    @cached_property
    def _plan(self) -> tuple[IntArray, IntArray]:
        """Where the blocks begin, and how many values they have."""
        return np.array(self.starts), np.array([column.cells for column in self.over])
