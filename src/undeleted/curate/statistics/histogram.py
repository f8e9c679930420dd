"""Counts by value, over one or several columns."""

from collections.abc import Mapping
from dataclasses import dataclass

from undeleted.curate.statistics._statistic import Block, Statistic, product_of_cells
from undeleted.errors import BadSetting
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_columns
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class Histogram(Statistic):
    """One cell per combination of declared values, present or not; the last column varies fastest.

    >>> from undeleted.foundations.schema import Boolean, Category
    >>> Histogram((Category("grade", values=("a", "b", "c")), Boolean("sick"))).size
    6
    """

    over: tuple[GridColumn, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        if not self.over:
            raise BadSetting(
                "a histogram needs a column.", "Name at least one; for a plain count use NoisyCount."
            )
        require_columns(*self.over)
        product_of_cells(self.over)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(column.cells for column in self.over)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block(width=product_of_cells(self.over), reach=1),)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        first, *others = self.over
        cell = code[first.name]
        for column in others:
            cell = cell * column.cells + code[column.name]
        return [(cell, 1)]
