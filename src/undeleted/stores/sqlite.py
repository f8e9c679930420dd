"""One SQLite file: the current state, each record's packed codes, and nothing of those who left.

    state      version, format
    meta       what is published and how: schema, mechanisms, budget, the keyed digest of the noise
    cells      every publication's cells in chunks of one page: a deletion writes the chunks of its own cells
    buckets    packed records by the hash of their tag, a page a bucket
    posts      the bulletin boards' posts
    held       deletions that are held back, summed and masked

Rows are only ever overwritten with as many bytes, so SQLite never moves a live record and no stale copy stays
behind; the write-ahead log is truncated by `erase`.  The key lies in a file of its own beside the store.
"""

import hmac
import json
import os
import sqlite3
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from undeleted.arrays import IntArray
from undeleted.errors import BadFile, StoreError, UndeletedError, UnknownName
from undeleted.schema import Schema, Table
from undeleted.stores._cells import Keeper
from undeleted.stores._described import build
from undeleted.stores._filling import CHUNK, FORMAT, Publishing, digest, fill, needed, seal, unpadded
from undeleted.stores._held import NONCE, masked, unmasked
from undeleted.stores._place import (
    clear,
    connect,
    move,
    publisher,
    read_key,
    refuse_what_is_there,
    sync,
    write_key,
    wrong,
)
from undeleted.stores._records import Records, tag_of

__all__ = ["CHUNK", "MEMORY", "Deleted", "Fold", "Publishing", "SqliteStore"]

FEW = 64  # rows up to which a deletion is worked out in plain numbers instead of arrays
MEMORY = ":memory:"
DAMAGED = "Restore the store and its key from the same backup."
Moved: TypeAlias = dict[int, dict[int, int]]  # by chunk: cells, and by how much they fall


@dataclass(frozen=True)
class Deleted:
    """What a request did: people deleted, ids that are not there (or no longer), and the version after it."""

    deleted: int
    unknown: int
    version: int
    held: int = 0  # people whose deletion is held back, to be folded in with others


@dataclass(frozen=True)
class Fold:
    """Hold deletions back until so many people have left, or the first of them so many seconds ago."""

    people: int
    after: float


