"""Read a table from a file onto the grid, a block of rows at a time: CSV, Parquet, JSON or SQLite, by DuckDB.

Only the columns of the schema and the id are read.  Codes are kept in as few bytes as the grid needs.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from undeleted.errors import BadColumns, BadFile, RejectedValue, UndeletedError
from undeleted.schema import Boolean, Category, Number, Schema, Table, Text

ROWS = 1 << 17  # rows of a block
# Nothing of a CSV is guessed but the types of numbers: a guess drops rows that look like comments.
_CSV = """, header = true, quote = '"', escape = '"', comment = '', skip = 0, null_padding = false,
    ignore_errors = false, strict_mode = true, types = TYPES)"""
READERS = {
    ".csv": "read_csv(?, delim = ','" + _CSV,
    ".tsv": "read_csv(?, delim = '\t'" + _CSV,
    ".parquet": "read_parquet(?)",
    ".json": "read_json(?)",
    ".jsonl": "read_json(?)",
    ".ndjson": "read_json(?)",
}
_WORDS = {
    "true": True,
    "t": True,
    "yes": True,
    "1": True,
    "false": False,
    "f": False,
    "no": False,
    "0": False,
}
SQLITE = (".db", ".sqlite", ".sqlite3")


def read(source: str, schema: Schema) -> Table:
    """The whole table, on the grid."""
    return joined(schema, [small(block) for block in blocks(source, schema)])


def columns_of(source: str) -> dict[str, str]:
    """The names and types of a file's columns; no value is looked at by us."""
    return _columns(source, *_relation(source))


def _columns(source: str, connection: Any, relation: str, arguments: list[str]) -> dict[str, str]:
    query = f"DESCRIBE SELECT * FROM {_typed(relation, {})}"
    described = _ask(source, connection, query, arguments).fetchall()
    return {str(row[0]): str(row[1]) for row in described}


def blocks(source: str, schema: Schema) -> Iterator[Table]:
    """Blocks of rows on the grid, not capped yet; row numbers in errors count from the first of the file."""
    wanted = [*schema.names, *([schema.id] if schema.id is not None else [])]
    texts = [c.name for c in schema.columns if not isinstance(c, Number)]
    connection, relation, arguments = _relation(source)
    present = _columns(source, connection, relation, arguments)
    as_texts = {name: "VARCHAR" for name in (*texts, schema.id) if name in present}
    relation = _typed(relation, as_texts)
    lacking = [name for name in wanted if name not in present]
    if lacking:
        raise BadColumns(lacking, f"not in {source}.", f"It has {', '.join(present)}.")
    names = ", ".join(_quoted(name) for name in schema.names)
    person = f", {_id(schema.id, present[schema.id])}" if schema.id is not None else ""
    chosen = _ask(source, connection, f"SELECT {names}{person} FROM {relation}", arguments)
    yield from in_blocks(source, chosen.to_arrow_reader(ROWS), schema)


def in_blocks(source: str, batches: Iterable[Any], schema: Schema) -> Iterator[Table]:
    """Arrow batches on the grid, not capped yet; row numbers in errors count from the first of them."""
    before, batches = 0, iter(batches)
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except UndeletedError:
            raise
        except Exception as error:  # what an engine meets in the middle of a table
            raise _unreadable(source, error) from None
        try:
            columns = {name: _values(batch.column(name), schema, name) for name in batch.schema.names}
        except (ValueError, TypeError, NotImplementedError) as error:  # what Arrow says holds values
            raise _unreadable(source, error) from None
        try:
            yield schema.table(columns, cap=False)
        except RejectedValue as error:
            row = None if error.row is None else before + error.row
            raise RejectedValue(error.column, error.rule, row, error.count, error.remedy) from None
        before += batch.num_rows


