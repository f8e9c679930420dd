"""Clusters of grown boxes: weighted k-means of the leaves' means, by scikit-learn.  It spends no budget."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np

from undeleted.curate.releases.partition import Leaves, Partition
from undeleted.curate.releases.publishable import decoded
from undeleted.curate.releases.units import spread_of
from undeleted.curate.statistics.boxes import Boxes
from undeleted.errors import BadSetting, MissingExtra
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.coins import Law
from undeleted.foundations.intervals import Estimate, check_confidence
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.types import Given

MOST_CLUSTERS = 1000
_DRAWS = 400  # for intervals
_STARTS = 10  # restarts of the weighted k-means; the best one is used


class Boxed(Protocol):
    """The part of grown boxes that clusters need."""

    @property
    def over(self) -> tuple[GridColumn, ...]:
        """The numbers."""

    @property
    def clusters(self) -> int:
        """The number of clusters that the boxes were grown for."""

    @property
    def laws(self) -> tuple[Law, ...]:
        """The noise of every level, and then that of the offsets."""

    @property
    def levels(self) -> tuple[Boxes, ...]:
        """The counts of every level that may be published."""

    def leaves(self, release: Partition) -> Leaves:
        """The leaves as readers see them."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sorted centres, one per row, in the columns' own units and order; the leaves and their clusters."""

    centres: FloatArray
    points: FloatArray  # the leaves' means
    leaves: Leaves
    of: IntArray

    @property
    def weights(self) -> FloatArray:
        """About how many records are in every leaf; never below 0."""
        return np.maximum(self.leaves.counts, 0.0)

    @property
    def sizes(self) -> FloatArray:
        """About how many records are in every cluster."""
        counts = np.bincount(self.of, self.leaves.counts, minlength=len(self.centres))
        return np.asarray(np.maximum(counts, 0.0), dtype=float)


def clusters(mechanism: Boxed, release: Partition, k: int) -> Clusters:
    """The best k centres of the leaves; the same release always gives the same centres."""
    try:
        from sklearn.cluster import KMeans
        from sklearn.metrics import pairwise_distances_argmin
    except ModuleNotFoundError:
        raise MissingExtra("k-means", "scikit-learn", "models") from None
    leaves = mechanism.leaves(release)
    weights = np.maximum(leaves.counts, 0.0)
    if not 1 <= k <= MOST_CLUSTERS:
        raise BadSetting(f"{k} is not a possible number of clusters.", f"Choose from 1 to {MOST_CLUSTERS}.")
    if k > len(weights):
        problem = f"{k} clusters are more than the {len(weights)} leaves that were published."
        raise BadSetting(problem, f"Choose fewer, or publish again for {k} clusters.")
    if np.count_nonzero(weights) < k:
        weights = weights + 1e-3  # only noise: every leaf may take part
    points, positive = decoded(mechanism.over, leaves.means), weights > 0
    model = KMeans(k, n_init=_STARTS, random_state=0).fit(points[positive], sample_weight=weights[positive])
    centres = model.cluster_centers_[np.lexsort(model.cluster_centers_.T[::-1])]
    return Clusters(centres, points, leaves, pairwise_distances_argmin(points, centres))


def centres_within(mechanism: Boxed, fitted: Clusters, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Intervals of the centres that account for the noise, with the cluster of each leaf fixed.

    The noise is drawn again around the published values.
    """
    check_confidence(confidence)
    leaves, k = fitted.leaves, len(fitted.centres)
    noise = spread_of(mechanism.laws[-1]) / mechanism.levels[0].unit
    rng = np.random.default_rng(0)
    member = (fitted.of == np.arange(k)[:, None]).astype(float)
    centres = np.empty((_DRAWS, *fitted.centres.shape))
    middle = member @ leaves.middles / np.maximum(member.sum(axis=1), 1.0)[:, None]
    last = np.array([column.cells - 1 for column in mechanism.over])
    for i in range(_DRAWS):
        n = np.maximum(fitted.weights + rng.normal(0.0, np.sqrt(leaves.variances)), 0.0)
        shift = np.where(n[:, None] > 0, rng.normal(0.0, noise, leaves.means.shape) * leaves.halves, 0.0)
        sums, totals = member @ (n[:, None] * leaves.means + shift), (member @ n)[:, None]
        drawn = np.where(totals > 0, sums / np.maximum(totals, 1e-300), middle)
        centres[i] = decoded(mechanism.over, np.clip(drawn, 0, last))
    tail = (1 - confidence) / 2
    low, high = np.quantile(centres, [tail, 1 - tail], axis=0)
    return np.minimum(low, fitted.centres), np.maximum(high, fitted.centres)


def sizes_within(fitted: Clusters, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Intervals for the sizes of clusters; adding the leaves' noise as if independent may overstate it."""
    check_confidence(confidence)
    member = (fitted.of == np.arange(len(fitted.centres))[:, None]).astype(float)
    records = member @ fitted.leaves.counts
    wide = NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(member @ fitted.leaves.variances)
    return np.maximum(records - wide, 0.0), np.maximum(records + wide, 0.0)


def described(mechanism: Boxed, release: Partition, confidence: float) -> Iterator[tuple[str, Estimate]]:
    """For every cluster: its approximate number of records, and its centre, column by column."""
    fitted = clusters(mechanism, release, mechanism.clusters)
    centres, sizes = centres_within(mechanism, fitted, confidence), sizes_within(fitted, confidence)
    for c, centre in enumerate(fitted.centres):
        yield f"cluster {c + 1}, records", _estimate(fitted.sizes[c], sizes[0][c], sizes[1][c], confidence)
        for j, column in enumerate(mechanism.over):
            ends = centres[0][c, j], centres[1][c, j]
            yield f"cluster {c + 1}, {column.name}", _estimate(centre[j], *ends, confidence)


def nearest(mechanism: Boxed, release: Partition, codes: IntArray) -> IntArray:
    """The cluster of every row of codes."""
    centres = clusters(mechanism, release, mechanism.clusters).centres
    rows = decoded(mechanism.over, codes)
    return np.asarray(((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1))


def _estimate(value: Given, low: Given, high: Given, confidence: float) -> Estimate:
    return Estimate(float(value), float(low), float(high), confidence, float(high - low) / 4)
