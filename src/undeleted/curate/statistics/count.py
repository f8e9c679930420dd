"""The number of records."""

from collections.abc import Mapping
from dataclasses import dataclass

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_columns
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class Count(Statistic):
    """Σ 1 over the records that are complete in the columns of `over` (none by default).

    >>> Count().l1
    1
    """

    over: tuple[GridColumn, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_columns(*self.over)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block(width=1, reach=1),)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        return [(0, 1)]
