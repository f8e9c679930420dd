"""Write everything that a new store in PostgreSQL holds, inside one transaction; bulk data with COPY."""

import struct
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import FORMAT, Contents, require_cap
from undeleted.curate.stores._held_back import NONCE
from undeleted.curate.stores._mark_tree import HEADS, filled
from undeleted.curate.stores._postgres_place import BITS, TABLES, Connection, Place
from undeleted.curate.stores._sealed import MARK, chunk_mark, record_mark, seal, state_mark
from undeleted.curate.stores._store import CHUNK
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.types import Given

COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_END = b"\xff\xff"
# Grant readers this function instead of the table: the table's rows carry the id of the transaction that
# wrote them, which reveals what left together.  A view would prevent `vacuum` from rewriting the table.
PUBLISHED = """CREATE FUNCTION {}.published(first bigint DEFAULT 0, before bigint DEFAULT 9223372036854775807)
    RETURNS TABLE (cell bigint, value bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
    AS 'SELECT cell, value FROM {}.cells WHERE cell >= $1 AND cell < $2 ORDER BY cell';
    REVOKE ALL ON FUNCTION {}.published(bigint, bigint) FROM PUBLIC"""
_KEYS = {"records": "tag", "posts": "post", "held": "chunk", "cells": "cell", "shapes": "publication"}


def fill(place: Place, db: Connection, contents: Contents, key: bytes) -> None:
    """Write everything a new store holds, inside a transaction; bulk data with COPY."""

    def run(query: str) -> None:
        db.execute(query.replace("{}", f'"{place.schema}"'))

    run("CREATE SCHEMA IF NOT EXISTS {}")
    _create_records(db, place, contents, key)
    tables = TABLES if contents.spent is None else TABLES | BITS
    for table, columns in tables.items():
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        run(f"CREATE TABLE IF NOT EXISTS {{}}.{table} ({listed})")
        for name in columns:  # the catalogue would keep sampled values after their rows are deleted
            run(f"ALTER TABLE {{}}.{table} ALTER COLUMN {name} SET NOT NULL")
            run(f"ALTER TABLE {{}}.{table} ALTER COLUMN {name} SET STATISTICS 0")
    run("ALTER TABLE {}.held ALTER COLUMN data SET STORAGE EXTERNAL")
    run("ALTER TABLE {}.cells SET (fillfactor = 50)")  # room to update a cell within its page
    run("ALTER TABLE {}.state SET (fillfactor = 10)")
    run(PUBLISHED)
    root = b""
    copy_in(db, place, "posts", "(post, publication, data)", _posts(contents))
    copy_in(db, place, "cells", "(cell, value)", numbered(contents.cells))
    for table, rows in (("shapes", list(enumerate(contents.shapes))), ("held", _held(contents))):
        with db.cursor() as cursor:
            cursor.executemany(f'INSERT INTO "{place.schema}".{table} VALUES (%s, %s)', rows)
    if contents.spent is not None:
        root = _fill_bits(db, place, contents, contents.spent, key)
    meta = contents.meta()
    meta["seal"] = seal(key, meta, contents.shapes)
    with db.cursor() as cursor:
        cursor.executemany(f'INSERT INTO "{place.schema}".meta VALUES (%s, %s)', list(meta.items()))
        state = contents.state
        covered = b"" if contents.spent is None else root + meta["seal"].encode()
        cursor.execute(
            f'INSERT INTO "{place.schema}".state VALUES (%s, %s, %s, %s, %s, 0, 0, %s)',
            (*state.as_tuple(), FORMAT, state_mark(key, state.as_tuple(), covered)),
        )
    keys = _KEYS if contents.spent is None else _KEYS | dict.fromkeys(BITS, "number")
    for table, column in (*keys.items(), ("meta", "key")):
        run(f"ALTER TABLE {{}}.{table} ADD PRIMARY KEY ({column})")


def _fill_bits(db: Connection, place: Place, contents: Contents, spent: list[bytes], key: bytes) -> bytes:
    """Write the spent-bits and the marks of all chunks; return their root."""
    held = dict(_held(contents))
    number, trees = 0, {"cells": list[bytes](), "held": list[bytes](), "spent": list[bytes]()}
    for cells in contents.cells:
        for start in range(0, cells.size, CHUNK):
            trees["cells"].append(cells_mark(key, number, cells[start : start + CHUNK]))
            number += 1
    if held:
        trees["held"] = [chunk_mark(key, "held", n, held[n]) for n in range(number)]
    trees["spent"] = [chunk_mark(key, "spent", n, data) for n, data in enumerate(spent)]
    copy_in(
        db, place, "spent", "(number, data)", _blobs({n: d + trees["spent"][n] for n, d in enumerate(spent)})
    )
    marks = filled(key, trees, contents.used)
    copy_in(db, place, "marks", "(number, data)", _blobs(marks))
    return marks[HEADS]


def create_bits(place: Place, db: Connection) -> None:
    """The tables of a store without records, in one that kept them."""
    for table, columns in BITS.items():
        listed = ", ".join(f"{name} {kind} NOT NULL" for name, kind in columns.items())
        db.execute(f'CREATE TABLE "{place.schema}".{table} ({listed}, PRIMARY KEY (number))')
        for name in columns:
            db.execute(f'ALTER TABLE "{place.schema}".{table} ALTER COLUMN {name} SET STATISTICS 0')


