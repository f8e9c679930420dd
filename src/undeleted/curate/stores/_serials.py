"""Serials of receipts: places in a public capacity, in a random order that is thrown away.

A serial says which bit of a store is a person's.  If serials were in the order of the rows, a thief could
find a person's bit in the source; if they were numbers from 0 to n − 1, the largest would tell n.
"""

import os
from hashlib import shake_256

import numpy as np

from undeleted.foundations.arrays import IntArray

KEY = 32


class Serials:
    """A random order of all serials below a capacity; without its key it cannot be found again.

    >>> sorted(Serials(5).take(0, 5).tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(self, capacity: int, key: bytes | None = None) -> None:
        secret = os.urandom(KEY) if key is None else key
        drawn = shake_256(b"undeleted-serials" + secret).digest(8 * capacity)
        self._order = np.argsort(np.frombuffer(drawn, dtype="<u8"), kind="stable").astype(np.uint32)

    def take(self, first: int, count: int) -> IntArray:
        """The serials at some neighbouring places of the order; fewer where it ends."""
        return self._order[first : first + count].astype(np.int64)
