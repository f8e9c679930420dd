"""Counts by value over several sets of columns at once: the input of synthetic rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from undeleted.curate.statistics._statistic import Block, Contribution, Statistic, gathered
from undeleted.errors import BadSetting
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_columns
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class Marginals(Statistic):
    """A histogram over each set of columns, of all combinations of bins, present or not.

    `sets` names the columns of each marginal by their places in `over`; the last varies fastest.  `edges`
    are public: for each column the codes at which its second, third, … bin begin; none, if every value is a
    bin of its own.

    >>> from undeleted.foundations.schema import Boolean, Number
    >>> age, sick, new = Number("age", min=0, max=99), Boolean("sick"), Boolean("new")
    >>> pairs = Marginals((age, sick, new), ((0, 1), (1, 2)), ((18, 65), (), ()))
    >>> pairs.size, pairs.of_one({"age": 70, "sick": 0, "new": 1}).cells
    (10, [4, 7])
    """

    over: tuple[GridColumn, ...]
    sets: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_columns(*self.over)
        if not self.sets or not all(self.sets):
            raise BadSetting("there is no marginal to count.", "Name at least one column.")
        if len(self.edges) != len(self.over):
            raise BadSetting("every column has its edges, if only none.", "Give a tuple for each column.")
        for column, edges in zip(self.over, self.edges, strict=True):
            if any(not a < b for a, b in pairwise((0, *edges, column.cells))):
                problem = f"the bins of {column.name!r} are not in order, or one of them is empty."
                raise BadSetting(problem, "Give increasing edges inside the bounds, above the lowest value.")

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    @cached_property
    def bins(self) -> tuple[int, ...]:
        """How many bins every column has."""
        both = zip(self.over, self.edges, strict=True)
        return tuple(len(edges) + 1 if edges else column.cells for column, edges in both)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The bins of every marginal, by its columns."""
        return tuple(tuple(self.bins[i] for i in columns) for columns in self.sets)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(Block(width=math.prod(shape), reach=1) for shape in self.shapes)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        bins = [
            sum(((code[column.name] >= edge) * 1 for edge in edges[1:]), (code[column.name] >= edges[0]) * 1)
            if edges
            else code[column.name]
            for column, edges in zip(self.over, self.edges, strict=True)
        ]
        terms = []
        for first, *others in self.sets:
            cell = bins[first]
            for i in others:
                cell = cell * self.bins[i] + bins[i]
            terms.append((cell, 1))
        return terms

    def of_matrix(self, codes: IntArray) -> Contribution:
        binned = self.binned(codes)
        cells = np.empty((len(codes), len(self.sets)), dtype=np.int64)
        for number, (columns, shape) in enumerate(zip(self.sets, self.shapes, strict=True)):
            cells[:, number] = np.ravel_multi_index(tuple(binned[:, i] for i in columns), shape)
        return gathered(cells + np.array(self.starts), np.ones_like(cells), self.size)

    def binned(self, codes: IntArray) -> IntArray:
        """The bins of a matrix of codes."""
        columns = [
            np.searchsorted(edges, codes[:, i], side="right") if edges else codes[:, i]
            for i, edges in enumerate(self.edges)
        ]
        return np.column_stack(columns)

    def codes_in(self, column: int, bin: int) -> range:
        """The codes of a bin."""
        edges = self.edges[column]
        if not edges:
            return range(bin, bin + 1)
        ends = (0, *edges, self.over[column].cells)
        return range(ends[bin], ends[bin + 1])
