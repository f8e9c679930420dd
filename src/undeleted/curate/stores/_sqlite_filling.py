"""Write everything that a new SQLite store holds, in one transaction; and the marks of its chunks."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from undeleted.curate.stores._bucket_table import BucketTable, randomise
from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import Contents, require_cap
from undeleted.curate.stores._held_back import NONCE
from undeleted.curate.stores._mark_tree import HEADS, filled
from undeleted.curate.stores._pieces import pieces_of
from undeleted.curate.stores._sealed import MARK, chunk_mark, seal, state_mark
from undeleted.curate.stores._store import CHUNK
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.types import Given

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL,
    held INTEGER NOT NULL, due REAL NOT NULL, enough INTEGER NOT NULL, mark BLOB NOT NULL
);
CREATE TABLE held (chunk INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE shapes (publication INTEGER PRIMARY KEY, shape BLOB NOT NULL);
CREATE TABLE cells (chunk INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""


def fill(db: sqlite3.Connection, contents: Contents, key: bytes) -> None:
    """Write everything a new store holds, in one transaction."""
    db.executescript("BEGIN;" + SCHEMA)
    if contents.spent is not None:
        return _fill_without_records(db, contents, contents.spent, key)
    slots = np.concatenate(list(contents.slots()))
    people, slots = BucketTable.filled(db, "people", slots, key, together=contents.together)
    if contents.most is not None and len(slots) > contents.most:
        tags = slots[:, :TAG]
        require_cap(int((tags[contents.most :] == tags[: -contents.most]).all(axis=1).sum()), contents.most)
    pieces, _ = BucketTable.filled(db, "pieces", pieces_of(key, contents.posts()), key)
    db.executemany("INSERT INTO shapes VALUES (?, ?)", enumerate(contents.shapes))
    chunks = fill_cells(db, key, 0, contents.cells)
    if contents.held:
        fill_held(db, key, range(chunks), dict(contents.held))
    meta = contents.meta() | people.meta | pieces.meta
    meta["seal"] = seal(key, meta, contents.shapes)
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    state = contents.state.as_tuple()
    db.execute("INSERT INTO state VALUES (1, ?, ?, ?, ?, ?)", (*state, state_mark(key, state)))
    db.execute("COMMIT")


def _fill_without_records(
    db: sqlite3.Connection, contents: Contents, spent: Sequence[bytes], key: bytes
) -> None:
    """Write a store that keeps spent-bits or tags, and no records; if it grows, with a place to wait in."""
    create_bits(db)
    slots = np.concatenate(list(contents.slots()))  # people get their receipts
    trees: dict[str, list[bytes]] = {}
    people: dict[str, str] = {}
    if contents.room:
        room = {"room_for": contents.room, "together": contents.together}
        waiting, _ = BucketTable.filled(db, "people", slots, key, **room)
        people, trees["people"] = waiting.meta, waiting.marks()
    db.executemany("INSERT INTO shapes VALUES (?, ?)", enumerate(contents.shapes))
    chunks = fill_cells(db, key, 0, contents.cells)
    if contents.held:
        fill_held(db, key, range(chunks), dict(contents.held))
    for table in ("cells", "held"):
        rows = db.execute(f"SELECT data FROM {table} ORDER BY chunk")
        trees[table] = [bytes(data[-MARK:]) for (data,) in rows]
    trees["spent"] = [chunk_mark(key, "spent", number, data) for number, data in enumerate(spent)]
    put_blobs(db, "spent", {n: data + trees["spent"][n] for n, data in enumerate(spent)})
    marks = filled(key, trees, contents.used)
    put_blobs(db, "marks", marks)
    meta = contents.meta() | people
    meta["seal"] = seal(key, meta, contents.shapes)
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    state = contents.state.as_tuple()
    db.execute(
        "INSERT INTO state VALUES (1, ?, ?, ?, ?, ?)",
        (*state, state_mark(key, state, marks[HEADS] + meta["seal"].encode())),
    )
    db.execute("COMMIT")


def create_bits(db: sqlite3.Connection) -> None:
    """The tables of a store without records."""
    for table in WITH_BITS:
        db.execute(f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, data BLOB NOT NULL)")


def put_blobs(db: sqlite3.Connection, table: str, blobs: Mapping[int, bytes], *, dummy: bool = False) -> None:
    """Write spent-bits or pages of marks; SQLite skips what does not change, unless that is `dummy` work."""
    if dummy:
        randomise(db, table, "number", blobs)
    upsert = f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET data = excluded.data"
    db.executemany(upsert, sorted(blobs.items()))


def blobs_of(db: sqlite3.Connection, table: str, numbers: Iterable[int]) -> dict[int, bytes]:
    """Spent-bits or pages of marks, by number; one that is missing is left out."""
    query = f"SELECT number, data FROM {table} WHERE number = ?"
    return {n: data for number in numbers for n, data in db.execute(query, (int(number),))}


def fill_cells(db: sqlite3.Connection, key: bytes, chunk: int, publications: Sequence[IntArray]) -> int:
    """Insert the cells of publications, from this chunk on; return the number of the next chunk."""
    for cells in publications:
        for start in range(0, cells.size, CHUNK):
            part = np.zeros(CHUNK, dtype="<i8")
            part[: cells[start : start + CHUNK].size] = cells[start : start + CHUNK]
            data = marked(key, "cells", chunk, part.tobytes())
            db.execute("INSERT INTO cells VALUES (?, ?)", (chunk, data))
            chunk += 1
    return chunk


def fill_held(db: sqlite3.Connection, key: bytes, chunks: range, held: dict[int, bytes]) -> None:
    """Insert all chunks at once and in order: SQLite never moves one, and its presence reveals nothing."""
    empty = bytes(NONCE + 8 * CHUNK)
    written = ((c, marked(key, "held", c, held.get(c, empty))) for c in chunks)
    db.executemany("INSERT INTO held VALUES (?, ?)", written)


def marked(key: bytes, table: str, chunk: int, data: bytes) -> bytes:
    """The bytes of a chunk with its mark."""
    return data + chunk_mark(key, table, chunk, data)


def is_marked(key: bytes, table: str, chunk: Given, data: Given) -> bool:
    """Return whether a chunk is unaltered."""
    size = 8 * CHUNK + (NONCE if table == "held" else 0)
    well_formed = isinstance(chunk, int) and isinstance(data, bytes) and len(data) == size + MARK
    return well_formed and data[-MARK:] == chunk_mark(key, table, chunk, data[:-MARK])


ALWAYS, WITH_RECORDS, WITH_BITS = (
    ("meta", "state", "held", "shapes", "cells"),
    ("people", "pieces"),
    ("spent", "marks"),
)


def foreign(db: sqlite3.Connection, tables: Iterable[str]) -> list[str]:
    """Problems with foreign objects in the file: a trigger could undo a deletion, or record who left."""
    ours = {("table", name) for name in tables}
    items = {tuple(row) for row in db.execute("SELECT type, name FROM sqlite_master")}
    if {(kind, name) for kind, name in items if (kind, name[:17]) != ("index", "sqlite_autoindex_")} == ours:
        return []
    return ["it has tables, triggers or views that are not the store's, or some of the store's are missing"]
