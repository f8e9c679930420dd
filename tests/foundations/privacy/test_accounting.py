"""The accountant is never more optimistic than the truth, nor far from it.

Covers: foundations/privacy/*.py
"""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import stats

from undeleted.errors import BadBudget
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace
from undeleted.foundations.privacy import Budget, Event, Zcdp, account, parallel, sequential
from undeleted.foundations.privacy.accounting import SMOOTH_SIGMA, _pld


def pmf(law, points):
    exponent = (
        np.abs(points) / law.scale if isinstance(law, DiscreteLaplace) else points**2 / (2 * law.sigma**2)
    )
    weights = np.exp(-exponent)
    return weights / weights.sum()


def brute_force_delta(events, epsilon):
    """δ(ε) by summing over every outcome of one or two noisy cells."""
    p = q = np.ones(1)
    for event in events:
        width = event.law.scale * 40 if isinstance(event.law, DiscreteLaplace) else event.law.sigma * 14
        points = np.arange(-int(width) - event.shift - 3, int(width) + event.shift + 4)
        one = pmf(event.law, points.astype(float))
        p = np.multiply.outer(p, one).ravel()
        q = np.multiply.outer(q, np.roll(one, event.shift)).ravel()
    return max(np.maximum(0, p - math.exp(epsilon) * q).sum(), np.maximum(0, q - math.exp(epsilon) * p).sum())


SMALL = {
    "one Laplace": [Event(DiscreteLaplace(2.0), 1)],
    "a wide shift": [Event(DiscreteLaplace(20.0), 7)],
    "one Gaussian": [Event(DiscreteGaussian(5.0), 1)],
    "a shifted Gaussian": [Event(DiscreteGaussian(40.0), 9)],
    "two Laplaces": [Event(DiscreteLaplace(4.0), 1), Event(DiscreteLaplace(6.0), 3)],
    "two Gaussians": [Event(DiscreteGaussian(8.0), 1), Event(DiscreteGaussian(30.0), 4)],
    "one of each": [Event(DiscreteLaplace(6.0), 1), Event(DiscreteGaussian(9.0), 2)],
    "a wide Gaussian": [Event(DiscreteGaussian(SMOOTH_SIGMA), 300)],
}


@pytest.mark.parametrize("delta", [1e-3, 1e-6])
@pytest.mark.parametrize("name", SMALL)
def test_the_bound_holds_against_brute_force_and_is_nearly_attained(name, delta):
    events = SMALL[name]
    spend = account(events, delta)

    assert brute_force_delta(events, spend.epsilon) <= delta * (1 + 1e-6)
    assert brute_force_delta(events, spend.epsilon * 0.97 - 1e-3) > delta, "the bound is loose"


def dp_accounting(events, delta, *, pessimistic):
    whole = None
    for e in events:
        if isinstance(e.law, DiscreteLaplace):
            one = pld.from_discrete_laplace_mechanism(
                1 / e.law.scale, e.shift, pessimistic_estimate=pessimistic, value_discretization_interval=1e-5
            )
        else:
            one = pld.from_discrete_gaussian_mechanism(
                e.law.sigma, e.shift, pessimistic_estimate=pessimistic, value_discretization_interval=1e-5
            )
        one = one.self_compose(e.times) if e.times > 1 else one
        whole = one if whole is None else whole.compose(one)
    return whole.get_epsilon_for_delta(delta)


COMPOSED = {
    "a tree of 17 levels": [Event(DiscreteGaussian(17.0), 1, times=17)],
    "ten counts": [Event(DiscreteLaplace(12.0), 1, times=10)],
    "count, sum and squares": [Event(DiscreteGaussian(90.0 * r), r) for r in (1, 10, 100)],
    "a histogram and two means": [
        Event(DiscreteLaplace(5.0), 1),
        *[Event(DiscreteLaplace(8.0 * r), r) for r in (1, 50)] * 2,
    ],
    "66 cross-products": [Event(DiscreteGaussian(250.0), 3, times=66)],
}


