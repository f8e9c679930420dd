"""Records in buckets whose bytes depend on who is there, and reveal nothing about who was.

The tag of a record determines its bucket.  All buckets have the same size.  A bucket holds its records in the
order of their tags, then zeros, the length of the records, and a keyed mark of its number and its records.
So its bytes depend only on the people who are there: after a deletion they are the same as if the person had
never been there.

    buckets · mean = a rounded number of records      room: enough for all buckets, except with odds of 2⁻⁴⁰

The number of records is rounded up, so that the buckets reveal only roughly how many people came.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from undeleted.errors import StoreError
from undeleted.foundations.types import Given

TAG = 16
MARK = 16
LENGTH = 4  # bytes for the length of a bucket's records
PAGE = 4000  # a bucket has so many bytes, or a multiple: what an SQLite page holds
_ODDS = 40 * math.log(2)
_FILLED = ((16, 0.4), (1 << 30, 0.25))  # up to so many pages: the share of the room that is filled on average


@dataclass(frozen=True)
class Buckets:
    """A layout: `count` buckets, each with room for `room` slots of `slot` bytes."""

    count: int
    room: int
    slot: int

    @classmethod
    def planned(cls, records: int, slot: int, together: int = 1) -> "Buckets":
        """A layout for so many records, of which up to `together` have the same tag."""
        wanted = rounded_up(max(1, records))
        pages = 1
        while True:
            room = (pages * PAGE - LENGTH - MARK) // slot
            if room >= wanted:
                return cls(1, room, slot)
            mean = _most_on_average(room, together, wanted)
            if room and mean >= next(share for most, share in _FILLED if pages <= most) * room:
                return cls(math.ceil(wanted / mean), room, slot)
            pages *= 2

    def of(self, tag: bytes) -> int:
        return int.from_bytes(tag[:8], "little") % self.count

    def laid_out(self, slots: Given) -> tuple["Buckets", list[bytes], Given]:
        """The final layout, the records of every bucket, and all slots in their order.

        If a bucket is too small, which is very unlikely, all buckets become larger.
        """
        where = np.ascontiguousarray(slots[:, :8]).view("<u8").ravel() % np.uint64(self.count)
        words = np.ascontiguousarray(slots[:, :TAG]).view(">u8").reshape(-1, 2)
        order = np.lexsort((words[:, 1], words[:, 0], where))
        slots = slots[order]
        ends = np.searchsorted(where[order], np.arange(self.count, dtype=np.uint64), side="right").tolist()
        most = max(end - start for start, end in zip([0, *ends], ends, strict=False))
        room = self.room * 2 ** max(0, math.ceil(math.log2(max(1, most) / self.room)))
        parts = [slots[start:end].tobytes() for start, end in zip([0, *ends], ends, strict=False)]
        return Buckets(self.count, room, self.slot), parts, slots

    def marked(self, key: bytes, number: int, records: bytes) -> bytes:
        """The bytes of a bucket: records, padding, length and mark."""
        padding = bytes(self.room * self.slot - len(records))
        return records + padding + len(records).to_bytes(LENGTH, "little") + self.mark(key, number, records)

    @staticmethod
    def mark(key: bytes, number: int, records: bytes) -> bytes:
        """The mark of a bucket with these records."""
        message = number.to_bytes(8, "little") + records
        return blake2b(message, key=key, person=b"undeleted-bucket", digest_size=MARK).digest()

    def opened(self, key: bytes, number: int, data: Given) -> bytes:
        """The records of a bucket; an altered bucket is refused."""
        if not self.is_intact(key, number, data):
            problem = "a bucket of records is damaged; nothing was changed."
            raise StoreError(problem, "Restore the store and its key from the same backup.")
        return self._records(data)

    def is_intact(self, key: bytes, number: int, data: Given) -> bool:
        """Return whether a bucket is unaltered, to the last byte."""
        room = self.room * self.slot
        if not isinstance(data, bytes) or len(data) != room + LENGTH + MARK:
            return False
        end = self._end(data)
        padded = end <= room and data[end:room] == bytes(room - end)
        return padded and data[-MARK:] == self.mark(key, number, data[:end])

    def _end(self, data: bytes) -> int:
        return int.from_bytes(data[-MARK - LENGTH : -MARK], "little")

    def _records(self, data: bytes) -> bytes:
        return data[: self._end(data)]

    def without(self, records: bytes, tag: bytes) -> tuple[bytes, list[bytes]]:
        """The records without those of a tag, as if they had never been there; and the rows removed."""
        size = self.slot
        at = records.find(tag)
        while at >= 0 and at % size:
            at = records.find(tag, at + 1)
        if at < 0:
            return records, []
        end = at + size
        while records.startswith(tag, end):  # a person's rows are adjacent
            end += size
        taken = [records[start + TAG : start + size] for start in range(at, end, size)]
        return records[:at] + records[end:], taken

    def with_added(self, records: bytes, slots: Sequence[bytes]) -> bytes:
        """The records with these slots among them, in the order of their bytes, which begin with the tag."""
        there = [records[start : start + self.slot] for start in range(0, len(records), self.slot)]
        return b"".join(sorted([*there, *slots]))

    def present(self, data: bytes) -> Given:
        """The slots of a bucket, one per row."""
        return np.frombuffer(self._records(data), dtype=np.uint8).reshape(-1, self.slot)


def rounded_up(number: int) -> int:
    """Round up to four significant binary digits: 1000 becomes 1024, and 1025 becomes 1152.

    >>> [rounded_up(n) for n in (1, 15, 17, 1000, 1025)]
    [1, 15, 18, 1024, 1152]
    """
    grain = 1 << max(0, number.bit_length() - 4)
    return -(-number // grain) * grain


def _most_on_average(room: int, together: int, records: int) -> float:
    """The largest mean of a bucket for which, by Chernoff's bound, all buckets have enough room.

    A bucket holds at most `together` times a Poisson number of people: P(N ≥ c) ≤ exp(c − μ + c·ln(μ/c)).
    """
    c = room // together + 1
    low, high = 0.0, float(c)
    for _ in range(60):
        middle = (low + high) / 2
        bound = c - middle + c * math.log(middle / c) if middle else -math.inf
        low, high = (middle, high) if bound <= -_ODDS - math.log(records) else (low, middle)
    return low * together
