"""Publish once how many people have each item and each pair of items, as far as the noise allows.

release   for every item and every pair of items: #{people} + η; pairs above a threshold are kept
forget    subtract 1 from a person's items and pairs; a pair that falls to the threshold is dropped
answer    similarities of items, and items that go with a basket

Counts only fall, so a release of those who remain would not keep a dropped pair either.  After any deletions
the pairs are exactly those of such a release with the same coins.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.curate.releases.linear import Linear, require_rows
from undeleted.curate.releases.publishable import Answers, Rows, Takes
from undeleted.curate.releases.subtracting import Release, Shape, Subtracting
from undeleted.curate.releases.units import spread_of
from undeleted.curate.statistics import Contribution
from undeleted.curate.statistics.item_pairs import ItemPairs
from undeleted.errors import BadSetting
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.coins import Coins, DiscreteGaussian, DiscreteLaplace, Law
from undeleted.foundations.intervals import estimate
from undeleted.foundations.privacy import Noise, Reach
from undeleted.foundations.schema import Boolean, Leaving
from undeleted.foundations.types import Given

NOT_IN_SMALL_WORLDS = True  # people have several items, not one value: small worlds cannot represent them
CHANCE = 4.0  # CHANCE / items: the probability that an empty pair is kept; about 2 such pairs per item
_SHOWN = 100  # pairs, the closest first
_BEST = 5  # items that are recommended
RARE = 3.0  # standard deviations of a pair's noise
_AT_ONCE = 1 << 20  # pairs that are noised at a time


@dataclass(frozen=True, eq=False)
class Pairs(Release):
    """Noisy counts of all items, and of those pairs of items that are kept, in order."""

    items: IntArray
    pairs: IntArray
    counts: IntArray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and all(map(np.array_equal, self._arrays, other._arrays))

    def __hash__(self) -> int:
        return hash(tuple(array.tobytes() for array in self._arrays))

    @property
    def _arrays(self) -> tuple[IntArray, ...]:
        return self.items, self.pairs, self.counts

    @property
    def shape(self) -> tuple[IntArray, ...]:
        """Which pairs are kept."""
        return (self.pairs,)

    @property
    def value(self) -> IntArray:  # type: ignore[override]
        """All cells: the items, then the pairs."""
        return np.concatenate([self.items, self.counts])


@dataclass(frozen=True)
class NoisyPairs(Subtracting):
    """Noisy co-occurrences of items; each item is a column that says who has it.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Schema
    >>> shop = tuple(Boolean(name) for name in ("bread", "butter", "tea"))
    >>> mechanism = NoisyPairs(shop, Budget(50.0), at_most=2)
    >>> baskets = Schema(shop).table([(True, True, False)] * 400 + [(False, False, True)] * 100)
    >>> release = mechanism.release(Arrays(baskets), seeded(7))
    >>> release.pairs.tolist(), release.items.round(-1).tolist()
    ([0], [400, 400, 100])
    """

    kinds: ClassVar = {
        "recommender": (Takes("features", (Boolean,), "booleans, an item each", options={"at_most": 8}),)
    }

    over: tuple[Boolean, ...]
    budget: Noise
    at_most: int = 8
    threshold: int | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.statistic
        if self.threshold is not None and not isinstance(self.threshold, int):
            raise BadSetting(f"threshold = {self.threshold!r} is not a count.", "Give an integer, or None.")

    @cached_property
    def statistic(self) -> ItemPairs:
        return ItemPairs(self.over, self.at_most)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The noise of the items, and that of the pairs."""
        return _Noised(self.statistic, self.budget, self.rows_per_person).laws

    @property
    def sensitivity(self) -> list[Reach]:
        """A person moves as many cells as the cap allows."""
        cells = self.statistic.cells_of_a_person
        return [replace(r, cells=n) for r, n in zip(self.statistic.sensitivity, cells, strict=True)]

    @property
    def columns(self) -> tuple[Boolean, ...]:
        return self.over

    def noised_parts(self, shape: Shape) -> list[tuple[int, int]]:
        return [(self.statistic.items, 0), (shape[0].size, 1)]

    def with_laws(self, laws: tuple[Law, ...]) -> "NoisyPairs":
        """The same pairs, by the same threshold."""
        return replace(self, budget=laws, threshold=self.least)

    @cached_property
    def least(self) -> int:
        """A pair is kept if its noisy count exceeds this."""
        if self.threshold is not None:
            return self.threshold
        law, chance = self.laws[1], min(0.25, CHANCE / self.statistic.items)
        if isinstance(law, DiscreteLaplace):
            return math.ceil(law.scale * math.log(0.5 / chance))
        if isinstance(law, DiscreteGaussian):
            return math.ceil(law.sigma * NormalDist().inv_cdf(1 - chance))
        return 0

    def release(self, totals: Totals, coins: Coins) -> Pairs:
        require_rows(totals, self.rows_per_person)
        exact = totals.total(self.statistic)
        first = self.statistic.items
        items = coins.noisy(self.laws[0], exact[:first])
        kept, counts = [], []
        for start in range(first, exact.size, _AT_ONCE):  # every pair is noised, the empty ones as well
            noisy = coins.noisy(self.laws[1], exact[start : start + _AT_ONCE])
            above = np.flatnonzero(noisy > self.least)
            kept.append(start - first + above)
            counts.append(noisy[above])
        return Pairs(items, np.concatenate(kept), np.concatenate(counts))

    def contribution(self, deleted: Leaving | tuple[IntArray, IntArray]) -> Contribution:
        """What records, or baskets as sorted pairs of a person and an item, have added."""
        if isinstance(deleted, tuple):
            return self.statistic.of_baskets(*deleted)
        return self.statistic.of(deleted)

    def shaped(self, shape: Shape, cells: IntArray) -> Pairs:
        """The release with these cells, without the pairs that have fallen to the threshold."""
        items, counts = np.split(cells, [self.statistic.items])
        kept = counts > self.least
        return Pairs(items.copy(), shape[0][kept], counts[kept])

    def published_of(self, shape: Shape, answers: Sequence[IntArray]) -> IntArray:
        [total], first = answers, self.statistic.items
        return np.concatenate([total[:first], total[first + shape[0]]])

    def moves(self, shape: Shape, gone: Contribution) -> Contribution:
        """The moves of the cells that are kept; a pair that is not kept is skipped."""
        [pairs] = shape
        first, cells, values = self.statistic.items, np.asarray(gone.cells), np.asarray(gone.values)
        single = cells < first
        together = cells[~single] - first
        at = np.searchsorted(pairs, together)
        there = at < pairs.size
        there[there] = pairs[at[there]] == together[there]
        return Contribution(
            np.concatenate([cells[single], first + at[there]]),
            np.concatenate([values[single], values[~single][there]]),
        )

    # -- answers

    def answers(self, release: Pairs, asked: Mapping[str, Given], confidence: float) -> Answers:
        """How many people have both items, for the most similar pairs."""
        i, j = self.statistic.items_of(release.pairs)
        similar = self.similarities(release)
        closeness = np.array([similar[a, b] for a, b in zip(i, j, strict=True)])
        for at in np.argsort(-closeness, kind="stable")[:_SHOWN]:
            names = f"{self.over[i[at]].name} & {self.over[j[at]].name}"
            yield names, estimate(int(release.counts[at]), self.laws[1], confidence=confidence)

    def predictions(self, release: Pairs, codes: IntArray) -> Rows:
        """The items that go best with the items of every row."""
        scores = np.where(codes > 0, -1.0, codes @ self.similarities(release))
        best = np.argsort(-scores, axis=1, kind="stable")[:, :_BEST]
        names = [column.name for column in self.over]
        return [{"prediction": [names[at] for at in row if scores[i, at] > 0]} for i, row in enumerate(best)]

    def rows(self, release: Pairs) -> Rows:
        """Single items, then the pairs that are kept."""
        names, items = [column.name for column in self.over], self.statistic.items_of(release.pairs)
        alone: Rows = [
            {"item": n, "with": None, "count": int(c)} for n, c in zip(names, release.items, strict=True)
        ]
        both = zip(*items, release.counts, strict=True)
        return alone + [{"item": names[i], "with": names[j], "count": int(count)} for i, j, count in both]

    def similarities(self, release: Pairs) -> Given:
        """The similarities of items, a sparse matrix: n_ij/(√(n_i n_j) + noise), of counts clamped at 0.

        The noise of a pair in the denominator keeps rare items, whose pairs are mostly noise, from seeming
        similar to anything.
        """
        from scipy import sparse

        n = self.statistic.items
        whole = np.maximum(release.items.astype(float), 0.0) + 1.0
        i, j = self.statistic.items_of(release.pairs)
        noise = RARE * spread_of(self.laws[1])
        similar = np.maximum(release.counts.astype(float), 0.0) / (np.sqrt(whole[i] * whole[j]) + noise)
        values: FloatArray = np.minimum(similar, 1.0)
        both = np.concatenate([values, values])
        return sparse.csr_array((both, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))


@dataclass(frozen=True)
class _Noised(Linear):
    """Computes the laws of the two blocks as for any noisy total."""

    counted: ItemPairs
    budget: Noise
    rows_per_person: int

    @cached_property
    def statistic(self) -> ItemPairs:
        return self.counted
