"""A schema of a PostgreSQL database, for a ledger that many processes share.

    postgresql://curator@host/db?schema=people&key=people.key

Deletions are set-based: one statement takes the records, one moves the cells.  Records are locked in the
order of their tags and the state after them, so deleters wait for each other and never for ever.  A request
whose connection drops is asked about by its transaction's number, and tried again only if it did not happen.
No id ever reaches the server: the key that makes tags of ids lies in a file on the client.

PostgreSQL keeps old versions of rows.  `vacuum` writes the tables anew without them, whoever is looking.
"""

import hmac
import os
import re
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np
import psycopg

from undeleted.arrays import IntArray
from undeleted.engines._connections import complaint, redacted
from undeleted.errors import AlreadyThere, BadConnection, StoreError, UndeletedError
from undeleted.stores._contents import FORMAT, Contents, Post, Published, Publishing, State
from undeleted.stores._migrations import migrate
from undeleted.stores._place import key_of, sync, write_key
from undeleted.stores._records import TAG, tag_of
from undeleted.stores._sealed import seal
from undeleted.stores._store import CHUNK, DAMAGED, Deleted, Fold, Moved, Store

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds between tries when the connection drops
TABLES = {  # in the order in which they are locked; nothing of their values is kept as a statistic
    "records": {"tag": "bytea", "data": "bytea"},
    "posts": {"post": "bigint", "publication": "integer", "data": "bytea"},
    "state": {
        "version": "bigint",
        "held": "bigint",
        "due": "double precision",
        "enough": "bigint",
        "format": "integer",
        "changes": "bigint",
        "erased": "bigint",
    },
    "held": {"chunk": "bigint", "data": "bytea"},
    "cells": {"cell": "bigint", "value": "bigint"},
    "shapes": {"publication": "integer", "shape": "bytea"},
    "meta": {"key": "text", "value": "text"},
}
LIVING = ("records", "posts", "state", "held", "cells")
_KEYS = {"records": "tag", "posts": "post", "held": "chunk", "cells": "cell", "shapes": "publication"}
_AGAIN = ("40001", "40P01", "57P01", "57P02", "57P03")  # serialisation, deadlock, shutdown, crash, start-up
_COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_END = b"\xff\xff"
# Nobody waits for ever, a client that vanished holds nothing for long, and a commit is durable.
_SETTINGS = """SELECT set_config('lock_timeout', '30s', false),
    set_config('idle_in_transaction_session_timeout', '60s', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)"""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Place:
    """Where a store is: what the driver is told, the schema, the key's file, and what may be shown."""

    dsn: str
    schema: str
    key: Path
    shown: str

    @classmethod
    def of(cls, url: str) -> "Place":
        shown = redacted(url)
        try:
            parts = urlsplit(url)
            options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
            _ = parts.port
        except ValueError:
            remedy = (
                "Say postgresql://user@host:port/database?schema=name; a password in it is written with %."
            )
            raise BadConnection(shown, "is not an address of PostgreSQL.", remedy) from None
        schema = options.pop("schema", "undeleted")
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
            problem = f"has no schema that could be called {schema!r}."
            raise BadConnection(shown, problem, "Name it with small letters, digits and underscores.")
        key = options.pop("key", os.environ.get("UNDELETED_KEY", f"{schema}.key"))
        dsn = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options), ""))
        return cls(dsn, schema, Path(key), f"{shown}?schema={schema}")

    def connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self.dsn, autocommit=True, connect_timeout=10)
        try:
            connection.execute(_SETTINGS)
        except BaseException:
            connection.close()
            raise
        return connection


