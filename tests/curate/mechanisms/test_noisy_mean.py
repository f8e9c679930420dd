"""A noisy mean: its interval holds at least as often as it says, also when the count is near zero."""

from fractions import Fraction

import pytest
from scipy import stats

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyMean
from undeleted.foundations.coins import ClampedGeometric, DiscreteGaussian, DiscreteLaplace, seeded
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Number, Schema

X = Number("x", min=0, max=2)
LAW = ClampedGeometric(Fraction(1, 2), low=-1, high=2)
WORLD = SmallWorld(NoisyMean(X, LAW), Schema([X]), points=(0, 1, 2), others=(2, 2, 0))

AGE = Number("age", min=0, max=100)
PEOPLE = Schema([AGE])
ALARM = 1e-9


def coverage(noise, people, deleted, confidence, runs=700):
    """How often the interval holds the exact mean of those who remain."""
    mechanism = NoisyMean(AGE, noise)
    table, gone = PEOPLE.table(people + deleted), PEOPLE.table(deleted)
    exact = sum(people) / len(people)
    held = 0
    for seed in range(runs):
        release = mechanism.release(Arrays(table), seeded(f"mean {seed}"))
        held += exact in mechanism.estimate(
            mechanism.forget(release, mechanism.contribution(gone)), confidence
        )
    return held, runs


@pytest.mark.parametrize("noise", [Budget(1.0), Zcdp(0.3)], ids=str)
@pytest.mark.parametrize("people", [[80] * 300, [0] * 20, [50] * 4], ids=["many", "few", "hardly any"])
@pytest.mark.parametrize("deleted", [[], [7] * 90], ids=["before", "after deletions"])
def test_the_interval_holds_at_least_as_often_as_it_says(noise, people, deleted):
    held, runs = coverage(noise, people, deleted, 0.9)

    assert stats.binomtest(held, runs, 0.9, alternative="less").pvalue > ALARM
    assert stats.binomtest(int(0.82 * runs), runs, 0.9, alternative="less").pvalue < ALARM, "cannot see 82%"


@pytest.mark.parametrize(
    "laws",
    [(DiscreteLaplace(50.0), DiscreteGaussian(5.0)), (DiscreteGaussian(9.0), DiscreteLaplace(300.0))],
    ids=str,
)
def test_two_kinds_of_noise_are_both_allowed_for(laws):
    held, runs = coverage(laws, [100] * 900, [], 0.9)
    assert stats.binomtest(held, runs, 0.9, alternative="less").pvalue > ALARM


def test_with_enough_people_the_interval_is_short_and_not_wasteful():
    held, runs = coverage(Budget(1.0), [80] * 2000, [], 0.9)
    assert held / runs < 0.96
    mechanism = NoisyMean(AGE, Budget(1.0))
    estimate = mechanism.estimate(mechanism.release(Arrays(PEOPLE.table([80] * 2000)), seeded(7)))
    assert estimate.high - estimate.low < 1
    assert abs(estimate.value - 80) < 1
    assert 0 < estimate.standard_error < 0.2


def test_a_mean_of_nobody_may_be_anything_within_the_bounds():
    mechanism = NoisyMean(AGE, Budget(1.0))
    empty = mechanism.release(Arrays(PEOPLE.table([])), seeded(7))
    estimate = mechanism.estimate(empty)
    assert (estimate.low, estimate.high) == (0, 100)
