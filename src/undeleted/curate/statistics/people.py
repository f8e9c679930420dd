"""The number of people, where a person may have several rows: Σ 1 over the first row of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.first_row import FIRST
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class People(Statistic):
    """Σ first: 1 for the first row of a person, and 0 for the others.

    >>> People().l1
    1
    """

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return (FIRST,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block(width=1, reach=1),)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        return [(0, code[FIRST.name])]
