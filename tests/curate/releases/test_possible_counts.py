"""Nothing impossible is shown, tables agree with their margins, and intervals still cover.

Covers: foundations/intervals.py
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import (
    NoisyCount,
    NoisyHistogram,
    NoisyMean,
    NoisySum,
    NoisyVariance,
    RangeCounts,
)
from undeleted.curate.releases.possible_counts import possible_counts
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Category, Number, Schema

ALARM = 1e-9  # how often a correct mechanism may fail a test in this file
AGE, SICK = Number("age", min=10, max=20), Boolean("sick")
CITY = Category("city", values=tuple("abcdef"))
PEOPLE = Schema([AGE, SICK, CITY])
ROWS = [{"age": 11, "sick": False, "city": "a"}] * 5 + [{"age": 12, "sick": False, "city": "b"}]
NOISE = Budget(0.4)  # so little that much of what comes out is impossible
RUNS = 600


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_possible_counts_are_never_below_zero_and_keep_the_total(noisy):
    counts = possible_counts(np.array(noisy))
    assert counts.min() >= 0
    assert counts.sum() == max(0, sum(noisy))


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4))
def test_no_other_table_of_that_total_is_nearer(noisy):
    counts, total = possible_counts(np.array(noisy)), max(0, sum(noisy))

    def tables(cells, left):
        if cells == 1:
            yield (left,)
            return
        for first in range(left + 1):
            yield from ((first, *rest) for rest in tables(cells - 1, left - first))

    def distance(table):
        return sum((a - b) ** 2 for a, b in zip(table, noisy, strict=True))

    assert distance(counts.tolist()) == min(map(distance, tables(len(noisy), total)))


CASES = {
    "count": (NoisyCount(NOISE), 6, (0, math.inf)),
    "sum": (NoisySum(AGE, NOISE), 67, (0, math.inf)),
    "mean": (NoisyMean(AGE, NOISE), 67 / 6, (10, 20)),
    "share": (NoisyMean(SICK, NOISE), 0.0, (0, 1)),
    "variance": (NoisyVariance(AGE, NOISE), float(np.var([11] * 5 + [12])), (0, 25)),
}


def releases(mechanism):
    table = Arrays(PEOPLE.table(ROWS))
    return (mechanism.release(table, seeded(f"possible {seed}")) for seed in range(RUNS))


def holds(answers, exact, bounds, confidence=0.8):
    """Whether every answer is possible, and how often the interval holds the exact number."""
    least, most = bounds
    held = 0
    for answer in answers:
        assert least <= answer.low <= answer.high <= most
        assert answer.low <= answer.value <= answer.high or math.isnan(
            answer.value
        )  # divided by a count of 0
        held += answer.low <= exact <= answer.high
    return stats.binomtest(held, RUNS, confidence, alternative="less").pvalue > ALARM


@pytest.mark.parametrize("name", CASES)
def test_only_what_is_possible_is_shown_and_intervals_still_cover(name):
    mechanism, exact, bounds = CASES[name]
    assert holds((mechanism.estimate(r, 0.8) for r in releases(mechanism)), exact, bounds)


def test_this_test_sees_intervals_that_cover_too_little():
    mechanism, exact, bounds = CASES["count"]
    assert not holds((mechanism.estimate(r, 0.65) for r in releases(mechanism)), exact, bounds)


def test_counts_in_ranges_are_possible_and_covered():
    mechanism = RangeCounts(AGE, NOISE)
    assert holds((mechanism.count(r, 12, 20, 0.8) for r in releases(mechanism)), 1, (0, math.inf))


def test_cells_of_a_table_are_possible_covered_and_add_up_to_their_margins():
    mechanism = NoisyHistogram((CITY, SICK), NOISE)
    exact = {("a", False): 5, ("b", False): 1}
    held = dict.fromkeys(((c, s) for c in CITY.values for s in (False, True)), 0)
    impossible = 0
    for release in releases(mechanism):
        impossible += int(release.value.min() < 0)
        cells = {tuple(labels.values()): a for labels, a in mechanism.answers(release, {}, 0.8)}
        for column, place in (("city", 0), ("sick", 1)):
            for labels, margin in mechanism.answers(release, {"by": [column]}, 0.8):
                of_cells = sum(a.value for key, a in cells.items() if key[place] == labels[column])
                assert margin.value == of_cells
        [(_, box)] = mechanism.answers(release, {"where": ["city=a"]}, 0.8)
        assert box.value == cells["a", False].value + cells["a", True].value
        for key, answer in cells.items():
            assert 0 <= answer.low <= answer.value <= answer.high
            held[key] += answer.low <= exact.get(key, 0) <= answer.high
    assert impossible > RUNS / 2, "without this there is nothing to correct"
    for times in held.values():
        assert stats.binomtest(times, RUNS, 0.8, alternative="less").pvalue > ALARM
