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

import fcntl
import hmac
import json
import os
import random
import sqlite3
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from undeleted.arrays import IntArray
from undeleted.errors import AlreadyThere, BadFile, StoreError, UndeletedError, UnknownName
from undeleted.schema import Schema, Table
from undeleted.stores._cells import Keeper, to_cells
from undeleted.stores._described import build, describe
from undeleted.stores._held import NONCE, masked, unmasked
from undeleted.stores._records import Records, tag_of

FORMAT = 1
CHUNK = 480  # cells of a chunk: with its header it fits a page of 4096 bytes
FULL = 3000  # bytes of a bucket on average, of the 4000 or so that a page holds
FEW = 64  # rows up to which a deletion is worked out in plain numbers instead of arrays
POST = 64  # posts are padded to a multiple of so many bytes
MEMORY = ":memory:"
DAMAGED = "Restore the store and its key from the same backup."
Moved: TypeAlias = dict[int, dict[int, int]]  # by chunk: cells, and by how much they fall
_PRAGMAS = (
    "secure_delete = ON",
    "journal_mode = WAL",
    "synchronous = FULL",
    "temp_store = MEMORY",
    "cache_size = -65536",  # a batch of thousands of deletions stays in memory until it commits
)
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


@dataclass(frozen=True)
class Publishing:
    """Everything that a store is made of, at the moment of publication."""

    schema: Schema
    mechanisms: Mapping[str, Any]
    releases: Mapping[str, Any]
    table: Table
    facts: Mapping[str, Any]  # the budget, what was spent, the spec


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
        self._records = Records(self.schema, _needed(self.schema, self.mechanisms))

    # -- life and death of the file

    @classmethod
    def create(cls, path: str, publishing: Publishing) -> "SqliteStore":
        """Write a store beside its place, make it durable, and move it there: it is there or it is not."""
        if path == MEMORY:
            connection, key = _connect(MEMORY), os.urandom(32)
            _fill(connection, publishing, key)
            return cls(path, connection, key)
        path = os.path.realpath(path)
        with _publisher(path):
            _refuse_what_is_there(path)
            unfinished, new_key = Path(f"{path}.unfinished"), Path(f"{path}.key.unfinished")
            try:
                key = _write_key(new_key)
                os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                connection = _connect(str(unfinished))
                _fill(connection, publishing, key)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.close()
                _sync(unfinished)
                _sync(new_key)
                os.replace(new_key, f"{path}.key")
                _move(unfinished, path)
                _sync(Path(path).parent)
            except (sqlite3.Error, OSError) as error:
                _clear(path)
                raise _wrong(path, error) from None
        return cls.open(path)

    @classmethod
    def open(cls, path: str) -> "SqliteStore":
        """Open a store; what an earlier process deleted and had no time to erase is erased now."""
        if not Path(path).is_file():
            raise StoreError(
                f"there is no store at {path}.", "Publish first, or name the store with --store."
            )
        path = os.path.realpath(path)  # the log and the key lie beside the file itself
        key = _read_key(path)
        try:
            connection = _connect(path)
            found = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('format', 'tag')"))
        except sqlite3.DatabaseError as error:
            raise _wrong(path, error) from None
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
        if not hmac.compare_digest(_digest(self._key, noise), self._digest):
            problems.append(
                "the noise is not what was drawn: a deletion was lost or counted twice, or cells were altered"
            )
        meta = dict(self._db.execute("SELECT key, value FROM meta"))
        shapes = [shape for (shape,) in self._db.execute("SELECT shape FROM shapes ORDER BY publication")]
        if not hmac.compare_digest(_seal(self._key, meta, shapes), meta.get("seal", "")):
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
        return tuple(sorted(_unpadded(data) for (data,) in chosen if any(data)))

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        """All of it, or none; a full disk or a read-only file leaves the store as it was."""
        with self._lock:
            try:
                self._db.execute(f"BEGIN {kind}")
            except sqlite3.Error as error:
                raise _wrong(self.path, error) from None
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise _wrong(self.path, error) from None
                raise


def _fill(db: sqlite3.Connection, publishing: Publishing, key: bytes) -> None:
    """Everything a new store holds, in one transaction."""
    mechanisms = publishing.mechanisms
    packed = {name: to_cells(m, publishing.releases[name]) for name, m in mechanisms.items()}
    keepers = [Keeper(m, packed[name][1]) for name, m in mechanisms.items()]
    columns = _needed(publishing.schema, mechanisms)
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
        "digest": _digest(key, noise),
    }
    meta["seal"] = _seal(key, meta, [shape for _, shape in packed.values()])
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
        rows += [(post, board, _padded(text)) for post, text in texts if post]
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


