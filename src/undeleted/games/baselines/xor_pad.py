"""A random pad, then pad ⊕ deleted point: each is uniform, but two reveal the deleted point (P7).

    start    z uniform on d bits, whatever the data
    delete   z ⊕ x              z the initial pad
             z_latest ⊕ x       the cumulative variant

Undeleted-safe: the next release is a function of the first one and the deleted point.
"""

from collections.abc import Sequence
from functools import reduce
from operator import xor

from undeleted.foundations.coins import Coins
from undeleted.games.baselines._points import Point, Points, nonempty, started, without


class XorPad:
    """Points are integers of `bits` bits; several deleted at once are XORed together.

    >>> from undeleted.foundations.coins import seeded
    >>> curator = XorPad(bits=8)
    >>> curator.start([3, 200], seeded(7)) ^ curator.delete([200])
    200
    """

    def __init__(self, bits: int = 1, *, cumulative: bool = False) -> None:
        self.bits, self.cumulative = bits, cumulative
        self._left: Points | None = None
        self._pad = 0

    def start(self, data: Sequence[Point], coins: Coins) -> int:
        self._left = nonempty(data, self)
        self._pad = draw_pad(self.bits, coins)
        return self._pad

    def delete(self, points: Sequence[Point]) -> int:
        self._left = without(started(self._left, self), points)
        released = reduce(xor, (as_int(p) for p in points), self._pad)
        if self.cumulative:
            self._pad = released
        return released


def draw_pad(bits: int, coins: Coins) -> int:
    """A uniform word of this many bits."""
    return sum(int(bit) << place for place, bit in enumerate(coins.bits(bits)))


def as_int(point: Point) -> int:
    return int(point)  # type: ignore[call-overload, no-any-return]