@pytest.mark.parametrize("name", COMPOSED)
def test_compositions_lie_between_dp_accounting_and_ten_percent_above(name):
    events, delta = COMPOSED[name], 1e-6
    ours = account(events, delta).epsilon

    assert ours >= dp_accounting(events, delta, pessimistic=False) * (1 - 1e-9)
    assert ours <= dp_accounting(events, delta, pessimistic=True) * 1.1


def test_the_wide_gaussian_is_priced_like_the_narrow_one():
    """The comparison with a continuous Gaussian must not jump where it takes over."""
    below = account([Event(DiscreteGaussian(SMOOTH_SIGMA * 0.999), 100, times=5)], 1e-6).epsilon
    above = account([Event(DiscreteGaussian(SMOOTH_SIGMA * 1.001), 100, times=5)], 1e-6).epsilon

    assert above == pytest.approx(below, rel=0.01)


def test_the_least_of_three_is_reported_with_its_name():
    assert account([Event(DiscreteLaplace(1.0), 1)], 0.0).by == "basic"
    assert account([Event(DiscreteGaussian(10.0), 1, times=50)], 1e-6).by == "pld"
    assert account([Event(DiscreteGaussian(10.0), 1, rows=2)], 1e-6).by in ("zcdp", "basic")


def test_pure_costs_add_up_and_a_gaussian_is_never_pure():
    laplaces = [Event(DiscreteLaplace(2.0), 1), Event(DiscreteLaplace(8.0), 2)]

    assert account(laplaces, 0.0).epsilon == pytest.approx(0.75)
    assert account([Event(DiscreteGaussian(100.0), 1)], 0.0).epsilon == math.inf
    assert account([], 1e-6).epsilon == 0


def test_rows_of_one_person_multiply_the_cost():
    one = Event(DiscreteLaplace(4.0), 1)
    three = Event(DiscreteLaplace(4.0), 1, rows=3)

    assert account([three], 0.0).epsilon == pytest.approx(3 * account([one], 0.0).epsilon)
    assert account([Event(DiscreteGaussian(40.0), 1, rows=3)], 1e-6).epsilon > (
        2.5 * account([Event(DiscreteGaussian(40.0), 1)], 1e-6).epsilon
    )


@pytest.mark.parametrize("wrong", [{"shift": 0}, {"shift": -5}, {"rows": 0}, {"times": 0}], ids=str)
def test_nothing_that_is_charged_can_give_budget_back(wrong):
    with pytest.raises(BadBudget, match="at least 1"):
        Event(DiscreteLaplace(1.0), **({"shift": 1} | wrong))


@pytest.mark.parametrize(
    ("event", "delta"),
    [
        (Event(DiscreteLaplace(1000.0), 1), 1e-3),
        (Event(DiscreteGaussian(1e5), 1), 1e-5),
        (Event(DiscreteGaussian(900.0), 100_000), 1e-5),
        (Event(DiscreteLaplace(1e-3), 1), 1e-5),
        (Event(DiscreteGaussian(30.0), 1, times=1000), 1e-14),
    ],
    ids=str,
)
def test_extreme_costs_are_numbers(event, delta):
    assert 0 <= account([event], delta).epsilon < math.inf or event.rho > 1000


def test_tiny_deltas_are_left_to_bounds_without_convolutions():
    """Below 1e-10 the rounding of a convolution is no longer small beside δ; zCDP needs none."""
    assert account([Event(DiscreteGaussian(30.0), 1, times=1000)], 1e-14).by != "pld"


def test_gaussians_are_pooled_before_pure_costs_are_added():
    gaussians = [Event(DiscreteGaussian(60.0), 1, rows=2)] * 4
    laplace = Event(DiscreteLaplace(4.0), 1, rows=2)
    alone = account(gaussians, 1e-6).epsilon
    assert account([*gaussians, laplace], 1e-6).epsilon <= alone + 0.5 + 1e-12