def _needed(schema: Schema, mechanisms: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns that something published uses, in the schema's order."""
    used: set[str] = set()
    for mechanism in mechanisms.values():
        if hasattr(mechanism, "statistic"):
            used |= set(mechanism.statistic.names)
        else:
            used.add(mechanism.column.name)
    return tuple(column for column in schema.columns if column.name in used)


def _find(data: bytes, tag: bytes, slot: int) -> int:
    """Where a tag begins a slot; −1 if nowhere."""
    at = data.find(tag)
    while at >= 0 and at % slot:
        at = data.find(tag, at + 1)
    return at


def _digest(key: bytes, noise: Sequence[IntArray]) -> str:
    digest = blake2b(key=key, person=b"undeleted-noise", digest_size=32)
    for cells in noise:
        digest.update(cells.astype("<i8").tobytes())
    return digest.hexdigest()


def _seal(key: bytes, meta: Mapping[str, str], shapes: Sequence[bytes]) -> str:
    """A keyed digest of everything that never changes: what is published, how, and at what price."""
    digest = blake2b(key=key, person=b"undeleted-seal", digest_size=32)
    for part in [*(f"{k}={meta[k]}".encode() for k in sorted(meta) if k != "seal"), *shapes]:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _padded(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data) + 1) + data + bytes(-(len(data) + 4) % POST)


def _unpadded(data: bytes) -> str:
    [length] = struct.unpack_from("<I", data)
    return data[4 : 3 + length].decode()


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


@contextmanager
def _publisher(path: str) -> Iterator[None]:
    """The lock of a publisher; a second one is told who holds it.  The lock's file stays: it is the lock."""
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(lock, 32, 0).decode() or "unknown"
            problem = f"{path} is being published by process {holder}."
            raise StoreError(problem, "Wait for it to end, or stop it.") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(lock)


def _refuse_what_is_there(path: str) -> None:
    """Nothing is ever published over: not a store, not a key, not a log of another store."""
    if Path(path).exists():
        remedy = "A deletion updates it; publish new people into a store of their own."
        raise AlreadyThere(f"a store at {path}", remedy)
    if Path(f"{path}.unfinished").exists():  # a publication that was killed: nothing of it was ever shown
        _clear(path)
    for rest in ("key", "wal", "shm", "journal"):
        left = Path(f"{path}.{rest}" if rest == "key" else f"{path}-{rest}")
        if left.exists():
            problem = f"{left} belongs to a store that is not here."
            raise StoreError(
                problem, "Move it to its store, or away; without its key nobody in it can be deleted."
            )


def _move(unfinished: Path, path: str) -> None:
    """Give a finished store its name; unlike a rename, a link never takes the place of another store."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links; the publisher's lock is held
        os.rename(unfinished, path)
    unfinished.unlink(missing_ok=True)


def _clear(path: str) -> None:
    """Remove what a publication leaves that did not come to be."""
    for suffix in (".unfinished-wal", ".unfinished-shm", ".key.unfinished", ".key", ".unfinished"):
        if suffix != ".key" or not Path(path).exists():
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def _write_key(path: Path) -> bytes:
    key = os.urandom(32)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
    return key


def _read_key(path: str) -> bytes:
    try:
        key = bytes.fromhex(Path(f"{path}.key").read_text(encoding="ascii"))
    except FileNotFoundError:
        problem = f"{path}.key is missing: without it nobody's record can be found."
        raise StoreError(problem, "Restore the key file that was made with the store.") from None
    except (OSError, ValueError):
        key = b""
    if len(key) != 32:
        raise StoreError(
            f"{path}.key is not a key file.", "Restore the key file that was made with the store."
        )
    return key


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _wrong(path: str, error: sqlite3.Error | OSError) -> StoreError:
    """What SQLite says, in words."""
    said = str(error)
    for words, problem, remedy in (
        ("No space left", "finds the disk full; nothing was changed.", "Make room and try again."),
        ("File too large", "could not be written; nothing was changed.", "See to the disk and try again."),
        ("disk is full", "finds the disk full; the store is as it was.", "Make room and try again."),
        (
            "disk I/O",
            "could not be written (disk I/O error); the store is as it was.",
            "See to the disk and try again.",
        ),
        (
            "readonly",
            "cannot be written; the store is as it was.",
            "Check the permissions of the file and its folder.",
        ),
        ("locked", "is held by another process for more than 30 s; nothing was changed.", "Try again."),
        ("not a database", "is not a store.", "Name the store with --store."),
        ("no such table", "is not a store.", "Name the store with --store."),
    ):
        if words in said:
            return StoreError(f"{path} {problem}", remedy)
    return StoreError(f"{path}: {said}.", "`undeleted check` tells whether the store is whole.")
