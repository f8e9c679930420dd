"""Open the connections that a spec names, and report database errors in our own words.

    duckdb://warehouse.duckdb          a DuckDB file, beside the spec
    postgresql://reader@host/db        PostgreSQL; the password comes from PGPASSWORD or ~/.pgpass
    pyspark://local[2]                 Spark: its master follows the //, options follow a ?
    anything else                      passed to Ibis, if its driver is installed
    $WAREHOUSE                         any of these, from an environment variable

No message repeats what a driver said: it may contain a password or somebody's value.
"""

import os
import re
import shutil
from hashlib import blake2b
from pathlib import Path
from urllib.parse import parse_qsl

from undeleted.errors import BadColumns, BadConnection, UndeletedError
from undeleted.foundations.types import Given

_SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",  # errors are reported in our own words
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def mark_of(connection: str, table: str, column: str) -> str:
    """The name of a watermark: that of one database's table and column."""
    parts = (redacted(connection), table, column)
    return blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def beyond(rows: Given, name: str, column: str, last: str | None) -> tuple[Given, str | None]:
    """The rows of a table beyond the last watermark, and the largest watermark among them, as text."""
    import ibis

    if column not in rows.columns:
        raise BadColumns([column], f"not in {name}.", f"It has {', '.join(rows.columns)}.")
    kind = rows[column].type()
    if not (kind.is_integer() or kind.is_timestamp() or kind.is_date()):
        raise BadColumns([column], f"a watermark cannot be of type {kind}.", "Choose a number or a time.")
    if last is not None:
        rows = rows.filter(rows[column] > ibis.literal(last).cast(kind))
    try:
        largest = rows[column].max().cast("string").to_pyarrow().as_py()
    except Exception as error:
        raise database_error(name, error) from None
    if largest is None:
        return rows, last
    return rows.filter(rows[column] <= ibis.literal(largest).cast(kind)), largest


def connected(connection: str, name: str, folder: Path) -> Given:
    """Open a table of a database, by connection and name; names with dots are schema.table."""
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
            problem = f"cannot read {name!r}: it has a type that Spark lacks, such as nanoseconds."
            raise BadConnection(
                shown, problem, "Write timestamps in microseconds (coerce_timestamps='us')."
            ) from None
        gone = ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND")
        if type(error).__name__ == "TableNotFound" or any(word in str(error) for word in gone):
            raise BadConnection(
                shown, f"has no table {name!r}.", "Check `table`; write schema.table if it needs a schema."
            ) from None
        raise database_error(f"{name} at {shown}", error) from None


def kinds_of(connection: str, name: str, folder: Path) -> dict[str, str]:
    """The names of a table's columns and their types, by DuckDB's names for them."""
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


def _connect(url: str, shown: str, folder: Path) -> Given:
    import ibis

    scheme, _, rest = url.partition("://")
    scheme = "postgres" if scheme == "postgresql" else scheme
    known = _backends()
    if not rest and "://" not in url:
        problem = "does not say which kind of database."
        raise BadConnection(
            "`connection`", problem, "Write duckdb://warehouse.duckdb or postgresql://host/db, for example."
        )
    if scheme not in known:
        raise BadConnection(
            shown, f"names a backend that Ibis does not have: {scheme}.", f"Backends: {', '.join(known)}."
        )
    if scheme == "sqlite":
        problem = "has columns without types, which the database cannot sum value by value."
        raise BadConnection(shown, problem, 'Name the file itself: source = "people.db".')
    try:
        if scheme == "pyspark":
            return _spark(rest)
        if scheme == "duckdb" and rest and not rest.startswith((":memory:", "md:")):
            path = folder / rest.partition("?")[0]
            if not path.is_file():
                raise BadConnection(shown, "does not exist.", "Check the path: it is relative to the spec.")
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
        raise database_error(shown, error) from None


def _spark(rest: str) -> Given:
    """Start a Spark session; check for Java first, because Spark's own error does not mention it."""
    import ibis
    from pyspark.sql import SparkSession

    home = os.environ.get("JAVA_HOME")
    if not (home and Path(home, "bin", "java").exists()) and shutil.which("java") is None:
        problem = "needs Java, which is not installed on this machine."
        raise BadConnection("pyspark", problem, "Install Java 17 or newer, or set JAVA_HOME.")
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
    """The part of a connection that may be shown: only what cannot be a secret."""
    if re.fullmatch(r"\$\w+", url):
        return url
    scheme, separator, rest = url.partition("://")
    if not separator or not re.fullmatch(r"[a-z][a-z0-9+]*", scheme):
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


def may_contain_secret(connection: str) -> bool:
    """Whether a connection may contain a secret; a store keeps its spec, so a spec must contain none."""
    if connection.startswith("$"):
        return False
    rest = connection.partition("://")[2]
    place, _, options = rest.partition("?")
    person, separator, _ = place.rpartition("@")
    if (separator and not re.fullmatch(r"[\w.%-]*", person)) or "@" in options or "=" in place:
        return True
    harmless = r"sslmode|host|port|schema|database|warehouse|application_name|connect_timeout|spark\..*"
    for key, _ in parse_qsl(options, keep_blank_values=True):
        if not re.fullmatch(harmless, key) or re.search(
            "secret|password|token|key|credential", key, re.IGNORECASE
        ):
            return True
    return False


COMPLAINTS = (  # words of a database, what they mean, and what to do
    (
        ("password authentication failed", "no password supplied", "fe_sendauth"),
        "refuses the password.",
        "Set PGPASSWORD, or put the password into ~/.pgpass.",
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
        "is not a valid address.",
        "Check it; a password in it must be percent-encoded.",
    ),
    (('database "', "does not exist"), "has no such database.", "Check the name after the host."),
    (("role", "does not exist"), "does not know this user.", "Check the name before the @."),
    (("permission denied", "insufficientprivilege"), "may not be read by this user.", "Grant SELECT."),
    (
        ("java_gateway", "java gateway", "unsupportedclassversion"),
        "could not start Java.",
        "Install Java 17 or newer, or set JAVA_HOME.",
    ),
    (
        ("undefinedcolumn", "undefinedtable", "unresolved_column", "binder", "catalogexception"),
        "has changed since it was opened: a column or the table is different.",
        "Publish again when its schema no longer changes.",
    ),
    (
        ("operationnotdefined", "unsupportedoperation", "unsupportedbackend"),
        "does not support the operations that statistics need.",
        "Read the table through DuckDB, PostgreSQL or Spark.",
    ),
    (("outofmemory", "out of memory"), "ran out of memory.", "Give the engine more memory."),
)


def database_error(where: str, error: Exception) -> UndeletedError:
    """Turn a database's error into one of ours, which repeats none of its words."""
    if isinstance(error, UndeletedError):
        return error
    said = f"{type(error).__name__} {error}".lower()
    for words, problem, remedy in COMPLAINTS:
        fits = all if words[0] in ('database "', "role") else any
        if fits(word in said for word in words):
            return BadConnection(where, problem, remedy)
    kind = type(error).__name__
    return BadConnection(where, f"could not answer ({kind}).", "See its own log for the reason.")
