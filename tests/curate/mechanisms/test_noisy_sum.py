"""A noisy sum: as wide as ε says, and no wider after a hundred deletions."""

from fractions import Fraction

import numpy as np
import pytest

from support.fits import ALARM, fit, with_scale
from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisySum
from undeleted.foundations.coins import ClampedGeometric, DiscreteGaussian, DiscreteLaplace, secure
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Number, Schema

X = Number("x", min=0, max=2)
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=5)
WORLD = SmallWorld(NoisySum(X, LAW), Schema([X]), points=(0, 1, 2), others=(2, 2, 0))

INCOME = Number("income", min=-20, max=5)
NOISES = {
    "pure": (Budget(2.0), DiscreteLaplace(10.0)),
    "rho": (Zcdp(0.5), DiscreteGaussian(20.0)),
    "law": (DiscreteLaplace(3.0), DiscreteLaplace(3.0)),
}


@pytest.mark.parametrize("kind", NOISES)
def test_the_noise_is_as_wide_as_the_budget_says_before_and_after_deletions(kind, coins):
    given, law = NOISES[kind]
    mechanism, people = NoisySum(INCOME, given), Schema([INCOME])
    table, deleted = people.table([3] * 150), people.table([3] * 100)
    first = [mechanism.release(Arrays(table), coins) for _ in range(20_000)]
    after = [mechanism.forget(release, mechanism.contribution(deleted)) for release in first]

    for releases, exact in ((first, 450), (after, 150)):
        noise = np.array([release.value[0] for release in releases]) - exact
        assert fit(noise, law) > ALARM
        assert fit(noise, with_scale(law, 0.85)) < ALARM, "this test cannot see too much noise"
        assert fit(noise, with_scale(law, 1.15)) < ALARM, "this test cannot see too little noise"


def test_rows_of_one_person_widen_the_noise():
    one, three = NoisySum(INCOME, Budget(1.0)), NoisySum(INCOME, Budget(1.0), rows_per_person=3)
    assert three.laws[0].scale == pytest.approx(3 * one.laws[0].scale)


def test_a_secure_release_is_near_the_sum():
    people = Schema([INCOME])
    release = NoisySum(INCOME, Budget(1.0)).release(Arrays(people.table([5] * 1000)), secure())
    assert abs(int(release.value[0]) - 5000) < 20 * 50  # P < e^-50


def test_sums_on_a_decimal_grid_come_in_its_units(coins):
    price = Number("price", min=0, max=1, step="0.25")
    mechanism = NoisySum(price, Budget(1e6))
    estimate = mechanism.estimate(mechanism.release(Arrays(Schema([price]).table([0.25, 0.5])), coins))
    assert estimate.value == 0.75
    assert 0.75 in estimate
