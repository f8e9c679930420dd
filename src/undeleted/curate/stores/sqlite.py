"""A store in one SQLite file, embedded: the default.

Cells are stored in chunks of one page; a deletion writes the chunks of its own cells.  Records are stored in
buckets by the hash of their tag, mostly one page per bucket.  A row is only ever overwritten with the same
number of bytes, so SQLite never moves a live record and no stale copy stays behind.  `erase` truncates the
write-ahead log and clears its index, which lists the pages that were written.  The key is in a separate file
beside the store.
"""

import hmac
import os
import sqlite3
import struct
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from undeleted.curate.durable import sync
from undeleted.curate.stores._bucket_table import BucketTable, randomise
from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import FORMAT, Post, Publishing, State, published
from undeleted.curate.stores._mark_tree import MarkTree
from undeleted.curate.stores._migrations import migrate
from undeleted.curate.stores._pieces import SLOT, how_many, joined_posts, piece_tag, pieces_of
from undeleted.curate.stores._presence import Presence
from undeleted.curate.stores._records import tag_of
from undeleted.curate.stores._sealed import MARK, chunk_mark, mark, spent_marks
from undeleted.curate.stores._sqlite_filling import (
    ALWAYS,
    WITH_BITS,
    WITH_RECORDS,
    blobs_of,
    create_bits,
    fill,
    fill_cells,
    fill_held,
    foreign,
    is_marked,
    marked,
    put_blobs,
)
from undeleted.curate.stores._sqlite_place import (
    BUSY,
    clear,
    clear_index,
    connect,
    connect_reading,
    is_database,
    is_writable,
    move,
    publisher,
    read_key,
    refuse_what_is_there,
    remove,
    write_key,
    wrong,
)
from undeleted.curate.stores._store import DAMAGED, UNREADABLE, Moved, Store
from undeleted.errors import BadFile, StoreError, UndeletedError
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.types import Given

MEMORY = ":memory:"
KEY_BACK = "Restore the key file that was made with it: without it no record can be found after a restart."
IN_PASSING = 1.0  # seconds that opening and closing wait for readers, to erase what is left


