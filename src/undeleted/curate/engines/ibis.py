"""Add statistics up where the data live: DuckDB, PostgreSQL, Spark, or any other backend of Ibis.

The same statistics as everywhere, each written once: their terms become sums and grouped counts, and only
totals travel.  All sums that need no grouping are asked for together; cells that share an expression share a
query; a grown tree asks one grouped count per level.

Columns whose values databases do not all judge alike (floats, decimals, numbers written as texts) are read,
put on the grid value by value and added up here.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import cached_property
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from undeleted.curate.connections import complaint
from undeleted.curate.engines._grid_expressions import (
    Code,
    OnGrid,
    absent,
    as_id,
    number,
    on_grid,
    plain,
    wrong_type,
)
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.files import ROWS, in_blocks, joined, small
from undeleted.curate.statistics import Statistic
from undeleted.errors import BadColumns, BadQuestion, NoRecords, RejectedValue, StoreError
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn, Schema, Table, Text

_AT_ONCE = 400  # sums in one query; some databases take 1,600 columns
_SLICE = 2_000_000  # rows that a backend without cursors hands over at a time


class Ibis:
    """A table of a database, ready to be summed; the rules of the schema are held over it first.

    >>> import ibis
    >>> from undeleted.foundations.schema import Number
    >>> from undeleted.curate.statistics import ClippedSum
    >>> age = Number("age", min=0, max=120)
    >>> Ibis(Schema([age]), ibis.memtable({"age": [41, 17]})).total(ClippedSum(age))
    array([58])
    """

    stands_still = False  # the table may change before its records are read

    def __init__(self, schema: Schema, table: Any, name: str = "the table") -> None:
        self.schema, self.name = schema, name
        wanted = [*schema.names, *([schema.id] if schema.id is not None else [])]
        lacking = [column for column in wanted if column not in table.columns]
        if lacking:
            raise BadColumns(lacking, f"not in {name}.", f"It has {', '.join(table.columns)}.")
        if schema.id is not None and schema.excess == "drop":
            problem = "a table in a database has no first rows, so none can be dropped as excess."
            raise BadQuestion(problem, 'Choose excess = "error", or cap the rows of a person in a view.')
        postgres = _backend_of(table) in ("postgres", "risingwave", "materialize")
        read = {name: plain(table[name], postgres) for name in wanted}
        if schema.id is not None:
            read[schema.id] = as_id(read[schema.id], table[schema.id].type(), schema.id)
        raw, table = table, table.select(**read)
        self._raw = table
        self._columns: dict[str, OnGrid] = {}
        self._decimals: set[str] = set()  # decimals travel as texts
        for column, before in ((c, raw[c.name].type()) for c in schema.columns):
            values = table[column.name]
            if isinstance(column, Text):
                if not values.type().is_string():
                    raise wrong_type(column, values.type())
                continue
            if before.is_decimal() and values.type().is_string():
                self._decimals.add(column.name)
            there = None if column.name in self._decimals else on_grid(column, values)
            if there is not None:
                self._columns[column.name] = there
        self._numbers = {
            name: i for i, name in enumerate(self._columns)
        }  # names may be too long to be longer
        grids = {f"code{i}": self._columns[n].code for n, i in self._numbers.items()}
        grids |= {f"kept{i}": self._columns[n].kept for n, i in self._numbers.items()}
        self._grid = table.select(**grids) if grids else table
        self._totals: dict[Statistic, IntArray] = {}
        self._totals_at: dict[Statistic, dict[int, int]] = {}  # of those that were asked for some cells only

    @property
    def rows_per_person(self) -> int:
        return self.schema.rows_per_person

    @cached_property
    def _count(self) -> int:
        return int(self._ask(self._raw.aggregate(rows=self._raw.count()))["rows"][0].as_py())

    @cached_property
    def rows(self) -> int:
        """How many rows there are; asked once, with whether every rule holds."""
        asked: dict[str, Any] = {"rows": self._raw.count()}
        refused = [(column, misfit) for column, grid in self._columns.items() for misfit in grid.refused]
        for i, (_, misfit) in enumerate(refused):
            asked[f"misfit{i}"] = misfit.rows.fill_null(True).sum()
        if self.schema.id is not None:
            asked["nameless"] = absent(self._raw[self.schema.id]).sum()
        found = {k: int(v or 0) for k, v in self._ask(self._raw.aggregate(**asked)).to_pylist()[0].items()}
        for i, (name, misfit) in enumerate(refused):
            if found[f"misfit{i}"]:
                remedy = f"Correct the rows, or choose another `{misfit.rule}` rule for the column."
                raise RejectedValue(name, misfit.text, None, found[f"misfit{i}"], remedy)
        if found.get("nameless"):
            rule = "every row must have an id"
            raise RejectedValue(
                str(self.schema.id), rule, None, found["nameless"], "Give the rows their ids."
            )
        self._check_cap()
        if len(self._columns) < len(self.schema.columns):
            _ = self._here  # its rules are held as it is read
        return found["rows"]

    @cached_property
    def _here(self) -> Arrays:
        """The table on the grid, without ids: for what is not added up in the database."""
        schema = Schema(self.schema.columns)
        wanted = [*schema.names, *([self.schema.id] if self.schema.id else [])]
        batches = self._batches(self._raw.select(*wanted))
        try:
            return Arrays(joined(schema, [small(block) for block in in_blocks(self.name, batches, schema)]))
        except RejectedValue as error:  # rows of a database have no numbers
            raise RejectedValue(error.column, error.rule, None, error.count, error.remedy) from None

    def _is_added_up_there(self, statistic: Statistic) -> bool:
        return all(name in self._columns for name in statistic.names)

    def _check_cap(self) -> None:
        if self.schema.id is None:
            return
        most = self.schema.rows_per_person
        person = self._raw[self.schema.id]
        over = self._raw.group_by(person=person).aggregate(rows=self._raw.count())
        over = over.filter(over.rows > most)
        excess = self._ask(over.aggregate(rows=(over.rows - most).sum()))["rows"][0].as_py()
        if excess:
            rule = f"a person may have {most} row{'s' if most > 1 else ''}"
            raised = "Raise `rows_per_person` (`max_rows_per_person` in a spec; noise grows with it)"
            remedy = f"{raised}, or cap them in a view."
            raise RejectedValue(self.schema.id, rule, None, int(excess), remedy)

    # -- what mechanisms ask

    def total(self, statistic: Statistic) -> IntArray:
        if statistic not in self._totals:
            self.prepare([statistic])
        return self._totals[statistic].copy()

    def prepare(self, statistics: Sequence[Statistic]) -> None:
        """Add several statistics up with as few queries as their cells allow."""
        sums: dict[tuple[Statistic, int], list[tuple[int, Any]]] = {}  # by statistic, cell: where, what
        asked: list[Any] = []
        for statistic in dict.fromkeys(statistics):
            if statistic in self._totals:
                continue
            statistic.check_no_overflow(self.rows)
            if not self._is_added_up_there(statistic):
                self._totals[statistic] = self._here.total(statistic)
                continue
            self._totals[statistic] = np.zeros(statistic.size, dtype=np.int64)
            complete = self._complete(statistic)
            grouped: list[tuple[Code, list[tuple[int, Any]]]] = []
            for start, (cell, value) in zip(statistic.places, self._terms(statistic), strict=True):
                if not isinstance(cell, Code):
                    where = complete.ifelse(_summand(value), _summand(0))
                    sums.setdefault((statistic, start + cell), []).append((len(asked), where))
                    asked.append(where)
                    continue
                alike = (
                    g for g in grouped if g[0].run == cell.run and g[0].expression.equals(cell.expression)
                )
                group = next(alike, None)
                if group is None:
                    group = (Code(cell.expression, 0, cell.run), [])
                    grouped.append(group)
                group[1].append((start + cell.offset, value))
            for key, values in grouped:
                self._add_groups(statistic, complete, key, values)
        found = self._sums(asked)
        for (statistic, cell), parts in sums.items():
            self._totals[statistic][cell] += sum(found[at] for at, _ in parts)

    def total_at(self, statistic: Statistic, cells: IntArray) -> IntArray:
        """One grouped query, of the cells that were asked for and no others.

        Several cells that a record moves must differ by constants, such as a column's number in a box.
        """
        statistic.check_no_overflow(self.rows)
        numbers = cells.tolist()
        if not self._is_added_up_there(statistic):
            known = self._totals_at.setdefault(statistic, {})
            known.update(zip(numbers, self._here.total_at(statistic, cells).tolist(), strict=True))
            return np.array([known[n] for n in numbers], dtype=np.int64)
        terms = self._terms(statistic)
        key = terms[0][0]
        if not all(isinstance(c, Code) and c.expression.equals(key.expression) for c, _ in terms):
            raise TypeError("total_at takes statistics whose cells share an expression")
        summed = {f"v{i}": _summand(value) for i, (_, value) in enumerate(terms)}
        base = self._grid.filter(self._complete(statistic)).select(first=key.expression, **summed)
        wanted = sorted({(n - c.offset) * key.run for n in numbers for c, _ in terms if n >= c.offset})
        if statistic.size > 4 * len(numbers):  # most cells were not asked for: leave them where they are
            wide = base.first.type().is_decimal()
            kind = pa.decimal128(38, 0) if wide else pa.int64()
            asked = ibis.memtable(pa.table({"first": pa.array(_as(wanted, wide), type=kind)}))
            base = base.semi_join(asked, "first")
        answer = self._ask(base.group_by("first").aggregate(**{v: base[v].sum() for v in summed}), local=True)
        found: dict[int, int] = {}
        groups = [int(first) // key.run for first in answer["first"].to_pylist()]
        for i, (cell, _) in enumerate(terms):
            for group, total in zip(groups, answer[f"v{i}"].to_pylist(), strict=True):
                found[group + cell.offset] = found.get(group + cell.offset, 0) + int(total)
        known = self._totals_at.setdefault(statistic, {})
        for n in numbers:
            if known.setdefault(n, found.get(n, 0)) != found.get(n, 0):
                raise StoreError(
                    f"{self.name} changed while it was read.", "Publish from a table that stands still."
                )
        return np.array([known[n] for n in numbers], dtype=np.int64)

    def posts(self, column: Text) -> tuple[str, ...]:
        self.schema.require(column)
        return self._here.posts(column)

    def lower_median(self, column: GridColumn) -> int:
        self.schema.require(column)
        if column.name not in self._columns:
            return self._here.lower_median(column)
        code, kept = self._code(column.name), self._kept(column.name)

        def up_to(most: int) -> int:
            inside = self._grid.filter(kept & (code <= number(most, code.type().is_decimal())))
            return int(self._ask(inside.aggregate(rows=inside.count()))["rows"][0].as_py())

        size = up_to(column.cells - 1) if self.rows else 0
        if size == 0:
            raise NoRecords(f"the median of {column.name!r}")
        low, high = 0, column.cells - 1
        while low < high:  # a count for every bit of the code, on any backend
            middle = (low + high) // 2
            low, high = (low, middle) if up_to(middle) >= (size + 1) // 2 else (middle + 1, high)
        return low

    def close(self) -> None:
        """Let the connection go; for whoever made it."""
        with suppress(Exception):  # what was asked has been answered
            ibis.get_backend(self._raw).disconnect()

    # -- what a store asks

    def blocks(self) -> Iterator[Table]:
        """The records, with their ids, some thousands at a time."""
        chosen = self._raw.select(*self.schema.names, *([self.schema.id] if self.schema.id else []))
        return in_blocks(self.name, self._batches(chosen), self.schema)

    def _batches(self, chosen: Any) -> Iterator[dict[str, Any]]:
        """Rows as columns of Arrow, a block at a time; decimals as what they are."""
        for batch in self._record_batches(chosen):
            columns = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
            for name in self._decimals & set(columns):
                columns[name] = [None if t is None else Decimal(t) for t in columns[name].to_pylist()]
            yield columns

    def _record_batches(self, chosen: Any) -> Iterator[Any]:
        backend = ibis.get_backend(chosen)
        parts = (
            -(-self._count // _SLICE) if backend.name == "pyspark" else 1
        )  # its driver holds an answer whole
        for part in range(parts):
            mine = chosen
            if parts > 1 and self.schema.id is not None:
                person = chosen[self.schema.id].cast("string").hash()
                mine = chosen.filter(((person % parts) + parts) % parts == part)
            if backend.name == "duckdb":  # DuckDB 2 has no cursor by the name that Ibis 12 calls
                yield from backend.con.sql(backend.compile(mine)).to_arrow_reader(ROWS)
            elif backend.name == "pyspark":
                yield from self._ask(mine).to_batches(max_chunksize=ROWS)
            else:
                yield from backend.to_pyarrow_batches(mine, chunk_size=ROWS)
            if self.schema.id is None:
                return

    # -- below

    def _terms(self, statistic: Statistic) -> Sequence[tuple[Any, Any]]:
        self.schema.require(*statistic.columns)
        codes: Mapping[str, Any] = {name: Code(self._code(name)) for name in statistic.names}
        return statistic.terms(codes)

    def _code(self, name: str) -> Any:
        return self._grid[f"code{self._numbers[name]}"]

    def _kept(self, name: str) -> Any:
        return self._grid[f"kept{self._numbers[name]}"]

    def _complete(self, statistic: Statistic) -> Any:
        complete = ibis.literal(True)
        for name in statistic.names:
            complete = complete & self._kept(name)
        return complete

    def _add_groups(
        self, statistic: Statistic, complete: Any, key: Code, values: Sequence[tuple[int, Any]]
    ) -> None:
        total = self._totals[statistic]
        for start in range(0, len(values), _AT_ONCE):
            part = values[start : start + _AT_ONCE]
            chosen = self._grid.filter(complete).select(
                key=key.expression, **{f"v{i}": _summand(value) for i, (_, value) in enumerate(part)}
            )
            sums = {f"v{i}": chosen[f"v{i}"].sum() for i in range(len(part))}
            answer = self._ask(chosen.group_by("key").aggregate(**sums))
            cells = np.array([int(k) // key.run for k in answer["key"].to_pylist()], dtype=np.int64)
            for i, (place, _) in enumerate(part):
                total[place + cells] += np.array(list(map(int, answer[f"v{i}"].to_pylist())), dtype=np.int64)

    def _sums(self, asked: Sequence[Any]) -> list[int]:
        found: list[int] = []
        for start in range(0, len(asked), _AT_ONCE):
            part = {f"v{i}": value for i, value in enumerate(asked[start : start + _AT_ONCE])}
            rows = self._grid.select(**part)
            answer = self._ask(rows.aggregate(**{name: rows[name].sum() for name in part}))
            found += [int(answer[name][0].as_py() or 0) for name in part]
        return found

    def _ask(self, expression: Any, local: bool = False) -> Any:
        """An answer as an Arrow table; a backend's complaint in our words.  `local`: tables of ours join."""
        with _unfused():
            try:
                backend = ibis.get_backend(expression)
                if (
                    backend.name == "pyspark" and not local
                ):  # by way of pandas, gaps would make floats of integers
                    return backend.raw_sql(backend.compile(expression)).toArrow()
                return expression.to_pyarrow()
            except (AttributeError, NameError, TypeError):  # a bug of ours, not of the database
                raise
            except Exception as error:
                raise complaint(self.name, error) from None


def _backend_of(table: Any) -> str:
    """The backend's name; a table in memory belongs to whichever is asked, which is DuckDB."""
    backends, _ = table._find_backends()
    return str(backends[0].name) if backends else "duckdb"


@contextmanager
def _unfused() -> Iterator[None]:
    """Codes are computed in a query of their own, once, instead of wherever they are used."""
    before = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = before


def _summand(value: Any) -> Any:
    """What is summed, in 64 bits: the bound on the total was checked."""
    if isinstance(value, Code):
        return value.value.cast("int64")
    return ibis.literal(value, "int64")


def _as(numbers: list[int], wide: bool) -> list[Any]:
    return [Decimal(n) for n in numbers] if wide else numbers
