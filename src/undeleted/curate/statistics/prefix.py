"""Counts by the leading digits of a code: one level of a tree over a column."""

from collections.abc import Mapping
from dataclasses import dataclass

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class Prefix(Statistic):
    """One cell per run of `divisor` codes.  There may be 2⁶⁴: request only some of them (`total_at`).

    >>> from undeleted.foundations.schema import Number
    >>> Prefix(Number("age", min=0, max=99), divisor=10).size
    10
    """

    column: GridColumn
    divisor: int

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return (self.column,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block(width=-(-self.column.cells // self.divisor), reach=1),)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        return [(code[self.column.name] // self.divisor, 1)]
