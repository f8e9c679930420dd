"""Connections as a spec names them, and what goes wrong with databases, in words.

    duckdb://warehouse.duckdb          a DuckDB file, beside the spec
    postgresql://reader@host/db        PostgreSQL; the password comes from PGPASSWORD or ~/.pgpass
    pyspark://local[2]                 Spark: what stands after // is its master; options follow a ?
    anything else                      as Ibis connects, if its driver is installed
    $WAREHOUSE                         any of these, from an environment variable

No message repeats what a driver said: it may hold a password or somebody's value.
"""

import os
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from undeleted.errors import BadConnection, UndeletedError

_SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",  # what goes wrong is told in our words
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def connected(connection: str, name: str, folder: Path) -> Any:
    """A table of a database, by connection and name; names with dots are schema.table."""
    url = _from_environment(connection)
    shown = redacted(url)
    try:
        import ibis  # noqa: F401
    except ImportError:
        raise BadConnection(shown, "needs Ibis, which is not installed.", _install(url)) from None
    backend = _connect(url, shown, folder)
    try:
        if name.lower().endswith(".parquet") or name.endswith("/"):
            where = name if "://" in name else str(folder / name)
            if "://" not in name and not Path(where).exists():
                raise BadConnection(shown, f"has no {name!r}: there is no such file.", "Check `table`.")
            return backend.read_parquet(where)
        *place, table = name.split(".")
        return backend.table(table, database=tuple(place) if len(place) > 1 else place[0] if place else None)
    except UndeletedError:
        raise
    except Exception as error:
        if "PARQUET_TYPE_ILLEGAL" in str(error):
            problem = f"cannot read {name!r}: it has a type that Spark does not know, such as nanoseconds."
            raise BadConnection(
                shown, problem, "Write timestamps in microseconds (coerce_timestamps='us')."
            ) from None
        gone = ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND")
        if type(error).__name__ == "TableNotFound" or any(word in str(error) for word in gone):
            raise BadConnection(
                shown, f"has no table {name!r}.", "Check `table`; say schema.table where it needs one."
            ) from None
        raise complaint(f"{name} at {shown}", error) from None


def kinds_of(connection: str, name: str, folder: Path) -> dict[str, str]:
    """The names and kinds of a table's columns, by the names that DuckDB has for them."""
    kinds = {}
    for column, kind in connected(connection, name, folder).schema().items():
        whole, real = kind.is_integer(), kind.is_floating() or kind.is_decimal()
        text = kind.is_string() or kind.is_uuid()
        if whole or real or text or kind.is_boolean():  # others must be cast in a view first
            kinds[column] = "BIGINT" if whole else "DOUBLE" if real else "VARCHAR" if text else "BOOLEAN"
    return kinds


def _install(backend: str) -> str:
    return (
        f"Install it with: pip install 'undeleted[{'spark' if backend.startswith('pyspark') else 'scale'}]'."
    )


def _from_environment(connection: str) -> str:
    if not connection.startswith("$"):
        return connection
    try:
        return os.environ[connection[1:]]
    except KeyError:
        problem = f"names an environment variable that is not set: {connection[1:]}."
        raise BadConnection(connection, problem, "Set it to a connection such as postgresql://…") from None


def _connect(url: str, shown: str, folder: Path) -> Any:
    import ibis

    scheme, _, rest = url.partition("://")
    scheme = "postgres" if scheme == "postgresql" else scheme
    known = _backends()
    if not rest and "://" not in url:
        problem = "says no kind of database."
        raise BadConnection(
            "`connection`", problem, "Say such as duckdb://warehouse.duckdb or postgresql://host/db."
        )
    if scheme not in known:
        raise BadConnection(
            shown, f"names a backend that Ibis does not have: {scheme}.", f"Backends: {', '.join(known)}."
        )
    if scheme == "sqlite":
        problem = "has columns without types, which a database cannot add up value by value."
        raise BadConnection(shown, problem, 'Name the file itself: source = "people.db".')
    try:
        if scheme == "pyspark":
            return _spark(rest)
        if scheme == "duckdb" and rest and not rest.startswith((":memory:", "md:")):
            path = folder / rest.partition("?")[0]
            if not path.is_file():
                raise BadConnection(shown, "is not there.", "Check the path: it is relative to the spec.")
            return ibis.duckdb.connect(path, read_only=True)
        return ibis.connect(url)
    except UndeletedError:
        raise
    except ImportError:
        ours = scheme in ("duckdb", "postgres", "pyspark")
        theirs = f"Install it with: pip install 'ibis-framework[{scheme}]'."
        problem = f"needs the driver of {scheme}, which is not installed."
        raise BadConnection(shown, problem, _install(scheme) if ours else theirs) from None
    except Exception as error:
        raise complaint(shown, error) from None


