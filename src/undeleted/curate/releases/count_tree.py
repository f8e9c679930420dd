"""A tree of counts as readers see it, and the best branching of its nodes for a budget.

Level l = 1, …, L holds nodes that cover `branching^(L−l)` codes each.  A complete tree has all of them; a
grown one has the children of expanded nodes only, as sorted prefixes.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression

from undeleted.curate.statistics.range_tree import levels_for
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Budget, Privacy
from undeleted.foundations.types import Given

BRANCHINGS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, eq=False)
class Level:
    """Nodes of one level: their prefixes, ascending, and an estimate for each."""

    span: int
    prefixes: Given
    estimates: FloatArray

    def find(self, prefix: int) -> int | None:
        """The index of a node, or None if it is absent."""
        at = int(np.searchsorted(self.prefixes, self.prefixes.dtype.type(prefix)))
        return at if at < self.prefixes.size and int(self.prefixes[at]) == prefix else None


@dataclass(frozen=True, eq=False)
class TreeView:
    """Consistent estimates on a copy of a release: the children of a node add up to it."""

    branching: int
    levels: tuple[Level, ...]

    @property
    def total(self) -> float:
        return float(self.levels[0].estimates.sum())

    def code_of(self, share: float) -> float:
        """Where a share of all records lies: in the leaf in which the cumulative counts pass it.

        The cumulative counts are the nearest that do not fall: a larger share never has a smaller code.
        """
        starts, spans, _ = self.leaves
        below = self.rising
        target = share * float(below[-1])
        at = int(np.searchsorted(below, target - 1e-9 * max(1.0, target), side="left"))
        before = float(below[at - 1]) if at else 0.0
        step = float(below[at]) - before
        inside = min(1.0, max(0.0, (target - before) / step)) if step > 0 else 0.5
        return starts[at] if spans[at] == 1 else starts[at] + inside * (spans[at] - 1)

    @cached_property
    def rising(self) -> FloatArray:
        """The cumulative counts at the ends of the leaves, as they can be: from 0, never falling."""
        fitted: FloatArray = np.maximum(isotonic_regression(self.leaves[2]).x, 0.0)
        if fitted[-1] <= 0:  # only noise: everybody may be anywhere
            ends = [float(start + span) for start, span in zip(*self.leaves[:2], strict=True)]
            return np.asarray(ends) / ends[-1]
        return fitted

    @cached_property
    def leaves(self) -> tuple[list[int], list[int], FloatArray]:
        """First code and span of every leaf in order, and the cumulative count at its end."""
        starts, spans, counts = [], [], []
        for depth, level in enumerate(self.levels):
            cut = np.ones(level.prefixes.size, dtype=bool)
            if depth + 1 < len(self.levels):
                deeper = self.levels[depth + 1].prefixes[:: self.branching] // self.branching
                cut[np.searchsorted(level.prefixes, deeper)] = False
            starts.append(level.prefixes[cut].astype(np.uint64) * np.uint64(level.span % 2**64))
            spans.append(np.full(int(cut.sum()), level.span, dtype=object))
            counts.append(level.estimates[cut])
        first = np.concatenate(starts)
        order = np.argsort(first)
        spans_in_order = np.concatenate(spans)[order]
        return first[order].tolist(), spans_in_order.tolist(), np.cumsum(np.concatenate(counts)[order])


def best_branching(cells: int, privacy: Privacy) -> int:
    """The branching with the least mean squared error of a prefix count, if levels share the budget equally.

    On each of L levels a prefix cuts through one node of b children, at a mean cost of (b² − 1)/6b of their
    variance.  This variance is ∝ L² for pure ε and ∝ L for a Gaussian.  Padding beyond the domain is waste.
    """
    power = 3 if isinstance(privacy, Budget) and privacy.delta == 0 else 2

    def cost(b: int) -> float:
        levels = levels_for(cells, b)
        padding = math.exp(levels * math.log(b) - math.log(cells))
        return float(levels**power * (b * b - 1) / b * (1 + (padding - 1) / b))

    return min((b for b in BRANCHINGS if b ** levels_for(cells, b) <= 2**64), key=cost)
