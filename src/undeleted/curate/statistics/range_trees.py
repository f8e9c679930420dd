"""A complete tree of counts over each of several columns: the input of quantiles of all features."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.statistics._statistic import Block, Contribution, Statistic, gathered
from undeleted.curate.statistics.range_tree import RangeTree
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class RangeTrees(Statistic):
    """The levels of several range trees, one tree after another.

    >>> from undeleted.foundations.schema import Number
    >>> RangeTrees((Number("age", min=0, max=15), Number("pay", min=0, max=3)), branching=4).l1
    3
    """

    over: tuple[GridColumn, ...]
    branching: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        _ = self.trees

    @cached_property
    def trees(self) -> tuple[RangeTree, ...]:
        return tuple(RangeTree(column, self.branching) for column in self.over)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for tree in self.trees for block in tree.blocks)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        return [term for tree in self.trees for term in tree.terms(code)]

    def of_matrix(self, codes: IntArray) -> Contribution:
        starts, columns, spans = self._plan
        cells = starts + codes[:, columns] // spans
        return gathered(cells, np.ones_like(cells), self.size)

    @cached_property
    def _plan(self) -> tuple[IntArray, IntArray, IntArray]:
        """For every level of every tree: where it begins, its column, and how many codes a node has."""
        levels = [
            (i, self.branching ** (t.levels - level))
            for i, t in enumerate(self.trees)
            for level in range(1, t.levels + 1)
        ]
        columns, spans = np.array(levels, dtype=np.int64).T
        return np.array(self.starts), columns, spans