def _values(array: Any, schema: Schema, name: str) -> Any:
    """A column of a block as numpy or a list, as fast as its type allows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = next((c for c in schema.columns if c.name == name), None)
    match column:
        case Category() if not pa.types.is_floating(array.type):
            texts = pc.cast(array, pa.string())
            codes = pc.index_in(texts, pa.array(column.values))
            known = pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)
            if (known >= 0).all():
                return np.asarray(column.values, dtype=object)[known]
            return texts.to_pylist()
        case Number() if array.null_count == 0 and (
            pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
        ):
            return array.to_numpy(zero_copy_only=False)
        case Number() if pa.types.is_floating(array.type):
            return array.to_numpy(zero_copy_only=False)
        case Number() if pa.types.is_decimal(array.type) and array.type.scale == 0:
            return [None if number is None else int(number) for number in array.to_pylist()]
        case Boolean() if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            return [_WORDS.get(word.strip().lower(), word) if word else None for word in array.to_pylist()]
        case Boolean() | Number() | Text() | Category():
            return array.to_pylist()
    return array.to_pylist()


def _relation(source: str) -> tuple[Any, str, list[str]]:
    import duckdb

    path = Path(source)
    if not path.exists():
        raise BadFile(source, "cannot be read (no such file).", "Check its path.")
    connection = duckdb.connect(config={"threads": 2})
    suffix = path.suffix.lower()
    if suffix in SQLITE:
        return connection, *_sqlite_table(connection, source)
    if suffix not in READERS:
        known = ", ".join((*READERS, *SQLITE))
        raise BadFile(
            source, f"is of no kind that can be read ({suffix or 'no suffix'}).", f"Kinds: {known}."
        )
    if any(sign in source for sign in "*?["):
        raise BadFile(source, "has *, ? or [ in its path, which would name several files.", "Rename it.")
    return connection, READERS[suffix], [source]


def _sqlite_table(connection: Any, source: str) -> tuple[str, list[str]]:
    """The one table of an SQLite file, loaded through Python's own SQLite: no extension is fetched."""
    import sqlite3

    import pyarrow as pa

    with sqlite3.connect(f"file:{quote(source)}?mode=ro", uri=True) as file:
        try:
            query = (
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
            )
            tables = [row[0] for row in file.execute(query)]
        except sqlite3.DatabaseError:
            raise BadFile(source, "is not an SQLite file.", "Check its path.") from None
        if len(tables) != 1:
            raise BadFile(source, f"has {len(tables)} tables.", "Give a file with one table.")
        cursor = file.execute(f"SELECT * FROM {_quoted(tables[0])}")
        names = [description[0] for description in cursor.description]
        rows = cursor.fetchall()
    try:
        loaded = pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})
    except pa.ArrowException:  # its message holds values
        raise BadFile(
            source, "has a column with values of several types.", "Give every column one type."
        ) from None
    connection.register("loaded", loaded)
    return "loaded", []


def _typed(relation: str, types: dict[str, str]) -> str:
    """A reader of CSV told which columns are texts, so that 007 and TRUE stay as they are written."""
    literal = ", ".join(f"'{name.replace(chr(39), chr(39) * 2)}': '{kind}'" for name, kind in types.items())
    return relation.replace(", types = TYPES", f", types = {{{literal}}}" if types else "")


def _id(name: str, kind: str) -> str:
    """An id as text; whole numbers are written alike whatever their type."""
    column = _quoted(name)
    if kind.split("(")[0] in ("DOUBLE", "FLOAT", "DECIMAL"):
        whole = f"CAST(CAST({column} AS HUGEINT) AS VARCHAR)"
        column = f"CASE WHEN {column} = floor({column}) THEN {whole} ELSE CAST({column} AS VARCHAR) END"
    return f"CAST({column} AS VARCHAR) AS {_quoted(name)}"


def _ask(source: str, connection: Any, query: str, arguments: list[str]) -> Any:
    import duckdb

    try:
        return connection.sql(query, params=arguments)
    except duckdb.Error as error:
        raise _unreadable(source, error) from None


def _unreadable(source: str, error: Exception) -> BadFile:
    """What went wrong and where; never what stands there."""
    line = re.search(r"[Ll]ine:? (\d+)", str(error))
    where = f"line {line[1]} cannot be read" if line else "it cannot be read"
    return BadFile(
        source, f"{where}.", "Every row must have the same columns, each of one type; correct the file."
    )


def joined(schema: Schema, parts: list[Table]) -> Table:
    """Blocks as one table, with the cap on the rows of a person."""
    if not parts:
        return schema.table({name: [] for name in (*schema.names, schema.id) if name is not None})
    first = parts[0]
    ids = None if first.ids is None else [person for part in parts for person in part.ids or ()]
    table = Table(
        schema,
        sum(part.rows for part in parts),
        {name: np.concatenate([p.codes[name] for p in parts]) for name in first.codes},
        {name: np.concatenate([p.kept[name] for p in parts]) for name in first.kept},
        {name: [text for p in parts for text in p.texts[name]] for name in first.texts},
        ids,
    )
    return schema.capped(table)


def small(table: Table) -> Table:
    """The same codes in as few bytes as their grid needs."""
    by_name = {column.name: column for column in table.schema.columns}
    for name in table.codes:
        cells = getattr(by_name[name], "cells", 0)
        kind = next((k for k in (np.uint8, np.uint16, np.uint32) if cells <= np.iinfo(k).max + 1), None)
        if kind is not None:
            table.codes[name] = table.codes[name].astype(kind)
    return table


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def rows(source: str, most: int, seed: int = 7) -> list[dict[str, Any]]:
    """Complete rows as they are, at most so many of them, drawn at random."""
    connection, relation, arguments = _relation(source)
    chosen = f"SELECT * FROM {_typed(relation, {})} USING SAMPLE reservoir({most} ROWS) REPEATABLE ({seed})"
    answer = _ask(source, connection, chosen, arguments)
    try:
        found = answer.fetchall()
    except Exception as error:  # what DuckDB meets in the middle of a file
        raise _unreadable(source, error) from None
    names = list(answer.columns)
    kept = (dict(zip(names, map(_simple, row), strict=True)) for row in found)
    return [row for row in kept if all(v is not None and v == v for v in row.values())]


def _simple(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return int(value) if isinstance(value, bool) else value
    return float(value) if hasattr(value, "as_tuple") else str(value)
