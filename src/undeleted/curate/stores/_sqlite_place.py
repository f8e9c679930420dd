"""The place of a store in SQLite: its files, its key, the publisher's lock, and disk errors."""

import fcntl
import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from undeleted.curate.stores._rotated_key import earlier_keys, rotated
from undeleted.errors import AlreadyExists, StoreError

_PRAGMAS = (
    "secure_delete = ON",
    "journal_mode = WAL",
    "synchronous = FULL",
    "temp_store = MEMORY",
    "cache_size = -65536",  # a batch of thousands of deletions stays in memory until it commits
)


BUSY = 30.0  # seconds that a process waits for another
_WRITE_LOCK = 120  # the byte of the log's index that a writer locks (SQLite's file format, 2.3)


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reading(path: str) -> sqlite3.Connection:
    """Open a file that cannot be written, or must not be.

    Beside a log, SQLite needs a folder that it can write to; without one, the file alone is everything.
    """
    address = f"file:{quote(os.path.abspath(path))}?mode=ro"
    log = Path(f"{path}-wal")
    alone = not log.exists() or log.stat().st_size == 0
    for options in ("", "&immutable=1") if alone else ("",):
        reading = sqlite3.connect(address + options, uri=True, isolation_level=None, check_same_thread=False)
        try:
            reading.execute("SELECT count(*) FROM sqlite_master").fetchall()
            return reading
        except sqlite3.OperationalError as error:
            reading.close()
            problem = error
    raise problem


def is_writable(path: str) -> bool:
    """Whether this user may write to a store: to its file, and to the log beside it."""
    return os.access(path, os.W_OK) and os.access(Path(path).parent, os.W_OK)


def holder_of(path: str) -> str:
    """Which process holds the lock for writing, as far as the system says."""
    try:
        inode = os.stat(f"{path}-shm").st_ino
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            _, _, _, access, process, where, first, last, *_ = line.split()
            mine = where.rpartition(":")[2] == str(inode) and access == "WRITE"
            if mine and int(first) <= _WRITE_LOCK and (last == "EOF" or int(last) >= _WRITE_LOCK):
                return f"process {process}" if int(process) != os.getpid() else "this process"
    except (OSError, ValueError):
        pass
    return "another process"


def is_database(path: str) -> bool:
    """Return whether the file is an SQLite database.

    Only SQLite opens it: opening and closing it here would release the locks that other connections of this
    process hold on it, and another process might then remove the log that they write to.
    """
    if (
        Path(path).stat().st_size < 100
    ):  # shorter than a header; SQLite takes an empty file for a new database
        return False
    looking = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
    try:
        looking.execute("PRAGMA schema_version").fetchall()
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    except UnicodeDecodeError:  # in the description of its tables
        return True
    finally:
        looking.close()
    return True


_HEADER = struct.Struct("=IIIBBHIIIIIIII")  # …, frames, pages, checksum of the frames, salts, own checksum
INDEX_HEAD = 136  # bytes of the log's index that say how long the log is; what follows names its pages


def clear_index(path: str, last: int | None = None) -> int | None:
    """Clear the numbers of the pages that were in the log; the log is empty, and writers are locked out.

    SQLite keeps these numbers until new ones overwrite them.  It also keeps a checksum of all that was in the
    log; with it, anybody who has the pages can find out which of them were there.  We write through SQLite's
    own descriptor: opening and closing the file here would release the locks that SQLite holds on it.  If the
    system does not show the descriptors of a process, the numbers stay until the next write.  It returns the
    descriptor, which is tried first the next time (`last`).
    """
    index = f"{path}-shm"
    for number in chain(() if last is None else (last,), _descriptors()):
        try:
            if os.readlink(f"/proc/self/fd/{number}") == index:
                _clear(number)
                return number
        except OSError:  # closed meanwhile, by another thread
            continue
    return None


def _clear(index: int) -> None:
    """Write SQLite's own format (wal.c, WalIndexHdr): the header with its checksum, twice, then zeros."""
    head = os.pread(index, _HEADER.size, 0)
    if len(head) == _HEADER.size:
        *facts, frames, pages, _, _, salt, more_salt, _, _ = _HEADER.unpack(head)
        if frames == 0:  # else the log is not empty, and the checksum is needed
            header = _HEADER.pack(*facts, 0, pages, 0, 0, salt, more_salt, 0, 0)
            one = other = 0
            for a, b in struct.iter_unpack("=II", header[: _HEADER.size - 8]):
                one = (one + a + other) % 2**32
                other = (other + b + one) % 2**32
            head = header[:-8] + struct.pack("=II", one, other)
            os.pwrite(index, head + head, 0)
    os.pwrite(index, bytes(max(0, os.fstat(index).st_size - INDEX_HEAD)), INDEX_HEAD)