def _spark(rest: str) -> Any:
    """A Spark session; Java is looked for first, because Spark's own words do not name it."""
    import ibis
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    if not (home and Path(home, "bin", "java").exists()) and shutil.which("java") is None:
        problem = "needs Java, and there is none on this machine."
        raise BadConnection("pyspark", problem, "Install Java 17 or newer, or let JAVA_HOME name it.")
    master, _, options = rest.partition("?")
    builder = SparkSession.builder.appName("undeleted")
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.sql.shuffle.partitions", "8")
    if master:
        plain = master.startswith(("local", "yarn", "k8s", "spark:"))
        builder = builder.master(master if plain else f"spark://{master}")
    for key, value in (_SPARK | dict(parse_qsl(options))).items():
        builder = builder.config(key, value)
    return ibis.pyspark.connect(builder.getOrCreate())


def _backends() -> list[str]:
    from importlib.metadata import entry_points

    return sorted({entry.name for entry in entry_points(group="ibis.backends")})


def redacted(url: str) -> str:
    """What may be shown of a connection: only what cannot be a secret; the rest is left out."""
    if re.fullmatch(r"\$\w+", url):
        return url
    scheme, found, rest = url.partition("://")
    if not found or not re.fullmatch(r"[a-z][a-z0-9+]*", scheme):
        return "the connection"
    if scheme == "pyspark":
        master = re.match(r"[\w.,:*\[\]-]*", rest)
        return f"pyspark://{master[0] if master and '@' not in rest else '…'}"
    if scheme == "duckdb":
        return f"duckdb://{'…' if '@' in rest or rest.startswith('md:') else rest.partition('?')[0]}"
    shown = re.fullmatch(
        r"(?:([\w.%-]+)(?::[^@/?#]*)?@)?([\w.-]*|\[[0-9a-fA-F:.]+\])(:\d+)?(/[\w./-]*)?([?#].*)?", rest
    )
    if shown is None or "@" in (shown[5] or ""):
        return f"{scheme}://…"
    person = f"{shown[1]}@" if shown[1] else ""
    return f"{scheme}://{person}{shown[2]}{shown[3] or ''}{shown[4] or ''}"


def keeps_a_secret(connection: str) -> bool:
    """Whether something in a connection may be a secret; a store keeps its spec, so none may stand there."""
    if connection.startswith("$"):
        return False
    rest = connection.partition("://")[2]
    place, _, options = rest.partition("?")
    person, found, _ = place.rpartition("@")
    if (found and not re.fullmatch(r"[\w.%-]*", person)) or "@" in options or "=" in place:
        return True
    harmless = r"sslmode|host|port|schema|database|warehouse|application_name|connect_timeout|spark\..*"
    for key, _ in parse_qsl(options, keep_blank_values=True):
        if not re.fullmatch(harmless, key) or re.search(
            "secret|password|token|key|credential", key, re.IGNORECASE
        ):
            return True
    return False


def complaint(where: str, error: Exception) -> UndeletedError:
    """What a database complains of, in words that repeat none of its own."""
    if isinstance(error, UndeletedError):
        return error
    said = f"{type(error).__name__} {error}".lower()
    for words, problem, remedy in (
        (
            ("password authentication failed", "no password supplied", "fe_sendauth"),
            "refuses the password.",
            "Set PGPASSWORD, or write it into ~/.pgpass.",
        ),
        (
            (
                "refused",
                "could not connect",
                "resolve host",
                "translate host",
                "no such file",
                "timeout",
                "timed out",
                "shutting down",
                "starting up",
                "closed the connection",
                "terminating connection",
            ),
            "cannot be reached.",
            "Start the server, or check host and port.",
        ),
        (
            ("valueerror", "programmingerror"),
            "is not an address that can be read.",
            "Check it; a password in it is written with % for signs.",
        ),
        (('database "', "does not exist"), "has no such database.", "Check the name after the host."),
        (("role", "does not exist"), "does not know this user.", "Check the name before the @."),
        (("permission denied", "insufficientprivilege"), "may not be read by this user.", "Grant SELECT."),
        (
            ("java_gateway", "java gateway", "unsupportedclassversion"),
            "could not start Java.",
            "Install Java 17 or newer, or let JAVA_HOME name it.",
        ),
        (
            ("undefinedcolumn", "undefinedtable", "unresolved_column", "binder", "catalogexception"),
            "is not as it was when it was opened: a column or the table has changed.",
            "Publish again when its schema stands still.",
        ),
        (
            ("operationnotdefined", "unsupportedoperation", "unsupportedbackend"),
            "cannot do what statistics need.",
            "Read the table through DuckDB, PostgreSQL or Spark.",
        ),
        (("outofmemory", "out of memory"), "ran out of memory.", "Give the engine more memory."),
    ):
        if (
            all(w in said for w in words)
            if words[0] in ('database "', "role")
            else any(w in said for w in words)
        ):
            return BadConnection(where, problem, remedy)
    kind = type(error).__name__
    return BadConnection(where, f"could not answer ({kind}).", "Its own log says why.")
