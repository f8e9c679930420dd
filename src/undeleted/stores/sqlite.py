"""One SQLite file, embedded: the default.

Cells lie in chunks of one page: a deletion writes the chunks of its own cells.  Records lie in buckets by the
hash of their tag, a page a bucket.  Rows are only ever overwritten with as many bytes, so SQLite never moves
a live record and no stale copy stays behind; the write-ahead log is truncated by `erase`.  The key lies in a
file of its own beside the store.
"""

import hmac
import os
import sqlite3
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from undeleted.arrays import IntArray
from undeleted.errors import BadFile, StoreError, UndeletedError
from undeleted.stores._contents import FORMAT, Contents, Post, Published, Publishing, State, require_cap
from undeleted.stores._held import NONCE
from undeleted.stores._migrations import migrate
from undeleted.stores._place import (
    BUSY,
    clear,
    connect,
    is_database,
    move,
    publisher,
    read_key,
    refuse_what_is_there,
    sync,
    write_key,
    wrong,
)
from undeleted.stores._records import tag_of
from undeleted.stores._sealed import seal
from undeleted.stores._store import CHUNK, DAMAGED, Moved, Store

MEMORY = ":memory:"
IN_PASSING = 1.0  # seconds that opening and closing wait for readers, to erase what is left
FULL = 3000  # bytes of a bucket on average, of the 4000 or so that a page holds
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


