"""Read a table from a file onto the grid, a block of rows at a time: CSV, Parquet, JSON or SQLite.

Only the columns of the schema and the id are read.  Values are read as they are written: CSV has only texts,
JSON and SQLite give each value its own type, Parquet declares the types of its columns.  No type is guessed
from the values, so no row changes how another is read.  Codes use as few bytes as the grid allows.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import numpy as np

from undeleted.errors import BadColumns, BadFile, RejectedValue, UndeletedError
from undeleted.foundations.schema import Schema, Table, as_text
from undeleted.foundations.schema.first_row import FIRST, FirstRow
from undeleted.foundations.schema.incoming import listed
from undeleted.foundations.schema.values import Written, is_missing
from undeleted.foundations.types import Given, Json

ROWS = 1 << 17  # rows of a block
_CSV = """read_csv(?, delim = '{delimiter}', header = true, quote = '"', escape = '"', comment = '', skip = 0,
    null_padding = false, ignore_errors = false, strict_mode = true, auto_detect = false,
    parallel = false, max_line_size = {longest}, buffer_size = {buffer}, hive_partitioning = false,
    columns = {columns})"""
_GUESSED = """read_csv(?, delim = '{delimiter}', header = true, quote = '"', escape = '"', comment = '',
    hive_partitioning = false)"""
_PARQUET = "read_parquet(?, hive_partitioning = false)"
_LONGEST = 1 << 24  # bytes of a row of a CSV
DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON = (".json", ".jsonl", ".ndjson")
SQLITE = (".db", ".sqlite", ".sqlite3")
KINDS = (*DELIMITERS, ".parquet", *JSON, *SQLITE)
_INSPECTED = 1000  # rows of JSON whose names are read for a draft


def read(source: str, schema: Schema) -> Table:
    """The whole table, on the grid."""
    return joined(schema, [small(block) for block in blocks(source, schema)], source)


def columns_of(source: str) -> dict[str, str]:
    """The names of a file's columns and declared types; CSV and JSON declare none.  No value is read."""
    kind = _kind(source)
    if kind == ".parquet":
        return _described(source, _PARQUET)
    if kind in SQLITE:
        return _sqlite_kinds(source)
    if kind in JSON:
        names: dict[str, str] = {}
        for row in islice(_rows(source, kind), _INSPECTED):
            names |= dict.fromkeys(row, "")
        if not names:
            raise BadFile(source, "has no rows.", "Give a file with at least one row.")
        return names
    return dict.fromkeys(_header(source, DELIMITERS[kind]), "")


def first_rows(source: str, most: int) -> dict[str, list[Given]]:
    """The values of every column in the first rows, as they are written."""
    names, values = list(columns_of(source)), dict[str, list[Given]]()
    for batch in _read_columns(source, names):
        for name in names:
            values.setdefault(name, []).extend(listed(batch[name])[: most - len(values.get(name, []))])
        if len(values[names[0]]) >= most:
            break
    return values or {name: [] for name in names}


def ids_of(source: str, column: str) -> Iterator[str]:
    """The ids in a column of a table, as they are written.

    A row without one is an error, before any id is given: nobody who asked to leave is skipped silently.
    """
    nameless = sum(sum(map(is_missing, listed(batch[column]))) for batch in _read_columns(source, [column]))
    if nameless:
        rows = "row has" if nameless == 1 else "rows have"
        raise BadFile(source, f"{nameless:,} {rows} no {column}.", "Give them their ids, or remove them.")
    for batch in _read_columns(source, [column]):
        yield from map(as_text, listed(batch[column]))


def _read_columns(source: str, wanted: list[str]) -> Iterator[Mapping[str, Given]]:
    """The wanted columns, a block at a time; an error names the line, and nothing that is in it."""
    batches = iter(_columns(source, wanted))
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except UndeletedError:
            raise
        except Exception as error:  # of an engine, in the middle of a file
            raise _unreadable(source, error) from None
        yield batch


