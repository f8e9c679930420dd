"""Means and variances by class, from noisy moments."""

from fractions import Fraction

import numpy as np
import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyClassMoments
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Boolean, Category, Number, Schema

A, B = Boolean("a"), Boolean("b")
LAW = ClampedGeometric(Fraction(1, 2), 0, 1)
WORLD = SmallWorld(
    NoisyClassMoments((A,), LAW, by=B),
    Schema([A, B]),
    points=((False, True), (True, True), (True, False)),
    others=((False, False), (False, True), (True, True)),
)
AGE, PAY = Number("age", min=0, max=100), Number("pay", min=0, max=1000, step=10)
CITY = Category("city", values=("x", "y", "z"))
PEOPLE = Schema([AGE, PAY, CITY])


def people(n, seed):
    rng = np.random.default_rng(seed)
    city = rng.integers(0, 2, n)  # nobody lives in z
    age = np.clip(rng.normal(40 + 10 * city, 8), 0, 100).round().astype(int)
    return {"age": age, "pay": rng.integers(0, 101, n) * 10, "city": np.array(["x", "y"])[city]}


def test_without_noise_they_are_the_moments_of_the_grid():
    data = people(5000, 1)
    mechanism = NoisyClassMoments((AGE, PAY), NoNoise(), by=CITY)
    found = mechanism.gaussians(mechanism.release(Arrays(PEOPLE.table(data)), seeded(7)))
    for k, city in enumerate("xy"):
        lives = data["city"] == city
        for i, name in enumerate(("age", "pay")):
            assert found.means[k, i] == pytest.approx(data[name][lives].mean())
            assert found.variances[k, i] == pytest.approx(data[name][lives].var())
        assert found.counts[k] == lives.sum()
    assert (found.variances > 0).all()
    assert np.isfinite(found.log_joint(np.array([[40.0, 500.0]]))).all(), "a class that never occurs"


@pytest.mark.parametrize("budget", [Budget(0.7), Budget(0.7, 1e-6)])
def test_it_costs_what_it_was_given(budget):
    mechanism = NoisyClassMoments((AGE, PAY), budget, by=CITY)
    spent = account(mechanism.events, budget.delta).epsilon
    assert 0.98 * budget.epsilon < spent <= budget.epsilon * (1 + 1e-9)
    assert account(NoisyClassMoments((AGE,), budget, rows_per_person=3).events, budget.delta).epsilon <= 0.7


def test_noise_moves_variances_and_never_below_what_is_possible():
    data = people(60, 2)
    mechanism, coins = NoisyClassMoments((AGE, PAY), Budget(0.05), by=CITY), seeded("wild")
    for _ in range(200):
        found = mechanism.gaussians(mechanism.release(Arrays(PEOPLE.table(data)), coins))
        assert (found.variances > 0).all()
        assert (found.variances <= [50**2, 500**2]).all()
        assert (found.means >= 0).all()
        assert (found.means <= [100, 1000]).all()
        assert found.shares.sum() == pytest.approx(1)
