"""The key of a store in PostgreSQL: durable before its store is, and never lost while the store may exist.

A new key has a marker file beside it that says which store the key is for.  The marker is removed when that
store is known to exist; both files are removed when it is known not to exist.  In doubt, both stay.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from undeleted.curate.durable import sync
from undeleted.curate.stores._sqlite_place import key_of, write_key
from undeleted.errors import StoreError


class NewKey:
    """A key that is being created, under a lock that keeps other publications away from its file."""

    def __init__(self, file: Path, target: str) -> None:
        self.file, self.marker, self.target = file, Path(f"{file}.unfinished"), target

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Allow one publication at a time, on any server: two of them might share the file."""
        if self.file.is_dir():
            raise StoreError(
                f"{self.file} is a folder.", "Name the key's file by ?key=FILE or UNDELETED_KEY."
            )
        lock = self._lock()
        try:
            yield
        finally:
            Path(f"{self.file}.lock").unlink(missing_ok=True)
            os.close(lock)

    def _lock(self) -> int:
        """Lock the lock file; try again if it was removed before it was locked."""
        place = Path(f"{self.file}.lock")
        while True:
            try:
                lock = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                problem = f"{self.file} cannot be written ({error.strerror})."
                raise StoreError(problem, "Name the key's file by ?key=FILE or UNDELETED_KEY.") from None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if place.exists() and place.stat().st_ino == os.fstat(lock).st_ino:
                    return lock
            except BlockingIOError:
                os.close(lock)
                problem = f"{self.file} is being written by another publication."
                raise StoreError(problem, "Wait for it to end, or name another file by ?key=FILE.") from None
            os.close(lock)

    def write(self, key: bytes | None) -> bytes:
        """Write the key; an existing key belongs to another store, unless that store is known not to exist.

        The caller has checked that there is no store at the target, and that nobody is publishing there.
        """
        if self.file.exists():
            if not self.marker.exists():
                problem = f"{self.file} exists already: it is the key of another store, or not a key."
                remedy = "Name another file by ?key=FILE or UNDELETED_KEY."
                raise StoreError(problem, remedy)
            if self.marker.read_text(encoding="utf-8") != self.target:
                problem = f"{self.file} may be the key of another store: {self.marker} says which."
                remedy = "Open that store once, which confirms its key, or name another file by ?key=FILE."
                raise StoreError(problem, remedy)
            self.file.unlink()
        self.marker.write_text(self.target, encoding="utf-8")
        sync(self.marker)
        made = write_key(self.file, key)
        sync(self.file)
        sync(self.file.absolute().parent)
        return made

    def settle(self) -> None:
        """Remove the marker: the store exists, and this is its key."""
        if self.marker.exists() and self.marker.read_text(encoding="utf-8") == self.target:
            self.marker.unlink(missing_ok=True)

    def undo(self, key: bytes) -> None:
        """Remove the key and the marker: the store is known not to exist."""
        if self.file.exists() and key_of(self.file, self.target) == key:
            self.file.unlink()
        self.marker.unlink(missing_ok=True)