def _held(contents: Contents) -> list[tuple[int, bytes]]:
    """What is held back; where chunks have marks, all of them."""
    if contents.spent is None or not contents.held:
        return contents.held
    chunks, held = sum(-(-cells.size // CHUNK) for cells in contents.cells), dict(contents.held)
    return [(chunk, held.get(chunk, bytes(NONCE + 8 * CHUNK))) for chunk in range(chunks)]


def _blobs(blobs: Mapping[int, bytes]) -> Iterator[bytes]:
    for number, data in blobs.items():
        yield struct.pack(">hiqi", 2, 8, number, len(data)) + data


def cells_mark(key: bytes, chunk: int, cells: IntArray) -> bytes:
    """The mark of a chunk of cells; the last one of a publication is filled up with zeros."""
    return chunk_mark(key, "cells", chunk, cells.astype("<i8").tobytes().ljust(8 * CHUNK, b"\0"))


def _create_records(db: Connection, place: Place, contents: Contents, key: bytes) -> None:
    """Create the records in tag order, which reveals nothing of the source's order; a person's rows together.

    CREATE TABLE AS fills one page after the other.  INSERT would put a short record into the room that a
    longer one left on an earlier page.
    """
    db.execute("CREATE TEMPORARY TABLE incoming (tag bytea, data bytea) ON COMMIT DROP")
    with db.cursor().copy("COPY incoming FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(COPY_HEAD)
        for slots in contents.slots():
            copy.write(
                _marked(slots, key) if contents.together == 1 else _tuples(slots[:, :TAG], slots[:, TAG:])
            )
        copy.write(COPY_END)
    if contents.most is not None:  # checked again: rows may have been added since an engine counted them
        over = "SELECT count(*) FROM (SELECT FROM incoming GROUP BY tag HAVING count(*) > %s) AS people"
        [people] = db.execute(over, (contents.most,)).fetchone() or [0]
        require_cap(people, contents.most)
    if contents.together == 1:
        ordered = "SELECT tag, data FROM incoming ORDER BY tag"
    else:
        _put_together(db, key)
        ordered = (
            "SELECT tag, t.data || m.mark AS data FROM together AS t JOIN marks AS m USING (tag) ORDER BY tag"
        )
    db.execute(f'CREATE TABLE "{place.schema}".records AS {ordered}')


def _marked(slots: Given, key: bytes) -> bytes:
    """Records of one row each, with their marks."""
    tags, rows = slots[:, :TAG].tobytes(), slots[:, TAG:].tobytes()
    width = slots.shape[1] - TAG
    marks = (
        record_mark(key, tags[TAG * i : TAG * (i + 1)], rows[width * i : width * (i + 1)])
        for i in range(len(slots))
    )
    ends = np.frombuffer(b"".join(marks), dtype=np.uint8).reshape(-1, MARK)
    return _tuples(slots[:, :TAG], np.concatenate([slots[:, TAG:], ends], axis=1))


def _put_together(db: Connection, key: bytes) -> None:
    """Join the rows of each person in the database, and compute their marks here, thousands at a time."""
    together = "SELECT tag, string_agg(data, ''::bytea ORDER BY data) AS data FROM incoming GROUP BY tag"
    db.execute(f"CREATE TEMPORARY TABLE together ON COMMIT DROP AS {together}")
    db.execute("CREATE TEMPORARY TABLE marks (tag bytea, mark bytea) ON COMMIT DROP")
    with db.cursor(name="people", binary=True) as people:
        people.execute("SELECT tag, data FROM together")
        while part := people.fetchmany(20_000):
            with db.cursor().copy("COPY marks FROM STDIN") as copy:
                for tag, data in part:
                    copy.write_row((tag, record_mark(key, tag, data)))


def copy_in(db: Connection, place: Place, table: str, columns: str, rows: Iterable[bytes]) -> None:
    """Insert rows that are encoded for binary COPY."""
    command = f'COPY "{place.schema}".{table} {columns} FROM STDIN (FORMAT BINARY)'
    with db.cursor().copy(command) as copy:
        copy.write(COPY_HEAD)
        for data in rows:
            copy.write(data)
        copy.write(COPY_END)


def numbered(publications: Iterable[IntArray], first: int = 0) -> Iterator[bytes]:
    """The cells of publications with their numbers, encoded for COPY; every publication fills its chunks."""
    for cells in publications:
        for start in range(0, cells.size, 1 << 16):
            part = cells[start : start + (1 << 16)]
            numbers = np.arange(first + start, first + start + part.size)
            yield _tuples(_big(numbers), _big(part))
        first += CHUNK * -(-cells.size // CHUNK)


def encoded(people: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Tags and records, encoded for COPY."""
    for tag, data in people:
        yield struct.pack(">hi", 2, len(tag)) + tag + struct.pack(">i", len(data)) + data


def _posts(contents: Contents) -> Iterator[bytes]:
    for post, board, data in contents.posts():
        yield struct.pack(">hiqiii", 3, 8, post, 4, board, len(data)) + data


def _big(numbers: Given) -> Given:
    return numbers.astype(">i8").view(np.uint8).reshape(-1, 8)


def _tuples(*columns: Given) -> bytes:
    """Encode rows of fixed-width fields for binary COPY: the field count, then each length and field."""
    rows = len(columns[0])
    parts = [np.frombuffer(struct.pack(">h", len(columns)), dtype=np.uint8)]
    for column in columns:
        parts += [np.frombuffer(struct.pack(">i", column.shape[1]), dtype=np.uint8), column]
    widened = [np.broadcast_to(part, (rows, part.shape[-1])) for part in parts]
    return np.concatenate(widened, axis=1).tobytes()