def blocks(source: str, schema: Schema) -> Iterator[Table]:
    """Blocks of rows on the grid, not capped yet; row numbers in errors count from the first of the file."""
    wanted = [*schema.names, *([schema.id] if schema.id is not None else [])]
    return in_blocks(source, _columns(source, wanted), schema)


def _columns(source: str, wanted: list[str]) -> Iterator[Mapping[str, Given]]:
    """The wanted columns, a block at a time, as they are written."""
    kind = _kind(source)
    if kind in JSON or kind in SQLITE:
        if kind in SQLITE:
            _require(source, wanted, _sqlite_names(source))
        rows = _rows(source, kind)  # a JSON object may lack a key: then its value is missing
        while block := list(islice(rows, ROWS)):
            yield {name: [row.get(name) for row in block] for name in wanted}
        return
    if kind == ".parquet":
        yield from _parquet(source, wanted)
        return
    present = list(_header(source, DELIMITERS[kind], wanted))
    _require(source, wanted, present)
    require_closed_quotes(source, DELIMITERS[kind])
    columns = "{" + ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in present) + "}"
    relation = _CSV.format(
        delimiter=DELIMITERS[kind], columns=columns, longest=_LONGEST, buffer=2 * _LONGEST
    )  # sequentially: readers that start in the middle mistake quoted lines for rows
    names = ", ".join(_quoted(name) for name in wanted)
    import duckdb

    with closing(duckdb.connect(config={"threads": 2})) as connection:
        query = f"SELECT {names} FROM {relation}"
        for batch in _ask(source, connection, query, [source]).to_arrow_reader(ROWS):
            yield {name: batch.column(i) for i, name in enumerate(wanted)}


