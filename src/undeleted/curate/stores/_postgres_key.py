"""The key of a store in PostgreSQL: durable before its store is, and never lost while its store may be there.

A new key stands beside a marker that says which store it is being made for.  The marker goes when that store
is known to be there; both go when it is known not to be.  In doubt, both stay.
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
    """A key in the making, under a lock that keeps other publications from its file."""

    def __init__(self, file: Path, target: str) -> None:
        self.file, self.marker, self.target = file, Path(f"{file}.unfinished"), target

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One publication at a time, whatever its server: two of them might share the file."""
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
        """Hold the lock's file; one that was removed before it was held is no lock."""
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
                problem = f"{self.file} is being made by another publication."
                raise StoreError(problem, "Wait for it to end, or name another file by ?key=FILE.") from None
            os.close(lock)

    def write(self, key: bytes | None) -> bytes:
        """Write it; a key that is there is another store's, unless its store is known never to have come.

        The caller has seen that there is no store at the target, and that nobody is publishing there.
        """
        if self.file.exists():
            if not self.marker.exists():
                problem = f"{self.file} is there already: the key of another store, or no key at all."
                remedy = "Name another file by ?key=FILE or UNDELETED_KEY."
                raise StoreError(problem, remedy)
            if self.marker.read_text(encoding="utf-8") != self.target:
                problem = f"{self.file} may be the key of another store: {self.marker} says which."
                remedy = "Open that store once, which settles it, or name another file by ?key=FILE."
                raise StoreError(problem, remedy)
            self.file.unlink()
        self.marker.write_text(self.target, encoding="utf-8")
        sync(self.marker)
        made = write_key(self.file, key)
        sync(self.file)
        sync(self.file.absolute().parent)
        return made

    def settle(self) -> None:
        """The store is there: the key is its key."""
        if self.marker.exists() and self.marker.read_text(encoding="utf-8") == self.target:
            self.marker.unlink(missing_ok=True)

    def undo(self, key: bytes) -> None:
        """The store is known not to have come to be."""
        if self.file.exists() and key_of(self.file, self.target) == key:
            self.file.unlink()
        self.marker.unlink(missing_ok=True)
