"""Medians from hidden range counts whose noise is drawn only where the search passes.

    start    walk down to the median, drawing the noise of the children on the way and remembering it
    delete   D ← D ∖ {y};  walk again, drawing only noise that is new

The law is the same as for medians of a full hidden tree, at a fraction of its cost.  Like them it is not
undeleted-safe, because a later walk reveals noise and counts that the first answer did not.
"""

from collections.abc import Sequence

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.statistics.prefix import Prefix
from undeleted.foundations.coins import Coins
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines._points import Point, Points, nonempty, started, without
from undeleted.games.leaky.hidden_range_median import HiddenRangeMedian, descend


class LazyRangeMedian:
    """A hidden tree of noisy counts that is drawn only where a walk visited it.

    >>> from undeleted.foundations.coins import seeded
    >>> curator = LazyRangeMedian(Number("age", min=0, max=120), 1.0)
    >>> curator.start([20, 30, 40] * 2000, seeded(7)), curator.delete([20] * 1999)
    (30, 40)
    """

    def __init__(self, column: Number, budget: Noise, branching: int | None = None) -> None:
        self.column, self.schema = column, Schema([column])
        self._whole = HiddenRangeMedian(column, budget, branching).hidden
        self._left: Points | None = None
        self._coins: Coins | None = None
        self._noise: dict[tuple[int, int], list[int]] = {}
        self._removed: list[Point] = []

    def start(self, data: Sequence[Point], coins: Coins) -> int | float:
        self._left, self._coins, self._noise = nonempty(data, self), coins, {}
        self._first = Arrays(self.schema.table(list(self._left)))
        self._removed = []
        return self._walk()

    def delete(self, points: Sequence[Point]) -> int | float:
        self._left = without(started(self._left, self), points)
        self._removed.extend(points)
        return self._walk()

    def _walk(self) -> int | float:
        gone = Arrays(self.schema.table(self._removed))
        tree = self._whole.statistic
        assert self._coins is not None
        coins = self._coins

        def children(level: int, node: int) -> list[int]:
            cells = np.arange(node * tree.branching, (node + 1) * tree.branching)
            prefix = Prefix(self.column, tree.branching ** (tree.levels - level - 1))
            if (level, node) not in self._noise:
                noisy = coins.noisy(self._whole.laws[level], self._first.total_at(prefix, cells))
                self._noise[level, node] = [int(v) for v in noisy]
            return [
                a - int(b)
                for a, b in zip(self._noise[level, node], gone.total_at(prefix, cells), strict=True)
            ]

        return self.column.value(min(descend(children, tree.levels), self.column.cells - 1))
