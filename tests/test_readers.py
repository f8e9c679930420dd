"""Whatever file or database carries a value, it gets the code that it has alone in a list.

A thousand random columns through each reader, two hundred a table.  Readers that keep a type a value (CSV has
texts, JSON and SQLite values) are given mixed columns; the others columns of one type each, as they declare
them.  Since a code is compared with that of the value alone, no row can have changed another's.
"""

import json
import random
import sqlite3
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path

import duckdb
import ibis
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from undeleted import files
from undeleted.engines._connections import connected
from undeleted.engines.arrays import Arrays
from undeleted.engines.ibis import Ibis
from undeleted.schema import Boolean, Category, Number, Schema
from undeleted.statistics import Count, Moments

TABLES, WIDTH, ROWS = 5, 200, 12
LENIENT = {"missing": "drop", "not_a_number": "drop"}
CLAMPED = LENIENT | {"out_of_range": "clamp", "off_grid": "round"}
DROPPED = LENIENT | {"out_of_range": "drop", "off_grid": "drop"}
TEXTS = (
    *("0", "1", "1.0", "7", " 7", "7 ", "07", "1e7", "2e7", "20000000.0", "0.1", "0.10", ".5", "5.", "+5", "x"),
    *("y", "", "n/a", "NULL", "nan", "inf", "09:00", "2020-01-01", "true", "True", "yes", "f", 'a "b"', "a,b", "é"),
    *("9007199254740993", "18446744073709551615", "1e999999999", "'", "#", "\\", "\t", "a\nb", "1_000"),
)
NUMBERS = ("0", "1", "7", "7.0", "0.1", "0.10", "1e7", "2E7", "20000000.0", "9007199254740993", "-0.0", "1e999")


def declared(rng: random.Random, name: str):
    return rng.choice(
        [
            lambda: Number(name, min=0, max=10**9, step=10**7, **rng.choice([CLAMPED, DROPPED])),
            lambda: Number(name, min=0, max=120, **rng.choice([CLAMPED, DROPPED])),
            lambda: Number(name, min=-5, max=5, step="0.1", **rng.choice([CLAMPED, DROPPED])),
            lambda: Category(name, values=("x", "y", "7", "0.1", "09:00", "true"), unknown="drop", missing="drop"),
            lambda: Category(name, values=("1", "o"), unknown="other", other="o", missing="drop"),
            lambda: Boolean(name, missing="drop", unknown="drop"),
        ]
    )()


class World:
    """A table of random columns: what is written, and each value's code alone."""

    def __init__(self, rng: random.Random, draw) -> None:
        columns = [declared(rng, f"x{i}") for i in range(WIDTH)]
        self.schema = Schema(columns, id="id")
        self.written, self.alone, self.kinds = {}, {}, {}
        for column in columns:
            self.kinds[column.name], self.written[column.name], values = draw(rng, column)
            self.alone[column.name] = [_code(column, value) for value in values]
        self.written["id"] = [f"p{i:02}" for i in range(ROWS)]

    def require(self, table) -> None:
        order = np.argsort(table.ids)
        assert [table.ids[i] for i in order] == self.written["id"]
        for name, expected in self.alone.items():
            found = list(zip(table.codes[name][order].tolist(), table.kept[name][order].tolist(), strict=True))
            assert found == expected, (self.schema.columns[int(name[1:])], self.written[name])

    def rows(self) -> list[dict]:
        return [dict(zip(self.written, row, strict=True)) for row in zip(*self.written.values(), strict=True)]

    def as_arrow(self) -> pa.Table:
        kinds = self.kinds | {"id": pa.string()}
        return pa.table({name: pa.array(values, kinds[name]) for name, values in self.written.items()})


def _code(column, value) -> tuple[int, bool]:
    [code], [kept] = column.encode([value])
    return int(code), bool(kept)


def texts(rng, column):
    values = [rng.choice(TEXTS) for _ in range(ROWS)]
    return None, values, values


def of_json(rng, column):
    """Tokens of JSON; a number means what its digits say."""
    tokens = [rng.choice([json.dumps(rng.choice(TEXTS)), rng.choice(NUMBERS)]) for _ in range(ROWS)]
    tokens = [rng.choice([t, t, t, rng.choice(["true", "false", "null", "[1]", "{}"])]) for t in tokens]
    return None, tokens, [Decimal(t) if t in NUMBERS else json.loads(t) for t in tokens]


def of_sqlite(rng, column):
    some = [None, 0, 1, 7, 2**53 + 1, 10**7, 2e7, 0.1, 1.0, -0.5, b"7", *TEXTS]
    values = [rng.choice(some) for _ in range(ROWS)]
    return None, values, values