class PostgresStore(Store):
    """A store in a schema of a database."""

    how_to_erase = "`undeleted store vacuum` erases it from the tables, at a quiet time"

    def __init__(self, place: Place, connection: psycopg.Connection[Any], key: bytes) -> None:
        self._place, self._db, self.path = place, connection, place.shown
        self._lock = threading.RLock()  # one connection, one transaction: threads take turns
        self._doubt: str | None = None  # a transaction whose end was not heard of
        super().__init__(key, *self._read_meta())

    # -- life and death

    @classmethod
    def create(cls, url: str, publishing: Publishing) -> "PostgresStore":
        """Publish into a new schema."""
        return cls.filled(url, lambda key: Published(publishing, key))

    @classmethod
    def filled(
        cls, url: str, contents: Callable[[bytes], Contents], key: bytes | None = None
    ) -> "PostgresStore":
        """Fill a schema in one transaction: the store is there or it is not.

        The key is durable before the store is; a key whose store never came to be is known by the file
        beside it, and gives way to the next publication.
        """
        place = Place.of(url)
        with _in_words(place.shown):
            connection = place.connect()
            try:
                _only_publisher(place, connection)
                if _is_there(place, connection):
                    remedy = "A deletion updates it; publish new people into a schema of their own."
                    raise AlreadyThere(f"a store at {place.shown}", remedy)
                unfinished = Path(f"{place.key}.unfinished")
                _clear_key(place, unfinished)
                key = write_key(unfinished, key)
                sync(unfinished)
                try:
                    connection.execute("BEGIN")
                    _fill(place, connection, contents(key), key)
                    number = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
                    os.link(unfinished, place.key)
                    sync(place.key.absolute().parent)
                    _commit(place, connection, number[0] if number else "")
                except BaseException:
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")
                    _clear_key(place, unfinished)
                    raise
                unfinished.unlink()
            finally:
                connection.close()
        return cls.open(url)

    @classmethod
    def open(cls, url: str) -> "PostgresStore":
        place = Place.of(url)
        with _in_words(place.shown):
            connection = place.connect()
            try:
                store = cls._opened(place, connection)
                store.fold()
            except BaseException:
                connection.close()
                raise
            return store

    @classmethod
    def _opened(cls, place: Place, connection: psycopg.Connection[Any]) -> "PostgresStore":
        if not _is_there(place, connection):
            raise StoreError(
                f"there is no store at {place.shown}.", "Publish first, or name the store with --store."
            )
        key = key_of(place.key, place.shown)
        meta = f"SELECT key, value FROM \"{place.schema}\".meta WHERE key IN ('format', 'tag')"
        found = dict(connection.execute(meta).fetchall())
        if not found.get("format", "").isdigit() or int(found["format"]) > FORMAT:
            problem = (
                f"{place.shown} has format {found.get('format', 'unknown')}; this program reads {FORMAT}."
            )
            raise StoreError(problem, "Open it with the version of undeleted that wrote it, or a newer one.")
        if not hmac.compare_digest(found.get("tag", ""), tag_of(key, "").hex()):
            remedy = "Name the key that was made with it by ?key=FILE or UNDELETED_KEY."
            raise StoreError(f"{place.key} is not the key of {place.shown}.", remedy)
        _require_types(place, connection)
        try:
            store = cls(place, connection, key)
        except (KeyError, ValueError, TypeError, AttributeError, UndeletedError):
            problem = f"{place.shown} is damaged: what it says of itself cannot be read."
            raise StoreError(problem, DAMAGED) from None
        if found["format"] != str(FORMAT):
            migrate(store)
        Path(f"{place.key}.unfinished").unlink(missing_ok=True)  # of a publisher that was killed too late
        return store

    @staticmethod
    def there(url: str) -> bool:
        place = Place.of(url)
        with _in_words(place.shown), place.connect() as connection:
            return _is_there(place, connection)

    def close(self) -> None:
        self._db.close()

    # -- erasing

    def erase(self) -> bool:
        """Whether nothing waits to be erased; writing tables anew is for `vacuum`, at a time of one's own."""
        return not self.erasure_pending

    @property
    def erasure_pending(self) -> bool:
        found = self._retried(lambda: self._one("SELECT changes > erased FROM {}.state"))
        return bool(found)

    def vacuum(self) -> bool:
        """Write the tables anew, without old versions of rows, whoever looks at them; False if they are held.

        Plain VACUUM leaves the bytes of dead rows where they lie, and VACUUM FULL keeps rows that an older
        transaction might still see.  A change of type copies what is there now, and nothing else.
        """

        def work() -> bool:
            with self._transaction("READ COMMITTED", "ACCESS EXCLUSIVE"):
                for table, change in (
                    ("records", "data TYPE bytea USING data || ''::bytea"),
                    ("posts", "data TYPE bytea USING data || ''::bytea"),
                    ("held", "data TYPE bytea USING data || ''::bytea"),
                    ("cells", "value TYPE bigint USING value + 0"),
                    ("state", "version TYPE bigint USING version + 0"),
                ):
                    self._run(f"ALTER TABLE {{}}.{table} ALTER COLUMN {change}")
                self._run("UPDATE {}.state SET erased = changes")
            return True

        try:
            return self._retried(work)
        except StoreError as error:
            if "held by another" in error.what:
                return False
            raise

    # -- transactions, and what becomes of them when a connection drops

    def release(self, name: str) -> tuple[Any, int]:
        return self._retried(lambda: super(PostgresStore, self).release(name))

    def check(self) -> list[str]:
        return self._retried(super().check)

    def fold(self) -> None:
        self._retried(super().fold, lambda: None)

    @property
    def version(self) -> int:
        return int(self._retried(lambda: self._one("SELECT version FROM {}.state")))

    @property
    def held(self) -> int:
        return int(self._retried(lambda: self._one("SELECT held FROM {}.state")))

    def delete(self, people: Sequence[str], fold: Fold | None = None) -> Deleted:
        done: list[Deleted] = []

        def work() -> Deleted:
            done.clear()
            with self._writing():
                done.append(self._delete(people, fold))
            return done[0]

        return self._retried(work, lambda: done[0])

    def _retried(self, work: Callable[[], Result], known: Callable[[], Result] | None = None) -> Result:
        """Do it; if the connection drops, find out whether it happened, and do it again if it did not.

        `known` gives the result of work that turns out to have been committed.
        """
        with self._lock:
            for pause in (*PAUSES, None):
                try:
                    self._connected()
                    if self._doubt is not None and known is not None:
                        happened = self._happened(self._doubt)
                        self._doubt = None
                        if happened:
                            return known()
                    self._doubt = None
                    return work()
                except psycopg.Error as error:
                    dropped = self._db.closed or self._db.broken or isinstance(error, psycopg.InterfaceError)
                    again = dropped or error.sqlstate in _AGAIN or _cannot_connect(error)
                    if not again or pause is None:
                        raise _wrong(self.path, error) from None
                    time.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _connected(self) -> None:
        if self._db.closed or self._db.broken:
            with suppress(psycopg.Error):
                self._db.close()
            self._db = self._place.connect()

    def _happened(self, number: str) -> bool:
        """Whether a transaction was committed; one that is still going on is waited for."""
        for _ in range(300):
            [status] = self._db.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone() or [None]
            if status != "in progress":
                return bool(status == "committed")
            time.sleep(0.1)
        raise StoreError(
            f"{self.path} does not say what became of a deletion.", "Ask for it again: it is safe."
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Tables are locked before the view is taken, so that none is written anew between the two."""
        with self._transaction("REPEATABLE READ READ ONLY", "ACCESS SHARE"):
            yield

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._transaction("READ COMMITTED", "ROW EXCLUSIVE"):
            yield

    @contextmanager
    def _transaction(self, kind: str, lock: str) -> Iterator[None]:
        with self._lock:
            tables = ", ".join(f'"{self._place.schema}".{table}' for table in LIVING)
            begin = f"BEGIN ISOLATION LEVEL {kind}; LOCK TABLE {tables} IN {lock} MODE"
            reading = "READ ONLY" in kind
            cursor = self._db.cursor()
            try:
                cursor.execute(begin if reading else f"{begin}; SELECT pg_current_xact_id()::text")
                number = "" if reading else _last(cursor)
                yield
            except BaseException:
                with suppress(psycopg.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._doubt = None if reading else number
            self._db.execute("COMMIT")
            self._doubt = None

    def _run(self, query: str, arguments: Sequence[Any] = ()) -> Any:
        """A statement, with the schema for {}."""
        return self._db.execute(query.replace("{}", f'"{self._place.schema}"'), arguments, binary=True)

    def _one(self, query: str) -> Any:
        found = self._run(query).fetchone()
        return found[0] if found else None

    # -- reading and writing

    def _state(self, *, write: bool = False) -> State:
        lock = " FOR UPDATE" if write else ""
        query = "SELECT version, held, due, enough, format FROM {}.state" + lock
        *state, found = self._run(query).fetchone()
        if write and found > FORMAT:
            problem = f"{self.path} was brought to format {found} by a newer program."
            raise StoreError(problem, "Update undeleted here too; nothing was changed.")
        return State(*state)

    def _write_state(self, state: State) -> None:
        self._run(
            "UPDATE {}.state SET version = %s, held = %s, due = %s, enough = %s, changes = changes + 1",
            (state.version, state.held, state.due, state.enough),
        )

    def _take(self, people: Iterable[str]) -> tuple[list[bytes], int]:
        tags = sorted(tag_of(self._key, person) for person in people)
        found = self._run(
            """DELETE FROM {}.records WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM {}.records WHERE tag = ANY (%s) ORDER BY tag FOR UPDATE)) RETURNING data""",
            (tags,),
        ).fetchall()
        width = self._records.row
        return [data[at : at + width] for (data,) in found for at in range(0, len(data), width)], len(found)

    def _strike(self, posts: Sequence[int]) -> None:
        self._run("DELETE FROM {}.posts WHERE post = ANY (%s)", (sorted(posts),))

    def _subtract(self, chunks: Moved) -> None:
        cells = [CHUNK * chunk + cell for chunk, moved in chunks.items() for cell in moved]
        values = [value for moved in chunks.values() for value in moved.values()]
        done = self._run(
            """UPDATE {}.cells AS c SET value = c.value - moved.value
                FROM unnest(%s::bigint[], %s::bigint[]) AS moved (cell, value) WHERE c.cell = moved.cell""",
            (cells, values),
        )
        if done.rowcount != len(cells):
            raise StoreError(f"{self.path} is damaged: it lacks cells; nothing was changed.", DAMAGED)

    def _read_cells(self, number: int) -> IntArray:
        first, size = CHUNK * self._chunks[number], self._sizes[number]
        query = f"SELECT value FROM {{}}.cells WHERE cell >= {first} AND cell < {first + size} ORDER BY cell"
        data = b"".join(self._copied(query))
        rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, 14)
        if len(rows) != size:
            raise StoreError(f"{self.path} is damaged: it lacks cells.", DAMAGED)
        return np.ascontiguousarray(rows[:, 6:]).view(">i8").ravel().astype(np.int64)

    def _read_posts(self, number: int | None = None) -> Iterator[Post]:
        which = "" if number is None else f" WHERE publication = {number:d}"
        yield from self._run("SELECT post, publication, data FROM {}.posts" + which)

    def _read_held(self, chunks: Sequence[int]) -> dict[int, bytes]:
        where, wanted = "chunk = ANY (%s)", [list(chunks)]
        if isinstance(chunks, range):
            where, wanted = "chunk >= %s AND chunk < %s", [chunks.start, chunks.stop]  # type: ignore[list-item]
        return dict(self._run(f"SELECT chunk, data FROM {{}}.held WHERE {where}", wanted).fetchall())

    def _write_held(self, held: Mapping[int, bytes]) -> None:
        with self._db.cursor() as cursor:
            cursor.executemany(
                f'INSERT INTO "{self._place.schema}".held VALUES (%s, %s) '
                "ON CONFLICT (chunk) DO UPDATE SET data = excluded.data",
                held.items(),
            )

    def _slots(self) -> Iterator[Any]:
        parts: list[bytes] = []
        for row in self._copied("SELECT tag || data FROM {}.records ORDER BY tag"):
            parts.append(row[6:])
            if len(parts) > 1 << 16:
                yield self._parted(parts)
                parts = []
        yield self._parted(parts)

    def _parted(self, people: Sequence[bytes]) -> Any:
        """A slot for every row: a person's rows lie behind one tag."""
        slot, width = self._records.slot, self._records.row
        if any(len(person) != slot for person in people):
            rows = (
                (person[:TAG], person[at : at + width])
                for person in people
                for at in range(TAG, len(person), width)
            )
            people = [tag + row for tag, row in rows]
        return np.frombuffer(b"".join(people), dtype=np.uint8).reshape(-1, slot)

    def _copied(self, query: str) -> Iterator[bytes]:
        """The rows of a query as PostgreSQL's binary COPY writes them."""
        command = f"COPY ({query}) TO STDOUT (FORMAT BINARY)".replace("{}", f'"{self._place.schema}"')
        first = True
        with self._db.cursor().copy(command) as copy:
            for block in copy:
                data = bytes(block)
                if first:
                    data, first = data[len(_COPY_HEAD) :], False
                if data and data != _COPY_END:
                    yield data

    def _read_meta(self) -> tuple[dict[str, str], list[bytes]]:
        shapes = self._run("SELECT shape FROM {}.shapes ORDER BY publication").fetchall()
        return dict(self._run("SELECT key, value FROM {}.meta").fetchall()), [shape for (shape,) in shapes]

    def _integrity(self) -> list[str]:
        if self._one("SELECT current_setting('fsync')") == "off":
            return [
                "the server runs with fsync = off: a crash of the machine may undo acknowledged deletions"
            ]
        return []

    # -- migrations

    def _rewrite(self, meta: Mapping[str, str], posts: Iterable[Post]) -> None:
        with self._db.cursor() as cursor:
            schema = self._place.schema
            update = f'UPDATE "{schema}".posts SET data = %s WHERE post = %s'
            cursor.executemany(update, [(d, n) for n, _, d in posts])
            upsert = (
                f'INSERT INTO "{schema}".meta VALUES (%s, %s) '
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            )
            cursor.executemany(upsert, list(meta.items()))
        self._run("UPDATE {}.state SET format = %s, changes = changes + 1", (FORMAT,))


