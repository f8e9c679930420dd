"""Continual observation with the data in the stream: their total gets fresh noise repeatedly (M9).

stream   Σ s(x),  −s(y1),  −s(y2), …
output   noisy prefix sums by a binary tree

to whom          what
everybody        ε-DP over the whole transcript
those who stay   *not* undeleted-safe: the blocks that contain the first element add fresh noise to the data
                 after deletions 1, 3, 7, …, so the later outputs reveal more about D than the first
"""

from collections.abc import Sequence

from undeleted.curate.releases.linear import Cells
from undeleted.curate.statistics import Statistic
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Schema
from undeleted.games.baselines._dyadic import Continual, Dyadic, levels_of, noise_for
from undeleted.games.baselines._points import Point


class RenoisedTree(Continual):
    """The textbook tree counter on a data set and its deletions.

    `horizon` is the largest number of deletion requests; each may name any number of people.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Number
    >>> from undeleted.curate.statistics import Count
    >>> curator = RenoisedTree(Count(), Schema([Number("age", min=0, max=120)]), Budget(1e6), horizon=4)
    >>> curator.start([41, 17, 30], seeded(7)).value, curator.delete([17]).value, curator.delete([41]).value
    (array([3]), array([2]), array([1]))
    """

    def __init__(self, statistic: Statistic, schema: Schema, budget: Noise, horizon: int) -> None:
        super().__init__(statistic, schema, horizon)
        # A person is in the blocks of the first element and, on leaving, in those of the deletion.
        self.laws = noise_for(statistic, budget, 2 * levels_of(horizon + 1))

    def start(self, data: Sequence[Point], coins: Coins) -> Cells:
        self._total = self._begin(data)
        self._tree = Dyadic(self.statistic, self.laws, self._elements, coins)
        return Cells(self._tree.prefix(1))

    def delete(self, points: Sequence[Point]) -> Cells:
        length = self._advance(points)
        return Cells(self._tree.prefix(1 + length))

    def _elements(self, start: int, end: int) -> IntArray:
        """The sum of these elements of the stream; the data are the first element."""
        deleted = self._deleted(max(0, start - 1), end - 1)
        return self._total - deleted if start == 0 else -deleted
