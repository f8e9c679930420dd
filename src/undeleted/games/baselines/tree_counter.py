"""Continual observation: a first noisy total minus a binary-tree count of the deletion stream (M9).

start    y = Σ s(x) + η
delete   y − (noisy prefix sum of the deleted contributions)

to whom          what
everybody        ε-DP over the whole transcript: half the budget for the first total, half for the tree;
                 a leaver's own deletion is hidden too; exact subtraction does not hide it
those who stay   also perfectly undeleted-safe: the tree's sums and noise do not depend on them
the price        the error grows with the logarithm of the planned number of deletions
"""

from collections.abc import Sequence

from undeleted.curate.releases.linear import Cells, add_noise
from undeleted.curate.statistics import Statistic
from undeleted.foundations.coins import Coins
from undeleted.foundations.privacy import Budget, Noise, Zcdp, as_noise, split
from undeleted.foundations.schema import Schema
from undeleted.games.baselines._dyadic import Continual, Dyadic, levels_of, noise_for
from undeleted.games.baselines._points import Point


class TreeCounter(Continual):
    """Any statistic under continual observation.

    `horizon` is the largest number of deletion requests; each may name any number of people.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.foundations.schema import Number
    >>> from undeleted.curate.statistics import Count
    >>> curator = TreeCounter(Count(), Schema([Number("age", min=0, max=120)]), Budget(1e6), horizon=4)
    >>> curator.start([41, 17, 30], seeded(7)).value, curator.delete([17]).value, curator.delete([41]).value
    (array([3]), array([2]), array([1]))
    """

    def __init__(self, statistic: Statistic, schema: Schema, budget: Noise, horizon: int) -> None:
        super().__init__(statistic, schema, horizon)
        noise = as_noise(budget)
        first, later = split(noise, [1, 1]) if isinstance(noise, Budget | Zcdp) else (noise, noise)
        self.first_laws = noise_for(statistic, first, 1)
        self.stream_laws = noise_for(statistic, later, levels_of(horizon))

    def start(self, data: Sequence[Point], coins: Coins) -> Cells:
        self._first = add_noise(self.statistic, self.first_laws, self._begin(data), coins)
        self._tree = Dyadic(self.statistic, self.stream_laws, self._deleted, coins)
        return Cells(self._first)

    def delete(self, points: Sequence[Point]) -> Cells:
        length = self._advance(points)
        return Cells(self._first - self._tree.prefix(length))
