"""A store in a schema of a PostgreSQL database, which many processes can share.

    postgresql://curator@host/db?schema=people&key=people.key

Deletions are set-based: one statement deletes the records, one updates the cells.  Records are locked in the
order of their tags and the state after them, so deletions wait for each other without deadlock.  If the
connection drops during a request, we query the status of its transaction and retry only if it did not commit.
No id ever reaches the server: the key that turns ids into tags is in a file on the client.

PostgreSQL keeps old versions of rows.  `vacuum` rewrites the tables without them, even if others see them.
"""

import hmac
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import psycopg

from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import (
    FORMAT,
    Additions,
    Contents,
    Issue,
    Post,
    Publishing,
    State,
    published,
)
from undeleted.curate.stores._held_back import NONCE
from undeleted.curate.stores._mark_tree import MarkTree
from undeleted.curate.stores._migrations import migrate
from undeleted.curate.stores._postgres_arrays import Numbers, Tags
from undeleted.curate.stores._postgres_filling import (
    COPY_END,
    COPY_HEAD,
    PUBLISHED,
    cells_mark,
    copy_in,
    create_bits,
    encoded,
    fill,
    numbered,
)
from undeleted.curate.stores._postgres_key import NewKey
from undeleted.curate.stores._postgres_place import (
    BITS,
    Connection,
    Place,
    cannot_connect,
    in_words,
    is_there,
    last,
    only_publisher,
    readers_of_tables,
    require_empty,
    require_types,
    translated_error,
)
from undeleted.curate.stores._records import tag_of
from undeleted.curate.stores._sealed import MARK, chunk_mark, mark, record_mark, spent_marks
from undeleted.curate.stores._sqlite_place import key_of
from undeleted.curate.stores._store import CHUNK, DAMAGED, UNREADABLE, Deleted, Fold, Moved, Store
from undeleted.errors import AlreadyExists, StoreError, UndeletedError
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import Table
from undeleted.foundations.types import Given, Json

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds between retries when the connection drops
LIVING = ("state", "records", "posts", "held", "cells")  # in the order in which they are locked
_AGAIN = ("40001", "40P01", "57P01", "57P02", "57P03")  # serialisation, deadlock, shutdown, crash, start-up
Result = TypeVar("Result")


