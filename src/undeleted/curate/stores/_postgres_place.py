"""The place of a store in PostgreSQL: its address, its tables, its key file, and its errors."""

import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg

from undeleted.curate.connections import database_error, redacted
from undeleted.curate.stores._postgres_arrays import register
from undeleted.errors import BadConnection, StoreError, UndeletedError
from undeleted.foundations.types import Given

Connection: TypeAlias = psycopg.Connection[tuple[Given, ...]]

TABLES = {  # PostgreSQL keeps no statistics of their values
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
BITS = {
    "spent": {"number": "bigint", "data": "bytea"},
    "marks": {"number": "bigint", "data": "bytea"},
}  # no records
SINCE = {("state", "mark"): 3}  # the first format that has the column
# Waiting for a lock times out, a client that vanished soon loses its locks, and a commit is durable.
_SETTINGS = """SELECT set_config('lock_timeout', '30s', false),
    set_config('idle_in_transaction_session_timeout', '60s', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)"""


ACK_TIMEOUT = 20  # seconds until a connection whose server acknowledges nothing is closed


@dataclass(frozen=True)
class Place:
    """The place of a store: the driver's DSN, the schema, the key file, and the address to show."""

    dsn: str
    schema: str
    key: Path
    shown: str
    timeout: int = 10  # seconds to connect

    @classmethod
    def of(cls, url: str) -> "Place":
        shown = redacted(url)
        try:
            parts = urlsplit(url)
            options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
            _ = parts.port
        except ValueError:
            remedy = "Use postgresql://user@host:port/database?schema=name; percent-encode a password."
            raise BadConnection(shown, "is not a PostgreSQL address.", remedy) from None
        schema = options.pop("schema", "undeleted")
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
            problem = f"has an invalid schema name: {schema!r}."
            raise BadConnection(shown, problem, "Use lower-case letters, digits and underscores.")
        key = options.pop("key", os.environ.get("UNDELETED_KEY", f"{schema}.key"))
        dsn = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options, quote_via=quote), ""))
        return cls(dsn, schema, Path(key), f"{shown}?schema={schema}")

    def connect(self) -> Connection:
        try:
            connection = psycopg.connect(
                self.dsn, autocommit=True, connect_timeout=self.timeout, tcp_user_timeout=1000 * ACK_TIMEOUT
            )
        except psycopg.ProgrammingError:  # its message contains the address
            problem = "is not a PostgreSQL address, or has an unknown option."
            remedy = "Use postgresql://user@host:port/database?schema=name; percent-encode a password."
            raise BadConnection(self.shown, problem, remedy) from None
        register(connection)
        try:
            connection.execute(_SETTINGS)
        except BaseException:
            connection.close()
            raise
        return connection


def only_publisher(place: Place, db: Connection) -> None:
    """Take the publisher's lock; a publisher that was killed holds it until the server notices."""
    number = zlib.crc32(place.schema.encode()) - 2**31
    for _ in range(20):
        row = db.execute("SELECT pg_try_advisory_lock(20260215, %s::int)", (number,)).fetchone()
        if row == (True,):
            return
        time.sleep(0.25)
    raise StoreError(f"{place.shown} is being published by another process.", "Wait for it to end.")


def is_there(place: Place, db: Connection) -> bool:
    """Return whether all tables of a store exist; if only some exist, they are somebody else's."""
    named = [f'"{place.schema}".{table}' for table in TABLES]
    row = db.execute("SELECT count(to_regclass(name)) FROM unnest(%s::text[]) AS name", (named,)).fetchone()
    return row == (len(TABLES),)


def require_empty(place: Place, db: Connection) -> None:
    """Refuse a schema with tables: a store needs its own schema, as removing one removes the other."""
    query = "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
    if db.execute(query, (f'"{place.schema}"',)).fetchone() != (0,):
        problem = f"{place.shown} already contains other tables; nothing was changed."
        raise StoreError(problem, "Name an empty schema, or a new one, by ?schema=name.")


def require_types(place: Place, db: Connection, form: int) -> None:
    """Refuse tables whose columns are missing or have another type."""
    query = """SELECT c.relname, a.attname, format_type(a.atttypid, NULL) FROM pg_attribute AS a
        JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = %s AND a.attnum > 0 AND NOT a.attisdropped"""
    kinds = {(table, column): kind for table, column, kind in db.execute(query, (place.schema,))}
    for table, columns in TABLES.items():
        for column, kind in columns.items():
            if form < SINCE.get((table, column), 0):
                continue
            now = kinds.get((table, column), "not there")
            if now != kind:
                problem = f"{place.shown}: {table}.{column} is {now}, but was created as {kind}."
                raise StoreError(problem, "Undo that change, or restore the store; nothing was changed.")


def readers_of_tables(place: Place, db: Connection) -> list[str]:
    """Warn of roles that only read `cells`: until `vacuum`, rows show which transaction wrote them."""
    query = """SELECT grantee FROM information_schema.role_table_grants
        WHERE table_schema = %s AND table_name = 'cells' GROUP BY grantee
        HAVING bool_or(privilege_type = 'SELECT') AND NOT bool_or(privilege_type = 'UPDATE') ORDER BY 1"""
    return [
        f"{role} may read the table `cells`, whose rows reveal what left together: grant `published()`"
        for (role,) in db.execute(query, (place.schema,))
    ]


def last(cursor: psycopg.Cursor[Given]) -> str:
    """The result of the last of several statements."""
    while cursor.nextset():
        pass
    [number] = cursor.fetchone() or [""]
    return str(number)


def cannot_connect(error: psycopg.Error) -> bool:
    """Return whether a retry may help: a server may come back, but a refused password stays wrong."""
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
        raise translated_error(shown, error) from None


def translated_error(shown: str, error: psycopg.Error) -> UndeletedError:
    """Translate an error of PostgreSQL: its own message may contain values or a password."""
    match error.sqlstate:
        case "55P03":
            problem = f"{shown} is held by another process for too long; nothing was changed."
            return StoreError(problem, "Try again.")
        case "53100":
            return StoreError(
                f"the disk of {shown} is full; nothing was changed.", "Free some space and try again."
            )
        case "25006":
            problem = f"{shown} is read-only: the server is a replica or was set so; nothing was changed."
            return StoreError(problem, "Name the primary server.")
        case "42501":
            problem = f"{shown} denies this user a permission; nothing was changed."
            return StoreError(
                problem, "Grant it the schema and its tables, or CREATE on the database to publish."
            )
        case "42P07":
            problem = f"{shown} already contains other tables with these names; nothing was changed."
            return StoreError(problem, "Name an empty schema by ?schema=name.")
    return database_error(shown, error)
