"""A random pad, then pad ⊕ a remaining point: each is uniform, but two reveal an undeleted point (P7).

start    z uniform on d bits, whatever the data
delete   z ⊕ y, with y drawn from the remaining points       z the initial pad
         z_latest ⊕ y                                        the cumulative variant
"""

from collections.abc import Sequence

from undeleted.foundations.coins import Coins
from undeleted.games.baselines._points import Point, Points, nonempty, started, without
from undeleted.games.baselines.xor_pad import as_int, draw_pad


class XorUndeleted:
    """Points are integers of `bits` bits; with nobody left the pad is returned.

    >>> from undeleted.foundations.coins import seeded
    >>> curator = XorUndeleted(bits=8)
    >>> curator.start([3, 200], seeded(7)) ^ curator.delete([200])
    3
    """

    def __init__(self, bits: int = 1, *, cumulative: bool = False) -> None:
        self.bits, self.cumulative = bits, cumulative
        self._left: Points | None = None
        self._coins: Coins | None = None
        self._pad = 0

    def start(self, data: Sequence[Point], coins: Coins) -> int:
        self._left, self._coins = nonempty(data, self), coins
        self._pad = draw_pad(self.bits, coins)
        return self._pad

    def delete(self, points: Sequence[Point]) -> int:
        self._left = without(started(self._left, self), points)
        assert self._coins is not None
        if not self._left:
            return self._pad
        released = self._pad ^ as_int(self._left[int(self._coins.integers(0, len(self._left), 1)[0])])
        if self.cumulative:
            self._pad = released
        return released
