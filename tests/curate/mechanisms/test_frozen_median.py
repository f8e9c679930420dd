"""A frozen median stays, and its rank error is bounded by the deletions, tightly."""

from itertools import combinations, combinations_with_replacement

import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import FrozenMedian
from undeleted.curate.mechanisms.frozen_median import Frozen
from undeleted.errors import NoRecords
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.retrain import median

X = Number("x", min=0, max=9)
WORLD = SmallWorld(FrozenMedian(X), Schema([X]), points=(0, 5, 9), others=(1, 1, 2))


@pytest.mark.parametrize("n", [6, 7, 8])
def test_the_rank_error_is_the_worst_over_all_deletions(n):
    """By brute force over data sets and deleted sets: max(0, ⌈k/2⌉ − 1), which the paper bounds by k."""
    worst = dict.fromkeys(range(n), 0)
    data_sets = [tuple(range(n)), *list(combinations_with_replacement(range(4), n))[::7]]
    for data in data_sets:
        frozen = median(data)
        for k in range(n):
            for gone in combinations(range(n), k):
                left = [x for i, x in enumerate(data) if i not in gone]
                low, high = sorted((frozen, median(tuple(left))))
                worst[k] = max(worst[k], sum(low < x < high for x in left))
    for k in range(n):
        assert worst[k] <= Frozen(0, k).rank_error
        if k < n // 2:
            assert worst[k] == Frozen(0, k).rank_error <= k


def test_the_lower_median_is_released(coins):
    for values, expected in (([7], 7), ([1, 2], 1), ([3, 1, 2], 2), ([4, 3, 2, 1], 2)):
        assert FrozenMedian(X).release(Arrays(Schema([X]).table(values)), coins).median == expected


def test_nobody_has_no_median(coins):
    with pytest.raises(NoRecords, match="at least one record"):
        FrozenMedian(X).release(Arrays(Schema([X]).table([])), coins)
