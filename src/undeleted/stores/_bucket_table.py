"""Buckets as rows of a table of SQLite: each is overwritten with as many bytes, and never moves."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from undeleted.stores._buckets import Buckets

COLUMNS = "(bucket INTEGER PRIMARY KEY, data BLOB NOT NULL)"


class BucketTable:
    """Slots by their tags, in a table of a database."""

    def __init__(self, db: sqlite3.Connection, name: str, buckets: Buckets, key: bytes) -> None:
        self._db, self._name, self.buckets, self._key = db, name, buckets, key

    @classmethod
    def filled(
        cls, db: sqlite3.Connection, name: str, slots: Any, key: bytes, *, together: int = 1
    ) -> tuple["BucketTable", Any]:
        """A new table of slots, of which up to `together` share a tag; and the slots in their order."""
        planned = Buckets.planned(len(slots), slots.shape[1], together)
        buckets, data, slots = planned.laid_out(slots)
        db.execute(f"CREATE TABLE {name} {COLUMNS}")
        written = ((n, buckets.marked(key, n, row.tobytes())) for n, row in enumerate(data))
        db.executemany(f"INSERT INTO {name} VALUES (?, ?)", written)
        return cls(db, name, buckets, key), slots

    @property
    def meta(self) -> dict[str, str]:
        """What a store must know to open it again."""
        return {self._name: f"{self.buckets.count} {self.buckets.room}"}

    @classmethod
    def opened(
        cls, db: sqlite3.Connection, name: str, meta: dict[str, str], slot: int, key: bytes
    ) -> "BucketTable":
        count, room = map(int, meta[name].split())
        return cls(db, name, Buckets(count, room, slot), key)

    def take(self, tags: Sequence[bytes], *, alike: bool = False) -> dict[bytes, list[bytes]]:
        """Take the slots of these tags out: what stood behind each of those that were there.

        With `alike` the buckets in which other tags would be are written again.
        """
        found: dict[bytes, list[bytes]] = {}
        written: dict[int, bytes] = {}
        same = set[int]()
        for number, tag in sorted((self.buckets.of(tag), tag) for tag in tags):  # in the order of the file
            before = written[number] if number in written else self._read(number)
            after, taken = self.buckets.without(before, tag)
            if taken:
                found[tag] = taken
                same.discard(number)
            elif alike and number not in written:
                same.add(number)
            if taken or alike:
                written[number] = after
        soil(self._db, self._name, "bucket", same)
        self._db.executemany(
            f"UPDATE {self._name} SET data = ? WHERE bucket = ?",
            ((self.buckets.marked(self._key, n, slots), n) for n, slots in written.items()),
        )
        return found

    def _read(self, number: int) -> bytes:
        found = self._db.execute(f"SELECT data FROM {self._name} WHERE bucket = ?", (number,)).fetchone()
        return self.buckets.opened(self._key, number, found[0] if found else b"")

    def slots(self) -> Iterator[Any]:
        """All slots that hold something, some thousands at a time."""
        waiting, rows = [np.zeros((0, self.buckets.slot), dtype=np.uint8)], 0
        for (data,) in self._db.execute(f"SELECT data FROM {self._name} ORDER BY bucket"):
            waiting.append(self.buckets.present(data))
            rows += len(waiting[-1])
            if rows > 1 << 16:
                yield np.concatenate(waiting)
                waiting, rows = [], 0
        if waiting:
            yield np.concatenate(waiting)

    def is_whole(self) -> bool:
        """Whether every bucket is as it was written, and where a deletion looks for it."""
        rows = self._db.execute(f"SELECT bucket, data FROM {self._name} ORDER BY bucket").fetchall
        numbers = list[Any]()
        for number, data in rows():
            numbers.append(number)
            if not self.buckets.is_whole(self._key, number, data):
                return False
        return numbers == list(range(self.buckets.count))


def soil(db: sqlite3.Connection, table: str, key: str, numbers: Iterable[int]) -> None:
    """Have what will be written now written even if it is the same: SQLite would leave it out."""
    db.executemany(
        f"UPDATE {table} SET data = randomblob(length(data)) WHERE {key} = ?", ((n,) for n in numbers)
    )