def _descriptors() -> Iterator[int]:
    with suppress(OSError):
        yield from sorted(int(name) for name in os.listdir("/proc/self/fd"))


@contextmanager
def publisher(path: str) -> Iterator[None]:
    """Hold the publisher's lock; a second publisher gets an error with the holder.  The lock file stays."""
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}).", "Check its folder.") from None
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


def refuse_what_is_there(path: str) -> None:
    """Refuse to overwrite anything: a store, a key, or the log of another store."""
    if Path(path).exists():
        remedy = "Name another place, or delete from the store that is there."
        raise AlreadyExists(f"a store at {path}", remedy)
    if Path(f"{path}.unfinished").exists():  # a publication that was killed: nothing of it was ever shown
        clear(path)
    for rest in ("key", "wal", "shm", "journal"):
        left = Path(f"{path}.{rest}" if rest == "key" else f"{path}-{rest}")
        if left.exists():
            problem = f"{left} belongs to a store that is not here."
            raise StoreError(
                problem, "Move it to its store, or elsewhere; without its key nobody there can be deleted."
            )


def move(unfinished: Path, path: str) -> None:
    """Give a finished store its name; unlike a rename, a link never replaces another store."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links; the publisher's lock is held
        os.rename(unfinished, path)
    unfinished.unlink(missing_ok=True)


def clear(path: str) -> None:
    """Remove the files of a publication that failed."""
    for suffix in (".unfinished-wal", ".unfinished-shm", ".key.unfinished", ".key", ".unfinished"):
        if suffix != ".key" or not Path(path).exists():
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def remove(path: str) -> None:
    """Remove all files of a store."""
    for suffix in ("", "-wal", "-shm", ".key", ".lock"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def write_key(path: Path, key: bytes | None = None) -> bytes:
    """Write a new key file, with a new key unless one is given; return the key.

    Keys that were replaced come first, one per line: the tags of ids are nested in them.
    """
    key = key or os.urandom(32)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        for each in (*earlier_keys(key), key):
            file.write(each.hex() + "\n")
    return key


def read_key(path: str) -> bytes:
    return key_of(Path(f"{path}.key"), path)


def key_of(file: Path, store: str) -> bytes:
    """Read the key of a store from its file."""
    keys: list[bytes] = []
    try:
        keys = [bytes.fromhex(line) for line in file.read_text(encoding="ascii").split()]
    except FileNotFoundError:
        problem = f"{file} is missing: without it nobody's record in {store} can be found."
        raise StoreError(problem, "Restore the key file that was made with the store.") from None
    except PermissionError:
        raise StoreError(f"{file} cannot be read by this user.", "Check its permissions.") from None
    except (OSError, ValueError):
        pass
    if not keys or any(len(key) != 32 for key in keys):
        raise StoreError(f"{file} is not a key file.", "Restore the key file that was made with the store.")
    return rotated(keys[-1], keys[:-1])


def wrong(path: str, error: sqlite3.Error | OSError | UnicodeDecodeError) -> StoreError:
    """Translate an error of SQLite or the disk into a message; SQLite may quote what was altered."""
    said = "malformed" if isinstance(error, UnicodeDecodeError) else str(error)
    if isinstance(error, PermissionError):
        said = "readonly"
    for words, problem, remedy in (
        ("No space left", "is on a full disk; nothing was changed.", "Free some space and try again."),
        ("File too large", "could not be written; nothing was changed.", "Check the disk and try again."),
        ("disk is full", "is on a full disk; the store is unchanged.", "Free some space and try again."),
        (
            "disk I/O",
            "could not be written (disk I/O error); the store is unchanged.",
            "Check the disk and try again.",
        ),
        (
            "readonly",
            "cannot be written; the store is unchanged.",
            "Check the permissions of the file and its folder.",
        ),
        (
            "locked",
            f"is held by {holder_of(path)} for more than {BUSY:.0f} s; nothing was changed.",
            "Wait for it to end, or stop it.",
        ),
        ("not a database", "is not a store.", "Name the store with --store."),
        ("no such table", "is not a store.", "Name the store with --store."),
    ):
        if words in said:
            return StoreError(f"{path} {problem}", remedy)
    return StoreError(f"{path}: {said}.", "Run `undeleted check` to see whether the store is intact.")