def _parquet(source: str, wanted: list[str]) -> Iterator[Mapping[str, Given]]:
    """Read Parquet with Arrow, which has every type that Parquet declares."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source) as file:
            _require(source, wanted, file.schema_arrow.names)
            for batch in file.iter_batches(ROWS, columns=wanted):
                yield {name: batch.column(name) for name in wanted}
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(source, error) from None


def in_blocks(source: str, batches: Iterable[Mapping[str, Given]], schema: Schema) -> Iterator[Table]:
    """Blocks of columns on the grid, not capped yet; row numbers in errors count from the first block."""
    before, batches, seen = 0, iter(batches), set[str]()
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except UndeletedError:
            raise
        except Exception as error:  # an engine's error in the middle of a table
            raise _unreadable(source, error) from None
        try:
            table = schema.table(batch, cap=False)
        except RejectedValue as error:
            row = None if error.row is None else before + error.row
            raise RejectedValue(
                error.column, error.rule, row, error.count, error.remedy, _line_of(source, row)
            ) from None
        if FIRST.name in table.codes:
            table.codes[FIRST.name] = FirstRow.of(table.ids, table.rows, seen)
        yield table
        before += table.rows


def _require(source: str, wanted: Iterable[str], present: Iterable[str]) -> None:
    lacking = [name for name in wanted if name not in present]
    if lacking:
        listed = list(present)
        other = next((c for c in ";\t|" if len(listed) == 1 and c in listed[0]), "")
        hint = f" Its separator seems to be {other!r}: save it with commas." if other else ""
        if len(lacking) == len(set(wanted)) and Path(source).suffix.lower() in DELIMITERS:
            near = _alike(lacking, listed, alike=1.0)  # other names may be somebody's values
            remedy = f"{near}Its first line must name its columns.{hint}"
        else:
            remedy = f"{_alike(lacking, listed)}It has {', '.join(listed)}.{hint}"
        raise BadColumns(lacking, f"not in {source}.", remedy)


def _alike(lacking: Sequence[str], present: Sequence[str], alike: float = 0.6) -> str:
    """A hint at names that differ in little: in capitals, in blanks, in a letter."""
    plain = {name.strip().lower(): name for name in present}
    near = {n: plain[m[0]] for n in lacking if (m := get_close_matches(n.strip().lower(), plain, 1, alike))}
    return "".join(f"Did you mean {there!r} for {name!r}? " for name, there in near.items())


def _kind(source: str) -> str:
    path = Path(source)
    if not path.exists():
        raise BadFile(source, "cannot be read (no such file).", "Check its path.")
    kind = path.suffix.lower()
    if kind not in KINDS:
        problem = f"is not of a kind that can be read ({kind or 'no suffix'})."
        raise BadFile(source, problem, f"Kinds: {', '.join(KINDS)}.")
    if any(sign in source for sign in "*?["):
        raise BadFile(source, "has *, ? or [ in its path, which would match several files.", "Rename it.")
    return kind


def _header(source: str, delimiter: str, wanted: Sequence[str] = ()) -> dict[str, None]:
    """The names in the first line of a CSV; a repeated name gets a number, as in DuckDB.

    A wanted name that is repeated is refused: nobody knows which of the columns is meant.
    """
    try:
        with open(source, encoding="utf-8-sig", newline="") as file:
            written = next(csv.reader(file, delimiter=delimiter, strict=True), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(source, error) from None
    twice = [name for name in wanted if written.count(name) > 1]
    if twice:
        raise BadColumns(twice, f"named several times in {source}.", "Rename all but one of them.")
    names: dict[str, None] = {}
    for i, name in enumerate(written):
        name = name or f"column{i}"
        taken = sum(other == name or other.startswith(f"{name}_") for other in names) if name in names else 0
        names[f"{name}_{taken}" if taken else name] = None
    if not names:
        raise BadFile(source, "is empty.", "Give a file whose first line names the columns.")
    if any("\0" in name for name in names):
        raise BadFile(source, "is not UTF-8 text (it seems to be UTF-16).", "Save the file as UTF-8.")
    return names


def _rows(source: str, kind: str) -> Iterator[Json]:
    """The rows of a file in which every value has its own type."""
    return _sqlite_rows(source) if kind in SQLITE else _json_rows(source)


def _json_rows(source: str) -> Iterator[Json]:
    """Objects on separate lines, or one list of objects, or one object after another."""
    decoder = json.JSONDecoder(parse_float=Written, parse_int=Written)
    at = 0
    try:
        with open(source, encoding="utf-8-sig") as file:
            by_line = not source.lower().endswith(".json")
            lines = (decoder.decode(text) for text in file if text.strip())
            for row in lines if by_line else _json_values(decoder, file.read()):
                at += 1
                if not isinstance(row, dict):
                    raise ValueError("not an object")
                yield row
    except UnicodeDecodeError as error:
        raise _unreadable(source, error) from None
    except (OSError, ValueError, RecursionError):
        raise BadFile(source, f"object {at} or the next cannot be read.", "Correct the file.") from None


def _json_values(decoder: json.JSONDecoder, text: str) -> Iterator[Given]:
    """The members of a list, or values that are written one after another."""
    at, end = 0, len(text)
    while (at := _after_blanks(text, at)) < end:
        value, at = decoder.raw_decode(text, at)
        yield from value if isinstance(value, list) else [value]


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _sqlite_rows(source: str) -> Iterator[Json]:
    """The rows of the one table of an SQLite file."""
    with _sqlite_cursor(source) as (names, cursor):
        yield from (dict(zip(names, row, strict=True)) for row in cursor)


def _sqlite_names(source: str) -> list[str]:
    with _sqlite_cursor(source) as (names, _):
        return names


@contextmanager
def _sqlite_cursor(source: str) -> Iterator[tuple[list[str], Iterable[Given]]]:
    """The names and the rows of the one table of an SQLite file, through Python's own SQLite."""
    import sqlite3

    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    with closing(sqlite3.connect(f"file:{quote(source)}?mode=ro", uri=True)) as file:
        try:
            tables = [row[0] for row in file.execute(query)]
        except sqlite3.DatabaseError:
            raise BadFile(source, "is not an SQLite file.", "Check its path.") from None
        if len(tables) != 1:
            raise BadFile(source, f"has {len(tables)} tables.", "Give a file with one table.")
        try:
            cursor = file.execute(f"SELECT * FROM {_quoted(tables[0])}")
            yield [description[0] for description in cursor.description], cursor
        except sqlite3.Error as error:
            raise _unreadable(source, error) from None


