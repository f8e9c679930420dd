"""Sum statistics inside the database: DuckDB, PostgreSQL, Spark, or any other backend of Ibis.

The statistics are the same as in the other engines, each written once: their terms become sums and grouped
counts, and only totals are transferred.  All sums that need no grouping are requested together; cells that
share an expression share a query; a grown tree needs one grouped count per level.

Columns whose values not all databases treat the same way (floats, decimals, numbers written as texts) are
read, put on the grid value by value, and summed here.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import cached_property

import ibis
import numpy as np
import pyarrow as pa

from undeleted.curate.connections import database_error
from undeleted.curate.engines._grid_expressions import (
    GridCode,
    OnGrid,
    absent,
    as_id,
    number,
    on_grid,
    plain,
    unchecked,
    wrong_type,
)
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.files import ROWS, in_blocks, joined, small
from undeleted.curate.statistics import People, Statistic
from undeleted.errors import (
    BadColumns,
    BadSetting,
    NoRecords,
    RejectedValue,
    StoreError,
    UndeletedError,
)
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn, Schema, Table, Text
from undeleted.foundations.schema.first_row import FIRST
from undeleted.foundations.types import Expression, Terms

_AT_ONCE = 400  # sums in one query; some databases allow 1,600 columns
_STRICT = ("duckdb", "postgres", "pyspark")  # a column holds values of its type, and of no other
_SLICE = 2_000_000  # rows that a backend without cursors hands over at a time


class Ibis:
    """A table of a database, ready to be summed; the rules of the schema are checked first.

    >>> import ibis
    >>> from undeleted.foundations.schema import Number
    >>> from undeleted.curate.statistics import ClippedSum
    >>> age = Number("age", min=0, max=120)
    >>> Ibis(Schema([age]), ibis.memtable({"age": [41, 17]})).total(ClippedSum(age))
    array([58])
    """

    is_snapshot = False  # the table may change before its records are read

    def __init__(self, schema: Schema, table: Expression, name: str = "the table") -> None:
        self.schema, self.name = schema, name
        wanted = [*schema.names, *([schema.id] if schema.id is not None else [])]
        lacking = [column for column in wanted if column not in table.columns]
        if lacking:
            raise BadColumns(lacking, f"not in {name}.", f"It has {', '.join(table.columns)}.")
        if schema.id is not None and schema.excess == "drop":
            problem = "a table in a database has no first rows, so none can be dropped as excess."
            raise BadSetting(problem, 'Choose excess = "error", or cap the rows of a person in a view.')
        postgres = _backend_of(table) in ("postgres", "risingwave", "materialize")
        read = {name: plain(table[name], postgres) for name in wanted}
        if schema.id is not None:
            read[schema.id] = as_id(read[schema.id], table[schema.id].type(), schema.id)
        raw, table = table, table.select(**read)
        self._raw = table
        read_columns = [column for column in schema.columns if column != FIRST]
        simple = {c.name: unchecked(c, table[c.name]) for c in read_columns if not isinstance(c, Text)}
        strict = _backend_of(raw) in _STRICT
        self._unchecked = {name: code for name, code in simple.items() if code is not None and strict}
        self._fits = False  # whether a query has shown that no rule of a column is broken
        self._columns: dict[str, OnGrid] = {}
        self._decimals: set[str] = set()  # decimals that are transferred as texts
        for column, before in ((c, raw[c.name].type()) for c in read_columns):
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
        }  # numbers, because a prefix could make a name too long
        grids = {f"code{i}": self._columns[n].code for n, i in self._numbers.items()}
        grids |= {f"kept{i}": self._columns[n].kept for n, i in self._numbers.items()}
        self._grid = table.select(**grids) if grids else table
        self._totals: dict[Statistic, IntArray] = {}
        self._totals_at: dict[Statistic, dict[int, int]] = {}  # where only some cells were requested

    @property
    def rows_per_person(self) -> int:
        return self.schema.rows_per_person

    @cached_property
    def _count(self) -> int:
        return int(self._ask(self._raw.aggregate(rows=self._raw.count()))["rows"][0].as_py())

    @cached_property
    def rows(self) -> int:
        """The number of rows; one query counts them and checks every rule."""
        asked: dict[str, Expression] = {"rows": self._raw.count()}
        columns = {} if self._fits else self._columns
        refused = [(column, misfit) for column, grid in columns.items() for misfit in grid.refused]
        for i, (_, misfit) in enumerate(refused):
            asked[f"misfit{i}"] = misfit.rows.fill_null(True).sum()
        if self.schema.id is not None:
            asked["nameless"] = absent(self._raw[self.schema.id]).sum()
        totals = {k: int(v or 0) for k, v in self._ask(self._raw.aggregate(**asked)).to_pylist()[0].items()}
        for i, (name, misfit) in enumerate(refused):
            if totals[f"misfit{i}"]:
                remedy = f"Correct the rows, or choose another `{misfit.rule}` rule for the column."
                raise RejectedValue(name, misfit.text, None, totals[f"misfit{i}"], remedy)
        if totals.get("nameless"):
            rule = "every row must have an id"
            raise RejectedValue(
                str(self.schema.id), rule, None, totals["nameless"], "Give the rows their ids."
            )
        self._check_cap()
        if len(self._columns) < len(self.schema.names):
            _ = self._here  # reading it checks its rules
        return totals["rows"]

    @cached_property
    def _here(self) -> Arrays:
        """The table on the grid, without ids: for what is not summed in the database."""
        schema = Schema([column for column in self.schema.columns if column != FIRST])
        wanted = [*schema.names, *([self.schema.id] if self.schema.id else [])]
        batches = self._batches(self._raw.select(*wanted))
        try:
            return Arrays(joined(schema, [small(block) for block in in_blocks(self.name, batches, schema)]))
        except RejectedValue as error:  # database rows are not numbered
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

    # -- queries of mechanisms

    def total(self, statistic: Statistic) -> IntArray:
        if statistic not in self._totals:
            self.prepare([statistic])
        return self._totals[statistic].copy()

    def prepare(self, statistics: Sequence[Statistic]) -> None:
        """Sum several statistics with as few queries as their cells allow."""
        if any(isinstance(statistic, People) for statistic in statistics):
            self._totals[People()] = np.array([self._people], dtype=np.int64)
        if self._sum_at_once([s for s in dict.fromkeys(statistics) if s not in self._totals]):
            return
        sums: dict[
            tuple[Statistic, int], list[tuple[int, Expression]]
        ] = {}  # by statistic, cell: where, what
        asked: list[Expression] = []
        for statistic in dict.fromkeys(statistics):
            if statistic in self._totals:
                continue
            statistic.check_no_overflow(self.rows)
            if not self._is_added_up_there(statistic):
                self._totals[statistic] = self._here.total(statistic)
                continue
            self._totals[statistic] = np.zeros(statistic.size, dtype=np.int64)
            complete = self._complete(statistic)
            grouped: list[tuple[GridCode, list[tuple[int, Expression]]]] = []
            for start, (cell, value) in zip(statistic.places, self._terms(statistic), strict=True):
                if not isinstance(cell, GridCode):
                    where = complete.ifelse(_summand(value), _summand(0))
                    sums.setdefault((statistic, start + cell), []).append((len(asked), where))
                    asked.append(where)
                    continue
                same = (
                    g for g in grouped if g[0].run == cell.run and g[0].expression.equals(cell.expression)
                )
                group = next(same, None)
                if group is None:
                    group = (GridCode(cell.expression, 0, cell.run), [])
                    grouped.append(group)
                group[1].append((start + cell.offset, value))
            for key, values in grouped:
                self._add_groups(statistic, complete, key, values)
        totals = self._sums(asked)
        for (statistic, cell), parts in sums.items():
            self._totals[statistic][cell] += sum(totals[at] for at, _ in parts)

    @property
    def _people(self) -> int:
        """How many people there are; without ids every row is a person."""
        if self.schema.id is None:
            return self.rows
        _ = self.rows  # checks every rule
        people = self._raw[self.schema.id].nunique().name("people")
        return int(self._ask(self._raw.aggregate(people=people))["people"][0].as_py())

    def _sum_at_once(self, statistics: Sequence[Statistic]) -> bool:
        """Sum them as if every value fitted, and check in the same query that every value does.

        Then no value needs to be clamped, no row left out, and no column read twice.  Return False, and keep
        nothing, if some value does not fit, or if the columns are not of this simple kind.
        """
        if not statistics or len(self._unchecked) < len(self.schema.names):
            return False
        codes: Mapping[str, Expression] = {name: GridCode(u.code) for name, u in self._unchecked.items()}
        places: dict[Expression, list[tuple[Statistic, int, int, Expression]]] = {}
        for statistic in statistics:
            self.schema.require(*statistic.columns)
            for start, (cell, value) in zip(statistic.places, statistic.terms(codes), strict=True):
                grouped = isinstance(cell, GridCode)
                key = (cell.expression.op(), cell.run) if grouped else None
                offset, run = (cell.offset, cell.run) if grouped else (cell, 1)
                places.setdefault(key, []).append((statistic, start + offset, run, value))
        totals = {statistic: np.zeros(statistic.size, dtype=np.int64) for statistic in statistics}
        rows = None
        for key, parts in places.items():
            answer = self._answer_at_once(key, [value for *_, value in parts])
            if answer is None or rows not in (None, answer[0]):  # or the table changed between two queries
                return False
            rows, cells, sums = answer
            for (statistic, first, run, _), values in zip(parts, sums, strict=True):
                np.add.at(totals[statistic], first + cells // run, values)
        self._fits = True
        if self.schema.id is None:
            vars(self)["rows"] = rows  # as that query counted them: there are no ids to check
        if rows is None or rows != self.rows:  # it also checks ids
            self._fits = False  # the table changed meanwhile: check its rules as usual
            vars(self).pop("rows", None)
            return False
        for statistic in statistics:
            statistic.check_no_overflow(rows)
        self._totals |= totals
        return True

    def _answer_at_once(
        self, key: Expression, values: Sequence[Expression]
    ) -> tuple[int, IntArray, list[IntArray]] | None:
        """How many rows there are, the groups, and the sums of each; None if some value does not fit."""
        sums = {f"v{i}": op.to_expr().sum() for i, op in enumerate(_distinct(values))}
        sums["rows"] = self._raw.count()
        others = {
            i: code
            for i, code in enumerate(self._unchecked.values())
            if key is None or code.code.op() != key[0]  # the groups themselves show which values there are
        }
        sums |= {f"there{i}": code.shown_by.count() for i, code in others.items()}
        bounded = {i: code for i, code in others.items() if code.most > 1}
        ends = {f"least{i}": code.shown_by.min().as_scalar() for i, code in bounded.items()}
        ends |= {f"most{i}": code.shown_by.max().as_scalar() for i, code in bounded.items()}
        try:
            grouped = self._raw.group_by(key=key[0].to_expr()) if key is not None else self._raw
            summed = grouped.aggregate(**sums)
            answer = self._ask(summed.select(*summed.columns, **ends)).to_pydict()
        except UndeletedError:  # such as an overflow of values that are far off the grid
            return None
        counts = answer["rows"]
        cells = answer.get("key", [0] * len(counts))
        fit = all(answer[f"there{i}"] == counts for i in others)
        fit &= all(
            (v is None or v >= code.least) and (w is None or w <= code.most)
            for i, code in bounded.items()
            for v, w in zip(answer[f"least{i}"], answer[f"most{i}"], strict=True)
        )
        own = [
            code.most - code.least for code in self._unchecked.values() if key and code.code.op() == key[0]
        ]
        if not fit or any(cell is None or any(not 0 <= cell <= last for last in own) for cell in cells):
            return None
        found = {op: answer[f"v{i}"] for i, op in enumerate(_distinct(values))}
        results = [
            np.array(
                [int(n or 0) + offset * rows for n, rows in zip(found[op], counts, strict=True)]
                if op is not None
                else [offset * rows for rows in counts],
                dtype=np.int64,
            )
            for op, offset in map(_parted, values)
        ]
        return sum(counts), np.array([int(c) for c in cells], dtype=np.int64), results

    def total_at(self, statistic: Statistic, cells: IntArray) -> IntArray:
        """Run one grouped query, for the requested cells only.

        If a record moves several cells, they must differ by constants, such as a column's number in a box.
        """
        statistic.check_no_overflow(self.rows)
        numbers = cells.tolist()
        if not self._is_added_up_there(statistic):
            known = self._totals_at.setdefault(statistic, {})
            known.update(zip(numbers, self._here.total_at(statistic, cells).tolist(), strict=True))
            return np.array([known[n] for n in numbers], dtype=np.int64)
        terms = self._terms(statistic)
        key = terms[0][0]
        if not all(isinstance(c, GridCode) and c.expression.equals(key.expression) for c, _ in terms):
            raise TypeError("total_at takes statistics whose cells share an expression")
        summed = {f"v{i}": _summand(value) for i, (_, value) in enumerate(terms)}
        base = self._grid.filter(self._complete(statistic)).select(first=key.expression, **summed)
        wanted = sorted({(n - c.offset) * key.run for n in numbers for c, _ in terms if n >= c.offset})
        if statistic.size > 4 * len(numbers):  # most cells were not requested: do not transfer them
            wide = base.first.type().is_decimal()
            kind = pa.decimal128(38, 0) if wide else pa.int64()
            asked = ibis.memtable(pa.table({"first": pa.array(_as(wanted, wide), type=kind)}))
            base = base.semi_join(asked, "first")
        answer = self._ask(base.group_by("first").aggregate(**{v: base[v].sum() for v in summed}), local=True)
        totals: dict[int, int] = {}
        groups = [int(first) // key.run for first in answer["first"].to_pylist()]
        for i, (cell, _) in enumerate(terms):
            for group, total in zip(groups, answer[f"v{i}"].to_pylist(), strict=True):
                totals[group + cell.offset] = totals.get(group + cell.offset, 0) + int(total)
        known = self._totals_at.setdefault(statistic, {})
        for n in numbers:
            if known.setdefault(n, totals.get(n, 0)) != totals.get(n, 0):
                raise StoreError(
                    f"{self.name} changed while it was read.", "Publish from a table that does not change."
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
        while low < high:  # one count per bit of the code, on any backend
            middle = (low + high) // 2
            low, high = (low, middle) if up_to(middle) >= (size + 1) // 2 else (middle + 1, high)
        return low

    def close(self) -> None:
        """Close the connection; for the caller that opened it."""
        with suppress(Exception):  # all queries have been answered
            ibis.get_backend(self._raw).disconnect()

    # -- queries of a store

    def blocks(self) -> Iterator[Table]:
        """The records, with their ids, some thousands at a time."""
        chosen = self._raw.select(*self.schema.names, *([self.schema.id] if self.schema.id else []))
        return in_blocks(self.name, self._batches(chosen), self.schema)

    def _batches(self, chosen: Expression) -> Iterator[dict[str, Expression]]:
        """Rows as Arrow columns, a block at a time; decimals as `Decimal`."""
        for batch in self._record_batches(chosen):
            columns = {name: batch.column(i) for i, name in enumerate(batch.schema.names)}
            for name in self._decimals & set(columns):
                columns[name] = [None if t is None else Decimal(t) for t in columns[name].to_pylist()]
            yield columns

    def _record_batches(self, chosen: Expression) -> Iterator[Expression]:
        backend = ibis.get_backend(chosen)
        parts = (
            -(-self._count // _SLICE) if backend.name == "pyspark" else 1
        )  # its driver holds a complete answer in memory
        for part in range(parts):
            mine = chosen
            if parts > 1 and self.schema.id is not None:
                person = chosen[self.schema.id].cast("string").hash()
                mine = chosen.filter(((person % parts) + parts) % parts == part)
            if backend.name == "duckdb":  # Ibis 12 calls a cursor that DuckDB 2 does not have
                yield from backend.con.sql(backend.compile(mine)).to_arrow_reader(ROWS)
            elif backend.name == "pyspark":
                yield from self._ask(mine).to_batches(max_chunksize=ROWS)
            else:
                yield from backend.to_pyarrow_batches(mine, chunk_size=ROWS)
            if self.schema.id is None:
                return

    # -- internals

    def _terms(self, statistic: Statistic) -> Terms:
        self.schema.require(*statistic.columns)
        codes: Mapping[str, Expression] = {name: GridCode(self._code(name)) for name in statistic.names}
        return statistic.terms(codes)

    def _code(self, name: str) -> Expression:
        return self._grid[f"code{self._numbers[name]}"]

    def _kept(self, name: str) -> Expression:
        return self._grid[f"kept{self._numbers[name]}"]

    def _complete(self, statistic: Statistic) -> Expression:
        complete = ibis.literal(True)
        for name in statistic.names:
            complete = complete & self._kept(name)
        return complete

    def _add_groups(
        self,
        statistic: Statistic,
        complete: Expression,
        key: GridCode,
        values: Sequence[tuple[int, Expression]],
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

    def _sums(self, asked: Sequence[Expression]) -> list[int]:
        totals: list[int] = []
        for start in range(0, len(asked), _AT_ONCE):
            part = {f"v{i}": value for i, value in enumerate(asked[start : start + _AT_ONCE])}
            rows = self._grid.select(**part)
            answer = self._ask(rows.aggregate(**{name: rows[name].sum() for name in part}))
            totals += [int(answer[name][0].as_py() or 0) for name in part]
        return totals

    def _ask(self, expression: Expression, local: bool = False) -> Expression:
        """The answer as an Arrow table; errors in our own words.  `local`: the query joins tables of ours."""
        with _unfused():
            try:
                backend = ibis.get_backend(expression)
                if (
                    backend.name == "pyspark" and not local
                ):  # via pandas, missing values would turn integers into floats
                    return backend.raw_sql(backend.compile(expression)).toArrow()
                return expression.to_pyarrow()
            except (AttributeError, NameError, TypeError):  # a bug of ours, not of the database
                raise
            except Exception as error:
                raise database_error(self.name, error) from None


def _backend_of(table: Expression) -> str:
    """The backend's name; a table in memory uses the default backend, which is DuckDB."""
    backends, _ = table._find_backends()
    return str(backends[0].name) if backends else "duckdb"


@contextmanager
def _unfused() -> Iterator[None]:
    """Compute codes once, in a subquery, instead of wherever they are used."""
    before = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = before


def _summand(value: Expression) -> Expression:
    """The summand in 64 bits; the bound on the total was checked before."""
    if isinstance(value, GridCode):
        return value.value.cast("int64")
    return ibis.literal(value, "int64")


def _parted(value: Expression) -> tuple[Expression, int]:
    """A summand as an expression, or None for a constant, and what is added to it in every row."""
    if not isinstance(value, GridCode):
        return None, int(value)
    return value.expression.cast("int64").op(), value.offset


def _distinct(values: Sequence[Expression]) -> list[Expression]:
    """The expressions of several summands, each once."""
    return list(dict.fromkeys(op for op, _ in map(_parted, values) if op is not None))


def _as(numbers: list[int], wide: bool) -> list[Expression]:
    return [Decimal(n) for n in numbers] if wide else numbers