class SqliteStore:
    """A store that is open."""

    def __init__(self, path: str, connection: sqlite3.Connection, key: bytes) -> None:
        self.path, self._db, self._key = path, connection, key
        self._lock = threading.RLock()  # one connection, one transaction: threads take turns
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        self.schema: Schema = build(json.loads(meta["schema"]))
        self.mechanisms: dict[str, Any] = {
            name: build(described) for name, described in json.loads(meta["mechanisms"]).items()
        }
        self.facts: dict[str, Any] = json.loads(meta["facts"])
        self._digest, self._buckets = meta["digest"], int(meta["buckets"])
        shapes = dict(connection.execute("SELECT publication, shape FROM shapes"))
        self._keepers = [Keeper(m, shapes.get(i, b"")) for i, m in enumerate(self.mechanisms.values())]
        self._sizes: list[int] = json.loads(meta["sizes"])
        self._chunks = np.cumsum([0, *(-(-size // CHUNK) for size in self._sizes)]).tolist()
        self._records = Records(self.schema, needed(self.schema, self.mechanisms))

    # -- life and death of the file

    @classmethod
    def create(cls, path: str, publishing: Publishing) -> "SqliteStore":
        """Write a store beside its place, make it durable, and move it there: it is there or it is not."""
        if path == MEMORY:
            connection, key = connect(MEMORY), os.urandom(32)
            fill(connection, publishing, key)
            return cls(path, connection, key)
        path = os.path.realpath(path)
        with publisher(path):
            refuse_what_is_there(path)
            unfinished, new_key = Path(f"{path}.unfinished"), Path(f"{path}.key.unfinished")
            try:
                key = write_key(new_key)
                os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                connection = connect(str(unfinished))
                fill(connection, publishing, key)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.close()
                sync(unfinished)
                sync(new_key)
                os.replace(new_key, f"{path}.key")
                move(unfinished, path)
                sync(Path(path).parent)
            except (sqlite3.Error, OSError) as error:
                clear(path)
                raise wrong(path, error) from None
        return cls.open(path)

    @classmethod
    def open(cls, path: str) -> "SqliteStore":
        """Open a store; what an earlier process deleted and had no time to erase is erased now."""
        if not Path(path).is_file():
            raise StoreError(
                f"there is no store at {path}.", "Publish first, or name the store with --store."
            )
        path = os.path.realpath(path)  # the log and the key lie beside the file itself
        key = read_key(path)
        try:
            connection = connect(path)
            found = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('format', 'tag')"))
        except sqlite3.DatabaseError as error:
            raise wrong(path, error) from None
        if found.get("format") != str(FORMAT):
            connection.close()
            problem = f"has format {found.get('format', 'unknown')}; this program reads {FORMAT}."
            raise BadFile(
                path, problem, "Open it with the version of undeleted that wrote it, or a newer one."
            )
        if not hmac.compare_digest(found.get("tag", ""), tag_of(key, "").hex()):
            connection.close()
            raise StoreError(
                f"{path}.key is not the key of this store.", "Restore the key file that was made with it."
            )
        try:
            store = cls(path, connection, key)
        except (KeyError, ValueError, TypeError, AttributeError, sqlite3.Error, UndeletedError):
            connection.close()
            raise StoreError(f"{path} is damaged: what it says of itself cannot be read.", DAMAGED) from None
        store.fold()
        store.erase()
        return store

    def close(self) -> None:
        self.erase()
        self._db.close()

    # -- what is published

    @property
    def version(self) -> int:
        with self._lock:
            [(version,)] = self._db.execute("SELECT version FROM state")
        return int(version)

    @property
    def held(self) -> int:
        """How many people's deletions are held back."""
        with self._lock:
            [(held,)] = self._db.execute("SELECT held FROM state")
        return int(held)

    def release(self, name: str) -> tuple[Any, int]:
        """A publication's release as it stands, and its version: one consistent view."""
        if name not in self.mechanisms:
            raise UnknownName("publications", name, tuple(self.mechanisms))
        number = list(self.mechanisms).index(name)
        with self._transaction("DEFERRED"):
            cells, posts, version = self._cells(number), self._posts(number), self.version
        return self._keepers[number].release(cells, posts), version

    # -- deleting

    def delete(self, people: Sequence[str], fold: Fold | None = None) -> Deleted:
        """Forget these people in one transaction: durable when this returns, exactly once, all or nothing.

        With `fold` their records go at once, and what they contributed is held back until enough have left.
        """
        with self._transaction("IMMEDIATE"):
            taken, deleted = self._take(dict.fromkeys(people))
            if deleted:
                moved = self._moved(taken)
                if fold is None:
                    self._subtract(moved)
                    self._db.execute("UPDATE state SET version = version + 1")
                else:
                    self._hold(moved, deleted, fold)
            self._fold_what_is_due()
            version, held = self._db.execute("SELECT version, held FROM state").fetchone()
        return Deleted(deleted, len(people) - deleted, version, held)

    def fold(self) -> None:
        """Subtract what is held back, if it is time."""
        [(held, due)] = self._db.execute("SELECT held, due FROM state")
        if held and due <= time.time():
            with self._transaction("IMMEDIATE"):
                self._fold_what_is_due()

    def erase(self) -> bool:
        """Leave no copy in the write-ahead log; False if a reader or the disk holds it up."""
        if self.path == MEMORY:
            return True
        try:
            with self._lock:
                busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:  # no room, or no right to write: what is deleted stays deleted
            return False
        return not busy

    @property
    def erasure_pending(self) -> bool:
        log = Path(f"{self.path}-wal")
        return self.path != MEMORY and log.exists() and log.stat().st_size > 0

    def _take(self, people: Iterable[str]) -> tuple[list[bytes], int]:
        """Take the rows of these people out of their buckets; and how many of them were there."""
        slot, rows, there = self._records.slot, [], 0
        buckets: dict[int, bytes] = {}
        tags = [tag_of(self._key, person) for person in people]
        placed = sorted((int.from_bytes(tag[:8], "little") % self._buckets, tag) for tag in tags)
        for number, tag in placed:  # in the order of the file
            data = buckets.get(number)
            if data is None:
                found = self._db.execute("SELECT data FROM buckets WHERE bucket = ?", (number,)).fetchone()
                data = found[0] if found else b""
            at = _find(data, tag, slot)
            if at < 0:
                continue
            there += 1
            while at >= 0:
                rows.append(data[at + 16 : at + slot])
                data = data[:at] + data[at + slot :] + bytes(slot)
                at = _find(data, tag, slot)
            buckets[number] = data
        self._db.executemany(
            "UPDATE buckets SET data = ? WHERE bucket = ?", ((d, n) for n, d in buckets.items())
        )
        return rows, there

    def _moved(self, rows: list[bytes]) -> Moved:
        """By how much the cells of every publication fall, chunk by chunk; posts come down here and now."""
        chunks: Moved = {}
        if len(rows) <= FEW:
            for row in rows:
                codes, counts = self._records.scalars(row)
                for keeper, first in zip(self._keepers, self._chunks, strict=False):
                    for cell, value in keeper.moved_by_one(codes, counts):
                        into = chunks.setdefault(first + cell // CHUNK, {})
                        into[cell % CHUNK] = into.get(cell % CHUNK, 0) + value
            posts = [p for row in rows for p in self._records.unpack(row)[1]] if self._has_posts else []
        else:
            table, posts = self._records.unpack(b"".join(rows))
            for keeper, first in zip(self._keepers, self._chunks, strict=False):
                cells, values = keeper.moved(table)
                for cell, value in zip(cells.tolist(), values.tolist(), strict=True):
                    chunks.setdefault(first + cell // CHUNK, {})[cell % CHUNK] = value
        self._db.executemany(
            "UPDATE posts SET data = zeroblob(length(data)) WHERE post = ?", ((post,) for post in posts)
        )
        return chunks

    def _subtract(self, chunks: Moved) -> None:
        for chunk, moved in chunks.items():
            [(data,)] = self._db.execute("SELECT data FROM cells WHERE chunk = ?", (chunk,))
            after = bytearray(data)
            for cell, value in moved.items():
                [before] = struct.unpack_from("<q", after, 8 * cell)
                struct.pack_into("<q", after, 8 * cell, before - value)
            self._db.execute("UPDATE cells SET data = ? WHERE chunk = ?", (bytes(after), chunk))

    def _hold(self, chunks: Moved, people: int, fold: Fold) -> None:
        """Add to what is held back; the first who is held back sets the time by which all are folded."""
        [(rows,)] = self._db.execute("SELECT count(*) FROM held")
        if not rows:  # all chunks at once and in order, so that SQLite never moves one
            empty = bytes(NONCE + 8 * CHUNK)
            self._db.executemany(
                "INSERT INTO held VALUES (?, ?)", ((c, empty) for c in range(self._chunks[-1]))
            )
        for chunk, moved in chunks.items():
            [(data,)] = self._db.execute("SELECT data FROM held WHERE chunk = ?", (chunk,))
            cells = unmasked(self._key, chunk, data)
            for cell, value in moved.items():
                cells[cell] += value
            self._db.execute(
                "UPDATE held SET data = ? WHERE chunk = ?", (masked(self._key, chunk, cells), chunk)
            )
        self._db.execute(
            "UPDATE state SET held = held + ?, due = CASE WHEN held THEN min(due, ?) ELSE ? END, enough = ?",
            (people, time.time() + fold.after, time.time() + fold.after, fold.people),
        )

    def _fold_what_is_due(self) -> None:
        """Inside a transaction: subtract all that is held back, if enough have left or it is time."""
        held, due, enough = self._db.execute("SELECT held, due, enough FROM state").fetchone()
        if not held or (held < enough and due > time.time()):
            return
        for chunk, data in self._db.execute("SELECT chunk, data FROM held").fetchall():
            cells = unmasked(self._key, chunk, data)
            where = np.flatnonzero(cells)
            if where.size:
                self._subtract({chunk: dict(zip(where.tolist(), cells[where].tolist(), strict=True))})
                self._db.execute("UPDATE held SET data = zeroblob(length(data)) WHERE chunk = ?", (chunk,))
        self._db.execute("UPDATE state SET held = 0, version = version + 1")

    def _held(self, number: int) -> IntArray:
        """What is held back of one publication."""
        total = np.zeros(self._sizes[number], dtype=np.int64)
        chosen = (self._chunks[number], self._chunks[number + 1])
        for chunk, data in self._db.execute(
            "SELECT chunk, data FROM held WHERE chunk >= ? AND chunk < ?", chosen
        ):
            start = (chunk - chosen[0]) * CHUNK
            part = total[start : start + CHUNK]
            part += unmasked(self._key, chunk, data)[: part.size]
        return total

    @property
    def _has_posts(self) -> bool:
        return any(keeper.board for keeper in self._keepers)

    # -- checking

    def check(self) -> list[str]:
        """What is not as it should be: nothing, in a store that is whole."""
        problems = [row[0] for row in self._db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        with self._transaction("DEFERRED"):
            exact = [np.zeros(size, dtype=np.int64) for size in self._sizes]
            posts: list[int] = []
            for table, numbers in self._tables():
                posts += numbers
                for total, keeper in zip(exact, self._keepers, strict=True):
                    cells, values = keeper.moved(table)
                    np.add.at(total, cells, values)
            noise = [self._cells(i) - total - self._held(i) for i, total in enumerate(exact)]
            standing = [p for p, data in self._db.execute("SELECT post, data FROM posts") if any(data)]
        if not hmac.compare_digest(digest(self._key, noise), self._digest):
            problems.append(
                "the noise is not what was drawn: a deletion was lost or counted twice, or cells were altered"
            )
        meta = dict(self._db.execute("SELECT key, value FROM meta"))
        shapes = [shape for (shape,) in self._db.execute("SELECT shape FROM shapes ORDER BY publication")]
        if not hmac.compare_digest(seal(self._key, meta, shapes), meta.get("seal", "")):
            problems.append("what the store says of its publications and its budget was altered")
        problems += self._misplaced()
        if sorted(posts) != sorted(standing):
            problems.append("the posts on the board are not those of the people who are there")
        return problems

    def _misplaced(self) -> list[str]:
        """Records that nobody would find: in another bucket than their tag says, or behind a gap."""
        slot = self._records.slot
        for bucket, data in self._db.execute("SELECT bucket, data FROM buckets"):
            tags = [data[at : at + 16] for at in range(0, len(data), slot)]
            there = [tag for tag in tags if any(tag)]
            right = all(int.from_bytes(tag[:8], "little") % self._buckets == bucket for tag in there)
            if not right or tags[: len(there)] != there:
                return ["a record lies where a deletion would not look for it"]
        return []

    def _tables(self) -> Iterator[tuple[Table, list[int]]]:
        """The records that are there, some thousands at a time."""
        slot, rows = self._records.slot, []
        for (data,) in self._db.execute("SELECT data FROM buckets"):
            for at in range(0, len(data), slot):
                if not any(data[at : at + 16]):
                    break
                rows.append(data[at + 16 : at + slot])
            if len(rows) > 1 << 16:
                yield self._records.unpack(b"".join(rows))
                rows = []
        yield self._records.unpack(b"".join(rows))

    # -- below

    def _cells(self, number: int) -> IntArray:
        chosen = self._db.execute(
            "SELECT data FROM cells WHERE chunk >= ? AND chunk < ? ORDER BY chunk",
            (self._chunks[number], self._chunks[number + 1]),
        )
        whole = np.frombuffer(b"".join(data for (data,) in chosen), dtype="<i8")
        return whole[: self._sizes[number]].astype(np.int64)

    def _posts(self, number: int) -> tuple[str, ...]:
        chosen = self._db.execute("SELECT data FROM posts WHERE publication = ?", (number,))
        return tuple(sorted(unpadded(data) for (data,) in chosen if any(data)))

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        """All of it, or none; a full disk or a read-only file leaves the store as it was."""
        with self._lock:
            try:
                self._db.execute(f"BEGIN {kind}")
            except sqlite3.Error as error:
                raise wrong(self.path, error) from None
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise wrong(self.path, error) from None
                raise


def _find(data: bytes, tag: bytes, slot: int) -> int:
    """Where a tag begins a slot; −1 if nowhere."""
    at = data.find(tag)
    while at >= 0 and at % slot:
        at = data.find(tag, at + 1)
    return at