def _sqlite_kinds(source: str) -> dict[str, str]:
    """The declared types of an SQLite table's columns, by DuckDB's names for them; they bind nobody."""
    import sqlite3

    names = _sqlite_names(source)
    with closing(sqlite3.connect(f"file:{quote(source)}?mode=ro", uri=True)) as file:
        [table] = [
            name
            for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith("sqlite_")
        ]
        declared = {row[1]: row[2].upper() for row in file.execute(f"PRAGMA table_info({_quoted(table)})")}
    known = {"INT": "BIGINT", "BOOL": "BOOLEAN", "DATE": "DATE", "REAL": "DOUBLE", "FLOA": "DOUBLE"}
    known |= {"DOUB": "DOUBLE", "NUME": "DOUBLE", "DECI": "DOUBLE", "CHAR": "VARCHAR", "TEXT": "VARCHAR"}
    return {n: next((k for part, k in known.items() if part in declared.get(n, "")), "") for n in names}


def _described(source: str, relation: str) -> dict[str, str]:
    import duckdb

    with closing(duckdb.connect(config={"threads": 2})) as connection:
        described = _ask(source, connection, f"DESCRIBE SELECT * FROM {relation}", [source]).fetchall()
    return {str(row[0]): str(row[1]) for row in described}


def _ask(source: str, connection: Given, query: str, arguments: list[str]) -> Given:
    import duckdb

    try:
        return connection.sql(query, params=arguments)
    except duckdb.Error as error:
        raise _unreadable(source, error) from None


def _unreadable(source: str, error: Exception) -> BadFile:
    """The error that says which line cannot be read, but never what is in it."""
    if source.endswith(".parquet"):
        return BadFile(source, "is not a Parquet file, or it is damaged.", "Write the file again.")
    wrong = _not_utf8(source)
    if wrong is not None:
        return BadFile(source, f"is not UTF-8 text (line {wrong}).", "Save the file as UTF-8.")
    if Path(source).suffix.lower() in DELIMITERS and (known := _misshapen(source)) is not None:
        return known
    line = re.search(r"[Ll]ine:? (\d+)", str(error))
    where = f"line {line[1]} cannot be read" if line else "it cannot be read"
    return BadFile(source, f"{where}.", "Every row must have the same columns; correct the file.")


