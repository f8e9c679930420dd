"""What a new store is filled with: posts, records in buckets, cells in chunks, and what never changes."""

import json
import random
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from undeleted.arrays import IntArray
from undeleted.schema import Schema, Table
from undeleted.stores._cells import Keeper, to_cells
from undeleted.stores._described import describe
from undeleted.stores._records import Records, tag_of

FORMAT = 1
CHUNK = 480  # cells of a chunk: with its header it fits a page of 4096 bytes
FULL = 3000  # bytes of a bucket on average, of the 4000 or so that a page holds
POST = 64  # posts are padded to a multiple of so many bytes
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL,
    held INTEGER NOT NULL, due REAL NOT NULL, enough INTEGER NOT NULL
);
CREATE TABLE held (chunk INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE shapes (publication INTEGER PRIMARY KEY, shape BLOB NOT NULL);
CREATE TABLE cells (chunk INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE buckets (bucket INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE posts (post INTEGER PRIMARY KEY, publication INTEGER NOT NULL, data BLOB NOT NULL);
"""


@dataclass(frozen=True)
class Publishing:
    """Everything that a store is made of, at the moment of publication."""

    schema: Schema
    mechanisms: Mapping[str, Any]
    releases: Mapping[str, Any]
    table: Table
    facts: Mapping[str, Any]  # the budget, what was spent, the spec


def fill(db: sqlite3.Connection, publishing: Publishing, key: bytes) -> None:
    """Everything a new store holds, in one transaction."""
    mechanisms = publishing.mechanisms
    packed = {name: to_cells(m, publishing.releases[name]) for name, m in mechanisms.items()}
    keepers = [Keeper(m, packed[name][1]) for name, m in mechanisms.items()]
    columns = needed(publishing.schema, mechanisms)
    records = Records(publishing.schema, columns)
    db.executescript("BEGIN;" + _SCHEMA)
    posts = _fill_posts(db, publishing, keepers)
    buckets = _fill_buckets(db, records, publishing.table, posts, key)
    noise, chunk = [], 0
    for number, ((cells, shape), keeper) in enumerate(zip(packed.values(), keepers, strict=True)):
        db.execute("INSERT INTO shapes VALUES (?, ?)", (number, shape))
        for start in range(0, cells.size, CHUNK):
            part = np.zeros(CHUNK, dtype="<i8")
            part[: cells[start : start + CHUNK].size] = cells[start : start + CHUNK]
            db.execute("INSERT INTO cells VALUES (?, ?)", (chunk, part.tobytes()))
            chunk += 1
        exact = np.zeros(cells.size, dtype=np.int64)
        for rows in _blocks(publishing.table):
            where, values = keeper.moved(rows)
            np.add.at(exact, where, values)
        noise.append(cells - exact)
    meta = {
        "format": str(FORMAT),
        "tag": tag_of(key, "").hex(),
        "schema": json.dumps(describe(publishing.schema)),
        "mechanisms": json.dumps({name: describe(m) for name, m in mechanisms.items()}),
        "facts": json.dumps(publishing.facts),
        "sizes": json.dumps([cells.size for cells, _ in packed.values()]),
        "buckets": str(buckets),
        "digest": digest(key, noise),
    }
    meta["seal"] = seal(key, meta, [shape for _, shape in packed.values()])
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    db.execute("INSERT INTO state VALUES (1, 1, 0, 0.0, 0)")
    db.execute("COMMIT")


def _fill_posts(
    db: sqlite3.Connection, publishing: Publishing, keepers: list[Keeper]
) -> dict[str, list[int]]:
    """The posts of every board, and their numbers by column and row; numbers are drawn, not counted."""
    numbers: dict[str, list[int]] = {}
    rows: list[tuple[int, int, bytes]] = []
    boards = [(i, keeper.mechanism.column.name) for i, keeper in enumerate(keepers) if keeper.board]
    there = {name: int(publishing.table.kept[name].sum()) for _, name in boards}
    drawn = iter(random.SystemRandom().sample(range(1, sum(there.values()) + 1), sum(there.values())))
    for board, name in boards:
        kept = publishing.table.kept[name]
        numbers[name] = [next(drawn) if keep else 0 for keep in kept]
        texts = zip(numbers[name], publishing.table.texts[name], strict=True)
        rows += [(post, board, padded(text)) for post, text in texts if post]
    db.executemany("INSERT INTO posts VALUES (?, ?, ?)", sorted(rows))
    return numbers


def _fill_buckets(
    db: sqlite3.Connection, records: Records, table: Table, posts: dict[str, list[int]], key: bytes
) -> int:
    """The records, sorted into buckets by their tags; how many buckets there are."""
    tags = np.frombuffer(b"".join(tag_of(key, person) for person in table.ids or ()), dtype=np.uint8).reshape(
        -1, 16
    )
    buckets = max(1, -(-table.rows * records.slot // FULL))
    where = np.ascontiguousarray(tags[:, :8]).view("<u8").ravel() % np.uint64(buckets)
    words = np.ascontiguousarray(tags).view(">u8").reshape(-1, 2)
    order = np.lexsort((words[:, 1], words[:, 0], where))
    slots = np.concatenate([tags, records.pack(table, posts)], axis=1)[order]
    ends = np.searchsorted(where[order], np.arange(buckets, dtype=np.uint64), side="right")
    start = 0
    for bucket, end in enumerate(ends.tolist()):
        db.execute("INSERT INTO buckets VALUES (?, ?)", (bucket, slots[start:end].tobytes()))
        start = end
    return buckets


def _blocks(table: Table) -> Iterator[Table]:
    for start in range(0, table.rows, 1 << 16):
        yield table.take(np.arange(start, min(table.rows, start + (1 << 16))))


def needed(schema: Schema, mechanisms: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns that something published uses, in the schema's order."""
    used: set[str] = set()
    for mechanism in mechanisms.values():
        if hasattr(mechanism, "statistic"):
            used |= set(mechanism.statistic.names)
        else:
            used.add(mechanism.column.name)
    return tuple(column for column in schema.columns if column.name in used)


def digest(key: bytes, noise: Sequence[IntArray]) -> str:
    digest = blake2b(key=key, person=b"undeleted-noise", digest_size=32)
    for cells in noise:
        digest.update(cells.astype("<i8").tobytes())
    return digest.hexdigest()


def seal(key: bytes, meta: Mapping[str, str], shapes: Sequence[bytes]) -> str:
    """A keyed digest of everything that never changes: what is published, how, and at what price."""
    digest = blake2b(key=key, person=b"undeleted-seal", digest_size=32)
    for part in [*(f"{k}={meta[k]}".encode() for k in sorted(meta) if k != "seal"), *shapes]:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def padded(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data) + 1) + data + bytes(-(len(data) + 4) % POST)


def unpadded(data: bytes) -> str:
    [length] = struct.unpack_from("<I", data)
    return data[4 : 3 + length].decode()
