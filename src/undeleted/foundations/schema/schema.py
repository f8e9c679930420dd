"""A schema: the columns of a record, whose record it is, and how many rows one person may have.

The unit of privacy is the person.  With an `id` column a person may have up to `rows_per_person` rows, and
every sensitivity grows with that cap; the rows beyond it follow the `excess` rule.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from undeleted.errors import BadColumns, RejectedValue
from undeleted.foundations.schema.columns import Column, Text
from undeleted.foundations.schema.first_row import FIRST, FirstRow
from undeleted.foundations.schema.incoming import is_floating, listed
from undeleted.foundations.schema.table import Table
from undeleted.foundations.schema.values import as_text, is_missing, is_plain
from undeleted.foundations.types import Given


@dataclass(frozen=True)
class Schema:
    """The columns of a record.

    >>> from undeleted.foundations.schema import Category, Number
    >>> people = Schema([Number("age", min=0, max=120), Category("sex", values=("f", "m"))])
    >>> people.table([{"age": 41, "sex": "f"}, {"age": 17, "sex": "m"}]).codes["age"]
    array([41, 17])
    """

    columns: Sequence[Column]
    id: str | None = None
    rows_per_person: int = 1
    excess: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        columns = self.columns if isinstance(self.columns, Sequence) else (self.columns,)
        object.__setattr__(self, "columns", tuple(columns))
        wrong = [str(c) for c in self.columns if not isinstance(c, Column)]
        if wrong or not self.columns:
            remedy = "Declare columns such as Number('age', min=0, max=120)."
            raise BadColumns(wrong or ["(none)"], "a schema is made of declared columns.", remedy)
        doubled = [
            n
            for n, c in Counter([*(c.name for c in self.columns), self.id]).items()
            if n is not None and c > 1
        ]
        if doubled:
            raise BadColumns(doubled, "declared twice.", "Declare each column once.")
        whole = isinstance(self.rows_per_person, int)
        if not whole or self.rows_per_person < 1 or (self.rows_per_person > 1 and self.id is None):
            raise BadColumns(
                [self.id or "id"],
                f"rows_per_person = {self.rows_per_person} is impossible here.",
                "Declare an id column and a cap of at least 1.",
            )
        if self.excess not in ("error", "drop"):
            raise BadColumns(
                [self.id or "id"], f"excess = {self.excess!r} is not a rule.", "Choose error or drop."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that a table must have."""
        return tuple(column.name for column in self.columns if column != FIRST)

    def require(self, *columns: Column) -> None:
        """Refuse columns that are not the schema's own: other bounds would give another sensitivity."""
        for column in columns:
            if column not in self.columns:
                known = column.name in self.names
                problem = "declared differently in the schema." if known else "not in the schema."
                remedy = "Give the mechanism the column that the schema declares."
                raise BadColumns([column.name], problem, remedy)

    def table(self, data: Given, *, cap: bool = True) -> Table:
        """Put rows or columns on the grid, or raise on the first value that its rule refuses.

        Takes a mapping of columns (a DataFrame is one) or a sequence of mappings; without an id column also
        a sequence of tuples in the order of the columns or, for a single column, of plain values.  Without
        `cap` the rows of one person are not counted: blocks of a larger table are capped when joined.
        """
        raw = self._by_column(data)
        lengths = {len(raw[name]) for name in raw}
        if len(lengths) > 1:
            raise BadColumns(
                sorted(raw), "have different lengths.", "Give every column a value for every row."
            )
        rows = lengths.pop() if lengths else len(data)
        codes, kept, texts = {}, {}, {}
        ids = self._ids(raw)
        for column in self.columns:
            if column == FIRST:
                codes[column.name] = FirstRow.of(ids, rows)
                kept[column.name] = np.ones(rows, dtype=bool)
            elif isinstance(column, Text):
                texts[column.name], kept[column.name] = column.texts(raw[column.name])
            else:
                codes[column.name], kept[column.name] = column.encode(raw[column.name])
        table = Table(self, rows, codes, kept, texts, ids)
        return self.capped(table) if cap else table

    def _by_column(self, data: Given) -> Mapping[str, Given]:
        wanted = [*self.names, *([self.id] if self.id is not None else [])]
        names = _names_of(data)
        if names is not None:
            present = set(names)
            lacking = [name for name in wanted if name not in present]
            if lacking:
                raise BadColumns(lacking, "not in the data.", f"The schema needs {', '.join(wanted)}.")
            return {name: _one_dimensional(name, data[name]) for name in wanted}
        try:
            rows = list(data)
            return {n: [self._field(row, n, i) for row in rows] for i, n in enumerate(wanted)}
        except (KeyError, TypeError):
            remedy = "Give every row a value for every column, by name if the schema has an id."
            raise BadColumns(wanted, "some rows do not have exactly these.", remedy) from None

    def _field(self, row: Given, name: str, position: int) -> Given:
        if isinstance(row, Mapping):
            return row[name]
        if self.id is not None:  # a tuple does not say which of its fields is the id
            raise TypeError(name)
        several = isinstance(row, Sequence) and not isinstance(row, str | bytes)
        if several and len(row) == len(self.names):
            return row[position]
        if not several and len(self.names) == 1:
            return row
        raise TypeError(name)

    def _ids(self, raw: Mapping[str, Given]) -> list[str] | None:
        if self.id is None:
            return None
        people = listed(raw[self.id])
        if is_floating(raw[self.id]) and any(not is_missing(v) and abs(v) >= 2**53 for v in people):
            problem = "is a column of floats, which lose digits of ids beyond 2⁵³."
            raise BadColumns([self.id], problem, "Give ids as text, or as whole numbers.")
        absent = np.array([is_missing(v) or not is_plain(v) for v in people], dtype=bool)
        if absent.any():
            rule = "every row must have an id"
            raise RejectedValue(
                self.id, rule, int(absent.argmax()), int(absent.sum()), "Give the rows their ids."
            )
        return [as_text(v) for v in people]

    def capped(self, table: Table) -> Table:
        """Apply the cap on rows per person: the first rows of a person are kept."""
        if table.ids is None or len(set(table.ids)) == table.rows:
            return table
        seen: Counter[str] = Counter()
        over = np.zeros(table.rows, dtype=bool)
        for i, person in enumerate(table.ids):
            seen[person] += 1
            over[i] = seen[person] > self.rows_per_person
        if not over.any():
            return table
        if self.excess == "error":
            rule = f"a person may have {self.rows_per_person} row{'s' if self.rows_per_person > 1 else ''}"
            raised = "Raise `rows_per_person` (`max_rows_per_person` in a spec; noise grows with it)"
            remedy = f"{raised} or set `excess` to drop."
            raise RejectedValue(self.id or "id", rule, int(over.argmax()), int(over.sum()), remedy)
        return table.take(np.flatnonzero(~over))


def _names_of(data: Given) -> Given:
    """The names of a table's columns; None if it is a sequence of rows."""
    if hasattr(data, "column_names"):  # Arrow
        return data.column_names
    if hasattr(data, "get_columns"):  # polars
        return data.columns
    return data.keys() if hasattr(data, "keys") else None


def _one_dimensional(name: str, values: Given) -> Given:
    """Return a one-dimensional column unchanged; a cell with several values is left to the column's rule."""
    if getattr(values, "ndim", 1) != 1 or isinstance(values, str | bytes):
        raise BadColumns([name], "is not one-dimensional.", "Give one value per row.")
    return values if hasattr(values, "__len__") else list(values)
