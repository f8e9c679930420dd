"""Noisy counts on every level of a complete tree: any range, median or quantile of up to 2²⁰ values (M5).

    release   y_v = #{x below node v} + η_v      on L levels; a record is counted once on each
    forget    y_v ← y_v − 1                      for the L nodes above a deleted record
    answer    the best linear unbiased estimate from all levels (Hay, Rastogi, Miklau, Suciu 2010)

The whole tree is released.  Publishing medians from a hidden tree would not be safe.

With weights ω_l = 1/σ_l² and d_l codes a node, the estimator is diagonal in the basis of differences
among siblings, with eigenvalues λ_l = Σ_{j ≥ l} ω_j d_j.  That gives the noise of any range exactly.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.count_tree import Level, TreeView, best_branching
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import Takes
from undeleted.curate.releases.ranges import RangeAnswer, Ranges
from undeleted.curate.statistics.range_tree import RangeTree
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.coins import DiscreteLaplace, FiniteLaw, Law
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.privacy import Budget, Noise, Zcdp
from undeleted.foundations.schema import Number

WHOLE_TREE = 2**16  # the most values for which a spec's tree is complete; above, it is grown


@dataclass(frozen=True)
class RangeCounts(Ranges, Linear):
    """Range counts over a column of up to 2²⁰ values.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> age = Number("age", min=0, max=120)
    >>> people, mechanism = Schema([age]), RangeCounts(age, Budget(1.0))
    >>> before = mechanism.release(Arrays(people.table([20, 30, 40] * 2000)), seeded(7))
    >>> after = mechanism.forget(before, mechanism.contribution(people.table([20] * 1999)))
    >>> mechanism.median(before).value, mechanism.median(after).value
    (30, 40)
    >>> 4001 in mechanism.count(after, 0, 120)
    True
    """

    kinds: ClassVar = {"quantiles": (Takes(of=(Number,), called="numbers", most_cells=WHOLE_TREE),)}

    column: Number
    budget: Noise
    branching: int | None = None
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> RangeTree:
        privacy = self.budget if isinstance(self.budget, Budget | Zcdp) else Budget(1.0)
        return RangeTree(
            self.column,
            best_branching(self.column.cells, privacy) if self.branching is None else self.branching,
        )

    def with_laws(self, laws: tuple[Law, ...]) -> "RangeCounts":
        """The same tree: its best branching depends on the budget."""
        return replace(self, budget=laws, branching=self.statistic.branching)

    @cached_property
    def _sigmas(self) -> list[float]:
        """The spread of the noise on levels 1, …, L; 0 for a law for exact worlds."""
        return [0.0 if isinstance(law, FiniteLaw) else standard_deviation(law) for law in self.laws]

    @cached_property
    def _weights(self) -> list[float]:
        """ω_l in units of the narrowest noise, so that none is too large or too small for a float."""
        return [(self._narrowest / sigma) ** 2 if sigma else 1.0 for sigma in self._sigmas]

    @cached_property
    def _narrowest(self) -> float:
        return min((sigma for sigma in self._sigmas if sigma), default=1.0)

    @cached_property
    def _spans(self) -> list[int]:
        b, levels = self.statistic.branching, self.statistic.levels
        return [b ** (levels - level) for level in range(1, levels + 1)]

    @cached_property
    def _eigenvalues(self) -> list[float]:
        products = [w * d for w, d in zip(self._weights, self._spans, strict=True)]
        return [sum(products[level:]) for level in range(len(products))]

    def view(self, release: Cells) -> TreeView:
        """Weighted averages from the leaves up, then differences shared among siblings from the root down."""
        b, tree = self.statistic.branching, self.statistic
        raw = [
            release.value[s : s + block.width].astype(float)
            for s, block in zip(tree.starts, tree.blocks, strict=True)
        ]
        averaged = [raw[-1]]
        variance = 1 / self._weights[-1]
        for level in range(tree.levels - 2, -1, -1):
            mine, theirs = self._weights[level], 1 / (b * variance)
            sums = averaged[0].reshape(-1, b).sum(axis=1)
            averaged.insert(0, (mine * raw[level] + theirs * sums) / (mine + theirs))
            variance = 1 / (mine + theirs)
        levels = [averaged[0]]
        for level in range(1, tree.levels):
            groups = averaged[level].reshape(-1, b)
            levels.append((groups + (levels[-1] - groups.sum(axis=1))[:, None] / b).ravel())
        return TreeView(
            b, tuple(Level(d, np.arange(h.size), h) for d, h in zip(self._spans, levels, strict=True))
        )

    def ask(self, release: Cells, low: int, high: int, share: float, confidence: float) -> RangeAnswer:
        leaves: FloatArray = self.view(release).levels[-1].estimates
        variance, fourth = self._noise_of(low, high, share)
        value = float(leaves[low:high].sum() - share * leaves.sum())
        plain = self.statistic.levels == 1 and share == 0 and self._sigmas[0] > 0
        return RangeAnswer(value, variance, fourth, cells=(self.laws[0], high - low) if plain else None)

    def worst_variance(self, share: float) -> float:
        b = self.statistic.branching
        tops = [b * max(share, 1 - share) ** 2, *[b / 4] * (self.statistic.levels - 1)]
        noisy = [sigma > 0 for sigma in self._sigmas]
        terms = zip(tops, self._spans, self._eigenvalues, noisy, strict=True)
        return self._narrowest**2 * sum(top * d / eigenvalue for top, d, eigenvalue, on in terms if on)

    def _noise_of(self, low: int, high: int, share: float) -> tuple[float, float]:
        """Variance and excess fourth moment of a range's estimate, from the nodes that the range cuts."""
        b, spans = self.statistic.branching, self._spans
        variance = fourth = 0.0
        cut: list[tuple[int, float, float]] = [
            (0, share, 0.0)
        ]  # node, what its children average to, weight so far
        for level, span in enumerate(spans):
            deeper = []
            for node, mean, weight in cut:
                for child in range(node * b, node * b + b):
                    covered = max(0, min(high, (child + 1) * span) - max(low, child * span)) / span
                    s = weight + (covered - mean) / self._eigenvalues[level]
                    whole = covered in (0.0, 1.0)
                    v, f = self._noise_below(level, s, only_this_level=not whole)
                    variance, fourth = variance + v, fourth + f
                    if not whole:
                        deeper.append((child, covered, s))
            cut = deeper
        return variance, fourth

    def _noise_below(self, level: int, s: float, *, only_this_level: bool) -> tuple[float, float]:
        """What a node with weight s, and its descendants with the same weight, add to the noise."""
        last = level + 1 if only_this_level else self.statistic.levels
        variance = fourth = 0.0
        for j in range(level, last):
            nodes = float(self.statistic.branching) ** (j - level)
            one = (self._weights[j] * self._spans[j] * s * self._sigmas[j]) ** 2
            variance += nodes * one
            fourth += nodes * one**2 * (3.0 if isinstance(self.laws[j], DiscreteLaplace) else 0.0)
        return variance, fourth