def _misshapen(source: str) -> BadFile | None:
    """What is wrong with the shape of a CSV file, with the first such line; None if nothing is found."""
    endings, odd = "", 0
    with open(source, "rb") as file:
        for number, line in enumerate(file, start=1):
            ending = "\\r\\n" if line.endswith(b"\r\n") else "\\n" if line.endswith(b"\n") else endings
            endings = endings or ending
            if ending != endings:
                odd = number
                break
    if odd:
        problem = f"line {odd} ends with {ending}, and the lines before it with {endings}."
        return BadFile(source, problem, "Save the file with one kind of line endings.")
    with open(source, encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = csv.reader(file, delimiter=DELIMITERS[Path(source).suffix.lower()], strict=True)
        columns = start = 0
        try:
            for record in reader:
                if record and not columns:
                    columns = len(record)
                if record and len(record) != columns:
                    problem = f"line {start + 1} has {len(record)} values, and the first line {columns}."
                    remedy = "Every row must have the same columns; a value with a separator needs quotes."
                    return BadFile(source, problem, remedy)
                start = reader.line_num
        except csv.Error as error:
            if "expected after" in str(error):
                problem = f"line {start + 1} has text behind a closing quote."
                return BadFile(source, problem, 'Write "" for a quote inside a value.')
    return None


def _not_utf8(source: str) -> int | None:
    """The first line of a text file that is not UTF-8; None if all lines are, or if it is no text file."""
    if not source.endswith((*DELIMITERS, *JSON)):
        return None
    try:
        with open(source, "rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return number
    except OSError:
        pass
    return None


def require_closed_quotes(source: str, delimiter: str) -> None:
    """Refuse a CSV file with a quote that is never closed.

    DuckDB leaves out everything from such a quote on, without a word: people would be missing.  A file
    whose quotes are plainly in pairs is not parsed for this.
    """
    quotes, stray, tail = 0, False, b"\n"
    plain = b'[^\r\n"' + re.escape(delimiter.encode()) + b"]"  # beside a quote that opens or closes nothing
    odd = re.compile(plain + b'"' + plain)
    with open(source, "rb") as file:
        while chunk := file.read(1 << 22):
            found = chunk.count(b'"')
            quotes += found
            stray = stray or (found > 0 and odd.search(tail + chunk) is not None)
            tail = chunk[-2:]
    if quotes % 2 == 0 and not stray:
        return
    with open(source, encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        before = csv.field_size_limit(_LONGEST)
        line = 0
        try:
            for _ in reader:
                line = reader.line_num
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                problem = f"line {line + 1} opens a quote that is never closed."
                raise BadFile(source, problem, 'Close it, or write "" for a quote inside a value.') from None
        finally:
            csv.field_size_limit(before)


def _line_of(source: str, row: int | None) -> int | None:
    """The line of a CSV file on which a record begins; records may span several lines."""
    kind = Path(source).suffix.lower()
    if row is None or kind not in DELIMITERS:
        return None
    with open(source, encoding="utf-8-sig", newline="", errors="replace") as file:
        reader = csv.reader(file, delimiter=DELIMITERS[kind])
        before = start = 0
        for record in reader:  # the header, and the records before; empty lines are none
            if record and before > row:
                break
            before, start = before + bool(record), reader.line_num
        return start + 1


def joined(schema: Schema, parts: list[Table], source: str = "") -> Table:
    """Join blocks into one table, and apply the cap on a person's rows; errors name the source's line."""
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
    if FIRST.name in table.codes:  # a person may be in several parts
        table.codes[FIRST.name] = FirstRow.of(ids, table.rows)
    try:
        return schema.capped(table)
    except RejectedValue as error:
        line = _line_of(source, error.row)
        raise RejectedValue(error.column, error.rule, error.row, error.count, error.remedy, line) from None


def small(table: Table) -> Table:
    """Store a table's codes in as few bytes as their grid needs."""
    by_name = {column.name: column for column in table.schema.columns}
    for name in table.codes:
        cells = getattr(by_name[name], "cells", 0)
        kind = next((k for k in (np.uint8, np.uint16, np.uint32) if cells <= np.iinfo(k).max + 1), None)
        if kind is not None:
            table.codes[name] = table.codes[name].astype(kind)
    return table


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def rows(source: str, most: int, seed: int = 7) -> list[Json]:
    """At most `most` complete rows for an audit, drawn at random, with types guessed by DuckDB."""
    import duckdb

    kind = _kind(source)
    if kind in JSON or kind in SQLITE:
        all_rows = list(_rows(source, kind))
        chosen = np.random.default_rng(seed).permutation(len(all_rows))[:most]
        kept = [{name: _simple(value) for name, value in all_rows[i].items()} for i in sorted(chosen)]
    else:
        relation = _PARQUET if kind == ".parquet" else _GUESSED.format(delimiter=DELIMITERS[kind])
        query = f"SELECT * FROM {relation} USING SAMPLE reservoir({most} ROWS) REPEATABLE ({seed})"
        with closing(duckdb.connect(config={"threads": 2})) as connection:
            answer = _ask(source, connection, query, [source])
            try:
                names, sampled = list(answer.columns), answer.fetchall()
            except Exception as error:  # an error of DuckDB in the middle of a file
                raise _unreadable(source, error) from None
        kept = [dict(zip(names, map(_simple, row), strict=True)) for row in sampled]
    return [row for row in kept if all(v is not None and v == v for v in row.values())]


def _simple(value: Given) -> Given:
    """A value of a type that JSON has."""
    if isinstance(value, Written):
        return int(value) if value.lstrip("-").isdigit() else float(value)
    if value is None or isinstance(value, bool | int | float | str):
        return int(value) if isinstance(value, bool) else value
    return float(value) if hasattr(value, "as_tuple") else str(value)
