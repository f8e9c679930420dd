"""The sum of a bounded number, in whole units of its grid."""

from collections.abc import Mapping
from dataclasses import dataclass

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.errors import BadColumns
from undeleted.foundations.schema import GridColumn, Number
from undeleted.foundations.schema.centred_codes import require_columns
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class ClippedSum(Statistic):
    """Σ x in units of `column.unit`; a record moves it by at most max(|min|, |max|).

    >>> ClippedSum(Number("income", min=-10, max=100, step=5)).reaches    # in units of 5
    (20,)
    """

    column: Number

    def __post_init__(self) -> None:
        require_columns(self.column)
        if not isinstance(self.column, Number):
            raise BadColumns([self.column.name], "not a number.", "Sum a Number, or count with a histogram.")

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return (self.column,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        c = self.column
        return (Block(width=1, reach=max(abs(c.offset), abs(c.offset + c.stride * (c.cells - 1)))),)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        return [(0, code[self.column.name] * self.column.stride + self.column.offset)]
