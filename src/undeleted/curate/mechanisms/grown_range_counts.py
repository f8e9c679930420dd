"""Noisy counts on a tree that grows where people are: ranges, medians and quantiles on any domain (M5).

    release   level by level: y_v = #{x below v} + η_v for *every* child of an expanded node, empty or not;
              v is expanded if its *noisy* count exceeds a threshold, down to a public depth
    forget    y_v ← y_v − 1 on the path of a deleted record, as far as the tree goes; the shape stays
    answer    children adjusted to add up to their parent, from the top down

The shape is post-processing of noisy counts, so one budget over all levels pays for everything.  If a
range cuts a leaf in two, the leaf's count is split evenly, and the interval includes the possible error.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.curate.releases.count_tree import Level, TreeView, best_branching
from undeleted.curate.releases.linear import require_rows
from undeleted.curate.releases.publishable import Rows, Takes
from undeleted.curate.releases.ranges import RangeAnswer, Ranges
from undeleted.curate.releases.subtracting import Release, Shape, Subtracting
from undeleted.curate.statistics import Contribution
from undeleted.curate.statistics.prefix import Prefix
from undeleted.curate.statistics.range_tree import levels_for, require_branching
from undeleted.errors import BadBudget, BadSetting, TooLarge
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins, DiscreteGaussian, DiscreteLaplace, FiniteLaw, Law
from undeleted.foundations.intervals import noise_interval, standard_deviation
from undeleted.foundations.privacy import Budget, Noise, Reach, Zcdp, as_noise, calibrate
from undeleted.foundations.schema import Leaving, Number, Record
from undeleted.foundations.types import Given

TAPER = {"pure": 1 / 2, "gaussian": 1 / 3}  # the last level's share of the budget, relative to the first
MOST_NODES = 2**24


@dataclass(frozen=True, eq=False)
class Grown(Release):
    """The published tree: on every level the prefixes of its nodes and their noisy counts."""

    prefixes: tuple[Given, ...]
    counts: tuple[IntArray, ...]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Grown)
            and len(self.counts) == len(other.counts)
            and all(map(np.array_equal, self.prefixes + self.counts, other.prefixes + other.counts))
        )

    def __hash__(self) -> int:
        return hash(tuple(array.tobytes() for array in self.prefixes + self.counts))

    @property
    def size(self) -> int:
        return sum(counts.size for counts in self.counts)

    @property
    def shape(self) -> Shape:
        return self.prefixes

    @property
    def value(self) -> IntArray:  # type: ignore[override]
        """All cells, level by level."""
        return np.concatenate(self.counts)


@dataclass(frozen=True)
class GrownRangeCounts(Ranges, Subtracting):
    """Range counts over a column of up to 2⁶⁴ values.

    `threshold` is the noisy count above which a node is expanded; by default the point where cutting a
    leaf would cost more than the noise of its children.  `depth` is the deepest level, by default the last.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Schema
    >>> income = Number("income", min=0, max=2**32 - 1)
    >>> people, mechanism = Schema([income]), GrownRangeCounts(income, Budget(1.0))
    >>> before = mechanism.release(Arrays(people.table(range(0, 10**9, 10**5))), seeded(7))
    >>> after = mechanism.forget(before, mechanism.contribution(people.table(range(0, 10**9, 10**6))))
    >>> 9000 in mechanism.total(after)
    True
    """

    kinds: ClassVar = {"quantiles": (Takes(of=(Number,), called="numbers", priority=1),)}

    column: Number
    budget: Noise
    branching: int | None = None
    threshold: float | None = None
    depth: int | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.branching is not None:
            require_branching(self.branching)
        if self.fanout**self.levels > 2**64:
            remedy = "Choose a branching with a power near the size of the domain, such as 2, 4 or 16."
            raise TooLarge("a tree over the padded domain", self.fanout**self.levels, 2**64, remedy)
        if self.depth is not None and not (isinstance(self.depth, int) and 1 <= self.depth <= self.levels):
            raise BadSetting(f"depth = {self.depth!r} is not a level.", f"Choose from 1 to {self.levels}.")
        if self.threshold is not None and math.isnan(self.threshold):
            raise BadSetting("the threshold is not a number.", "Give a count, or leave it out.")
        self._check_threshold()

    def _check_threshold(self) -> None:
        """Refuse low thresholds: chance must expand less than one child per node, or growth never ends."""
        for level, law in enumerate(self.laws[:-1]):
            if not isinstance(law, DiscreteLaplace | DiscreteGaussian):
                if self.threshold is None:
                    name = type(law).__name__
                    raise BadSetting(f"no threshold follows from {name}.", "Give one with `threshold`.")
                continue
            least = _exceeded_by(law, 1 / self.fanout)
            if self.thresholds[level] < least:
                raise BadSetting(
                    f"the threshold {self.thresholds[level]:g} is below the noise of level {level + 1}: "
                    "chance would expand a child of every empty node, and the tree would grow for ever.",
                    f"Choose at least {math.ceil(least)}.",
                )

    @cached_property
    def fanout(self) -> int:
        """The branching, chosen from the budget and the domain unless given."""
        privacy = self.budget if isinstance(self.budget, Budget | Zcdp) else Budget(1.0)
        return self.branching or best_branching(self.column.cells, privacy)

    @cached_property
    def levels(self) -> int:
        return levels_for(self.column.cells, self.fanout)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The noise of every level that may be published."""
        deepest = self.depth or self.levels
        budget = as_noise(self.budget)
        if isinstance(budget, tuple):
            if len(budget) != deepest:
                raise BadBudget("budget", budget, f"a budget, or a law for each of {deepest} levels")
            return budget
        if not isinstance(budget, Budget | Zcdp):
            return (budget,) * deepest
        pure = isinstance(budget, Budget) and budget.delta == 0
        taper = TAPER["pure" if pure else "gaussian"]
        weights = [taper ** (level / max(1, self.levels - 1)) for level in range(deepest)]
        noises = calibrate([(1,)] * deepest, budget, weights=weights, rows=self.rows_per_person)
        return tuple(law for noise in noises for law in noise)

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """The noisy count above which a node of each level but the last is expanded."""
        if self.threshold is not None or len(self.laws) == 1:
            return (self.threshold or 0.0,) * (len(self.laws) - 1)
        wide = 2 * math.sqrt(self.fanout / 6)
        spreads = [standard_deviation(law) for law in self.laws[1:]]
        floors = [_exceeded_by(law, 0.5 / self.fanout) for law in self.laws[:-1]]
        return tuple(max(wide * spread, floor) for spread, floor in zip(spreads, floors, strict=True))

    @property
    def sensitivity(self) -> list[Reach]:
        """A record is counted at most once on every level."""
        return [Reach(1, 1)] * len(self.laws)

    @property
    def columns(self) -> tuple[Number, ...]:
        return (self.column,)

    def noised_parts(self, shape: Shape) -> list[tuple[int, int]]:
        return [(prefixes.size, level) for level, prefixes in enumerate(shape)]

    def with_laws(self, laws: tuple[Law, ...]) -> "GrownRangeCounts":
        """The same tree, which grows no further."""
        return replace(self, budget=laws, branching=self.fanout, threshold=math.inf, depth=len(laws))

    def _span(self, level: int) -> int:
        """How many codes a node of a level covers; levels count from 0."""
        return int(self.fanout ** (self.levels - level - 1))

    def release(self, totals: Totals, coins: Coins) -> Grown:
        require_rows(totals, self.rows_per_person)
        parents: Given = np.zeros(1, dtype=np.uint64)
        prefixes, counts = [], []
        for level, law in enumerate(self.laws):
            children = (
                parents[:, None] * np.uint64(self.fanout) + np.arange(self.fanout, dtype=np.uint64)
            ).ravel()
            exact = totals.total_at(Prefix(self.column, self._span(level)), children)
            noisy = coins.noisy(law, exact)
            prefixes.append(children)
            counts.append(noisy)
            if level + 1 == len(self.laws):
                break
            parents = children[noisy > self.thresholds[level]]
            if parents.size == 0 or parents.size * self.fanout > MOST_NODES:
                break  # stop before memory runs out; an error would reveal a count for free
        return Grown(tuple(prefixes), tuple(counts))

    def contribution(self, deleted: Leaving) -> Given:
        """The codes of the deleted records."""
        if isinstance(deleted, Record):
            there = [deleted.codes[self.column.name]] if self.column.name in deleted.kept else []
            return np.array(there, dtype=np.uint64)
        return deleted.codes[self.column.name][deleted.complete([self.column])].astype(np.uint64)

    def shaped(self, prefixes: Shape, cells: IntArray) -> Grown:
        ends = np.cumsum([p.size for p in prefixes])[:-1]
        return Grown(prefixes, tuple(np.split(cells, ends)))

    def moves(self, prefixes: Shape, codes: Given) -> Contribution:
        """1 for every node on each record's path, as far as the tree goes."""
        result, start = [], 0
        for level, there in enumerate(prefixes):
            nodes = codes // np.uint64(self._span(level))
            at = np.minimum(np.searchsorted(there, nodes), there.size - 1)
            present = there[at] == nodes
            result.append(start + at[present])
            codes, start = codes[present], start + there.size
        cells, counts = np.unique(np.concatenate(result), return_counts=True)
        return Contribution(cells.astype(np.int64), counts.astype(np.int64))

    def rows(self, release: Grown) -> Rows:
        levels = zip(release.prefixes, release.counts, strict=True)
        return [
            {"level": level, "prefix": int(prefix), "count": int(count)}
            for level, (prefixes, counts) in enumerate(levels, start=1)
            for prefix, count in zip(prefixes, counts, strict=True)
        ]

    def _inside(self, level: int, prefixes: Given) -> Given:
        """Which nodes begin inside the domain; the others pad the tree, and are known to be empty."""
        return prefixes <= np.uint64((self.column.cells - 1) // self._span(level))

    def view(self, release: Grown) -> TreeView:
        b = self.fanout
        levels: list[Level] = []
        for depth, (prefixes, counts) in enumerate(zip(release.prefixes, release.counts, strict=True)):
            inside = self._inside(depth, prefixes).reshape(-1, b)
            groups = np.where(inside, counts.reshape(-1, b), 0).astype(float)
            if levels:
                parents = np.searchsorted(levels[-1].prefixes, prefixes[::b] // np.uint64(b))
                gap = levels[-1].estimates[parents] - groups.sum(axis=1)
                groups = groups + inside * (gap / np.maximum(inside.sum(axis=1), 1))[:, None]
            levels.append(Level(self._span(depth), prefixes, groups.ravel()))
        return TreeView(b, tuple(levels))

    def ask(self, release: Grown, low: int, high: int, share: float, confidence: float) -> RangeAnswer:
        """Walk along the one or two nodes of each level that the range cuts."""
        question = _Question(self, release, low, high, confidence)
        question.visit(0, 0, share)
        plain = question.plain and share == 0
        cells = (self.laws[0], question.whole) if plain and question.whole else None
        return RangeAnswer(
            question.value, question.variance, question.fourth, question.below, question.above, cells
        )

    def worst_variance(self, share: float) -> float:
        variances = [standard_deviation(law) ** 2 for law in self.laws]
        return self.fanout * (max(share, 1 - share) ** 2 * variances[0] + sum(variances[1:]) / 4)

    def _children(self, release: Grown, level: int, prefix: int) -> int | None:
        """The index of the first child of a node on the next level, or None if it was not expanded."""
        if level + 1 >= len(release.prefixes):
            return None
        below = release.prefixes[level + 1]
        wanted = np.uint64(prefix * self.fanout)
        at = int(np.searchsorted(below, wanted))
        return at if at < below.size and below[at] == wanted else None


class _Question:
    """Adds up the answer for a range over the nodes of a tree: the share taken of each node, and its noise.

    Children are adjusted to add up to their parent.  So the weight of a child is the share taken of it, minus
    the mean share of all siblings, and the weight of the parent is that mean.
    """

    def __init__(
        self, tree: GrownRangeCounts, release: Grown, low: int, high: int, confidence: float
    ) -> None:
        self.tree, self.release, self.low, self.high = tree, release, low, high
        self.confidence = confidence
        self.value = self.variance = self.fourth = self.below = self.above = 0.0
        self.whole, self.plain = 0, True

    def visit(self, level: int, start: int, share: float | None) -> float:
        """Add the parts of the children from `start` on a level, and return the mean share that is taken."""
        prefixes = self.release.prefixes[level][start : start + self.tree.fanout]
        inside = self.tree._inside(level, prefixes)
        taken = [self._taken(level, start + i, int(p)) if inside[i] else 0.0 for i, p in enumerate(prefixes)]
        mean = sum(taken) / max(1, int(inside.sum()))
        law = self.tree.laws[level]
        spread2 = 0.0 if isinstance(law, FiniteLaw) else standard_deviation(law) ** 2
        for i, part in enumerate(taken):
            if inside[i]:
                weight = part - (mean if share is None else share)
                self.value += weight * float(self.release.counts[level][start + i])
                self.variance += weight**2 * spread2
                self.fourth += weight**4 * spread2**2 * (3.0 if isinstance(law, DiscreteLaplace) else 0.0)
                self.whole += level == 0 and part == 1.0
        return mean

    def _taken(self, level: int, at: int, prefix: int) -> float:
        """The share of a node that the range takes; the count of a leaf that is cut is split evenly."""
        span = self.tree._span(level)
        first, last = prefix * span, min((prefix + 1) * span, self.tree.column.cells)
        overlap = max(0, min(self.high, last) - max(self.low, first))
        if overlap in (0, last - first):  # compare integers: a share could round to 0 or 1
            return float(overlap > 0)
        covered = overlap / (last - first)
        self.plain = False
        children = self.tree._children(self.release, level, prefix)
        if children is not None:
            return self.visit(level + 1, children, None)
        law = self.tree.laws[level]
        most = max(0, int(self.release.counts[level][at]) - noise_interval(law, (3 + self.confidence) / 4)[0])
        self.below += covered * most
        self.above += (1 - covered) * most
        return covered


def _exceeded_by(law: Law, chance: float) -> float:
    """The value that the noise exceeds with this probability, accurate enough for a threshold."""
    if isinstance(law, DiscreteLaplace):
        return law.scale * math.log(0.5 / chance) if chance < 0.5 else 0.0
    assert isinstance(law, DiscreteGaussian)
    return max(0.0, law.sigma * NormalDist().inv_cdf(1 - chance))
