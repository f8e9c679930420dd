"""A noisy variance: its interval holds at least as often as it says, before and after deletions."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyVariance
from undeleted.foundations.coins import ClampedGeometric, seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

X = Number("x", min=0, max=1)
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=2)
WORLD = SmallWorld(NoisyVariance(X, LAW), Schema([X]), points=(0, 1, 1), others=(0, 0, 1))

AGE = Number("age", min=0, max=100, step="0.5")
PEOPLE = Schema([AGE])
ALARM = 1e-9


@pytest.mark.parametrize("deleted", [0, 150])
def test_the_interval_holds_at_least_as_often_as_it_says(deleted):
    mechanism = NoisyVariance(AGE, Budget(2.0))
    ages = np.round(seeded("ages").integers(40, 160, 500) / 2, 1)
    table, gone = PEOPLE.table(ages), PEOPLE.table(ages[:deleted])
    exact, runs, held = float(np.var(ages[deleted:])), 450, 0
    for seed in range(runs):
        release = mechanism.forget(
            mechanism.release(Arrays(table), seeded(f"variance {seed}")), mechanism.contribution(gone)
        )
        held += exact in mechanism.estimate(release, 0.9)

    assert stats.binomtest(held, runs, 0.9, alternative="less").pvalue > ALARM
    assert stats.binomtest(int(0.8 * runs), runs, 0.9, alternative="less").pvalue < ALARM, "cannot see 80%"


def test_with_little_noise_it_is_the_variance(coins):
    ages = [10.5, 20, 70.5, 99.5]
    mechanism = NoisyVariance(AGE, Budget(1e7))
    estimate = mechanism.estimate(mechanism.release(Arrays(PEOPLE.table(ages)), coins))
    assert estimate.value == pytest.approx(np.var(ages), rel=1e-3)