def test_budgets_compose_in_sequence_and_in_parallel():
    assert sequential(Budget(1.0), Budget(0.5, 1e-6)) == Budget(1.5, 1e-6)
    assert parallel(Budget(1.0), Budget(0.5, 1e-6)) == Budget(1.0, 1e-6)
    assert sequential(Zcdp(1.0), Zcdp(0.5)) == Zcdp(1.5)
    assert parallel(Zcdp(1.0), Zcdp(0.5)) == Zcdp(1.0)
    with pytest.raises(BadBudget, match="all in ε or all in ρ"):
        sequential(Budget(1.0), Zcdp(0.5))


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_delta_is_a_probability_below_one(delta):
    with pytest.raises(BadBudget, match=r"delta must be in \[0, 1\)"):
        account([], delta)


@pytest.mark.parametrize("law", [DiscreteLaplace(3.0), DiscreteGaussian(1.5), DiscreteGaussian(6.0)], ids=str)
def test_a_smaller_shift_is_dominated_by_a_larger_one(law):
    """What lets a block be priced by its reach alone, whatever a record really adds to it."""
    for epsilon in (0.0, 0.1, 0.5, 2.0):
        deltas = [brute_force_delta([Event(law, shift)], epsilon) for shift in range(1, 8)]
        assert deltas == sorted(deltas)
        pairs = [brute_force_delta([Event(law, 1), Event(law, shift)], epsilon) for shift in range(1, 5)]
        assert pairs == sorted(pairs)


def joint_delta(law, moves, epsilon):
    """δ(ε) of cells that move together, by summing over every outcome of two."""
    points = np.arange(-int((law.scale * 40) if isinstance(law, DiscreteLaplace) else law.sigma * 14) - 20, 0)
    points = np.concatenate([points, [0], -points[::-1]])
    one = pmf(law, points.astype(float))
    p, q = np.multiply.outer(one, one), np.multiply.outer(np.roll(one, moves[0]), np.roll(one, moves[1]))
    return max(np.maximum(0, p - math.exp(epsilon) * q).sum(), np.maximum(0, q - math.exp(epsilon) * p).sum())


@pytest.mark.parametrize("delta", [0.0, 1e-2, 1e-4])
def test_cells_that_move_together_cost_at_most_what_their_norm_does(delta):
    """Every way to share an L1 of 8, or an L2 of 10, between two cells; the norms are what is charged."""
    pairs = {8: [(8, 0), (4, 4), (5, 3), (-7, 1), (-4, -4)], 10: [(10, 0), (6, 8), (-8, 6), (7, 7), (-10, 0)]}
    for law, shift in ((DiscreteLaplace(9.0), 8), (DiscreteGaussian(12.0), 10)):
        if delta == 0 and isinstance(law, DiscreteGaussian):
            continue
        spend = account([Event(law, shift, cells=2)], delta)
        for moves in pairs[shift]:
            assert joint_delta(law, moves, spend.epsilon) <= delta + 1e-12
        least = account([Event(law, shift)], delta)
        assert spend.epsilon >= least.epsilon, "several cells are never cheaper than one"
        too_little = account([Event(law, shift // 2, cells=2)], delta).epsilon
        assert max(joint_delta(law, moves, too_little) for moves in pairs[shift]) > delta


def test_wide_cells_that_move_together_are_priced_by_their_l2():
    """A Gaussian wide enough to be compared with a continuous one: rotations change nothing but the slack."""
    one, five = (account([Event(DiscreteGaussian(5000.0), 4000, cells=c)], 1e-6).epsilon for c in (1, 5))
    assert one <= five <= one * 1.001


@pytest.mark.parametrize("times", [100, 10_000, 100_000])
def test_rounding_of_many_convolutions_overspends_no_delta(times):
    """Randomised response, whose composition is a binomial, exactly: δ(ε) at the ε that was told."""
    epsilon, delta = 1 / math.sqrt(times), 1e-6
    told = _pld([Event(DiscreteLaplace(1 / epsilon), 1, times=times, cells=2)], delta)
    ones, p = np.arange(times + 1), 1 / (1 + math.exp(-epsilon))
    loss = epsilon * (2 * ones - times)
    spent = np.exp(stats.binom.logpmf(ones, times, p)) * -np.expm1(np.minimum(told - loss, 0))
    assert spent.sum() <= delta
    assert spent.sum() > 0.5 * delta or times > 10_000, "then the bound is far above what is spent"