# -- filling


def _fill(place: Place, db: psycopg.Connection[Any], contents: Contents, key: bytes) -> None:
    """Everything a new store holds, inside a transaction; bulk goes by COPY."""

    def run(query: str) -> None:
        db.execute(query.replace("{}", f'"{place.schema}"'))

    run("CREATE SCHEMA IF NOT EXISTS {}")
    for table, columns in TABLES.items():
        listed = ", ".join(f"{name} {kind} NOT NULL" for name, kind in columns.items())
        run(f"CREATE TABLE {{}}.{table} ({listed})")
        for name in columns:  # a sample of values in the catalogue would outlive those it was taken of
            run(f"ALTER TABLE {{}}.{table} ALTER COLUMN {name} SET STATISTICS 0")
    run("ALTER TABLE {}.held ALTER COLUMN data SET STORAGE EXTERNAL")
    run("ALTER TABLE {}.cells SET (fillfactor = 50)")  # a cell is moved within its page
    run("ALTER TABLE {}.state SET (fillfactor = 10)")
    _fill_records(db, place, contents)
    _copy(db, place, "posts", "(post, publication, data)", _posts(contents))
    _copy(db, place, "cells", "(cell, value)", _cells(contents))
    for table, rows in (("shapes", list(enumerate(contents.shapes))), ("held", contents.held)):
        with db.cursor() as cursor:
            cursor.executemany(f'INSERT INTO "{place.schema}".{table} VALUES (%s, %s)', rows)
    meta = contents.meta()
    meta["seal"] = seal(key, meta, contents.shapes)
    with db.cursor() as cursor:
        cursor.executemany(f'INSERT INTO "{place.schema}".meta VALUES (%s, %s)', list(meta.items()))
        state = contents.state
        cursor.execute(
            f'INSERT INTO "{place.schema}".state VALUES (%s, %s, %s, %s, %s, 0, 0)',
            (state.version, state.held, state.due, state.enough, FORMAT),
        )
    for table, column in (*_KEYS.items(), ("meta", "key")):
        run(f"ALTER TABLE {{}}.{table} ADD PRIMARY KEY ({column})")


