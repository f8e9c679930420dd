"""Buckets as rows of an SQLite table: each is overwritten with the same number of bytes, and never moves."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from undeleted.curate.stores._buckets import MARK, TAG, Buckets
from undeleted.foundations.types import Given

_AT_ONCE = 500  # buckets per query
COLUMNS = "(bucket INTEGER PRIMARY KEY, data BLOB NOT NULL)"


class BucketTable:
    """Slots in a database table, looked up by their tags."""

    def __init__(self, db: sqlite3.Connection, name: str, buckets: Buckets, key: bytes) -> None:
        self._db, self._name, self.buckets, self._key = db, name, buckets, key
        self.noted: Callable[[int, bytes, bytes], None] | None = None  # called with the marks of a change

    @classmethod
    def filled(
        cls,
        db: sqlite3.Connection,
        name: str,
        slots: Given,
        key: bytes,
        *,
        together: int = 1,
        room_for: int | None = None,
    ) -> tuple["BucketTable", Given]:
        """Create a table of slots, of which up to `together` share a tag; return it and the ordered slots.

        With `room_for` it has room for so many slots, however many there are now.
        """
        planned = Buckets.planned(len(slots) if room_for is None else room_for, slots.shape[1], together)
        buckets, parts, slots = planned.laid_out(slots)
        db.execute(f"CREATE TABLE {name} {COLUMNS}")
        written = ((n, buckets.marked(key, n, part)) for n, part in enumerate(parts))
        db.executemany(f"INSERT INTO {name} VALUES (?, ?)", written)
        return cls(db, name, buckets, key), slots

    @property
    def meta(self) -> dict[str, str]:
        """The metadata that a store needs to open the table again."""
        return {self._name: f"{self.buckets.count} {self.buckets.room}"}

    @classmethod
    def opened(
        cls, db: sqlite3.Connection, name: str, meta: Mapping[str, str], slot: int, key: bytes
    ) -> "BucketTable":
        count, room = map(int, meta[name].split())
        return cls(db, name, Buckets(count, room, slot), key)

    def take(self, tags: Sequence[bytes], *, dummy_work: bool = False) -> dict[bytes, list[bytes]]:
        """Remove the slots of these tags; return the rows of each tag that was there.

        With `dummy_work`, the buckets where the other tags would be are rewritten too.
        """
        removed: dict[bytes, list[bytes]] = {}
        wanted = sorted((self.buckets.of(tag), tag) for tag in tags)  # in the order of the file
        slots = self._read(list(dict.fromkeys(number for number, _ in wanted)))
        before = dict(slots)
        changed, same = set[int](), set[int]()
        for number, tag in wanted:
            slots[number], taken = self.buckets.without(slots[number], tag)
            if taken:
                removed[tag] = taken
                changed.add(number)
            elif dummy_work:
                same.add(number)
        same -= changed
        written = {number: slots[number] for number in sorted(changed | same)}
        self._note(before, written)
        randomise(self._db, self._name, "bucket", same)
        self._db.executemany(
            f"UPDATE {self._name} SET data = ? WHERE bucket = ?",
            ((self.buckets.marked(self._key, n, part), n) for n, part in written.items()),
        )
        return removed

    def _note(self, before: Mapping[int, bytes], after: Mapping[int, bytes]) -> None:
        if self.noted is not None:
            for number, records in after.items():
                old = self.buckets.mark(self._key, number, before[number])
                self.noted(number, old, self.buckets.mark(self._key, number, records))

    def marks(self) -> list[bytes]:
        """The marks of all buckets as they are now."""
        rows = self._db.execute(f"SELECT data FROM {self._name} ORDER BY bucket")
        return [bytes(data[-MARK:]) for (data,) in rows]

    def find(self, tags: Sequence[bytes]) -> dict[bytes, list[bytes]]:
        """The rows of each of these tags that is in the table."""
        wanted = sorted((self.buckets.of(tag), tag) for tag in tags)
        slots = self._read(list(dict.fromkeys(number for number, _ in wanted)))
        found = {tag: self.buckets.without(slots[number], tag)[1] for number, tag in wanted}
        return {tag: rows for tag, rows in found.items() if rows}

    def add(self, slots: Sequence[bytes], together: int) -> bool:
        """Add slots, of which up to `together` share a tag; return whether the layout has changed.

        If a bucket overflows, all are laid out again, with room for half as many more.
        """
        by_bucket: dict[int, list[bytes]] = {}
        for slot in slots:
            by_bucket.setdefault(self.buckets.of(slot[:TAG]), []).append(slot)
        there = self._read(sorted(by_bucket))
        after = {n: self.buckets.with_added(there[n], added) for n, added in by_bucket.items()}
        if any(len(part) > self.buckets.room * self.buckets.slot for part in after.values()):
            self._lay_out_again(slots, together)
            return True
        self._note(there, after)
        self._db.executemany(
            f"UPDATE {self._name} SET data = ? WHERE bucket = ?",
            ((self.buckets.marked(self._key, n, part), n) for n, part in sorted(after.items())),
        )
        return False

    def _lay_out_again(self, added: Sequence[bytes], together: int) -> None:
        """SQLite overwrites the pages that the old buckets leave (`secure_delete`)."""
        new = np.frombuffer(b"".join(added), dtype=np.uint8).reshape(-1, self.buckets.slot)
        slots = np.concatenate([*self.slots(), new])
        self.buckets, parts, _ = Buckets.planned(
            len(slots) + len(slots) // 2, self.buckets.slot, together
        ).laid_out(slots)
        self._db.execute(f"DELETE FROM {self._name}")
        written = ((n, self.buckets.marked(self._key, n, part)) for n, part in enumerate(parts))
        self._db.executemany(f"INSERT INTO {self._name} VALUES (?, ?)", written)

    def _read(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Read the slots of some buckets, many buckets per query."""
        rows: dict[int, Given] = {}
        for start in range(0, len(numbers), _AT_ONCE):
            part = numbers[start : start + _AT_ONCE]
            places = ", ".join("?" * len(part))
            query = f"SELECT bucket, data FROM {self._name} WHERE bucket IN ({places})"
            rows.update(self._db.execute(query, part))
        return {n: self.buckets.opened(self._key, n, rows.get(n)) for n in numbers}

    def slots(self) -> Iterator[Given]:
        """All occupied slots, some thousands at a time."""
        waiting, rows = [np.zeros((0, self.buckets.slot), dtype=np.uint8)], 0
        for (data,) in self._db.execute(f"SELECT data FROM {self._name} ORDER BY bucket"):
            waiting.append(self.buckets.present(data))
            rows += len(waiting[-1])
            if rows > 1 << 16:
                yield np.concatenate(waiting)
                waiting, rows = [], 0
        if waiting:
            yield np.concatenate(waiting)

    def is_intact(self) -> bool:
        """Return whether every bucket is unaltered, and where a deletion looks for it."""
        expected = 0
        for number, data in self._db.execute(f"SELECT bucket, data FROM {self._name} ORDER BY bucket"):
            if number != expected or not self.buckets.is_intact(self._key, number, data):
                return False
            expected += 1
        return expected == self.buckets.count


def randomise(db: sqlite3.Connection, table: str, key: str, numbers: Iterable[int]) -> None:
    """Overwrite rows with random bytes, so that SQLite does not skip the next write if nothing changed."""
    db.executemany(
        f"UPDATE {table} SET data = randomblob(length(data)) WHERE {key} = ?", ((n,) for n in numbers)
    )