class SqliteStore(Store):
    """A store in a file, or in memory."""

    in_a_file = True

    def __init__(
        self,
        path: str,
        connection: sqlite3.Connection,
        key: bytes,
        given: str = "",
        known: Mapping[str, Given] | None = None,
    ) -> None:
        self.path, self._db, self._read_only = path, connection, False
        self._index_is_clear = path == MEMORY  # whether the log's index lists no written pages
        self._written = self._reached = (0, 0)  # progress that was written, and that is known to be in place
        self._end = weakref.finalize(self, connection.close)  # if the store is dropped without being closed
        self._index: int | None = None  # SQLite's own descriptor of the log's index, where it was last
        self._lock = threading.RLock()  # one connection, one transaction: threads take turns
        meta, shapes = self._read_meta()
        self._presence = None if path == MEMORY else Presence(path, given or path)
        super().__init__(key, meta, shapes, known)

    def _load(
        self, meta: Mapping[str, str], shapes: Sequence[bytes], known: Mapping[str, Given] | None
    ) -> None:
        super()._load(meta, shapes, known)
        if not self.keeps_records and "_marks" not in self.__dict__:  # it may have changes to write
            self._marks = MarkTree(
                self._key,
                self.path,
                partial(blobs_of, self._db, "marks"),
                partial(put_blobs, self._db, "marks"),
            )
        if int(meta["format"]) >= 3 and self._has_people:
            self._people = BucketTable.opened(self._db, "people", meta, self._slot, self._key)
            if not self.keeps_records:
                self._people.noted = partial(self._marks.changed, "people")
        if int(meta["format"]) >= 3 and self.keeps_records:
            self._pieces = BucketTable.opened(self._db, "pieces", meta, SLOT, self._key)

    # -- creating, opening, closing

    @classmethod
    def create(cls, path: str, publishing: Publishing) -> "SqliteStore":
        """Publish into a new file."""
        return cls.filled(path, lambda key: published(publishing, key))

    @classmethod
    def filled(cls, path: str, contents: Given, key: bytes | None = None) -> "SqliteStore":
        """Write a store beside its place, make it durable, and move it there: an atomic write.

        `contents` is called with the store's key, which is new unless `key` is given.
        """
        if path == MEMORY:
            connection, key = connect(MEMORY), key or os.urandom(32)
            try:
                made = contents(key)
                fill(connection, made, key)
            except BaseException:
                connection.close()
                raise
            return cls(path, connection, key, known=made.mechanisms)
        path = os.path.realpath(path)
        with publisher(path):
            refuse_what_is_there(path)
            unfinished, new_key = Path(f"{path}.unfinished"), Path(f"{path}.key.unfinished")
            try:
                key = write_key(new_key, key)
                os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                with closing(connect(str(unfinished))) as connection:
                    made = contents(key)
                    fill(connection, made, key)
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                sync(unfinished)
                sync(new_key)
                os.replace(new_key, f"{path}.key")
                move(unfinished, path)
                sync(Path(path).parent)
            except (sqlite3.Error, OSError) as error:
                clear(path)
                raise wrong(path, error) from None
            except BaseException:  # leave nothing unfinished behind, least of all a key
                clear(path)
                raise
        return cls.open(path, made.mechanisms)

    @staticmethod
    @contextmanager
    def prepared(path: str) -> Iterator[str]:
        """A place beside a store's, whose files get the store's names at the end; else nothing is left."""
        path = os.path.realpath(path)
        with publisher(path):
            beside = f"{path}.restoring"
            if Path(beside).exists() and not Path(path).exists():  # of a restoration that was killed
                Path(f"{path}.key").unlink(missing_ok=True)
            remove(beside)
            refuse_what_is_there(path)
            try:
                yield beside
                os.replace(f"{beside}.key", f"{path}.key")
                move(Path(beside), path)
                sync(Path(path).parent)
            except OSError as error:
                raise wrong(path, error) from None
            finally:
                remove(beside)

    @classmethod
    def open(
        cls, path: str, known: Mapping[str, Given] | None = None, *, read_only: bool = False
    ) -> "SqliteStore":
        """Open a store, and erase what an earlier process deleted but had no time to erase.

        With `read_only`, or if this user cannot write to it, nothing is changed and nobody is deleted.
        """
        if Path(path).is_dir():
            raise StoreError(f"{path} is a folder.", "Name a file for the store.")
        if not Path(path).is_file():
            raise StoreError(f"there is no store at {path}.", "Publish first, or name another store.")
        if not os.access(path, os.R_OK):
            raise StoreError(f"{path} cannot be read by this user.", "Check its permissions.")
        if not is_database(path):
            raise StoreError(f"{path} is not a store.", "Name another file.")
        given, path = path, os.path.realpath(path)  # the log and the key are beside the file itself
        key, read_only = read_key(path), read_only or not is_writable(path)
        try:
            connection = connect_reading(path) if read_only else connect(path)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise wrong(path, error) from None
        try:
            stored_format = _format_of(connection, path, key)
        except BaseException:
            connection.close()
            raise
        try:
            store = cls(path, connection, key, given, known)
        except (*UNREADABLE, sqlite3.Error, UndeletedError):
            connection.close()
            raise StoreError(f"{path} is damaged: its metadata cannot be read.", DAMAGED) from None
        if problems := foreign(connection, store._tables) if stored_format == str(FORMAT) else []:
            connection.close()
            raise StoreError(f"{path}: {problems[0]}.", DAMAGED)
        store._read_only = read_only
        if read_only:
            if stored_format == str(FORMAT):
                return store
            store.close()
            problem = f"{path} has an older format, and cannot be written here."
            raise StoreError(problem, "Open it once as a user who may write to it: that upgrades it.")
        if stored_format != str(FORMAT):
            migrate(store)
            store._end.detach()
            store = cls(path, connection, key, given)  # another process may have migrated it already
        store.fold()
        store._reached = store.progress
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
        self._end()

    def erase(self, timeout: float = 30.0) -> bool:
        """Erase all copies in the write-ahead log and its index; False if a reader or the disk blocks it.

        While it waits for a reader, nobody can write: a service uses a short timeout, and tries again.
        """
        if not self.erasure_pending:
            return True
        if self._read_only:
            return False
        try:
            with self._lock, self._waiting_at_most(timeout):
                busy, _, _ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy and self._clear_index()
        except sqlite3.OperationalError:  # no space, or no permission to write: what is deleted stays deleted
            return False

    @contextmanager
    def _waiting_at_most(self, seconds: float) -> Iterator[None]:
        """Wait so long for other processes, and no longer."""
        if seconds == BUSY:
            yield
            return
        self._db.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")
        try:
            yield
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY)}")

    def _clear_index(self) -> bool:
        """Clear the index with writers locked out; return False if the log is no longer empty."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self._log_size():
                return False
            self._index = clear_index(self.path, self._index)
            self._index_is_clear = True
            return True
        finally:
            self._db.execute("ROLLBACK")

    @property
    def erasure_pending(self) -> bool:
        if self._read_only:
            return self._log_size() > 0
        return self.path != MEMORY and (self._log_size() > 0 or not self._index_is_clear)

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self.path}-wal").st_size
        except OSError:
            return 0

    # -- transactions

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._transaction("DEFERRED"):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A write transaction; it never reports a write as durable that went into a file nobody can find."""
        if self._read_only:
            raise wrong(self.path, PermissionError("readonly"))
        self._require_place()
        with self._transaction("IMMEDIATE"):
            yield
        self._reached = max(self._reached, self._written)
        self._require_place()

    def _copying(self) -> AbstractContextManager[None]:
        return self._reading() if self._read_only else self._writing()

    def _require_place(self) -> None:
        if self._presence is not None:
            self._presence.require()

    def look(self) -> None:
        if self._presence is not None:
            self._presence.require()
            tag = tag_of(self._key, "").hex()
            self._reached = self._presence.require_contents(tag, self._reached)
            if read_key(self.path) != self._key:
                raise StoreError(f"{self.path}.key is not the key of this store.", KEY_BACK)

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        """A transaction, all or nothing; a full disk or a read-only file leaves the store unchanged."""
        with self._lock:
            try:
                self._db.execute(f"BEGIN {kind}")
            except sqlite3.Error as error:
                raise wrong(self.path, error) from None
            try:
                [sealed] = self._db.execute("SELECT value FROM meta WHERE key = 'seal'").fetchone() or [""]
                if not self.keeps_records:
                    self._marks.begin()
                if sealed != self._seal:
                    self._refresh()
                yield
                self._index_is_clear = self._index_is_clear and kind != "IMMEDIATE"
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if kind == "IMMEDIATE":  # what was taken over inside is not there: the next one loads again
                    self._seal, self._written = "", self._reached
                if isinstance(error, sqlite3.Error | UnicodeDecodeError):
                    raise wrong(self.path, error) from None
                raise

    @property
    def _tables(self) -> tuple[str, ...]:
        """The tables of its file."""
        if self.keeps_records:
            return (*ALWAYS, *WITH_RECORDS)
        return (*ALWAYS, *WITH_BITS, *(("people",) if self._has_people else ()))

    # -- reading and writing

    def _state(self, *, write: bool = False) -> State:
        return State(*self._db.execute("SELECT version, held, due, enough FROM state").fetchone())

    def _put_state(self, state: State, mark: bytes) -> None:
        self._written = state.version, state.held
        self._db.execute("UPDATE state SET enough = ~enough")  # SQLite skips a write that changes nothing
        values = (*state.as_tuple(), mark)
        self._db.execute("UPDATE state SET version = ?, held = ?, due = ?, enough = ?, mark = ?", values)

    def _spent_blobs(self, chunks: Iterable[int]) -> dict[int, bytes]:
        return blobs_of(self._db, "spent", chunks)

    def _put_spent(self, chunks: Mapping[int, bytes], *, dummy: bool = False) -> None:
        put_blobs(self._db, "spent", chunks, dummy=dummy)

    def _leaf_marks(self, tree: str) -> list[bytes]:
        if tree == "people":
            return self._people.marks() if self._has_people else []
        if tree == "spent":
            rows = self._db.execute("SELECT number, data FROM spent ORDER BY number")
            return spent_marks(self._key, rows)
        return [
            bytes(data[-MARK:]) for (data,) in self._db.execute(f"SELECT data FROM {tree} ORDER BY chunk")
        ]

    def _mark_numbers(self) -> set[int]:
        return {number for (number,) in self._db.execute("SELECT number FROM marks")}

    def _state_and_mark(self) -> tuple[State, bytes]:
        [(*state, stored_mark)] = self._db.execute("SELECT version, held, due, enough, mark FROM state")
        return State(*state), bytes(stored_mark)

    def _take_turns(self) -> None:
        """A write transaction locks the whole file already."""

    def _take(
        self, tags: Sequence[bytes], *, dummy_work: bool
    ) -> tuple[list[bytes], set[bytes], list[bytes]]:
        removed = self._people.take(tags, dummy_work=dummy_work)
        rows = [row for taken in removed.values() for row in taken]
        return rows, set(removed), [self._records.blank] * (len(tags) - len(removed) if dummy_work else 0)

    def _strike(self, posts: Sequence[int]) -> None:
        first = self._pieces.take([piece_tag(self._key, post, 0) for post in posts])
        for post in posts:
            for piece in first.get(piece_tag(self._key, post, 0), ()):
                others = range(1, how_many(piece))
                self._pieces.take([piece_tag(self._key, post, i) for i in others])

    def _strike_nothing(self, posts: int) -> None:
        """Look for posts that cannot exist: their numbers are negative.  Short posts have two pieces."""
        nobody = [piece_tag(self._key, -1 - i, piece) for i in range(posts) for piece in (0, 1)]
        self._pieces.take(nobody, dummy_work=True)

    def _subtract(self, chunks: Moved) -> None:
        for chunk, moved in chunks.items():
            dense = isinstance(moved, np.ndarray)
            dummy = not (moved.any() if dense else any(moved.values()))
            row = self._db.execute("SELECT data FROM cells WHERE chunk = ?", (chunk,)).fetchone()
            after = bytearray(self._opened("cells", chunk, row[0] if row else None))
            if dense:
                after = bytearray((np.frombuffer(after, dtype="<i8") - moved).astype("<i8").tobytes())
            for cell, value in () if dense else moved.items():
                [before] = struct.unpack_from("<q", after, 8 * cell)
                struct.pack_into("<q", after, 8 * cell, before - value)
            if dummy:
                randomise(self._db, "cells", "chunk", [chunk])
            data = marked(self._key, "cells", chunk, bytes(after))
            self._db.execute("UPDATE cells SET data = ? WHERE chunk = ?", (data, chunk))
            if not self.keeps_records:
                self._marks.changed("cells", chunk, row[0][-MARK:], data[-MARK:])

    def _opened(self, table: str, chunk: int, data: Given) -> bytes:
        """A chunk of cells, or of what is held back; an altered chunk is refused."""
        if not is_marked(self._key, table, chunk, data):
            raise StoreError(f"{self.path} is damaged: cells were altered; nothing was changed.", DAMAGED)
        opened: bytes = data[:-MARK]
        return opened

    def _read_chunks(self, chunks: range) -> IntArray:
        query = "SELECT data FROM cells WHERE chunk >= ? AND chunk < ? ORDER BY chunk"
        chosen = self._db.execute(query, (chunks.start, chunks.stop))
        return np.frombuffer(b"".join(d[:-MARK] for (d,) in chosen), dtype="<i8").astype(np.int64)

    def _there(self, tags: Sequence[bytes]) -> set[bytes]:
        return set(self._people.find(tags))

    def _lookup(self, tags: Sequence[bytes]) -> dict[bytes, list[bytes]]:
        return self._people.find(tags)

    def _insert(self, slots: Sequence[bytes]) -> None:
        if self._people.add(slots, self.together):
            if not self.keeps_records:
                self._marks.replaced("people", self._people.marks())
            meta, shapes = self._sealed_meta()
            self._reseal(meta | self._people.meta, shapes)

    def _records_are_intact(self) -> bool:
        return not self._has_people or self._people.is_intact()

    def _read_posts(self, number: int | None = None) -> Iterator[Post]:
        posts = joined_posts(self._pieces.slots()) if self.keeps_records else iter(())
        return (post for post in posts if number is None or post[1] == number)

    def _read_held(self, chunks: Sequence[int]) -> dict[int, bytes]:
        if isinstance(chunks, range):
            within = (chunks.start, chunks.stop)
            rows = self._db.execute("SELECT chunk, data FROM held WHERE chunk >= ? AND chunk < ?", within)
            return {n: self._opened("held", n, data) for n, data in rows.fetchall()}
        one = "SELECT data FROM held WHERE chunk = ?"
        return {n: self._opened("held", n, data) for n in chunks for (data,) in self._db.execute(one, (n,))}

    def _write_held(self, held: Mapping[int, bytes]) -> None:
        [(rows,)] = self._db.execute("SELECT count(*) FROM held")
        if held and not rows:  # all chunks at once and in order, so that SQLite never moves one
            fill_held(self._db, self._key, range(self._chunks[-1]), {})
            if not self.keeps_records:
                self._require_never_held()
                self._marks.replaced("held", self._leaf_marks("held"))
        before = {} if self.keeps_records else self._held_marks(held)
        randomise(self._db, "held", "chunk", (c for c, d in held.items() if not any(d)))
        self._db.executemany(
            "UPDATE held SET data = ? WHERE chunk = ?",
            ((marked(self._key, "held", c, d), c) for c, d in held.items()),
        )
        for chunk, mark_before in before.items():
            self._marks.changed("held", chunk, mark_before, chunk_mark(self._key, "held", chunk, held[chunk]))

    def _held_marks(self, chunks: Iterable[int]) -> dict[int, bytes]:
        one = "SELECT data FROM held WHERE chunk = ?"
        return {n: data[-MARK:] for n in chunks for (data,) in self._db.execute(one, (n,))}

    def _append(self, first: int, packed: Sequence[tuple[IntArray, bytes | None]]) -> None:
        shapes = [(number, s) for number, (_, s) in enumerate(packed, start=first) if s is not None]
        self._db.executemany("INSERT INTO shapes VALUES (?, ?)", shapes)
        chunk = self._chunks[-1]
        [(held,)] = self._db.execute("SELECT count(*) FROM held")
        after = fill_cells(self._db, self._key, chunk, [cells for cells, _ in packed])
        if not self.keeps_records:
            self._marks.appended("cells", self._leaf_marks("cells")[chunk:])
        if held:
            fill_held(self._db, self._key, range(chunk, after), {})

    def _slots(self) -> Iterator[Given]:
        if not self._has_people:
            return iter([np.zeros((0, self._slot), dtype=np.uint8)])
        return self._people.slots()

    def _read_meta(self) -> tuple[dict[str, str], list[bytes]]:
        meta = dict(self._db.execute("SELECT key, value FROM meta"))
        return meta, [shape for (shape,) in self._db.execute("SELECT shape FROM shapes ORDER BY publication")]

    def _integrity(self) -> list[str]:
        problems = [row[0] for row in self._db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        problems += foreign(self._db, self._tables)
        for table in ("cells", "held"):
            rows = self._db.execute(f"SELECT chunk, data FROM {table} ORDER BY chunk")
            chunks = [(c, is_marked(self._key, table, c, data)) for c, data in rows]
            expected = [(c, True) for c in range(self._chunks[-1])]
            if chunks != expected and (table == "cells" or chunks):
                problems.append(f"a part of {table} was altered, or is not where a deletion looks for it")
        if not self._records_are_intact():
            problems.append("a record was altered, or is not where a deletion looks for it")
        if self.keeps_records and not self._pieces.is_intact():
            problems.append("a post was altered, or is not where a deletion looks for it")
        return problems

    def _replace_records(self) -> None:
        for table in WITH_RECORDS:
            self._db.execute(f"DROP TABLE {table}")
        create_bits(self._db)

    def vacuum(self) -> bool:
        """Write the file without the pages that are free; their content is overwritten already."""
        if self._read_only:
            return False
        with self._lock:
            try:
                self._db.execute("VACUUM")
            except sqlite3.Error as error:
                raise wrong(self.path, error) from None
            self._index_is_clear = self.path == MEMORY
        return self.erase()

    # -- migrations

    def _migrating(self) -> AbstractContextManager[None]:
        return self._writing()

    def _migrate_layout(self, stored_format: int) -> dict[str, str]:
        """Migrate formats 1 and 2 to 3: buckets that do not reveal who left, for records and for posts."""
        old = [data for (data,) in self._db.execute("SELECT data FROM buckets")]
        slots = np.frombuffer(b"".join(old), dtype=np.uint8).reshape(-1, self._records.slot)
        slots = slots[slots[:, :TAG].any(axis=1)]
        posts = [
            post for post in self._db.execute("SELECT post, publication, data FROM posts") if any(post[2])
        ]
        if stored_format < 2:
            posts = [(post, board, data + mark(self._key, post, board, data)) for post, board, data in posts]
        self._db.execute("ALTER TABLE state ADD COLUMN mark BLOB NOT NULL DEFAULT x''")
        self._db.execute("DROP TABLE buckets")
        self._db.execute("DROP TABLE posts")
        for table in ("cells", "held"):
            chunks = self._db.execute(f"SELECT chunk, data FROM {table}").fetchall()
            self._db.execute(f"DELETE FROM {table}")
            written = ((c, marked(self._key, table, c, data)) for c, data in chunks)
            self._db.executemany(f"INSERT INTO {table} VALUES (?, ?)", written)
        return self._fill_buckets(slots, posts)

    def _fill_buckets(self, slots: Given, posts: Iterable[Post]) -> dict[str, str]:
        together = self.schema.rows_per_person
        self._people, _ = BucketTable.filled(self._db, "people", slots, self._key, together=together)
        self._pieces, _ = BucketTable.filled(self._db, "pieces", pieces_of(self._key, posts), self._key)
        return self._people.meta | self._pieces.meta

    def _rewrite(self, meta: Mapping[str, str]) -> None:
        self._db.execute("DELETE FROM meta")
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())


def _format_of(connection: sqlite3.Connection, path: str, key: bytes) -> str:
    """The format of a store that this program can read, and whose key this is."""
    try:
        stored = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('format', 'tag')"))
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise wrong(path, error) from None
    if not stored.get("format", "").isdigit() or int(stored["format"]) > FORMAT:
        problem = f"has format {stored.get('format', 'unknown')}; this program reads {FORMAT}."
        raise BadFile(path, problem, "Open it with the version of undeleted that wrote it, or a newer one.")
    if not hmac.compare_digest(stored.get("tag", ""), tag_of(key, "").hex()):
        problem = f"{path}.key is not the key of this store."
        raise StoreError(problem, "Restore the key file that was made with it.")
    return str(stored["format"])
