"""Whether a store that is open is still the one at its place.

A file that was removed, renamed or replaced can be written to for as long as it is open, and nobody finds
what was written there.  So is its log, which SQLite finds by its name.
"""

import os
import sqlite3
from urllib.parse import quote

from undeleted.errors import StoreGone

_PARTS = ("", "-wal", "-shm")
_REMEDY = "Put its files back where they were, and it goes on; what was acknowledged is in them."
_AGAIN = "Restore the newer one, or start again and delete those people again."


class Presence:
    """The files of a store, as they were when it was opened."""

    def __init__(self, path: str, given: str) -> None:
        self._path = path
        self._names = {name: _identity(name) for name in (*(f"{path}{part}" for part in _PARTS), given)}

    def require(self) -> None:
        """Refuse if a name leads elsewhere by now; a few microseconds, before and after a write."""
        for name, known in self._names.items():
            found = _identity(name)
            if found != known:
                what = "is gone" if found is None else "is another file by now"
                raise StoreGone(f"{name} {what}, while the store was open.", _REMEDY)

    def require_contents(self, tag: str, reached: tuple[int, int]) -> tuple[int, int]:
        """How far it has come, as a new connection sees it; refused if it was overwritten or put back."""
        try:
            looking = sqlite3.connect(f"file:{quote(self._path)}?mode=ro", uri=True)
            try:
                [(found,)] = looking.execute("SELECT value FROM meta WHERE key = 'tag'")
                [(version, held)] = looking.execute("SELECT version, held FROM state")
            finally:
                looking.close()
        except (sqlite3.Error, ValueError) as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                return reached  # somebody writes to it
            raise StoreGone(f"{self._path} was overwritten while the store was open.", _REMEDY) from None
        if found != tag:
            raise StoreGone(f"{self._path} was overwritten by another store.", _REMEDY)
        now = int(version), int(held)
        if now < reached:
            problem = f"{self._path} was put back to version {now[0]}, and was at {reached[0]}"
            raise StoreGone(f"{problem}: deletions are lost.", _AGAIN)
        return now


def _identity(name: str) -> tuple[int, int] | None:
    """Which file a name leads to."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino
