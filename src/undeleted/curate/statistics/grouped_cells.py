"""Any statistic, by group: one copy of its cells for every combination of some columns' values.

A record moves the cells of its own group and no others, so the sensitivity of every block is that of the
statistic alone.  With a condition, records that do not fit move their cells by 0.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from undeleted.curate.statistics._statistic import MOST_CELLS, Block, Statistic
from undeleted.errors import BadSetting, TooLarge
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_columns
from undeleted.foundations.schema.conditions import Condition
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class GroupedCells(Statistic):
    """A statistic of every group, of the records that fit a condition; the last column varies fastest.

    >>> from undeleted.curate.statistics import Moments
    >>> from undeleted.foundations.schema import Category, Number
    >>> income, city = Number("income", min=0, max=100), Category("city", values=("a", "b", "c"))
    >>> by_city = GroupedCells(Moments(income, degree=1), (city,))
    >>> by_city.size, by_city.reaches
    (6, (1, 50))
    """

    inner: Statistic
    by: tuple[GridColumn, ...] = ()
    where: Condition | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", as_columns(self.by))
        require_columns(*self.by)
        if len(set(self.by)) < len(self.by):
            raise BadSetting("a column is grouped by twice.", "Name each column of `by` once.")
        if self.groups * self.inner.size > MOST_CELLS:
            remedy = "Group by fewer columns, or by columns with fewer values."
            raise TooLarge("the cells of all groups", self.groups * self.inner.size, MOST_CELLS, remedy)

    @property
    def groups(self) -> int:
        """How many groups there are: declared combinations, present or not."""
        return math.prod(column.cells for column in self.by)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        extra = (*self.by, *(self.where.columns if self.where is not None else ()))
        return tuple(dict.fromkeys((*self.inner.columns, *extra)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(replace(block, width=self.groups * block.width) for block in self.inner.blocks)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        group: Code = 0
        for column in self.by:
            group = group * column.cells + code[column.name]
        fits = 1 if self.where is None else self.where.holds(code)
        widths = [block.width for block in self.inner.blocks for _ in range(block.moves)]
        return [
            (group * width + cell if self.by else cell, value * fits)
            for width, (cell, value) in zip(widths, self.inner.terms(code), strict=True)
        ]
