"""Records in buckets whose bytes tell who is there, and nothing of who was.

A record lies in the bucket that its tag says.  Every bucket has the same room; it holds its records in the
order of their tags, then zeros, then a keyed mark of its number and of all that.  So the bytes follow from
those who are there: a bucket that somebody left is the bucket that they never came to.

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
            room = (pages * PAGE - MARK) // slot
            if room >= wanted:
                return cls(1, room, slot)
            mean = _most_on_average(room, together, wanted)
            if mean >= next(share for most, share in _FILLED if pages <= most) * room:
                return cls(math.ceil(wanted / mean), room, slot)
            pages *= 2

    def of(self, tag: bytes) -> int:
        return int.from_bytes(tag[:8], "little") % self.count

    def laid_out(self, slots: Any) -> tuple["Buckets", Any, Any]:
        """All buckets as rows of an array, without their marks; and the slots in their order.

        Should a bucket be too small, against all odds, all become larger.
        """
        where = np.ascontiguousarray(slots[:, :8]).view("<u8").ravel() % np.uint64(self.count)
        words = np.ascontiguousarray(slots[:, :TAG]).view(">u8").reshape(-1, 2)
        order = np.lexsort((words[:, 1], words[:, 0], where))
        slots, where = slots[order], where[order].astype(np.int64)
        starts = np.searchsorted(where, np.arange(self.count))
        place = np.arange(len(where)) - starts[where]
        if place.size and place.max() >= self.room:
            return Buckets(self.count, 2 * self.room, self.slot).laid_out(slots)
        data = np.zeros((self.count, self.room, self.slot), dtype=np.uint8)
        data[where, place] = slots
        return self, data.reshape(self.count, -1), slots

    def marked(self, key: bytes, number: int, slots: bytes) -> bytes:
        """A bucket as it is written."""
        return slots + _mark(key, number, slots)

    def opened(self, key: bytes, number: int, data: bytes) -> bytes:
        """The slots of a bucket; refused if it is not as it was written."""
        if not self.is_whole(key, number, data):
            problem = "a bucket of records is damaged; nothing was changed."
            raise StoreError(problem, "Restore the store and its key from the same backup.")
        return data[:-MARK]

    def is_whole(self, key: bytes, number: int, data: Any) -> bool:
        whole = isinstance(data, bytes) and len(data) == self.room * self.slot + MARK
        return whole and data[-MARK:] == _mark(key, number, data[:-MARK])

    def without(self, slots: bytes, tag: bytes) -> tuple[bytes, list[bytes]]:
        """The slots without those of a tag, as if they had never been there; and what stood behind it."""
        size, at, taken = self.slot, 0, list[bytes]()
        while (at := slots.find(tag, at)) >= 0:
            if at % size:
                at += 1
                continue
            taken.append(slots[at + TAG : at + size])
            slots = slots[:at] + slots[at + size :] + bytes(size)
        return slots, taken

    def present(self, data: bytes) -> Any:
        """The slots of a bucket that hold a record, a row each."""
        slots = np.frombuffer(data, dtype=np.uint8)[: self.room * self.slot].reshape(-1, self.slot)
        return slots[slots[:, :TAG].any(axis=1)]


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


def _mark(key: bytes, number: int, slots: bytes) -> bytes:
    told = blake2b(number.to_bytes(8, "little"), key=key, person=b"undeleted-bucket", digest_size=MARK)
    told.update(slots)
    return told.digest()