class PostgresStore(Store):
    """A store in a schema of a database."""

    erases_by_itself = False
    how_to_erase = "`undeleted store vacuum` erases it from the tables, at a quiet time"

    def __init__(
        self,
        place: Place,
        connection: Connection,
        key: bytes,
        known: Mapping[str, Given] | None = None,
    ) -> None:
        self._place, self._db, self.path = place, connection, place.shown
        self._lock = threading.RLock()  # one connection, one transaction: threads take turns
        self._pauses: tuple[float, ...] = PAUSES
        self._doubt: str | None = None  # a transaction whose outcome is unknown
        super().__init__(key, *self._read_meta(), known)

    def _load(
        self, meta: Mapping[str, str], shapes: Sequence[bytes], known: Mapping[str, Given] | None
    ) -> None:
        super()._load(meta, shapes, known)
        if not self.keeps_records and "_marks" not in self.__dict__:  # it may have changes to write
            self._marks = MarkTree(
                self._key, self.path, partial(self._blobs, "marks"), partial(self._put, "marks")
            )

    # -- creating, opening, closing

    @classmethod
    def create(cls, url: str, publishing: Publishing) -> "PostgresStore":
        """Publish into a new schema."""
        return cls.filled(url, lambda key: published(publishing, key))

    @classmethod
    def filled(
        cls, url: str, contents: Callable[[bytes], Contents], key: bytes | None = None
    ) -> "PostgresStore":
        """Fill a schema in one transaction: the store exists completely or not at all.

        The key is durable before the store is.  It is removed only if it is known that nothing was committed.
        """
        place = Place.of(url)
        new = NewKey(place.key, place.shown)
        with in_words(place.shown), closing(place.connect()) as connection, new.locked():
            only_publisher(place, connection)
            if is_there(place, connection):
                remedy = "Deletions update it; publish new people into a new schema."
                raise AlreadyExists(f"a store at {place.shown}", remedy)
            require_empty(place, connection)
            key = new.write(key)
            try:
                number = last(connection.cursor().execute("BEGIN; SELECT pg_current_xact_id()::text"))
                made = contents(key)
                fill(place, connection, made, key)
            except BaseException:  # nothing was published: COMMIT was never sent
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                new.undo(key)
                raise
            if not _commit(place, connection, number):
                new.undo(key)
                problem = f"{place.shown} could not commit; nothing was published."
                raise StoreError(problem, "The server's log says why; publish again.")
            new.settle()
        return cls.open(url, made.mechanisms)

    @classmethod
    def open(cls, url: str, known: Mapping[str, Given] | None = None) -> "PostgresStore":
        place = Place.of(url)
        with in_words(place.shown):
            connection = place.connect()
            try:
                store = cls._opened(place, connection, known)
            except BaseException:
                connection.close()
                raise
            try:
                store.fold()
            except BaseException:
                store.close()  # it may have reconnected
                raise
            return store

    @classmethod
    def _opened(
        cls, place: Place, connection: Connection, known: Mapping[str, Given] | None
    ) -> "PostgresStore":
        if not is_there(place, connection):
            raise StoreError(f"there is no store at {place.shown}.", "Publish first, or name another store.")
        key = key_of(place.key, place.shown)
        meta = f"SELECT key, value FROM \"{place.schema}\".meta WHERE key IN ('format', 'tag')"
        stored: dict[str, str] = dict(connection.execute(meta).fetchall())
        if not stored.get("format", "").isdigit() or int(stored["format"]) > FORMAT:
            problem = (
                f"{place.shown} has format {stored.get('format', 'unknown')}; this program reads {FORMAT}."
            )
            raise StoreError(problem, "Open it with the version of undeleted that wrote it, or a newer one.")
        if not hmac.compare_digest(stored.get("tag", ""), tag_of(key, "").hex()):
            remedy = "Name the key that was made with it by ?key=FILE or UNDELETED_KEY."
            raise StoreError(f"{place.key} is not the key of {place.shown}.", remedy)
        require_types(place, connection, int(stored["format"]))
        try:
            store = cls(place, connection, key, known)
        except (*UNREADABLE, UndeletedError):
            problem = f"{place.shown} is damaged: its metadata cannot be read."
            raise StoreError(problem, DAMAGED) from None
        if stored["format"] != str(FORMAT):
            migrate(store)
            store = cls(place, connection, key)  # another process may have migrated it already
        NewKey(place.key, place.shown).settle()  # if the publisher was killed after its commit
        return store

    @staticmethod
    def there(url: str) -> bool:
        place = Place.of(url)
        with in_words(place.shown), place.connect() as connection:
            return is_there(place, connection)

    @staticmethod
    def shown(url: str) -> str:
        return Place.of(url).shown

    @staticmethod
    def key_file(url: str) -> str:
        return str(Place.of(url).key)

    def close(self) -> None:
        self._db.close()

    def hurry(self) -> None:
        self._pauses = PAUSES[:3]
        self._place = replace(self._place, timeout=2)

    def look(self) -> None:
        self._retried(lambda: self._one("SELECT version FROM {}.state"))

    def probe(self) -> None:
        def work() -> None:
            with self._writing():
                self._run("UPDATE {}.state SET format = format")

        self._retried(work)

    # -- erasing

    def erase(self, timeout: float = 30.0) -> bool:
        """Return whether nothing waits to be erased; `vacuum` rewrites tables, at a time you choose."""
        return not self.erasure_pending

    @property
    def erasure_pending(self) -> bool:
        pending = self._retried(lambda: self._one("SELECT changes > erased FROM {}.state"))
        return bool(pending)

    def vacuum(self) -> bool:
        """Rewrite the tables without old row versions, even if others see them; return False if locked.

        Plain VACUUM leaves the bytes of dead rows in place, and VACUUM FULL keeps rows that an older
        transaction might still see.  Changing a column's type copies the current rows, and nothing else.
        """

        def work() -> bool:
            with self._transaction("READ COMMITTED", "ACCESS EXCLUSIVE"):
                for table, change in (
                    ("records", "data TYPE bytea USING data || ''::bytea"),
                    ("posts", "data TYPE bytea USING data || ''::bytea"),
                    ("held", "data TYPE bytea USING data || ''::bytea"),
                    ("cells", "value TYPE bigint USING value + 0"),
                    ("state", "version TYPE bigint USING version + 0"),
                    *((table, "data TYPE bytea USING data || ''::bytea") for table in self._bits),
                ):
                    self._run(f"ALTER TABLE {{}}.{table} ALTER COLUMN {change}")
                self._run("UPDATE {}.state SET erased = changes")
            return True

        try:
            return self._retried(work)
        except StoreError as error:
            if "held by another" in error.what:
                return False
            if "denies this user" in error.what:
                problem = f"{self.path} may not be vacuumed by this user."
                raise StoreError(
                    problem, "Run it as the owner of its tables, or as a member of that role."
                ) from None
            raise

    # -- transactions, and retries when a connection drops

    def release(self, name: str) -> tuple[Given, int]:
        return self._retried(lambda: super(PostgresStore, self).release(name))

    def check(self) -> list[str]:
        return self._retried(super().check)

    def fold(self) -> None:
        self._retried(super().fold, lambda: None)

    @property
    def version(self) -> int:
        return int(self._retried(lambda: self._one("SELECT version FROM {}.state")))

    @property
    def ticks(self) -> int:
        return self._retried(lambda: super(PostgresStore, self).ticks)

    @property
    def progress(self) -> tuple[int, int]:
        return self._retried(lambda: super(PostgresStore, self).progress)

    @property
    def held(self) -> int:
        return int(self._retried(lambda: self._one("SELECT held FROM {}.state")))

    def delete_tagged(
        self, tags: Sequence[bytes], fold: Fold | None = None, *, dummy_work: bool = False
    ) -> Deleted:
        self._require_claims(tags)
        done: list[Deleted] = []

        def work() -> Deleted:
            done.clear()
            with self._writing():
                done.append(self._delete(tags, fold, dummy_work))
            return done[0]

        return self._retried(work, lambda: done[0])

    def _retried(self, work: Callable[[], Result], known: Callable[[], Result] | None = None) -> Result:
        """Do `work`; if the connection drops, find out whether it was committed, and retry if it was not.

        `known` returns the result of work that turns out to be committed.
        """
        with self._lock:
            self._doubt = None
            for pause in (*self._pauses, None):
                try:
                    self._connected()
                    if self._doubt is not None and known is not None and self._happened(self._doubt):
                        return known()
                    self._doubt = None
                    return work()
                except psycopg.Error as error:
                    dropped = self._db.closed or self._db.broken or isinstance(error, psycopg.InterfaceError)
                    again = dropped or error.sqlstate in _AGAIN or cannot_connect(error)
                    if again and pause is not None:
                        time.sleep(pause)
                    elif self._doubt is not None:
                        raise self._unknown() from None
                    else:
                        raise translated_error(self.path, error) from None
        raise AssertionError("the last try returns or raises")

    def _unknown(self) -> StoreError:
        problem = f"{self.path} was lost during a commit: the deletion may or may not have happened."
        return StoreError(problem, "Request it again when the server is back: that is safe.")

    def _connected(self) -> None:
        if self._db.closed or self._db.broken:
            with suppress(psycopg.Error):
                self._db.close()
            self._db = self._place.connect()

    def _happened(self, number: str) -> bool:
        """Return whether a transaction was committed; wait if it is still in progress."""
        for _ in range(300):
            [status] = self._db.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone() or [None]
            if status != "in progress":
                return bool(status == "committed")
            time.sleep(0.1)
        raise self._unknown()

    @contextmanager
    def taken(self, new_key: bytes | None = None, facts: Json | None = None) -> Iterator[Contents]:
        with in_words(self.path), super().taken(new_key, facts) as contents:
            self._run("SET LOCAL idle_in_transaction_session_timeout = 0")  # copying may take long
            yield contents

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Lock the state before taking the snapshot, so that no table is rewritten between the two.

        A user who may only show publications may lock no other table.
        """
        with self._transaction("REPEATABLE READ READ ONLY", "ACCESS SHARE", LIVING[:1]):
            yield

    @property
    def _bits(self) -> tuple[str, ...]:
        """The tables of a store without records."""
        return () if self.keeps_records else tuple(BITS)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._transaction("READ COMMITTED", "ROW EXCLUSIVE"):
            yield

    @contextmanager
    def _transaction(self, kind: str, lock: str, locked: Sequence[str] = LIVING) -> Iterator[None]:
        with self._lock:
            tables = ", ".join(
                f'"{self._place.schema}".{table}'
                for table in (*locked, *(self._bits if locked is LIVING else ()))
            )
            if not self.keeps_records:
                self._marks.begin()
            begin = f"BEGIN ISOLATION LEVEL {kind}; LOCK TABLE {tables} IN {lock} MODE"
            reading = "READ ONLY" in kind
            cursor = self._db.cursor()
            try:
                cursor.execute(begin if reading else f"{begin}; {self._whose}")
                number, _, sealed = ("", "", "") if reading else last(cursor).partition(" ")
                if not reading and sealed != self._seal:
                    self._refresh()
                yield
            except BaseException:
                self._seal = self._seal if reading else ""  # what was taken over inside is not there
                with suppress(psycopg.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._doubt = None if reading else number
            self._db.execute("COMMIT")
            self._doubt = None

    @property
    def _whose(self) -> str:
        """The query for the number of the transaction, and for the seal of what is published now."""
        now = f"SELECT value FROM \"{self._place.schema}\".meta WHERE key = 'seal'"
        return f"SELECT pg_current_xact_id()::text || ' ' || coalesce(({now}), '')"

    def _run(self, query: str, arguments: Sequence[Given] = ()) -> Given:
        """Run a statement, with the schema in place of {}."""
        return self._db.execute(query.replace("{}", f'"{self._place.schema}"'), arguments, binary=True)

    def _one(self, query: str) -> Given:
        row = self._run(query).fetchone()
        return row[0] if row else None

    # -- reading and writing

    def _state(self, *, write: bool = False) -> State:
        lock = " FOR UPDATE" if write else ""
        query = "SELECT version, held, due, enough, format FROM {}.state" + lock
        *state, stored_format = self._run(query).fetchone()
        if write and stored_format > FORMAT:
            problem = f"{self.path} was migrated to format {stored_format} by a newer program."
            raise StoreError(problem, "Update undeleted here too; nothing was changed.")
        return State(*state)

    def _put_state(self, state: State, mark: bytes) -> None:
        self._run(
            """UPDATE {}.state SET version = %s, held = %s, due = %s, enough = %s, mark = %s,
                changes = changes + 1""",
            (*state.as_tuple(), mark),
        )

    def _blobs(self, table: str, numbers: Iterable[int]) -> dict[int, bytes]:
        query = f"SELECT number, data FROM {{}}.{table} WHERE number = ANY (%s)"
        return dict(self._run(query, (Numbers(int(n) for n in numbers),)).fetchall())

    def _put(self, table: str, blobs: Mapping[int, bytes]) -> None:
        with self._db.cursor() as cursor:
            cursor.executemany(
                f'INSERT INTO "{self._place.schema}".{table} VALUES (%s, %s) '
                "ON CONFLICT (number) DO UPDATE SET data = excluded.data",
                sorted(blobs.items()),
            )

    def _spent_blobs(self, chunks: Iterable[int]) -> dict[int, bytes]:
        return self._blobs("spent", chunks)

    def _put_spent(self, chunks: Mapping[int, bytes], *, dummy: bool = False) -> None:
        self._put("spent", chunks)

    def _leaf_marks(self, tree: str) -> list[bytes]:
        if tree == "spent":
            rows = self._run("SELECT number, data FROM {}.spent ORDER BY number").fetchall()
            return spent_marks(self._key, rows)
        if tree == "held":
            rows = self._run("SELECT chunk, data FROM {}.held ORDER BY chunk").fetchall()
            return [chunk_mark(self._key, "held", n, data) for n, data in rows]
        if tree == "people":  # records that wait for a tick have marks of their own
            return []
        publications = ((self._chunks[i], self._read_cells(i)) for i in range(len(self._sizes)))
        return [
            cells_mark(self._key, first + chunk, cells[CHUNK * chunk : CHUNK * (chunk + 1)])
            for first, cells in publications
            for chunk in range(-(-cells.size // CHUNK))
        ]

    def _mark_numbers(self) -> set[int]:
        return {number for (number,) in self._run("SELECT number FROM {}.marks").fetchall()}

    def _cells_marks(self, chunks: Iterable[int]) -> dict[int, bytes]:
        """The marks of some chunks of cells, as they are now."""
        if self.keeps_records:
            return {}
        query = "SELECT value FROM {}.cells WHERE cell >= %s AND cell < %s ORDER BY cell"
        rows = {n: self._run(query, (CHUNK * n, CHUNK * (n + 1))).fetchall() for n in chunks}
        return {
            n: cells_mark(self._key, n, np.array([v for (v,) in r], dtype=np.int64)) for n, r in rows.items()
        }

    def _state_and_mark(self) -> tuple[State, bytes]:
        query = "SELECT version, held, due, enough, mark FROM {}.state"
        *state, stored_mark = self._run(query).fetchone()
        return State(*state), bytes(stored_mark)

    def _take(
        self, tags: Sequence[bytes], *, dummy_work: bool
    ) -> tuple[list[bytes], set[bytes], list[bytes]]:
        wanted = Tags(sorted(tags))
        # Records are stored in tag order and never move, so any query plan locks them in that order.
        query = "DELETE FROM {}.records WHERE tag = ANY (%s) RETURNING tag, data"
        removed = self._run(query, (wanted,)).fetchall()
        rows = [row for tag, data in removed for row in self._rows_of(tag, data)]
        if removed and self.growth is not None:  # their old versions are there, even if no state is written
            self._run("UPDATE {}.state SET changes = changes + 1")
        blanks = [self._records.blank] * (len(wanted) - len(removed) if dummy_work else 0)
        return rows, {tag for tag, _ in removed}, blanks

    def _is_whole(self, tag: bytes, data: bytes) -> bool:
        """Return whether a person's record ends with the mark of its tag and its rows."""
        return data[-MARK:] == record_mark(self._key, tag, data[:-MARK])

    def _strike(self, posts: Sequence[int]) -> None:
        self._run("DELETE FROM {}.posts WHERE post = ANY (%s)", (sorted(posts),))

    def _subtract(self, chunks: Moved) -> None:
        pairs = [(CHUNK * chunk + c, v) for chunk, moved in chunks.items() for c, v in _pairs(moved)]
        cells, values = Numbers(c for c, _ in pairs), Numbers(v for _, v in pairs)
        before = self._cells_marks(chunks)
        done = self._run(
            """UPDATE {}.cells AS c SET value = c.value - moved.value
                FROM unnest(%s::bigint[], %s::bigint[]) AS moved (cell, value) WHERE c.cell = moved.cell""",
            (cells, values),
        )
        if done.rowcount != len(cells):
            raise StoreError(f"{self.path} is damaged: it lacks cells; nothing was changed.", DAMAGED)
        for chunk, after in self._cells_marks(chunks).items():
            self._marks.changed("cells", chunk, before[chunk], after)

    def _read_cells(self, number: int) -> IntArray:
        return self._read_range(CHUNK * self._chunks[number], self._sizes[number])

    def _read_chunks(self, chunks: range) -> IntArray:
        return self._read_range(CHUNK * chunks.start, CHUNK * len(chunks))

    def _read_range(self, first: int, size: int) -> IntArray:
        query = f"SELECT value FROM {{}}.published({first}, {first + size})"
        data = b"".join(self._copied(query))
        rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, 14)
        if len(rows) != size:
            raise StoreError(f"{self.path} is damaged: it lacks cells.", DAMAGED)
        return np.ascontiguousarray(rows[:, 6:]).view(">i8").ravel().astype(np.int64)

    def _there(self, tags: Sequence[bytes]) -> set[bytes]:
        query = "SELECT tag FROM {}.records WHERE tag = ANY (%s)"
        return {tag for (tag,) in self._run(query, (Tags(sorted(tags)),)).fetchall()}

    def _lookup(self, tags: Sequence[bytes]) -> dict[bytes, list[bytes]]:
        query = "SELECT tag, data FROM {}.records WHERE tag = ANY (%s) FOR UPDATE"
        return {
            tag: self._rows_of(tag, data) for tag, data in self._run(query, (Tags(sorted(tags)),)).fetchall()
        }

    def _insert(self, slots: Sequence[bytes]) -> None:
        people: dict[bytes, bytes] = {}
        for slot in sorted(slots):
            people[slot[:TAG]] = people.get(slot[:TAG], b"") + slot[TAG:]
        rows = ((tag, data + record_mark(self._key, tag, data)) for tag, data in people.items())
        copy_in(self._db, self._place, "records", "(tag, data)", encoded(rows))

    def _records_are_intact(self) -> bool:
        people = (row[6:] for row in self._copied("SELECT tag || data FROM {}.records ORDER BY tag"))
        altered = sum(not self._is_whole(person[:TAG], person[TAG:]) for person in people)
        return altered == 0  # all of the copy was read

    def _rows_of(self, tag: bytes, data: bytes) -> list[bytes]:
        """The rows in a person's record."""
        if not self._is_whole(tag, data):
            raise StoreError(f"{self.path} is damaged: a record was altered; nothing was changed.", DAMAGED)
        width = self._records.row
        return [data[at : at + width] for at in range(0, len(data) - MARK, width)]

    def _read_posts(self, number: int | None = None) -> Iterator[Post]:
        which = "" if number is None else f" WHERE publication = {number:d}"
        yield from self._run("SELECT post, publication, data FROM {}.posts" + which)

    def _read_held(self, chunks: Sequence[int]) -> dict[int, bytes]:
        where, wanted = "chunk = ANY (%s)", [list(chunks)]
        if isinstance(chunks, range):
            where, wanted = "chunk >= %s AND chunk < %s", [chunks.start, chunks.stop]  # type: ignore[list-item]
        return dict(self._run(f"SELECT chunk, data FROM {{}}.held WHERE {where}", wanted).fetchall())

    def _write_held(self, held: Mapping[int, bytes]) -> None:
        """Write chunks; the first write inserts all chunks, so that the presence of one reveals nothing."""
        if held and not self._one("SELECT EXISTS (SELECT FROM {}.held)"):
            empty, last_chunk = bytes(NONCE + 8 * CHUNK), self._chunks[-1] - 1
            self._run(
                "INSERT INTO {}.held SELECT n, %s FROM generate_series(0, %s) AS n", (empty, last_chunk)
            )
            if not self.keeps_records:
                self._require_never_held()
                self._marks.replaced("held", self._leaf_marks("held"))
        if not self.keeps_records:
            there = self._read_held(list(held))
            for chunk, data in held.items():
                marks = (chunk_mark(self._key, "held", chunk, each) for each in (there[chunk], data))
                self._marks.changed("held", chunk, *marks)
        with self._db.cursor() as cursor:
            cursor.executemany(
                f'INSERT INTO "{self._place.schema}".held VALUES (%s, %s) '
                "ON CONFLICT (chunk) DO UPDATE SET data = excluded.data",
                held.items(),
            )

    def _extending(self) -> AbstractContextManager[None]:
        return self._transaction("READ COMMITTED", "ACCESS EXCLUSIVE")

    def _changed(self, change: Callable[[], Result]) -> Result:
        done: list[Result] = []

        def work() -> Result:
            done.clear()
            with self._extending():
                done.append(change())
            return done[0]

        return self._retried(work, lambda: done[0])

    def _with_facts(self, changed: Callable[[Json], Json]) -> Json:
        with in_words(self.path):
            return super()._with_facts(changed)

    def extend(self, publish: Callable[[Table], Additions]) -> None:
        with in_words(self.path):
            super().extend(publish)

    def _append(self, first: int, packed: Sequence[tuple[IntArray, bytes | None]]) -> None:
        for number, (_, shape) in enumerate(packed, start=first):
            if shape is not None:
                self._run("INSERT INTO {}.shapes VALUES (%s, %s)", (number, shape))
        chunk = self._chunks[-1]
        more = [cells for cells, _ in packed]
        copy_in(self._db, self._place, "cells", "(cell, value)", numbered(more, CHUNK * chunk))
        if not self.keeps_records:  # blocks of ticks, which fill their chunks
            parts = (part for cells in more for part in cells.reshape(-1, CHUNK))
            self._marks.appended(
                "cells", [cells_mark(self._key, n, p) for n, p in enumerate(parts, start=chunk)]
            )
        if self._one("SELECT EXISTS (SELECT FROM {}.held)"):
            after = chunk + sum(-(-cells.size // CHUNK) for cells in more)
            empty = bytes(NONCE + 8 * CHUNK)
            query = "INSERT INTO {}.held SELECT n, %s FROM generate_series(%s::int, %s::int) AS n"
            self._run(query, (empty, chunk, after - 1))

    def _slots(self) -> Iterator[Given]:
        parts: list[bytes] = []
        for row in self._copied("SELECT tag || data FROM {}.records ORDER BY tag"):
            parts.append(row[6:])
            if len(parts) > 1 << 16:
                yield self._parted(parts)
                parts = []
        yield self._parted(parts)

    def _parted(self, people: Sequence[bytes]) -> Given:
        """Split records into one slot per row: a record is a tag, the person's rows, and their mark."""
        slot, width = self._records.slot, self._records.row
        if people and {len(person) for person in people} == {slot + MARK}:  # a row each
            whole = np.frombuffer(b"".join(people), dtype=np.uint8).reshape(-1, slot + MARK)
            return np.ascontiguousarray(whole[:, :slot])
        rows = [
            person[:TAG] + person[at : at + width]
            for person in people
            for at in range(TAG, len(person) - MARK, width)
        ]
        return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, slot)

    def _copied(self, query: str) -> Iterator[bytes]:
        """The rows of a query as PostgreSQL's binary COPY writes them."""
        command = f"COPY ({query}) TO STDOUT (FORMAT BINARY)".replace("{}", f'"{self._place.schema}"')
        first = True
        with self._db.cursor().copy(command) as copy:
            for block in copy:
                data = bytes(block)
                if first:
                    data, first = data[len(COPY_HEAD) :], False
                if data and data != COPY_END:
                    yield data

    def _read_meta(self) -> tuple[dict[str, str], list[bytes]]:
        shapes = self._run("SELECT shape FROM {}.shapes ORDER BY publication").fetchall()
        return dict(self._run("SELECT key, value FROM {}.meta").fetchall()), [shape for (shape,) in shapes]

    def _integrity(self) -> list[str]:
        problems = list[str]()
        if self._one("SELECT current_setting('fsync')") == "off":
            problems.append(
                "the server runs with fsync = off: a crash of the machine may undo acknowledged deletions"
            )
        if not self._records_are_intact():
            problems.append("a record was altered, or is not where a deletion looks for it")
        return [*problems, *readers_of_tables(self._place, self._db)]

    def _replace_records(self) -> None:
        for table in ("records", "posts"):
            self._run(f"DELETE FROM {{}}.{table}")
        create_bits(self._place, self._db)

    def forget_records(self, people: Iterable[str], capacity: int, issue: Issue) -> None:
        with in_words(self.path):
            super().forget_records(people, capacity, issue)

    # -- migrations

    def _migrating(self) -> AbstractContextManager[None]:
        return self._extending()

    def _migrate_layout(self, stored_format: int) -> dict[str, str]:
        """Migrate formats 1 and 2 to 3: marks, the function `published`, and chunks that reveal nothing."""
        if stored_format < 2:
            posts = [(d + mark(self._key, n, board, d), n) for n, board, d in self._read_posts()]
            with self._db.cursor() as cursor:
                cursor.executemany(
                    f'UPDATE "{self._place.schema}".posts SET data = %s WHERE post = %s', posts
                )
        old = [row[6:] for row in self._copied("SELECT tag || data FROM {}.records ORDER BY tag")]
        marked = [(p[:TAG], p[TAG:] + record_mark(self._key, p[:TAG], p[TAG:])) for p in old]
        with self._db.cursor() as cursor:
            update = f'UPDATE "{self._place.schema}".records SET data = %s WHERE tag = %s'
            cursor.executemany(update, [(data, tag) for tag, data in marked])
        self._run("ALTER TABLE {}.state ADD COLUMN mark bytea NOT NULL DEFAULT ''")
        for statement in PUBLISHED.split(";"):
            self._run(statement)
        if held := self._read_held(range(self._chunks[-1])):
            self._run("DELETE FROM {}.held")
            self._write_held(held)
        return {}

    def _rewrite(self, meta: Mapping[str, str]) -> None:
        self._run("DELETE FROM {}.meta WHERE NOT key = ANY (%s)", (list(meta),))
        with self._db.cursor() as cursor:
            upsert = (
                f'INSERT INTO "{self._place.schema}".meta VALUES (%s, %s) '
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            )
            cursor.executemany(upsert, list(meta.items()))
        self._run("UPDATE {}.state SET format = %s, changes = changes + 1", (FORMAT,))


def _pairs(moved: Given) -> Iterator[tuple[int, int]]:
    """The cells of a chunk that change, and by how much; given by cell, or for all of them."""
    if isinstance(moved, np.ndarray):
        cells = np.flatnonzero(moved)
        yield from zip(cells.tolist(), moved[cells].tolist(), strict=True)
        return
    yield from moved.items()


def _commit(place: Place, db: Connection, number: str) -> bool:
    """Commit a publication, and return whether it was committed; if that is unknown, the key stays."""
    try:
        db.execute("COMMIT")
        return True
    except psycopg.OperationalError:
        for pause in PAUSES:
            time.sleep(pause)
            with suppress(psycopg.Error), place.connect() as again:
                status = again.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
                if status in (("committed",), ("aborted",)):
                    return bool(status == ("committed",))
        problem = f"{place.shown} was lost during the commit: the publication may or may not have happened."
        raise StoreError(problem, f"Keep {place.key}, and publish again when the server is back.") from None