class SqliteStore(Store):
    """A store in a file, or in memory."""

    def __init__(self, path: str, connection: sqlite3.Connection, key: bytes) -> None:
        self.path, self._db = path, connection
        self._lock = threading.RLock()  # one connection, one transaction: threads take turns
        meta, shapes = self._read_meta()
        self._buckets = int(meta["buckets"])
        super().__init__(key, meta, shapes)

    # -- life and death of the file

    @classmethod
    def create(cls, path: str, publishing: Publishing) -> "SqliteStore":
        """Publish into a new file."""
        return cls.filled(path, lambda key: Published(publishing, key))

    @classmethod
    def filled(cls, path: str, contents: Any, key: bytes | None = None) -> "SqliteStore":
        """Write a store beside its place, make it durable, and move it there: it is there or it is not.

        `contents` is made with the store's key, which is new unless it is given.
        """
        if path == MEMORY:
            connection, key = connect(MEMORY), key or os.urandom(32)
            _fill(connection, contents(key), key)
            return cls(path, connection, key)
        path = os.path.realpath(path)
        with publisher(path):
            refuse_what_is_there(path)
            unfinished, new_key = Path(f"{path}.unfinished"), Path(f"{path}.key.unfinished")
            try:
                key = write_key(new_key, key)
                os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                connection = connect(str(unfinished))
                _fill(connection, contents(key), key)
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
            except BaseException:  # nothing half-made stays, least of all a key
                clear(path)
                raise
        return cls.open(path)

    @classmethod
    def open(cls, path: str) -> "SqliteStore":
        """Open a store; what an earlier process deleted and had no time to erase is erased now."""
        if Path(path).is_dir():
            raise StoreError(f"{path} is a folder.", "Name a file for the store.")
        if not Path(path).is_file():
            raise StoreError(f"there is no store at {path}.", "Publish first, or name another store.")
        if not is_database(path):
            raise StoreError(f"{path} is not a store.", "Name another file.")
        path = os.path.realpath(path)  # the log and the key lie beside the file itself
        key = read_key(path)
        try:
            connection = connect(path)
            found = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('format', 'tag')"))
        except sqlite3.DatabaseError as error:
            raise wrong(path, error) from None
        if not found.get("format", "").isdigit() or int(found["format"]) > FORMAT:
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
        if found["format"] != str(FORMAT):
            migrate(store)
        store.fold()
        store.erase(IN_PASSING)
        return store

    @staticmethod
    def there(path: str) -> bool:
        return Path(path).exists()

    @staticmethod
    def shown(path: str) -> str:
        return path

    @staticmethod
    def key_file(path: str) -> str:
        return f"{os.path.realpath(path)}.key"

    def close(self) -> None:
        self.erase(IN_PASSING)
        self._db.close()

    def erase(self, patience: float = 30.0) -> bool:
        """Leave no copy in the write-ahead log; False if a reader or the disk holds it up.

        While it waits for a reader, nobody can write: a service has little patience, and tries again.
        """
        if not self.erasure_pending:
            return True
        try:
            with self._lock:
                self._db.execute(f"PRAGMA busy_timeout = {round(1000 * patience)}")
                try:
                    busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                finally:
                    self._db.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY)}")
        except sqlite3.OperationalError:  # no room, or no right to write: what is deleted stays deleted
            return False
        return not busy

    @property
    def erasure_pending(self) -> bool:
        log = Path(f"{self.path}-wal")
        return self.path != MEMORY and log.exists() and log.stat().st_size > 0

    # -- transactions

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._transaction("DEFERRED"):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._transaction("IMMEDIATE"):
            yield

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

    # -- reading and writing

    def _state(self, *, write: bool = False) -> State:
        return State(*self._db.execute("SELECT version, held, due, enough FROM state").fetchone())

    def _write_state(self, state: State) -> None:
        self._db.execute("UPDATE state SET enough = ~enough")  # SQLite leaves out what was there before
        self._db.execute(
            "UPDATE state SET version = ?, held = ?, due = ?, enough = ?",
            (state.version, state.held, state.due, state.enough),
        )

    def _take(self, tags: Sequence[bytes], *, alike: bool) -> tuple[list[bytes], int, list[bytes]]:
        """For other tags the bucket in which theirs would be is written again."""
        slot, rows, others, there = self._records.slot, list[bytes](), list[bytes](), 0
        buckets: dict[int, bytes] = {}
        strangers = set[int]()
        placed = sorted((int.from_bytes(tag[:8], "little") % self._buckets, tag) for tag in tags)
        for number, tag in placed:  # in the order of the file
            data = buckets.get(number)
            if data is None:
                found = self._db.execute("SELECT data FROM buckets WHERE bucket = ?", (number,)).fetchone()
                data = found[0] if found else b""
            at = _find(data, tag, slot)
            if at < 0:
                if alike and data:
                    buckets[number] = data
                    strangers.add(number)
                    others.append(self._records.blank)
                continue
            there += 1
            while at >= 0:
                rows.append(data[at + 16 : at + slot])
                data = data[:at] + data[at + slot :] + bytes(slot)
                at = _find(data, tag, slot)
            buckets[number] = data
        self._soil("buckets", "bucket", strangers)
        self._db.executemany(
            "UPDATE buckets SET data = ? WHERE bucket = ?", ((d, n) for n, d in buckets.items())
        )
        return rows, there, others

    def _soil(self, table: str, key: str, numbers: Iterable[int]) -> None:
        """Have what will be written now written even if it is the same: SQLite would leave it out."""
        self._db.executemany(
            f"UPDATE {table} SET data = randomblob(length(data)) WHERE {key} = ?", ((n,) for n in numbers)
        )

    def _strike(self, posts: Sequence[int]) -> None:
        self._db.executemany(
            "UPDATE posts SET data = zeroblob(length(data)) WHERE post = ?", ((post,) for post in posts)
        )

    def _subtract(self, chunks: Moved) -> None:
        for chunk, moved in chunks.items():
            feigned = not any(moved.values())
            [(data,)] = self._db.execute("SELECT data FROM cells WHERE chunk = ?", (chunk,))
            after = bytearray(data)
            for cell, value in moved.items():
                [before] = struct.unpack_from("<q", after, 8 * cell)
                struct.pack_into("<q", after, 8 * cell, before - value)
            if feigned:
                self._soil("cells", "chunk", [chunk])
            self._db.execute("UPDATE cells SET data = ? WHERE chunk = ?", (bytes(after), chunk))

    def _read_cells(self, number: int) -> IntArray:
        chosen = self._db.execute(
            "SELECT data FROM cells WHERE chunk >= ? AND chunk < ? ORDER BY chunk",
            (self._chunks[number], self._chunks[number + 1]),
        )
        whole = np.frombuffer(b"".join(data for (data,) in chosen), dtype="<i8")
        return whole[: self._sizes[number]].astype(np.int64)

    def _read_posts(self, number: int | None = None) -> Iterator[Post]:
        chosen = self._db.execute(
            "SELECT post, publication, data FROM posts WHERE ?1 IS NULL OR publication = ?1", (number,)
        )
        return ((post, board, data) for post, board, data in chosen if any(data))

    def _read_held(self, chunks: Sequence[int]) -> dict[int, bytes]:
        if isinstance(chunks, range):
            within = (chunks.start, chunks.stop)
            found = self._db.execute("SELECT chunk, data FROM held WHERE chunk >= ? AND chunk < ?", within)
            return dict(found.fetchall())
        one = "SELECT chunk, data FROM held WHERE chunk = ?"
        return {n: data for chunk in chunks for n, data in self._db.execute(one, (chunk,))}

    def _write_held(self, held: Mapping[int, bytes]) -> None:
        [(rows,)] = self._db.execute("SELECT count(*) FROM held")
        if held and not rows:  # all chunks at once and in order, so that SQLite never moves one
            empty = bytes(NONCE + 8 * CHUNK)
            self._db.executemany(
                "INSERT INTO held VALUES (?, ?)", ((c, empty) for c in range(self._chunks[-1]))
            )
        self._soil("held", "chunk", (c for c, d in held.items() if not any(d)))
        self._db.executemany("UPDATE held SET data = ? WHERE chunk = ?", ((d, c) for c, d in held.items()))

    def _slots(self) -> Iterator[Any]:
        slot, parts, size = self._records.slot, list[Any](), 0
        for (data,) in self._db.execute("SELECT data FROM buckets"):
            slots = np.frombuffer(data, dtype=np.uint8).reshape(-1, slot)
            there = slots[:, :16].any(axis=1)
            parts.append(slots if there.all() else slots[: int(there.argmin())])
            size += len(parts[-1])
            if size > 1 << 16:
                yield np.concatenate(parts)
                parts, size = [], 0
        yield np.concatenate([np.zeros((0, slot), dtype=np.uint8), *parts])

    def _read_meta(self) -> tuple[dict[str, str], list[bytes]]:
        meta = dict(self._db.execute("SELECT key, value FROM meta"))
        return meta, [shape for (shape,) in self._db.execute("SELECT shape FROM shapes ORDER BY publication")]

    def _integrity(self) -> list[str]:
        problems = [row[0] for row in self._db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        return [*problems, *self._misplaced()]

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

    # -- migrations

    def _rewrite(self, meta: Mapping[str, str], posts: Iterable[Post]) -> None:
        """Inside a transaction: what a newer format says of the same store."""
        self._db.executemany("UPDATE posts SET data = ? WHERE post = ?", ((d, n) for n, _, d in posts))
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())


