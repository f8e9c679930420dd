"""The threshold functionality: outputs nothing while |D| ≥ n, and all of D below that (P3).

f(D) = ∅ if |D| ≥ n, else D        retrained after every deletion; n is the initial size unless given
"""

from collections.abc import Sequence

from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output
from undeleted.games.baselines._points import Point
from undeleted.games.baselines.retrain import Retrain


class Threshold(Retrain):
    """A curator that publishes all remaining data once |D| < n.

    >>> from undeleted.foundations.coins import seeded
    >>> vault = Threshold()
    >>> vault.start([3, 1, 2], seeded(7)), vault.delete([1])
    (None, (2, 3))
    """

    def __init__(self, n: int | None = None) -> None:
        super().__init__(self._open_below)
        self.n = n
        self._limit = n

    def _open_below(self, points: tuple[Output, ...]) -> Output:
        assert self._limit is not None
        return None if len(points) >= self._limit else tuple(sorted(points))

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        self._limit = len(data) if self.n is None else self.n
        return super().start(data, coins)
