"""Publish noisy leaves of random trees once: a forest of classes or of a number (M7).

release   for every tree, leaf and class: #{records} + η; or Σ (h − y) + η and Σ y + η of a number y
forget    subtract the record's values from one leaf of every tree
answer    shares of every leaf, shrunk towards the leaf's parent by as much as noise may explain; the
          geometric mean over trees for classes, the mean for a number

The questions of the trees follow from a public seed, not from the data.  So a record changes only one leaf of
every tree, and the noise is proportional to the number of trees.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.bootstrap import Parameters
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import CLASSES, COLUMN, Rows, Takes, classes_of, decoded, likeliest
from undeleted.curate.releases.units import spread_of
from undeleted.curate.statistics.forest_leaves import ForestLeaves
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import GridColumn, Number

TRUST = 0.3  # pseudo-records that a leaf gets from its parent, in standard deviations of its noise
_ROWS = 1 << 14  # rows that are answered at a time


@dataclass(frozen=True)
class NoisyForest(Parameters, Linear):
    """A noisy forest; `by` is the class to predict, `target` the number.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Boolean, Number, Schema
    >>> age, sick = Number("age", min=0, max=99), Boolean("sick")
    >>> mechanism = NoisyForest((age,), Budget(1e6), by=sick, trees=20, depth=4)
    >>> people = Schema([age, sick]).table([(a, a >= 50) for a in range(100)])
    >>> values = mechanism.release(Arrays(people), seeded(7)).value.astype(float)
    >>> mechanism.log_shares_at(mechanism.shares_of(values), np.array([[10], [90]])).argmax(axis=1).tolist()
    [0, 1]
    """

    kinds: ClassVar = {
        "forest": (
            Takes("features", target=(Number,), target_as="target", options={"trees": 10, "depth": 8}),
            Takes(
                "features",
                target=CLASSES,
                target_called="numbers, booleans or categories",
                options={"trees": 10, "depth": 8},
                priority=1,
            ),
        )
    }
    small: ClassVar = {"trees": 1, "depth": 1, "by": COLUMN}

    over: tuple[GridColumn, ...]
    budget: Noise
    by: GridColumn | None = None
    target: GridColumn | None = None
    trees: int = 10
    depth: int = 8
    seed: int = 0
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> ForestLeaves:
        return ForestLeaves(self.over, self.by, self.target, self.trees, self.depth, self.seed)

    def parameters(self) -> tuple[list[str], Callable[[FloatArray], FloatArray]]:
        if self.target is None:
            return [f"share of {label}" for label in classes_of(self.by)], self.prior_of
        return [f"mean {self.target.name}"], lambda values: self._between(self.prior_of(values)[1:])

    def predictions(self, release: Cells, codes: IntArray) -> Rows:
        shares = self.shares_of(release.value.astype(float))
        if self.target is None:
            return likeliest(self.by, self.log_shares_at(shares, codes))
        return [{"prediction": float(mean)} for mean in self._between(self.means_at(shares, codes))]

    def _between(self, share: FloatArray) -> FloatArray:
        """The value at a share of the way from the target's low bound to its high one."""
        assert self.target is not None
        low, high = decoded([self.target], np.array([[0], [self.target.cells - 1]])).ravel()
        return np.asarray(low + (high - low) * share)

    @property
    def unit(self) -> float:
        """What one record adds to a leaf."""
        return float(self.statistic.blocks[0].reach)

    def tables_of(self, values: FloatArray) -> FloatArray:
        """Noisy record counts by tree, kind (a class, or an end of the target) and leaf."""
        s = self.statistic
        return np.asarray(values.reshape(s.trees, s.leaves, s.kinds).transpose(0, 2, 1) / self.unit)

    def counts_of(self, values: FloatArray) -> FloatArray:
        """Record counts of every kind: the mean over trees, each with its own noise."""
        return np.asarray(self.tables_of(values).sum(axis=2).mean(axis=0))

    @property
    def spread_of_count(self) -> float:
        """The standard deviation of the number of records, over all kinds."""
        return float(self.spread_of_kind * np.sqrt(self.statistic.kinds))

    @property
    def spread_of_kind(self) -> float:
        """The standard deviation of the number of records of one kind."""
        s = self.statistic
        return float(spread_of(self.laws[0]) / self.unit * np.sqrt(s.leaves / s.trees))

    def prior_of(self, values: FloatArray) -> FloatArray:
        """The share of every kind among all records."""
        return shares_among(self.counts_of(values))

    def shares_of(self, values: FloatArray) -> FloatArray:
        """The share of every kind by tree, kind and leaf; sparse leaves are shrunk towards their parents.

        The count of a node is the sum of its leaves, and so is its noise.
        """
        s, noise = self.statistic, spread_of(self.laws[0]) / self.unit
        levels = [self.tables_of(values)]
        for _ in range(s.asked):
            levels.append(levels[-1].reshape(s.trees, s.kinds, -1, 2).sum(axis=3))
        shares = np.broadcast_to(self.prior_of(values)[None, :, None], (s.trees, s.kinds, 1))
        for below, counts in zip(range(s.asked - 1, -1, -1), reversed(levels[:-1]), strict=True):
            given = s.kinds * max(1.0, TRUST * noise * 2 ** (below / 2))
            counts = np.maximum(counts, 0.0)
            totals = counts.sum(axis=1, keepdims=True) + given
            shares = (counts + given * np.repeat(shares, 2, axis=2)) / totals
        return np.asarray(shares)

    def log_shares_at(self, shares: FloatArray, codes: IntArray) -> FloatArray:
        """log P(class | record), up to a constant per row: the mean over trees."""
        return self._over_trees(np.log(shares), codes)

    def means_at(self, shares: FloatArray, codes: IntArray) -> FloatArray:
        """The target, as a share of the way from its low bound to its high one: the mean over trees."""
        return self._over_trees(shares[:, 1:], codes)[:, 0]

    def _over_trees(self, tables: FloatArray, codes: IntArray) -> FloatArray:
        averages, trees = np.empty((len(codes), tables.shape[1])), np.arange(len(tables))
        for start in range(0, len(codes), _ROWS):
            leaves = self.statistic.leaves_of_matrix(codes[start : start + _ROWS])
            averages[start : start + _ROWS] = tables[trees, :, leaves].mean(axis=1)
        return averages


def shares_among(counts: FloatArray) -> FloatArray:
    """The share of every kind, from counts clamped at 0 and raised by 1."""
    counts = np.maximum(counts, 0.0) + 1.0
    return np.asarray(counts / counts.sum())
