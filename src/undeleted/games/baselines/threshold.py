"""The threshold functionality: says nothing while |D| ≥ n, and then everything (P3).

f(D) = ∅ if |D| ≥ n, else D        retrained after every deletion; n is the first size unless given
"""

from collections.abc import Sequence
from typing import Any

from undeleted.foundations.coins import Coins
from undeleted.games.baselines._points import Point
from undeleted.games.baselines.retrain import Retrain


class Threshold(Retrain):
    """One deletion opens the vault.

    >>> from undeleted.foundations.coins import seeded
    >>> vault = Threshold()
    >>> vault.start([3, 1, 2], seeded(7)), vault.delete([1])
    (None, (2, 3))
    """

    def __init__(self, n: int | None = None) -> None:
        super().__init__(self._open_below)
        self.n = n
        self._limit = n

    def _open_below(self, points: tuple[Any, ...]) -> Any:
        assert self._limit is not None
        return None if len(points) >= self._limit else tuple(sorted(points))

    def start(self, data: Sequence[Point], coins: Coins) -> Any:
        self._limit = len(data) if self.n is None else self.n
        return super().start(data, coins)
