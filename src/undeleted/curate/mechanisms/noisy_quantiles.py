"""Publish noisy counts on trees over several columns once: the quantiles of every feature (M5, M7).

release   for every column, counts on all levels of a complete tree, + η
forget    subtract 1 from one node per level of every tree
answer    the answers of range counts, for each column
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
from scipy.optimize import isotonic_regression

from undeleted.curate.mechanisms.range_counts import RangeCounts
from undeleted.curate.releases.count_tree import best_branching
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.statistics.range_trees import RangeTrees
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.coins import Law
from undeleted.foundations.privacy import Budget, Noise, Zcdp
from undeleted.foundations.schema import Number


@dataclass(frozen=True)
class NoisyQuantiles(Linear):
    """Range counts over several columns.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> age, pay = Number("age", min=0, max=99), Number("pay", min=0, max=9)
    >>> mechanism = NoisyQuantiles((age, pay), Budget(1e6))
    >>> people = Schema([age, pay]).table([(i % 100, i % 10) for i in range(1000)])
    >>> mechanism.quantiles(mechanism.release(Arrays(people), seeded(7)), [0.5]).round(1).tolist()
    [[49.5, 4.5]]
    """

    over: tuple[Number, ...]
    budget: Noise
    branching: int | None = None
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> RangeTrees:
        privacy = self.budget if isinstance(self.budget, Budget | Zcdp) else Budget(1.0)
        widest = max(column.cells for column in self.over)
        return RangeTrees(
            self.over, best_branching(widest, privacy) if self.branching is None else self.branching
        )

    def with_laws(self, laws: tuple[Law, ...]) -> "NoisyQuantiles":
        """The same trees: their best branching depends on the budget."""
        return replace(self, budget=laws, branching=self.statistic.branching)

    @cached_property
    def trees(self) -> tuple[RangeCounts, ...]:
        """Range counts for each column, with this mechanism's noise."""
        levels = np.cumsum([0, *(tree.levels for tree in self.statistic.trees)]).tolist()
        return tuple(
            RangeCounts(column, self.laws[a:b], self.statistic.branching, self.rows_per_person)
            for column, a, b in zip(self.over, levels, levels[1:], strict=False)
        )

    def column(self, release: Cells, i: int) -> Cells:
        """The cells of one column: a release of its range counts."""
        return Cells(np.split(release.value, self._ends)[i])

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(tree.size for tree in self.statistic.trees))[:-1]

    def quantiles(self, release: Cells, shares: Sequence[float]) -> FloatArray:
        """The values with these shares of the records at or below them: a (shares × columns) matrix."""
        by_column = [
            _from_leaves(mechanism, mechanism.view(self.column(release, i)).levels[-1].estimates, shares)
            for i, mechanism in enumerate(self.trees)
        ]
        return np.column_stack(by_column)


def _from_leaves(mechanism: RangeCounts, leaves: FloatArray, shares: Sequence[float]) -> FloatArray:
    """Where the isotonic fit of the cumulative counts passes each share of all.

    Records are assumed to be spread evenly inside a step of the grid.
    """
    cumulative = np.cumsum(leaves[: mechanism.column.cells])
    evenly = max(float(cumulative[-1]), 0.0) * np.arange(1, cumulative.size + 1) / cumulative.size
    apart = cumulative - evenly
    noise = mechanism.worst_variance(0.5) * apart.size
    kept = max(0.0, 1 - noise / max(float(apart @ apart), 1e-300))  # what noise does not explain
    cumulative = evenly + kept * apart
    rising = isotonic_regression(cumulative).x
    below = np.concatenate([[0.0], np.maximum(rising, 0.0)])
    if below[-1] <= 0:
        below = np.linspace(0.0, 1.0, below.size)  # only noise: assume that everybody is spread evenly
    wanted = np.asarray(shares) * below[-1]
    at = np.clip(np.searchsorted(below, wanted, side="left"), 1, below.size - 1)
    step = below[at] - below[at - 1]
    inside = np.divide(wanted - below[at - 1], step, out=np.zeros_like(wanted), where=step > 0)
    code = np.clip(at - 1 + inside - 0.5, 0, mechanism.column.cells - 1)
    return np.asarray(float(mechanism.column.min) + float(mechanism.column.step) * code)
