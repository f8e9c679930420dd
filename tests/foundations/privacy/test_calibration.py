"""A budget buys the noise that it must, and hardly more."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undeleted.errors import BadBudget, BudgetSpent
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace
from undeleted.foundations.privacy import (
    NEIGHBOURS,
    Budget,
    Event,
    Ledger,
    Reach,
    Zcdp,
    account,
    calibrate,
    events_of,
    split,
)


def cost(statistics, noises, delta, **more):
    events = [e for r, n in zip(statistics, noises, strict=True) for e in events_of(r, n, **more)]
    return account(events, delta).epsilon


reaches = st.lists(st.lists(st.integers(1, 5000), min_size=1, max_size=4), min_size=1, max_size=4)


@given(reaches, st.floats(0.01, 20), st.integers(1, 3), st.integers(1, 5))
def test_pure_budgets_are_spent_and_not_exceeded(statistics, epsilon, rows, times):
    noises = calibrate(statistics, Budget(epsilon), rows=rows, times=times)

    assert all(isinstance(law, DiscreteLaplace) for noise in noises for law in noise)
    spent = cost(statistics, noises, 0.0, rows=rows, times=times)
    assert epsilon * (1 - 1e-9) <= spent <= epsilon


@given(reaches, st.floats(0.001, 5), st.integers(1, 3), st.integers(1, 5))
def test_rho_is_spent_and_not_exceeded(statistics, rho, rows, times):
    noises = calibrate(statistics, Zcdp(rho), rows=rows, times=times)
    events = [
        e for r, n in zip(statistics, noises, strict=True) for e in events_of(r, n, rows=rows, times=times)
    ]

    assert rho * (1 - 1e-9) <= math.fsum(e.times * e.rho for e in events) <= rho


@settings(max_examples=8, deadline=None)
@given(reaches, st.sampled_from([0.1, 1.0, 4.0]), st.sampled_from([1e-9, 1e-6]), st.integers(1, 2))
def test_approximate_budgets_are_spent_to_a_percent_and_not_exceeded(statistics, epsilon, delta, rows):
    noises = calibrate(statistics, Budget(epsilon, delta), rows=rows)

    assert 0.98 * epsilon <= cost(statistics, noises, delta, rows=rows) <= epsilon


def test_one_count_takes_laplace_and_many_take_gaussians():
    [[law]] = calibrate([[1]], Budget(1.0, 1e-6))
    assert isinstance(law, DiscreteLaplace)
    assert law.scale == pytest.approx(1.0, rel=1e-3)
    assert all(isinstance(n[0], DiscreteGaussian) for n in calibrate([[1]] * 20, Budget(1.0, 1e-6)))


def test_noise_is_in_proportion_to_the_reach():
    [noise] = calibrate([[1, 50, 2500]], Budget(1.0))

    assert [law.scale for law in noise] == pytest.approx([3, 150, 7500])


def test_weights_share_the_budget():
    light, heavy = calibrate([[1], [1]], Budget(1.0), weights=[1, 3])

    assert light[0].scale == pytest.approx(4)
    assert heavy[0].scale == pytest.approx(4 / 3)
    assert split(Budget(1.0, 1e-6), [1, 3]) == [Budget(0.25, 2.5e-7), Budget(0.75, 7.5e-7)]
    assert split(Zcdp(1.0), [1, 1]) == [Zcdp(0.5), Zcdp(0.5)]


@pytest.mark.parametrize("weights", [[1, 0], [1, -1], [1, math.nan]])
def test_weights_are_positive(weights):
    with pytest.raises(BadBudget, match="weight must be positive"):
        calibrate([[1], [1]], Budget(1.0), weights=weights)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "a", None, True])
def test_epsilon_is_positive_and_finite(epsilon):
    with pytest.raises(BadBudget, match="epsilon must be positive and finite"):
        Budget(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, math.nan, "a"])
def test_delta_lies_below_one(delta):
    with pytest.raises(BadBudget, match=r"delta must be in \[0, 1\)"):
        Budget(1.0, delta)


def test_calibration_needs_statistics_and_a_weight_for_each():
    with pytest.raises(BadBudget, match="statistics must be at least 1"):
        calibrate([], Budget(1.0, 1e-6))
    with pytest.raises(BadBudget, match="one for each of the 2"):
        calibrate([[1], [1]], Budget(1.0), weights=[1.0])
    assert calibrate([[1]], Budget(200.0, 1e-6))[0][0].scale == pytest.approx(1 / 200, rel=0.01)


def test_rho_rows_and_times_are_positive():
    with pytest.raises(BadBudget, match="rho must be positive"):
        Zcdp(0)
    with pytest.raises(BadBudget, match="rows must be at least 1"):
        calibrate([[1]], Budget(1.0), rows=0)
    with pytest.raises(BadBudget, match="times must be at least 1"):
        calibrate([[1]], Budget(1.0), times=0)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(0.5, 1e-6), Zcdp(0.1)], ids=str)
def test_whoever_prints_a_budget_says_who_the_neighbours_are(budget):
    assert NEIGHBOURS in str(budget)


def test_a_ledger_refuses_what_it_cannot_pay_and_charges_nothing():
    ledger = Ledger(Budget(1.0))
    ledger.charge("a", [Event(DiscreteLaplace(1.25), 1)])
    with pytest.raises(BudgetSpent, match=r"publishing 'b' costs ε = 0.5, but 0.2 of 1 is left") as caught:
        ledger.charge("b", [Event(DiscreteLaplace(2.0), 1)])

    assert (caught.value.cost, caught.value.left) == (pytest.approx(0.5), pytest.approx(0.2))
    assert ledger.left == pytest.approx(0.2)
    ledger.charge("c", [Event(DiscreteLaplace(5.0), 1)])
    assert ledger.left == pytest.approx(0)


def test_blocks_that_move_in_several_cells_are_noised_by_the_norm_of_their_law():
    """Laplace by L1, Gaussian by L2; and by weight: three quarters of ε buy a third of the noise."""
    reaches = [Reach(12, 5, cells=3, weight=3.0), Reach(12, 5, cells=3)]
    [laplaces] = calibrate([reaches], Budget(2.0))
    assert [law.scale for law in laplaces] == pytest.approx([12 / 1.5, 12 / 0.5])
    [gaussians] = calibrate([reaches], Zcdp(0.5))
    assert [law.sigma for law in gaussians] == pytest.approx([5 / math.sqrt(0.75), 5 / math.sqrt(0.25)])
    for noise, delta in ((laplaces, 0.0), (gaussians, 1e-6)):
        events = events_of(reaches, noise)
        assert [e.cells for e in events] == [3, 3]
        assert [e.shift for e in events] == ([12, 12] if delta == 0 else [5, 5])
    assert account(events_of(reaches, laplaces), 0.0).epsilon == pytest.approx(2.0)
