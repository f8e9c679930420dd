"""Write everything that a new SQLite store holds, in one transaction; and the marks of its chunks."""

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple

import numpy as np

from undeleted.curate.stores._bucket_table import BucketTable
from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import Contents, require_cap
from undeleted.curate.stores._held_back import NONCE
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
    state = astuple(contents.state)
    db.execute("INSERT INTO state VALUES (1, ?, ?, ?, ?, ?)", (*state, state_mark(key, *state)))
    db.execute("COMMIT")


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


def foreign(db: sqlite3.Connection) -> list[str]:
    """Problems with foreign objects in the file: a trigger could undo a deletion, or record who left."""
    ours = {("table", name) for name in ("meta", "state", "held", "shapes", "cells", "people", "pieces")}
    items = {tuple(row) for row in db.execute("SELECT type, name FROM sqlite_master")}
    if {(kind, name) for kind, name in items if (kind, name[:17]) != ("index", "sqlite_autoindex_")} == ours:
        return []
    return ["it has tables, triggers or views that are not the store's, or some of the store's are missing"]