def typed(rng, column):
    kind, make = rng.choice(
        [
            (pa.int16(), lambda: rng.randrange(-5, 130)),
            (pa.int64(), lambda: rng.choice([0, 1, 7, 10**7, 2 * 10**7, 2**53 + 1, -(2**63), 2**63 - 1])),
            (pa.float64(), lambda: rng.choice([0.1, 0.3, 0.1 + 0.2, 0.5, 1.0, 7.0, 2e7, -1e300, float("nan")])),
            (pa.float32(), lambda: rng.choice([0.1, 0.3, 7.0, 2e7, 33.3])),
            (pa.decimal128(12, 2), lambda: Decimal(rng.choice(["0.10", "7.00", "20000000.00", "-3.14"]))),
            (pa.string(), lambda: rng.choice(TEXTS)),
            (pa.bool_(), lambda: rng.random() < 0.5),
            (pa.date32(), lambda: date(2020, 1, rng.randrange(1, 9))),
            (pa.timestamp("us"), lambda: datetime(2020, 1, 1, rng.randrange(9, 11))),
        ]
    )
    values = [None if rng.random() < 0.1 else make() for _ in range(ROWS)]
    exact = [v if v is None or kind != pa.float32() else np.float32(v) for v in values]
    return kind, values, exact


def worlds(reader: str, draw, tables: int = TABLES):
    rng = random.Random(f"{reader} {tables}")
    return [World(rng, draw) for _ in range(tables)]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_csv(kind, tmp_path):
    between = "," if kind == "csv" else "\t"
    for world in worlds(kind, texts):
        lines = [between.join(world.written)]
        lines += [between.join(quoted(v) if v else v for v in row.values()) for row in world.rows()]
        path = tmp_path / f"people.{kind}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
        world.require(files.read(str(path), world.schema))


@pytest.mark.parametrize("kind", ["json", "jsonl", "ndjson", "objects.json"])
def test_json(kind, tmp_path):
    for world in worlds(kind, of_json):
        world_rows = [{**row, "id": json.dumps(row["id"])} for row in world.rows()]
        rows = ["{" + ", ".join(f'"{k}": {v}' for k, v in row.items()) + "}" for row in world_rows]
        path = tmp_path / f"people.{kind}"
        path.write_text("[" + ",\n".join(rows) + "]" if kind == "json" else "\n".join(rows), encoding="utf-8")
        world.require(files.read(str(path), world.schema))


def test_sqlite(tmp_path):
    for i, world in enumerate(worlds("sqlite", of_sqlite)):
        path = tmp_path / f"people{i}.db"
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(f"CREATE TABLE people ({', '.join(world.written)})")
            places = ", ".join("?" * len(world.written))
            file.executemany(f"INSERT INTO people VALUES ({places})", [list(r.values()) for r in world.rows()])
        world.require(files.read(str(path), world.schema))


def test_parquet(tmp_path):
    for world in worlds("parquet", typed):
        path = tmp_path / "people.parquet"
        pq.write_table(world.as_arrow(), path)
        world.require(files.read(str(path), world.schema))


def through_ibis(world: World, table) -> None:
    """Records one by one, and totals that the database adds up, in two queries."""
    engine = Ibis(world.schema, table)
    counted = [Count((c,)) for c in world.schema.columns]
    added = [Moments(c, 2) for c in world.schema.columns if not isinstance(c, Category)]
    engine.prepare([*counted, *added])
    table = files.joined(world.schema, list(engine.blocks()))
    world.require(table)
    here = Arrays(table)
    for statistic in (*counted, *added):
        assert np.array_equal(engine.total(statistic), here.total(statistic)), statistic


@pytest.mark.parametrize("tables", [1, pytest.param(TABLES, marks=pytest.mark.slow)])
def test_duckdb(tables, tmp_path):
    for i, world in enumerate(worlds("duckdb", typed, tables)):
        with duckdb.connect(str(tmp_path / f"{i}.duckdb")) as file:
            file.register("given", world.as_arrow())
            file.execute("CREATE TABLE people AS SELECT * FROM given")
        table = connected(f"duckdb://{i}.duckdb", "people", tmp_path)
        through_ibis(world, table)
        ibis.get_backend(table).disconnect()


POSTGRES = {
    "int16": "smallint",
    "int64": "bigint",
    "double": "double precision",
    "float": "real",
    "decimal128(12, 2)": "numeric(12, 2)",
    "string": "text",
    "bool": "boolean",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
}
_names = count()


@pytest.mark.services
def test_postgres(server):
    for world in worlds("postgres", typed):
        kinds = {"id": "text"} | {name: POSTGRES[str(kind)] for name, kind in world.kinds.items()}
        name = f"readers{next(_names)}"
        with psycopg.connect(server.url(), autocommit=True) as db:
            listed = ", ".join(f"{column} {kinds[column]}" for column in world.written)
            db.execute(f"CREATE TABLE {name} ({listed})")
            with db.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in world.rows():
                    copy.write_row(list(row.values()))
        table = connected(server.url(), f"public.{name}", Path())
        through_ibis(world, table)
        ibis.get_backend(table).disconnect()


@pytest.mark.services
def test_spark(tmp_path):
    for i, world in enumerate(worlds("spark", typed)):
        pq.write_table(world.as_arrow(), tmp_path / f"people{i}.parquet")
        table = connected("pyspark://local[2]", f"people{i}.parquet", tmp_path)
        through_ibis(world, table)
        ibis.get_backend(table).disconnect()
