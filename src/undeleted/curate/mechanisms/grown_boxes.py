"""Noisy counts and means on boxes that grow where people are: clusters in up to about ten dimensions (M5).

    release   level by level, each cutting one column in halves: y_v = #{x in v} + η_v for *both* halves of
              a box that is cut; a box is cut if its *noisy* count exceeds a threshold, down to a public
              depth; then for every leaf and column Σ (offset from the leaf's middle) + η
    forget    y_v ← y_v − 1 on the path of a deleted record; its offsets are subtracted from those of its
              leaf; the shape does not change
    answer    halves adjusted to add up to their parent; a leaf's mean is its middle plus its mean offset,
              shrunk by what noise may explain

The shape is post-processing of noisy counts.  A record is in one box of every level and in one leaf, so the
levels and the offsets share the budget.  The unit of offsets is half a box: noise is small in small boxes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.curate.releases.clusters import MOST_CLUSTERS, described, nearest
from undeleted.curate.releases.linear import require_rows
from undeleted.curate.releases.partition import Leaves, Partition, Paths
from undeleted.curate.releases.publishable import NUMBERS, Answers, Rows, Takes
from undeleted.curate.releases.subtracting import Shape, Subtracting
from undeleted.curate.releases.units import spread_of
from undeleted.curate.statistics import Contribution, merged
from undeleted.curate.statistics.boxes import Boxes
from undeleted.errors import BadBudget, BadSetting
from undeleted.foundations.arrays import Array, FloatArray, IntArray
from undeleted.foundations.coins import Coins, DiscreteGaussian, DiscreteLaplace, Law
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.privacy import Budget, Noise, Reach, Zcdp, as_noise, calibrate
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.schema import GridColumn, Leaving, Record
from undeleted.foundations.types import Given

LEVELS = 0.5  # share of the budget for the levels; the rest is for the offsets
DEEPER = 1.1  # a level's share relative to that of the level above
CLEAR = 3.0  # a box is cut if it holds more standard deviations of its halves' noise
MOST_BOXES = 2**22


@dataclass(frozen=True)
class GrownBoxes(Subtracting):
    """Boxes over several numbers, grown for a given number of clusters.

    `depth` is the deepest level; by default it follows from the budget and `expected_rows`, a public guess.
    `threshold` is the noisy count above which a box is cut.  The first levels are always cut, so that
    there are twice as many leaves as clusters.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Number, Schema
    >>> over = Number("x", min=0, max=255), Number("y", min=0, max=255)
    >>> people, mechanism = Schema(over), GrownBoxes(over, Budget(5.0), clusters=2)
    >>> table = people.table([(40 + i % 20, 30) for i in range(900)] + [(200, 210)] * 600)
    >>> before = mechanism.release(Arrays(table), seeded(7))
    >>> after = mechanism.forget(before, mechanism.contribution(people.table([(200, 210)] * 100)))
    >>> bool(abs(mechanism.leaves(after).counts.sum() - 1400) < 30)
    True
    """

    kinds: ClassVar = {
        "k-means": (Takes("features", NUMBERS, "numbers", options={"clusters": 8, "expected_rows": 10_000}),)
    }

    small: ClassVar = {"clusters": 1, "depth": 1}

    over: tuple[GridColumn, ...]
    budget: Noise
    clusters: int = 8
    depth: int | None = None
    threshold: float | None = None
    expected_rows: int = 10_000
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("clusters", self.clusters), ("expected_rows", self.expected_rows)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadSetting(f"{name} = {value!r} must be a whole number above 0.", "Correct it.")
        if self.threshold is not None and math.isnan(self.threshold):
            raise BadSetting("the threshold is not a number.", "Give a count, or leave it out.")
        if self.clusters > MOST_CLUSTERS:
            raise BadSetting(f"{self.clusters} are too many clusters.", f"Choose up to {MOST_CLUSTERS}.")
        if self.levels[-1].holding < self.clusters:
            problem = f"{self.clusters} clusters are too many for at most {self.levels[-1].holding} leaves."
            raise BadSetting(problem, "Choose fewer clusters, a larger depth or finer grids.")
        for law in self.laws:
            if not isinstance(law, DiscreteLaplace | DiscreteGaussian) and self.threshold is None:
                name = type(law).__name__
                raise BadSetting(f"no threshold follows from {name}.", "Give one with `threshold`.")

    @cached_property
    def levels(self) -> tuple[Boxes, ...]:
        """The counts of every level that may be published."""
        return tuple(Boxes(self.over, level + 1) for level in range(self.deepest))

    @cached_property
    def deepest(self) -> int:
        """The deepest level where leaves of evenly spread people would hold at least as many as the noise."""
        most = Boxes(self.over, 1).most
        if self.depth is not None:
            return Boxes(self.over, self.depth).depth
        if not isinstance(self.budget, Budget | Zcdp):
            return most
        level = max(1, self._always_published)
        while level < most and self.expected_rows / 2 ** (level + 1) >= self._guessed_spread(level + 1):
            level += 1
        return min(level, most)

    def _guessed_spread(self, levels: int) -> float:
        """The approximate standard deviation of a count, if `levels` levels share the budget."""
        rows, noise = self.rows_per_person, self.budget
        if isinstance(noise, Budget) and noise.delta == 0:
            return math.sqrt(2) * rows * levels / (LEVELS * noise.epsilon)
        rho = noise.rho if isinstance(noise, Zcdp) else rho_for(noise)  # type: ignore[arg-type]
        return rows * math.sqrt(levels / (2 * LEVELS * rho))

    @cached_property
    def _always_published(self) -> int:
        """The number of levels that are always published: enough for twice as many leaves as clusters."""
        most = Boxes(self.over, 1).most
        return next((n for n in range(1, most) if Boxes(self.over, n).holding >= 2 * self.clusters), most)

    @cached_property
    def reach(self) -> Reach:
        """How far a record moves the offsets of a leaf of any level."""
        results = [Boxes(self.over, level.depth, offsets=True).sensitivity[0] for level in self.levels]
        return Reach(max(r.l1 for r in results), max(r.l2 for r in results), len(self.over))

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The noise of every level that may be published, and then that of the offsets."""
        budget = as_noise(self.budget)
        if isinstance(budget, tuple):
            if len(budget) != self.deepest + 1:
                rule = f"a law for each of {self.deepest} levels and the offsets"
                raise BadBudget("budget", budget, rule)
            return budget
        if not isinstance(budget, Budget | Zcdp):
            return (budget,) * (self.deepest + 1)
        shares = [DEEPER**level for level in range(self.deepest)]
        weights = [LEVELS * share / sum(shares) for share in shares]
        noises = calibrate(
            [*[(1,)] * self.deepest, (self.reach,)],
            budget,
            weights=[*weights, 1 - LEVELS],
            rows=self.rows_per_person,
        )
        return tuple(law for noise in noises for law in noise)

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """The noisy count above which a box of each level but the last is cut."""
        return tuple(
            -math.inf
            if level + 1 < self._always_published
            else self.threshold
            if self.threshold is not None
            else CLEAR * standard_deviation(law)
            for level, law in enumerate(self.laws[1:-1])
        )

    @property
    def sensitivity(self) -> list[Reach]:
        """A record is counted once on every level, and is in one leaf."""
        return [*[Reach(1, 1)] * self.deepest, self.reach]

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    def noised_parts(self, shape: Shape) -> list[tuple[int, int]]:
        paths = self.shape_of(shape)
        leaves = sum(int(leaf.sum()) for leaf in paths.leaf)
        return [*((p.size, level) for level, p in enumerate(paths)), (leaves * len(self.over), self.deepest)]

    def with_laws(self, laws: tuple[Law, ...]) -> "GrownBoxes":
        """The same boxes, which are cut no further."""
        return replace(self, budget=laws, depth=self.deepest, threshold=math.inf)

    def release(self, totals: Totals, coins: Coins) -> Partition:
        require_rows(totals, self.rows_per_person)
        parents: Given = np.zeros(1, dtype=np.uint64)
        paths, counts = [], []
        for level, boxes in enumerate(self.levels):
            halves = (parents[:, None] * np.uint64(2) + np.arange(2, dtype=np.uint64)).ravel()
            noisy = coins.noisy(self.laws[level], totals.total_at(boxes, halves.astype(np.int64)))
            paths.append(halves)
            counts.append(noisy)
            if level + 1 == self.deepest:
                break
            parents = halves[(noisy > self.thresholds[level]) & boxes.hold(halves)]
            if parents.size == 0 or parents.size * 2 > MOST_BOXES:
                break  # stop before memory runs out; an error would reveal a count for free
        shape, d, offsets = Paths(paths), len(self.over), []
        for level, leaf in enumerate(shape.leaf):
            cells = (shape[level][leaf].astype(np.int64)[:, None] * d + np.arange(d)).ravel()
            if cells.size:
                exact = totals.total_at(Boxes(self.over, level + 1, offsets=True), cells)
                offsets.append(coins.noisy(self.laws[-1], exact).reshape(-1, d))
        return Partition(shape, tuple(counts), np.concatenate(offsets))

    def contribution(self, deleted: Leaving | IntArray) -> IntArray:
        """The codes of the deleted records, a row each."""
        if isinstance(deleted, np.ndarray):
            return deleted
        if isinstance(deleted, Record):
            names = [column.name for column in self.over]
            rows = [[deleted.codes[name] for name in names]] if deleted.kept.issuperset(names) else []
            return np.array(rows, dtype=np.int64).reshape(-1, len(names))
        there = deleted.complete(self.over)
        codes = [deleted.codes[column.name][there].astype(np.int64) for column in self.over]
        return np.column_stack(codes)

    def moves(self, shape: Shape, codes: IntArray) -> Contribution:
        """1 for every box on each record's path, and the record's offsets in the leaf where the path ends."""
        paths = self.shape_of(shape)
        padded, d = codes + self._plan[0], len(self.over)
        full = self._full(padded)
        cells, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for level, there in enumerate(paths):
            at = np.searchsorted(there, full >> np.uint64(self.deepest - 1 - level))
            cells.append(paths.starts[level] + at)
            values.append(np.ones(at.size, dtype=np.int64))
            ends = paths.leaf[level][at]
            if ends.any():
                leaves = paths.ranks[level][at[ends]]
                cells.append((paths.starts[-1] + leaves[:, None] * d + np.arange(d)).ravel())
                values.append(self._offsets(level, padded[ends]).ravel())
                full, padded = full[~ends], padded[~ends]
                if not full.size:
                    break
        return merged(np.concatenate(cells), np.concatenate(values))

    @cached_property
    def _plan(self) -> tuple[IntArray, list[tuple[int, int]], list[tuple[IntArray, IntArray]]]:
        """Padding, all cuts, and for every level the spans of its boxes and the size of a step in them."""
        last = self.levels[-1]
        spans = [np.array(boxes.spans, dtype=np.int64) for boxes in self.levels]
        return np.array(last.pads, dtype=np.int64), list(last.cuts), [(s, last.unit // s) for s in spans]

    def _full(self, padded: IntArray) -> Array:
        """The path of every record down to the deepest level."""
        path = np.zeros(len(padded), dtype=np.int64)
        for column, half in self._plan[1]:
            path = 2 * path + ((padded[:, column] & half) != 0)
        return path.astype(np.uint64)

    def _offsets(self, level: int, padded: IntArray) -> IntArray:
        spans, step = self._plan[2][level]
        return (2 * (padded & (spans - 1)) - (spans - 1)) * step

    @staticmethod
    def shape_of(arrays: Shape) -> Paths:
        return arrays if isinstance(arrays, Paths) else Paths(arrays)

    def shaped(self, shape: Shape, cells: IntArray) -> Partition:
        paths = self.shape_of(shape)
        *counts, offsets = np.split(cells, paths.starts[1:])
        return Partition(paths, tuple(counts), offsets.reshape(-1, len(self.over)))

    # -- answers

    def answers(self, release: Partition, asked: Mapping[str, Given], confidence: float) -> Answers:
        """For every cluster: its approximate number of records, and its centre, column by column."""
        yield from described(self, release, confidence)

    def predictions(self, release: Partition, codes: IntArray) -> Rows:
        return [{"prediction": int(cluster) + 1} for cluster in nearest(self, release, codes)]

    def rows(self, release: Partition) -> Rows:
        """One row per box: its path, with one bit per cut, and the offsets if it is a leaf."""
        result, leaf = [], iter(release.offsets)
        names = [f"offset {column.name}" for column in self.over]
        for level, (paths, ends) in enumerate(zip(release.paths, release.leaf, strict=True), start=1):
            for path, count, end in zip(paths, release.counts[level - 1], ends, strict=True):
                offsets = dict(zip(names, map(int, next(leaf)), strict=True)) if end else dict.fromkeys(names)
                box = {"level": level, "path": f"{int(path):0{level}b}", "count": int(count)}
                result.append(box | offsets)
        return result

    def leaves(self, release: Partition) -> Leaves:
        """Counts, adjusted from the top down with halves and parents weighted by their noise, and means."""
        middles, halves, counts, variances = [], [], [], []
        above: tuple[FloatArray, FloatArray] | None = None  # estimates of the boxes that were cut
        for level, leaf in enumerate(release.leaf):
            noise, boxes = spread_of(self.laws[level]) ** 2, self.levels[level]
            held = boxes.hold(release.paths[level]).reshape(-1, 2)  # the others are known to be empty
            pairs = np.where(held, release.counts[level].reshape(-1, 2), 0).astype(float)
            known, several = np.full(len(pairs), noise), np.maximum(held.sum(axis=1), 1)
            if above is not None:
                gap = above[0] - pairs.sum(axis=1)
                weight = several * noise / np.maximum(several * noise + above[1], 1e-300)
                pairs = pairs + held * (gap * weight / several)[:, None]
                known = noise * (1 - weight / several)
            estimates, spread = pairs.ravel(), (held * known[:, None]).ravel()
            above = estimates[~leaf], spread[~leaf]
            middles.append(boxes.middles(release.paths[level][leaf]))
            halves.append(np.tile(np.array(boxes.spans) / 2, (int(leaf.sum()), 1)))
            counts.append(estimates[leaf])
            variances.append(spread[leaf])
        middle, half = np.concatenate(middles), np.concatenate(halves)
        n, variance = np.concatenate(counts), np.concatenate(variances)
        last = np.array([column.cells - 1 for column in self.over])
        means = np.clip(middle + half * self._shifts(release, n), 0, last)
        return Leaves(np.clip(middle, 0, last), half, n, variance, means)

    def _shifts(self, release: Partition, counts: FloatArray) -> FloatArray:
        """Mean offsets, from −1 to 1, shrunk towards 0 by the part that noise may explain."""
        unit = self.levels[0].unit
        noise = spread_of(self.laws[-1]) / unit
        n = np.maximum(counts, 0.0)[:, None]
        return np.asarray(np.clip(release.offsets / unit * n / np.maximum(n * n + 3 * noise**2, 1e-9), -1, 1))
