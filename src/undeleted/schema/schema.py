"""A schema: the columns of a record, whose record it is, and how many rows one person may have.

The unit of privacy is the person.  With an `id` column a person may have up to `rows_per_person` rows, and
every sensitivity grows with that cap; the rows beyond it follow the `excess` rule.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from undeleted.errors import BadColumns, RejectedValue
from undeleted.schema.columns import Column, Text, _is_missing, _listed
from undeleted.schema.table import Table


@dataclass(frozen=True)
class Schema:
    """The columns of a record.

    >>> from undeleted.schema import Category, Number
    >>> people = Schema([Number("age", min=0, max=120), Category("sex", values=("f", "m"))])
    >>> people.table([{"age": 41, "sex": "f"}, {"age": 17, "sex": "m"}]).codes["age"]
    array([41, 17])
    """

    columns: Sequence[Column]
    id: str | None = None
    rows_per_person: int = 1
    excess: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        doubled = [n for n, c in Counter([*self.names, self.id]).items() if n is not None and c > 1]
        if doubled or not self.columns:
            raise BadColumns(
                doubled or ["(none)"], "declared twice or not at all.", "Declare each column once."
            )
        if self.rows_per_person < 1 or (self.rows_per_person > 1 and self.id is None):
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
        return tuple(column.name for column in self.columns)

    def table(self, data: Any) -> Table:
        """Put rows or columns on the grid, or raise on the first value that its rule refuses.

        Takes a mapping of columns (a DataFrame is one), a sequence of mappings, of tuples in the order of
        the columns, or, for a single column, of bare values.
        """
        raw = self._by_column(data)
        lengths = {len(raw[name]) for name in raw}
        if len(lengths) > 1:
            raise BadColumns(
                sorted(raw), "have different lengths.", "Give every column a value for every row."
            )
        rows = lengths.pop()
        codes, kept, texts = {}, {}, {}
        for column in self.columns:
            if isinstance(column, Text):
                texts[column.name], kept[column.name] = column.texts(raw[column.name])
            else:
                codes[column.name], kept[column.name] = column.encode(raw[column.name])
        table = Table(self, rows, codes, kept, texts, self._ids(raw))
        return self._capped(table)

    def _by_column(self, data: Any) -> Mapping[str, Any]:
        wanted = [*self.names, *([self.id] if self.id is not None else [])]
        if hasattr(data, "keys"):
            present = set(data.keys())
            lacking = [name for name in wanted if name not in present]
            if lacking:
                raise BadColumns(lacking, "not in the data.", f"The schema wants {', '.join(wanted)}.")
            return {name: _one_dimensional(name, data[name]) for name in wanted}
        rows = _listed(data)
        try:
            return {
                name: [_field(row, name, i, len(wanted)) for row in rows] for i, name in enumerate(wanted)
            }
        except (KeyError, IndexError, TypeError):
            raise BadColumns(
                wanted, "some rows lack one.", "Give every row a value for every column."
            ) from None

    def _ids(self, raw: Mapping[str, Any]) -> list[str] | None:
        if self.id is None:
            return None
        absent = np.array([_is_missing(v) for v in _listed(raw[self.id])], dtype=bool)
        if absent.any():
            rule = "every row must have an id"
            raise RejectedValue(
                self.id, rule, int(absent.argmax()), int(absent.sum()), "Give the rows their ids."
            )
        return [str(v) for v in _listed(raw[self.id])]

    def _capped(self, table: Table) -> Table:
        """Apply the cap on rows per person: the first rows of a person are kept."""
        if table.ids is None:
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
            remedy = "Raise `rows_per_person` (noise grows with it) or set `excess` to drop."
            raise RejectedValue(self.id or "id", rule, int(over.argmax()), int(over.sum()), remedy)
        return table.take(np.flatnonzero(~over))


def _field(row: Any, name: str, position: int, width: int) -> Any:
    if isinstance(row, Mapping):
        return row[name]
    if isinstance(row, Sequence) and not isinstance(row, str):
        return row[position]
    if width == 1:
        return row
    raise TypeError(name)


def _one_dimensional(name: str, values: Any) -> Any:
    array = values if isinstance(values, list) else np.asarray(values)
    if getattr(array, "ndim", 1) != 1:
        raise BadColumns([name], "is not one-dimensional.", "Give one value per row.")
    return array
