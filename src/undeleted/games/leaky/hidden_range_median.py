"""Medians of hidden range counts: not safe without leakage, (k, g)-safe with g = the counts.

    release   P = range counts with noise, hidden;  z0 = median(P)
    forget    P ← P − #deleted
    answer    median(P)

Each later answer reveals a little more of P, and that is new information about those who stay.  A simulator
that is given all of P, which is differentially private, needs nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from undeleted.curate.engines import Totals
from undeleted.curate.mechanisms.range_counts import RangeCounts
from undeleted.curate.releases.linear import Cells
from undeleted.curate.statistics import Contribution
from undeleted.foundations.coins import Coins
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Number, Table


@dataclass(frozen=True)
class HiddenRangeMedian:
    """The median of range counts that are not published.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> age = Number("age", min=0, max=120)
    >>> people, mechanism = Schema([age]), HiddenRangeMedian(age, 1.0)
    >>> first, leakage = mechanism.release(Arrays(people.table([20, 30, 40] * 2000)), seeded(7))
    >>> first, mechanism.answer(mechanism.forget(leakage, mechanism.contribution(people.table([20] * 1999))))
    (30, 40)
    """

    column: Number
    budget: Noise
    branching: int | None = None

    @cached_property
    def hidden(self) -> RangeCounts:
        """The mechanism whose release is the leakage."""
        return RangeCounts(self.column, self.budget, self.branching)

    def release(self, totals: Totals, coins: Coins) -> tuple[int | float, Cells]:
        leakage = self.hidden.release(totals, coins)
        return self.answer(leakage), leakage

    def contribution(self, deleted: Table) -> Contribution:
        return self.hidden.contribution(deleted)

    def forget(self, leakage: Cells, contribution: Contribution) -> Cells:
        return self.hidden.forget(leakage, contribution)

    def answer(self, leakage: Cells) -> int | float:
        tree = self.hidden.statistic

        def children(level: int, node: int) -> list[int]:
            start = tree.starts[level] + node * tree.branching
            return [int(v) for v in leakage.value[start : start + tree.branching]]

        return self.column.value(min(descend(children, tree.levels), self.column.cells - 1))


def descend(children: Callable[[int, int], Sequence[int]], levels: int) -> int:
    """The leaf where the counts, clamped at zero, pass one half; calls `children` along one path only."""
    node, target = 0, 0.0
    for level in range(levels):
        counts = [max(0, count) for count in children(level, node)]
        target = sum(counts) / 2 if level == 0 else min(target, sum(counts))
        child = 0
        while child < len(counts) - 1 and counts[child] < target:
            target -= counts[child]
            child += 1
        node = node * len(counts) + child
    return node
