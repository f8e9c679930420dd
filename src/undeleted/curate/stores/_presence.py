"""Check that an open store is still the file at its path.

A file that was removed, renamed or replaced can be written to as long as it is open, but nobody can find what
was written there.  The same is true of its log, which SQLite finds by its name.
"""

import os
import sqlite3
from urllib.parse import quote

from undeleted.errors import StoreGone

_PARTS = ("", "-wal", "-shm")
_REMEDY = "Put its files back where they were, and it continues; they contain what was acknowledged."
_AGAIN = "Restore the newer store, or restart and delete those people again."


class Presence:
    """The files of a store, as they were when it was opened."""

    def __init__(self, path: str, given: str) -> None:
        self._path = path
        self._names = {name: _identity(name) for name in (*(f"{path}{part}" for part in _PARTS), given)}

    def require(self) -> None:
        """Refuse if a name now leads to another file; takes microseconds, before and after a write."""
        for name, known in self._names.items():
            current = _identity(name)
            if current != known:
                what = "was removed" if current is None else "was replaced by another file"
                raise StoreGone(f"{name} {what} while the store was open.", _REMEDY)

    def require_contents(self, tag: str, reached: tuple[int, int]) -> tuple[int, int]:
        """The progress that a new connection sees; refuse if the file was overwritten or rolled back."""
        try:
            looking = sqlite3.connect(f"file:{quote(self._path)}?mode=ro", uri=True)
            try:
                [(stored_tag,)] = looking.execute("SELECT value FROM meta WHERE key = 'tag'")
                [(version, held)] = looking.execute("SELECT version, held FROM state")
            finally:
                looking.close()
        except (sqlite3.Error, ValueError) as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                return reached  # another process is writing to it
            raise StoreGone(f"{self._path} was overwritten while the store was open.", _REMEDY) from None
        if stored_tag != tag:
            raise StoreGone(f"{self._path} was overwritten by another store.", _REMEDY)
        now = int(version), int(held)
        if now < reached:
            problem = f"{self._path} was rolled back to version {now[0]} from {reached[0]}"
            raise StoreGone(f"{problem}: deletions are lost.", _AGAIN)
        return now


def _identity(name: str) -> tuple[int, int] | None:
    """The device and inode of the file that a name leads to, or None."""
    try:
        status = os.stat(name)
    except OSError:
        return None
    return status.st_dev, status.st_ino