def _fill(db: sqlite3.Connection, contents: Contents, key: bytes) -> None:
    """Everything a new store holds, in one transaction."""
    db.executescript("BEGIN;" + _SCHEMA)
    buckets = _fill_buckets(db, contents)
    db.executemany("INSERT INTO posts VALUES (?, ?, ?)", contents.posts())
    db.executemany("INSERT INTO shapes VALUES (?, ?)", enumerate(contents.shapes))
    chunk = 0
    for cells in contents.cells:
        for start in range(0, cells.size, CHUNK):
            part = np.zeros(CHUNK, dtype="<i8")
            part[: cells[start : start + CHUNK].size] = cells[start : start + CHUNK]
            db.execute("INSERT INTO cells VALUES (?, ?)", (chunk, part.tobytes()))
            chunk += 1
    if contents.held:
        everything = dict.fromkeys(range(chunk), bytes(NONCE + 8 * CHUNK)) | dict(contents.held)
        db.executemany("INSERT INTO held VALUES (?, ?)", everything.items())
    meta = contents.meta() | {"buckets": str(buckets)}
    meta["seal"] = seal(key, meta, contents.shapes)
    db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    state = contents.state
    db.execute(
        "INSERT INTO state VALUES (1, ?, ?, ?, ?)", (state.version, state.held, state.due, state.enough)
    )
    db.execute("COMMIT")


def _fill_buckets(db: sqlite3.Connection, contents: Contents) -> int:
    """The records, sorted into buckets by their tags; how many buckets there are."""
    slots = np.concatenate(list(contents.slots()))
    buckets: int = max(1, -(-slots.size // FULL))
    where = np.ascontiguousarray(slots[:, :8]).view("<u8").ravel() % np.uint64(buckets)
    words = np.ascontiguousarray(slots[:, :16]).view(">u8").reshape(-1, 2)
    order = np.lexsort((words[:, 1], words[:, 0], where))
    slots = slots[order]
    if contents.most is not None and len(slots) > contents.most:
        words = words[order]
        over = (words[contents.most :] == words[: -contents.most]).all(axis=1)
        require_cap(int(over.sum()), contents.most)
    ends = np.searchsorted(where[order], np.arange(buckets, dtype=np.uint64), side="right")
    start = 0
    for bucket, end in enumerate(ends.tolist()):
        db.execute("INSERT INTO buckets VALUES (?, ?)", (bucket, slots[start:end].tobytes()))
        start = end
    return buckets


def _find(data: bytes, tag: bytes, slot: int) -> int:
    """Where a tag begins a slot; −1 if nowhere."""
    at = data.find(tag)
    while at >= 0 and at % slot:
        at = data.find(tag, at + 1)
    return at