def _fill_records(db: psycopg.Connection[Any], place: Place, contents: Contents) -> None:
    """Records in the order of their tags, which tells nothing of the source's; a person's rows together."""
    db.execute("CREATE TEMPORARY TABLE incoming (tag bytea, data bytea) ON COMMIT DROP")
    with db.cursor().copy("COPY incoming FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(_COPY_HEAD)
        for slots in contents.slots():
            copy.write(_tuples(slots[:, :TAG], slots[:, TAG:]))
        copy.write(_COPY_END)
    db.execute(
        f'INSERT INTO "{place.schema}".records '
        "SELECT tag, string_agg(data, ''::bytea ORDER BY data) FROM incoming GROUP BY tag ORDER BY tag"
    )


def _copy(db: psycopg.Connection[Any], place: Place, table: str, columns: str, rows: Iterable[bytes]) -> None:
    command = f'COPY "{place.schema}".{table} {columns} FROM STDIN (FORMAT BINARY)'
    with db.cursor().copy(command) as copy:
        copy.write(_COPY_HEAD)
        for data in rows:
            copy.write(data)
        copy.write(_COPY_END)


def _cells(contents: Contents) -> Iterator[bytes]:
    first = 0
    for cells in contents.cells:
        for start in range(0, cells.size, 1 << 16):
            part = cells[start : start + (1 << 16)]
            numbers = np.arange(first + start, first + start + part.size)
            yield _tuples(_big(numbers), _big(part))
        first += CHUNK * -(-cells.size // CHUNK)


def _posts(contents: Contents) -> Iterator[bytes]:
    for post, board, data in contents.posts():
        yield struct.pack(">hiqiii", 3, 8, post, 4, board, len(data)) + data


def _big(numbers: Any) -> Any:
    return numbers.astype(">i8").view(np.uint8).reshape(-1, 8)


def _tuples(*columns: Any) -> bytes:
    """Rows of fields of fixed width, as binary COPY has them: how many, then each with its length."""
    rows = len(columns[0])
    parts = [np.frombuffer(struct.pack(">h", len(columns)), dtype=np.uint8)]
    for column in columns:
        parts += [np.frombuffer(struct.pack(">i", column.shape[1]), dtype=np.uint8), column]
    widened = [np.broadcast_to(part, (rows, part.shape[-1])) for part in parts]
    return np.concatenate(widened, axis=1).tobytes()


# -- below


def _only_publisher(place: Place, db: psycopg.Connection[Any]) -> None:
    """Take the lock of a publisher; one that was killed holds it until its server has noticed."""
    number = zlib.crc32(place.schema.encode()) - 2**31
    for _ in range(20):
        found = db.execute("SELECT pg_try_advisory_lock(20260215, %s::int)", (number,)).fetchone()
        if found == (True,):
            return
        time.sleep(0.25)
    raise StoreError(f"{place.shown} is being published by another process.", "Wait for it to end.")


def _is_there(place: Place, db: psycopg.Connection[Any]) -> bool:
    found = db.execute("SELECT to_regclass(%s) IS NOT NULL", (f'"{place.schema}".meta',)).fetchone()
    return bool(found and found[0])


def _require_types(place: Place, db: psycopg.Connection[Any]) -> None:
    """Refuse tables that somebody gave another type."""
    query = (
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = %s"
    )
    found = {(table, column): kind for table, column, kind in db.execute(query, (place.schema,))}
    for table, columns in TABLES.items():
        for column, kind in columns.items():
            now = found.get((table, column), "not there")
            if now != kind:
                problem = f"{place.shown}: {table}.{column} is {now}, and was made as {kind}."
                raise StoreError(problem, "Undo that change, or restore the store; nothing was changed.")


def _clear_key(place: Place, unfinished: Path) -> None:
    """A key that is there belongs to a store, unless the publication that made it never ended."""
    if unfinished.exists():
        if place.key.exists() and place.key.samefile(unfinished):
            place.key.unlink()
        unfinished.unlink()
    if place.key.exists():
        problem = f"{place.key} is the key of another store."
        raise StoreError(
            problem,
            "Name another file by ?key=FILE or UNDELETED_KEY; without it nobody there can be deleted.",
        )


def _commit(place: Place, db: psycopg.Connection[Any], number: str) -> None:
    """Commit a publication; if the connection drops just then, ask whether it happened."""
    try:
        db.execute("COMMIT")
    except psycopg.OperationalError:
        for pause in PAUSES:
            time.sleep(pause)
            with suppress(psycopg.Error), place.connect() as again:
                [status] = again.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone() or [None]
                if status == "committed":
                    return
                if status == "aborted":
                    break
        raise


def _last(cursor: psycopg.Cursor[Any]) -> str:
    """The answer of the last of several statements."""
    while cursor.nextset():
        pass
    [number] = cursor.fetchone() or [""]
    return str(number)


def _cannot_connect(error: psycopg.Error) -> bool:
    """The server may come back; a refused password does not become right."""
    return (
        isinstance(error, psycopg.OperationalError)
        and error.sqlstate is None
        and "password" not in str(error)
    )


@contextmanager
def _in_words(shown: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise _wrong(shown, error) from None


def _wrong(shown: str, error: psycopg.Error) -> UndeletedError:
    """What PostgreSQL says, in words of ours: its own may hold values, or a password."""
    match error.sqlstate:
        case "55P03":
            problem = f"{shown} is held by another process for too long; nothing was changed."
            return StoreError(problem, "Try again.")
        case "53100":
            return StoreError(
                f"{shown} finds the disk full; nothing was changed.", "Make room and try again."
            )
        case "25006":
            problem = f"{shown} may only be read: the server is a replica or was set so; nothing was changed."
            return StoreError(problem, "Name the primary server.")
        case "42501":
            problem = f"{shown} may not be used so by this user; nothing was changed."
            return StoreError(
                problem, "Grant it the schema and its tables, or CREATE on the database to publish."
            )
        case "42P07":
            problem = f"{shown} has tables of other people's by these names; nothing was changed."
            return StoreError(problem, "Name an empty schema by ?schema=name.")
    return complaint(shown, error)
