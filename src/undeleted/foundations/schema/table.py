"""A table on the grid: a schema makes it from raw rows, and data reach an engine in no other form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from undeleted.foundations.arrays import BoolArray, IntArray

if TYPE_CHECKING:
    from undeleted.foundations.schema.columns import Column
    from undeleted.foundations.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class Table:
    """Grid codes by column, which of them count, and the free texts.  Never printed: it is personal data."""

    schema: "Schema"
    rows: int
    codes: dict[str, IntArray]
    kept: dict[str, BoolArray]
    texts: dict[str, list[str]]
    ids: list[str] | None = None

    def __repr__(self) -> str:
        return f"Table(columns={[*self.kept]})"

    def complete(self, columns: Sequence["Column"]) -> BoolArray:
        """The rows in which all of these columns count.  The columns must be the schema's own."""
        self.schema.require(*columns)
        complete = np.ones(self.rows, dtype=bool)
        for column in columns:
            complete &= self.kept[column.name]
        return complete

    def take(self, rows: IntArray) -> "Table":
        """The given rows, in the given order."""
        return Table(
            self.schema,
            len(rows),
            {name: codes[rows] for name, codes in self.codes.items()},
            {name: kept[rows] for name, kept in self.kept.items()},
            {name: [texts[i] for i in rows] for name, texts in self.texts.items()},
            None if self.ids is None else [self.ids[i] for i in rows],
        )


@dataclass(frozen=True, eq=False)
class Record:
    """One row on the grid in plain numbers: a single deletion needs no arrays.  Never printed."""

    codes: dict[str, int]
    kept: set[str]
    texts: dict[str, str]

    def __repr__(self) -> str:
        return f"Record(columns={sorted(self.kept)})"


Leaving: TypeAlias = Table | Record  # what a mechanism receives about the people who leave
