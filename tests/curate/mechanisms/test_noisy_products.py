"""Correlations and regressions from noisy moments."""

from fractions import Fraction

import numpy as np
import pytest

from support.fits import ALARM, fit
from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyProducts
from undeleted.curate.releases.bootstrap import _noise
from undeleted.curate.releases.units import spread_of
from undeleted.errors import BadColumns, Misuse
from undeleted.foundations.coins import ClampedGeometric, seeded
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Boolean, Category, Number, Schema

A, B = Boolean("a"), Boolean("b")
LAW = ClampedGeometric(Fraction(1, 2), 0, 1)
WORLD = SmallWorld(
    NoisyProducts((A,), LAW), Schema([A]), points=(False, True, True), others=(False, False, True)
)
AGE, PAY, YEARS = (
    Number("age", min=0, max=100),
    Number("pay", min=0, max=1000, step=10),
    Number("years", min=0, max=50),
)
PEOPLE = Schema([AGE, PAY, YEARS])


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    years = np.clip(age - rng.integers(18, 40, n), 0, 50)
    pay = np.clip((200 + 6 * age + 4 * years + rng.normal(0, 40, n)) // 10 * 10, 0, 1000).astype(int)
    return {"age": age, "pay": pay, "years": years}


def test_without_much_noise_it_is_least_squares_and_pearson():
    data = people(20_000, 1)
    mechanism = NoisyProducts((AGE, PAY, YEARS), Budget(1e7))
    release = mechanism.release(Arrays(PEOPLE.table(data)), seeded("exact"))
    matrix = np.column_stack([np.ones(20_000), data["age"], data["years"]])
    exact = np.linalg.lstsq(matrix, data["pay"], rcond=None)[0]
    fitted = mechanism.regression(release, "pay", ["age", "years"])
    assert [fitted[name].value for name in ("intercept", "age", "years")] == pytest.approx(exact, rel=1e-3)
    pearson = np.corrcoef(data["age"], data["pay"])[0, 1]
    assert mechanism.correlation(release, "age", "pay").value == pytest.approx(pearson, abs=1e-3)
    assert mechanism.covariance(release) == pytest.approx(np.cov(list(data.values()), bias=True), rel=1e-2)


@pytest.mark.slow
def test_intervals_hold_about_as_often_as_they_say_after_deletions():
    """150 releases; 95% with a margin of five standard errors: false alarms below 1e-6."""
    data, held = people(5_000, 2), {"slope": 0, "correlation": 0}
    mechanism = NoisyProducts((AGE, PAY), Budget(1.0))
    small = Schema([AGE, PAY])
    rows = small.table({"age": data["age"], "pay": data["pay"]})
    gone, left = rows.take(np.arange(1000)), rows.take(np.arange(1000, 5000))
    ages, pays = (np.asarray(data[name][1000:]) for name in ("age", "pay"))
    slope = np.cov(ages, pays, bias=True)[0, 1] / ages.var()
    pearson = np.corrcoef(ages, pays)[0, 1]
    coins = seeded("coverage")
    for _ in range(150):
        release = mechanism.forget(mechanism.release(Arrays(rows), coins), mechanism.contribution(gone))
        held["slope"] += slope in mechanism.regression(release, "pay", ["age"])["age"]
        held["correlation"] += pearson in mechanism.correlation(release, "age", "pay")
    assert left.rows == 4000
    for name, times in held.items():
        assert times / 150 > 0.95 - 5 * np.sqrt(0.95 * 0.05 / 150), name


def test_questions_that_make_no_sense():
    mechanism = NoisyProducts((AGE, PAY), Budget(1.0))
    release = mechanism.release(Arrays(PEOPLE.table(people(50, 3))), seeded(7))
    with pytest.raises(Misuse, match="no column years"):
        mechanism.correlation(release, "age", "years")
    with pytest.raises(Misuse, match="other than its target"):
        mechanism.regression(release, "age", ["age"])
    with pytest.raises(BadColumns, match="categories cannot"):
        NoisyProducts((Category("c", values=("x",)),), Budget(1.0))


@pytest.mark.parametrize("budget", [Budget(1.0), Zcdp(0.5)], ids=["laplace", "gaussian"])
def test_noise_that_is_drawn_again_has_its_own_law(budget):
    """As normals of the same spread, Laplace noise would have tails that are too thin."""
    mechanism = NoisyProducts((AGE, PAY), budget)
    drawn = _noise(mechanism, seeded("redrawn"), 20_000)
    for block, law in enumerate(mechanism.laws):
        assert fit(drawn[:, block].astype(int), law) > ALARM
    last = mechanism.laws[-1]
    normal = np.rint(np.random.default_rng(1).normal(0, spread_of(last), 20_000)).astype(int)
    assert (fit(normal, last) < ALARM) == isinstance(budget, Budget), "this test cannot tell the two apart"
