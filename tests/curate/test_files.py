"""Whatever file or database carries a value, it gets the code that it has alone in a list.

A thousand random columns through each reader, two hundred a table.  Readers that keep a type a value (CSV has
texts, JSON and SQLite values) are given mixed columns; the others columns of one type each, as they declare
them.  Since a code is compared with that of the value alone, no row can have changed another's.
"""

import json
import random
import sqlite3
from collections import Counter
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

from undeleted.curate import files
from undeleted.curate.connections import connected
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.engines.ibis import Ibis
from undeleted.curate.mechanisms import (
    BulletinBoard,
    ExactSum,
    FrozenMedian,
    Grouped,
    GrownBoxes,
    GrownRangeCounts,
    NoisyClassHistograms,
    NoisyClassMoments,
    NoisyCount,
    NoisyForest,
    NoisyHistogram,
    NoisyMarginals,
    NoisyMean,
    NoisyPairs,
    NoisyPeople,
    NoisyProducts,
    NoisyQuantiles,
    NoisySecondMoments,
    NoisySum,
    NoisyVariance,
    RangeCounts,
    Recipe,
)
from undeleted.curate.releases.linear import Linear
from undeleted.curate.statistics import Count, Moments
from undeleted.errors import BadConnection, BadFile, RejectedValue
from undeleted.foundations import registry
from undeleted.foundations.coins import NoNoise, seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Category, Number, Schema, Text
from undeleted.foundations.schema.first_row import FIRST

TABLES, WIDTH, ROWS = 5, 200, 12
LENIENT = {"missing": "drop", "not_a_number": "drop"}
CLAMPED = LENIENT | {"out_of_range": "clamp", "off_grid": "round"}
DROPPED = LENIENT | {"out_of_range": "drop", "off_grid": "drop"}
TEXTS = (
    *(
        "0",
        "1",
        "1.0",
        "7",
        " 7",
        "7 ",
        "07",
        "1e7",
        "2e7",
        "20000000.0",
        "0.1",
        "0.10",
        ".5",
        "5.",
        "+5",
        "x",
    ),
    *(
        "y",
        "",
        "n/a",
        "NULL",
        "nan",
        "inf",
        "09:00",
        "2020-01-01",
        "true",
        "True",
        "yes",
        "f",
        'a "b"',
        "a,b",
        "é",
    ),
    *("9007199254740993", "18446744073709551615", "1e999999999", "'", "#", "\\", "\t", "a\nb", "1_000"),
)
NUMBERS = (
    "0",
    "1",
    "7",
    "7.0",
    "0.1",
    "0.10",
    "1e7",
    "2E7",
    "20000000.0",
    "9007199254740993",
    "-0.0",
    "1e999",
)


