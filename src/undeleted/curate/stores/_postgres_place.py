"""Where a store in PostgreSQL is: its address, its tables, the file of its key, and what goes wrong there."""

import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg

from undeleted.curate.connections import complaint, redacted
from undeleted.curate.stores._postgres_arrays import register
from undeleted.errors import BadConnection, StoreError, UndeletedError

TABLES = {  # nothing of their values is kept as a statistic
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
        "mark": "bytea",
    },
    "held": {"chunk": "bigint", "data": "bytea"},
    "cells": {"cell": "bigint", "value": "bigint"},
    "shapes": {"publication": "integer", "shape": "bytea"},
    "meta": {"key": "text", "value": "text"},
}
SINCE = {("state", "mark"): 3}  # the format from which on a column is there
# Nobody waits for ever, a client that vanished holds nothing for long, and a commit is durable.
_SETTINGS = """SELECT set_config('lock_timeout', '30s', false),
    set_config('idle_in_transaction_session_timeout', '60s', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)"""


DEAF = 20  # seconds that a server may leave what was sent to it unacknowledged


@dataclass(frozen=True)
class Place:
    """Where a store is: what the driver is told, the schema, the key's file, and what may be shown."""

    dsn: str
    schema: str
    key: Path
    shown: str
    patience: int = 10  # seconds to connect

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
        dsn = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options, quote_via=quote), ""))
        return cls(dsn, schema, Path(key), f"{shown}?schema={schema}")

    def connect(self) -> psycopg.Connection[Any]:
        try:
            connection = psycopg.connect(
                self.dsn, autocommit=True, connect_timeout=self.patience, tcp_user_timeout=1000 * DEAF
            )
        except psycopg.ProgrammingError:  # its words hold the address
            problem = "is not an address of PostgreSQL, or has an option that it does not know."
            remedy = (
                "Say postgresql://user@host:port/database?schema=name; a password in it is written with %."
            )
            raise BadConnection(self.shown, problem, remedy) from None
        register(connection)
        try:
            connection.execute(_SETTINGS)
        except BaseException:
            connection.close()
            raise
        return connection


def only_publisher(place: Place, db: psycopg.Connection[Any]) -> None:
    """Take the lock of a publisher; one that was killed holds it until its server has noticed."""
    number = zlib.crc32(place.schema.encode()) - 2**31
    for _ in range(20):
        found = db.execute("SELECT pg_try_advisory_lock(20260215, %s::int)", (number,)).fetchone()
        if found == (True,):
            return
        time.sleep(0.25)
    raise StoreError(f"{place.shown} is being published by another process.", "Wait for it to end.")


def is_there(place: Place, db: psycopg.Connection[Any]) -> bool:
    """Whether all tables of a store are there; one that is called alike is somebody else's."""
    named = [f'"{place.schema}".{table}' for table in TABLES]
    found = db.execute("SELECT count(to_regclass(name)) FROM unnest(%s::text[]) AS name", (named,)).fetchone()
    return found == (len(TABLES),)


def require_empty(place: Place, db: psycopg.Connection[Any]) -> None:
    """A store has a schema of its own: whoever removes the one removes the other."""
    query = "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
    if db.execute(query, (f'"{place.schema}"',)).fetchone() != (0,):
        problem = f"{place.shown} has tables of other people's; nothing was changed."
        raise StoreError(problem, "Name an empty schema, or a new one, by ?schema=name.")


def require_types(place: Place, db: psycopg.Connection[Any], form: int) -> None:
    """Refuse tables that somebody gave another type."""
    query = """SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_attribute AS a
        JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = %s AND a.attnum > 0 AND NOT a.attisdropped"""
    found = {(table, column): kind for table, column, kind in db.execute(query, (place.schema,))}
    for table, columns in TABLES.items():
        for column, kind in columns.items():
            if form < SINCE.get((table, column), 0):
                continue
            now = found.get((table, column), "not there")
            if now != kind:
                problem = f"{place.shown}: {table}.{column} is {now}, and was made as {kind}."
                raise StoreError(problem, "Undo that change, or restore the store; nothing was changed.")


def readers_of_tables(place: Place, db: psycopg.Connection[Any]) -> list[str]:
    """Who may read cells and not change them: rows carry the transaction that wrote them, until `vacuum`."""
    query = """SELECT grantee FROM information_schema.role_table_grants
        WHERE table_schema = %s AND table_name = 'cells' GROUP BY grantee
        HAVING bool_or(privilege_type = 'SELECT') AND NOT bool_or(privilege_type = 'UPDATE') ORDER BY 1"""
    return [
        f"{role} may read the table `cells`, whose rows tell what left together: grant `published()`"
        for (role,) in db.execute(query, (place.schema,))
    ]


def last(cursor: psycopg.Cursor[Any]) -> str:
    """The answer of the last of several statements."""
    while cursor.nextset():
        pass
    [number] = cursor.fetchone() or [""]
    return str(number)


def cannot_connect(error: psycopg.Error) -> bool:
    """The server may come back; a refused password does not become right."""
    return (
        isinstance(error, psycopg.OperationalError)
        and error.sqlstate is None
        and "password" not in str(error)
    )


@contextmanager
def in_words(shown: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise wrong_there(shown, error) from None


def wrong_there(shown: str, error: psycopg.Error) -> UndeletedError:
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
