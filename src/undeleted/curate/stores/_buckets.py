"""Records in buckets whose bytes tell who is there, and nothing of who was.

A record lies in the bucket that its tag says.  Every bucket has the same room; it holds its records in the
order of their tags, then zeros, then how long the records are and a keyed mark of that, of its number and of
them.  So the bytes follow from those who are there: a bucket that somebody left is the bucket that they never
came to.

    buckets · mean = a rounded number of records      room: more than any bucket needs, but for odds of 2⁻⁴⁰

The number of records is rounded up, so that buckets tell roughly how many came.
"""

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from undeleted.errors import StoreError

TAG = 16
MARK = 16
LENGTH = 4  # bytes that say how long the records of a bucket are
PAGE = 4000  # bytes of a bucket, or a multiple of it: what a page of SQLite holds
_ODDS = 40 * math.log(2)
_FILLED = ((16, 0.4), (1 << 30, 0.25))  # up to so many pages: the share of the room that is filled on average


@dataclass(frozen=True)
class Buckets:
    """So many buckets with room for so many slots of so many bytes."""

    count: int
    room: int
    slot: int

    @classmethod
    def planned(cls, records: int, slot: int, together: int = 1) -> "Buckets":
        """Buckets for so many records, of which up to `together` belong together."""
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

    def laid_out(self, slots: Any) -> tuple["Buckets", list[bytes], Any]:
        """The records of every bucket, and all slots in their order.

        Should a bucket be too small, against all odds, all become larger.
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
        """A bucket as it is written."""
        padding = bytes(self.room * self.slot - len(records))
        return records + padding + len(records).to_bytes(LENGTH, "little") + _mark(key, number, records)

    def opened(self, key: bytes, number: int, data: Any) -> bytes:
        """The records of a bucket; refused if it is not as it was written."""
        if not self.is_whole(key, number, data):
            problem = "a bucket of records is damaged; nothing was changed."
            raise StoreError(problem, "Restore the store and its key from the same backup.")
        return self._records(data)

    def is_whole(self, key: bytes, number: int, data: Any) -> bool:
        """Whether it is as it was written, to the last byte."""
        room = self.room * self.slot
        if not isinstance(data, bytes) or len(data) != room + LENGTH + MARK:
            return False
        end = self._end(data)
        padded = end <= room and data[end:room] == bytes(room - end)
        return padded and data[-MARK:] == _mark(key, number, data[:end])

    def _end(self, data: bytes) -> int:
        return int.from_bytes(data[-MARK - LENGTH : -MARK], "little")

    def _records(self, data: bytes) -> bytes:
        return data[: self._end(data)]

    def without(self, records: bytes, tag: bytes) -> tuple[bytes, list[bytes]]:
        """The records without those of a tag, as if they had never been there; and what stood behind it."""
        size = self.slot
        at = records.find(tag)
        while at >= 0 and at % size:
            at = records.find(tag, at + 1)
        if at < 0:
            return records, []
        end = at + size
        while records.startswith(tag, end):  # a person's rows lie together
            end += size
        taken = [records[start + TAG : start + size] for start in range(at, end, size)]
        return records[:at] + records[end:], taken

    def present(self, data: bytes) -> Any:
        """The slots of a bucket, a row each."""
        return np.frombuffer(self._records(data), dtype=np.uint8).reshape(-1, self.slot)


def rounded_up(number: int) -> int:
    """The next number with three binary digits after the first: 1000 is 1024, and 1025 is 1152.

    >>> [rounded_up(n) for n in (1, 15, 17, 1000, 1025)]
    [1, 15, 18, 1024, 1152]
    """
    grain = 1 << max(0, number.bit_length() - 4)
    return -(-number // grain) * grain


def _most_on_average(room: int, together: int, records: int) -> float:
    """The largest mean of a bucket for which Chernoff's bound keeps all of them within their room.

    A bucket holds at most `together` times a Poisson number of people: P(N ≥ c) ≤ exp(c − μ + c·ln(μ/c)).
    """
    c = room // together + 1
    low, high = 0.0, float(c)
    for _ in range(60):
        middle = (low + high) / 2
        bound = c - middle + c * math.log(middle / c) if middle else -math.inf
        low, high = (middle, high) if bound <= -_ODDS - math.log(records) else (low, middle)
    return low * together


def _mark(key: bytes, number: int, records: bytes) -> bytes:
    told = number.to_bytes(8, "little") + records
    return blake2b(told, key=key, person=b"undeleted-bucket", digest_size=MARK).digest()