def declared(rng: random.Random, name: str):
    return rng.choice(
        [
            lambda: Number(name, min=0, max=10**9, step=10**7, **rng.choice([CLAMPED, DROPPED])),
            lambda: Number(name, min=0, max=120, **rng.choice([CLAMPED, DROPPED])),
            lambda: Number(name, min=-5, max=5, step="0.1", **rng.choice([CLAMPED, DROPPED])),
            lambda: Category(
                name, values=("x", "y", "7", "0.1", "09:00", "true", "007"), unknown="drop", missing="drop"
            ),
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
            found = list(
                zip(table.codes[name][order].tolist(), table.kept[name][order].tolist(), strict=True)
            )
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
    """Mixed ones, and those of one form, for which a reader that guesses has a type."""
    some = rng.choice(
        [TEXTS, ("09:00", "10:00"), ("2020-01-01", "2020-01-02"), ("007", "010"), ("true", "false")]
    )
    values = [rng.choice(some) for _ in range(ROWS)]
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
            (
                pa.float64(),
                lambda: rng.choice([0.1, 0.3, 0.1 + 0.2, 0.5, 1.0, 7.0, 2e7, -1e300, float("nan")]),
            ),
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
            file.executemany(
                f"INSERT INTO people VALUES ({places})", [list(r.values()) for r in world.rows()]
            )
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


# -- the whole way, from neighbouring files to the totals that noise is made for

X = Number("x", min=0, max=10**9, step=10**7, out_of_range="clamp", off_grid="drop", **LENIENT)
AGE = Number("age", min=0, max=120, out_of_range="clamp", off_grid="round", **LENIENT)
GRADE = Category("grade", values=("x", "y", "09:00"), unknown="drop", missing="drop")
SICK, FLAG = (Boolean(name, missing="drop", unknown="drop") for name in ("sick", "flag"))
NOTE = Text("note", missing="drop")
PEOPLE = Schema([X, AGE, GRADE, SICK, FLAG, NOTE, FIRST], id="id")
B = Budget(1.0)
MECHANISMS = {
    "bulletin-board": BulletinBoard(NOTE),
    "exact-sum": ExactSum(X),
    "frozen-median": FrozenMedian(X),
    "grouped": Grouped(NoisyMean(X, B), (AGE,)),
    "grown-boxes": GrownBoxes((X, AGE), NoNoise(), clusters=2, threshold=1, depth=4),
    "grown-range-counts": GrownRangeCounts(X, NoNoise(), branching=2, threshold=1),
    "noisy-class-histograms": NoisyClassHistograms((AGE, SICK), GRADE, B),
    "noisy-class-moments": NoisyClassMoments((X, AGE), B, by=GRADE),
    "noisy-count": NoisyCount(B, over=(X, GRADE)),
    "noisy-forest": NoisyForest((X, AGE), B, by=GRADE, trees=2, depth=3),
    "noisy-histogram": NoisyHistogram((X, GRADE), B),
    "noisy-marginals": NoisyMarginals((X, GRADE), B, edges={"x": [5 * 10**8]}),
    "noisy-mean": NoisyMean(X, B),
    "noisy-pairs": NoisyPairs((SICK, FLAG), B, at_most=2),
    "noisy-people": NoisyPeople(B),
    "noisy-products": NoisyProducts((X, AGE, SICK), B),
    "noisy-quantiles": NoisyQuantiles((X, AGE), B),
    "noisy-second-moments": NoisySecondMoments((X, AGE), B, by=GRADE),
    "noisy-sum": NoisySum(X, B),
    "noisy-variance": NoisyVariance(AGE, B),
    "range-counts": RangeCounts(X, B),
    "recipe": Recipe((Count(), Moments(X, 2)), B),
}
TYPICAL = [
    {
        "id": f"p{i}",
        "x": 10**7 * (i % 3),
        "age": 30 + i,
        "grade": "xy"[i % 2],
        "sick": i % 2,
        "flag": 1,
        "note": "hi",
    }
    for i in range(40)
]
ODD = [  # each as it would be written; a reader of types takes what fits them
    {"x": 2e7, "age": 0.5, "grade": 5, "sick": 2, "flag": True, "note": "5"},
    {"x": "20000000.0", "age": "n/a", "grade": "n/a", "sick": "yes", "flag": "no", "note": "n/a"},
    {"x": None, "age": None, "grade": None, "sick": None, "flag": None, "note": None},
    {"x": 1, "age": 999, "grade": "09:00", "sick": 1, "flag": 0, "note": "x" * 99},
    {"x": 2**63, "age": -(2**63), "grade": "z", "sick": -1, "flag": 7, "note": "Ω"},
]
KINDS = {"x": pa.float64(), "age": pa.float64(), "grade": pa.string(), "sick": pa.int64(), "flag": pa.int64()}


def as_csv(rows, path, _):
    names = list(TYPICAL[0])
    lines = [",".join("" if r[n] is None else quoted(str(r[n])) for n in names) for r in rows]
    path.write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")


def as_json(rows, path, _):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


def as_sqlite(rows, path, _):
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"CREATE TABLE people ({', '.join(TYPICAL[0])})")
        within = [[float(v) if v in (2**63, -(2**63)) else v for v in r.values()] for r in rows]
        file.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", within)


def fitted(rows) -> pa.Table:
    """As a typed table has them; what does not fit a type is not there."""
    columns = {name: [row[name] for row in rows] for name in TYPICAL[0]}
    return pa.table(
        {
            n: pa.array([_fit(v, KINDS.get(n)) for v in vs], KINDS.get(n, pa.string()))
            for n, vs in columns.items()
        }
    )


def _fit(value, kind):
    wanted = {pa.float64(): (int, float), pa.int64(): (int,), pa.string(): (str,), None: (str,)}[kind]
    if not isinstance(value, wanted) or isinstance(value, bool):
        return None
    return float(value) if kind == pa.float64() else value


def as_parquet(rows, path, _):
    pq.write_table(fitted(rows), path)


def in_duckdb(rows, path, _):
    with duckdb.connect(str(path)) as file:
        file.register("given", fitted(rows))
        file.execute("CREATE TABLE people AS SELECT * FROM given")
    return connected(f"duckdb://{path.name}", "people", path.parent)


def in_postgres(rows, path, server):
    name, table = f"neighbours{next(_names)}", fitted(rows)
    with psycopg.connect(server().url(), autocommit=True) as db:
        kinds = ", ".join(f"{f.name} {POSTGRES[str(f.type)]}" for f in table.schema)
        db.execute(f"CREATE TABLE {name} ({kinds})")
        with db.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
    return connected(server().url(), f"public.{name}", Path())


def in_spark(rows, path, _):
    pq.write_table(fitted(rows), path)
    return connected("pyspark://local[2]", path.name, path.parent)


READERS = [
    *(pytest.param(k, as_csv if k == "csv" else as_json, id=k) for k in ("csv", "jsonl", "json")),
    pytest.param("db", as_sqlite, id="sqlite"),
    pytest.param("parquet", as_parquet, id="parquet"),
    pytest.param("duckdb", in_duckdb, id="duckdb"),
    pytest.param("", in_postgres, id="postgres", marks=pytest.mark.services),
    pytest.param("parquet", in_spark, id="spark", marks=pytest.mark.services),
]


def test_every_mechanism_is_asked():
    assert set(MECHANISMS) == set(registry.names("undeleted.curate.mechanisms"))


@pytest.mark.parametrize(("suffix", "write"), READERS)
def test_one_person_more_in_a_file_moves_no_total_further_than_the_noise_is_made_for(
    suffix, write, tmp_path, request, monkeypatch
):
    def totals(rows, number):
        path = tmp_path / f"people{number}.{suffix}"
        table = write(rows, path, lambda: request.getfixturevalue("server"))
        if table is None:
            return Arrays(files.read(str(path), PEOPLE))
        engine = Ibis(PEOPLE, table)
        request.addfinalizer(engine.close)
        return engine

    before = totals(TYPICAL, "")
    linear = [m.statistic for m in MECHANISMS.values() if isinstance(m, Linear)]
    grown = [MECHANISMS["grown-range-counts"], MECHANISMS["grown-boxes"]]
    told = {statistic: before.total(statistic) for statistic in linear}
    asked = []
    ask = type(before).total_at
    monkeypatch.setattr(
        type(before), "total_at", lambda self, *what: (asked.append(what), ask(self, *what))[1]
    )
    for mechanism in grown:
        mechanism.release(before, seeded("neighbours"))
    monkeypatch.undo()
    assert len({type(statistic) for statistic, _ in asked}) == 2
    for number, odd in enumerate(ODD):
        after = totals([*TYPICAL, {"id": "odd", **odd}], number)
        for statistic in linear:
            moved = after.total(statistic) - told[statistic]
            for start, block in zip(statistic.starts, statistic.blocks, strict=True):
                part = moved[start : start + block.width].astype(float)
                assert np.abs(part).sum() <= block.sensitivity.l1, (statistic, odd)
                assert np.linalg.norm(part) <= block.sensitivity.l2 * (1 + 1e-12), (statistic, odd)
        for statistic, cells in asked:
            moved = after.total_at(statistic, cells) - before.total_at(statistic, cells)
            assert np.abs(moved).sum() <= statistic.l1, (statistic, odd)
        assert len(Counter(after.posts(NOTE)) - Counter(before.posts(NOTE))) <= 1
        assert not Counter(before.posts(NOTE)) - Counter(after.posts(NOTE))


# -- files in which one row or the place of the file did harm


def test_a_long_quoted_text_looks_like_rows_in_the_middle_of_a_file(tmp_path, monkeypatch):
    """Readers that start in the middle, several at once, took it for rows, and the file was refused."""
    monkeypatch.setattr(files, "_LONGEST", 1 << 20)  # where a reader would start
    like_rows = b"q99999999,8,hhhhhhhhhhhhhhhh\n" * 2000
    rows = [b"p%08d,7,hhhhhhhhhhhhhhhhhhhhhhhhhhhhhh\n" % i for i in range(200_000)]
    for i in range(100):
        rows[2000 * i] = b'odd%d,9,"%b"\n' % (i, like_rows)
    path = tmp_path / "people.csv"
    path.write_bytes(b"id,age,note\n" + b"".join(rows))
    table = files.read(str(path), Schema([AGE], id="id"))
    assert table.rows == 200_000
    assert np.bincount(table.codes["age"])[[7, 9]].tolist() == [199_900, 100]


def test_the_name_of_a_folder_is_no_column(tmp_path):
    (tmp_path / "age=7").mkdir()
    pq.write_table(pa.table({"id": ["a", "b"], "age": [1, 2]}), tmp_path / "age=7" / "p.parquet")
    (tmp_path / "age=7" / "p.csv").write_text("id,age\na,1\nb,2\n")
    for kind in ("parquet", "csv"):
        found = files.read(str(tmp_path / "age=7" / f"p.{kind}"), Schema([AGE], id="id"))
        assert found.codes["age"].tolist() == [1, 2]


def test_types_that_a_reader_could_widen_or_move(tmp_path, monkeypatch):
    """A float of 16 bits, and a moment read on a machine in another zone."""
    tenths = Number("x", min=0, max=1, step="0.1", off_grid="drop")
    nine = Category("t", values=("2020-01-01 09:00:00+00:00",), unknown="drop")
    moment = pa.array([datetime(2020, 1, 1, 9)], pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    half = pa.array([np.float16(0.1)], pa.float16())
    pq.write_table(pa.table({"id": ["a"], "x": half, "t": moment}), tmp_path / "p.parquet")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    found = files.read(str(tmp_path / "p.parquet"), Schema([tenths, nine], id="id"))
    assert (found.codes["x"].tolist(), found.kept["t"].tolist()) == ([1], [True])


@pytest.mark.parametrize(
    ("kind", "one", "other", "expected"),
    [
        ("HUGEINT", "7", str(2**127 - 1), [7, 120]),
        ("UHUGEINT", "7", str(2 * 10**38), [7, 120]),
        ("DATE", "'2020-01-01'", "'infinity'", []),
        ("TIMESTAMPTZ", "'2020-01-01'", "'infinity'", []),
    ],
)
def test_values_that_only_a_database_has(tmp_path, kind, one, other, expected):
    with duckdb.connect(str(tmp_path / "w.duckdb")) as file:
        file.execute(f"CREATE TABLE people AS SELECT 'a' AS id, {one}::{kind} AS age")
        file.execute(f"INSERT INTO people VALUES ('b', {other}::{kind})")
    table = connected("duckdb://w.duckdb", "people", tmp_path)
    engine = Ibis(Schema([AGE], id="id"), table)
    [block] = engine.blocks()
    assert sorted(block.codes["age"][block.kept["age"]].tolist()) == expected
    assert engine.total(Count((AGE,))).tolist() == [len(expected)]
    ibis.get_backend(table).disconnect()


def test_sqlite_is_read_as_a_file(tmp_path):
    """Its columns have no types: a database that adds them up would take a text for a number."""
    with pytest.raises(BadConnection, match=r"(?s)columns without types.*source ="):
        connected("sqlite://people.db", "people", tmp_path)


QUOTED = Schema(
    [Number("age", min=0, max=120), Category("city", values=("Rome", 'a "b"', "c,d", "e\nf"))], id="pid"
)


@pytest.mark.parametrize(
    ("lines", "bad"),
    [
        (["p0,20,Rome", 'p1,20,"Rome', "p2,21,Rome"], 3),
        (['"p0",20,Rome', 'p1,20,"Rome', "p2,21,Rome"], 3),
        (['p0,20,"c,d"', 'p1,20,"a ""b""', "p2,21,Rome"], 3),
        (
            ['p0,20,"e\nf"', 'p"1,20,Rome', 'p2,21,"Rome'],
            5,
        ),  # two quotes: one inside a word, one never closed
        (["p0,20,Rome", 'p1,20,"'], 3),
    ],
)
def test_a_quote_that_is_never_closed_loses_nobody(lines, bad, tmp_path):
    """DuckDB leaves out everything from such a quote on, silently; we refuse the file, with the line."""
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["pid,age,city", *lines]) + "\n", encoding="utf-8")
    with pytest.raises(BadFile, match=f"line {bad} opens a quote that is never closed"):
        files.read(str(path), QUOTED)


def test_quotes_that_are_closed_are_read(tmp_path, monkeypatch):
    path = tmp_path / "people.csv"
    path.write_text('pid,age,city\n"p""0",20,"a ""b"""\np1,21,"c,d"\np2,22,"e\nf"\n', encoding="utf-8")
    monkeypatch.setattr(files, "ROWS", 2)
    table = files.read(str(path), QUOTED)
    assert (table.ids, table.codes["city"].tolist()) == (['p"0', "p1", "p2"], [1, 2, 3])


def test_a_value_that_is_refused_is_named_by_its_line_in_the_file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('pid,age,city\np0,20,"e\nf"\n\np1,21,Rome\np2,999,Rome\n', encoding="utf-8")
    with pytest.raises(RejectedValue, match="line 6") as refused:
        files.read(str(path), QUOTED)
    assert (refused.value.row, refused.value.line) == (2, 6)
