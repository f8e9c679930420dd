"""What is concluded from runs is wrong as seldom as it says."""

import numpy as np
import pytest
from scipy import stats

from undeleted.auditing import confidence_bounds

ALARM = 1e-6


@pytest.mark.parametrize("p", [0.01, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("runs", [5, 60])
def test_clopper_pearson_errs_no_more_than_alpha_exactly(p, runs):
    """The error is summed over all outcomes: no sampling.  A bound at twice α errs more somewhere."""
    alpha = 0.03
    law = stats.binom.pmf(np.arange(runs + 1), runs, p)
    too_high = sum(law[h] for h in range(runs + 1) if confidence_bounds.at_least(h, runs, alpha) > p)
    too_low = sum(law[h] for h in range(runs + 1) if confidence_bounds.at_most(h, runs, alpha) < p)
    assert too_high <= alpha + 1e-12
    assert too_low <= alpha + 1e-12


def test_clopper_pearson_is_not_wasteful():
    """At the very probability that it states, the tail is α: any tighter bound would err more."""
    for hits in (1, 17, 59):
        least = confidence_bounds.at_least(hits, 60, 0.03)
        assert stats.binom.sf(hits - 1, 60, least) == pytest.approx(0.03)
        most = confidence_bounds.at_most(hits, 60, 0.03)
        assert stats.binom.cdf(hits, 60, most) == pytest.approx(0.03)


def test_the_advantage_has_both_tails_inside_alpha():
    runs, alpha, wrong = 20, 0.1, 0.0
    for p, q in ((0.7, 0.7), (0.9, 0.2)):
        one, other = (stats.binom.pmf(np.arange(runs + 1), runs, v) for v in (p, q))
        wrong = sum(
            one[h] * other[f]
            for h in range(runs + 1)
            for f in range(runs + 1)
            if confidence_bounds.advantage(h, f, runs, alpha) > p - q
        )
        assert wrong <= alpha


def test_counting_is_never_below_the_distance_too_often(coins):
    """ALARM: 400 draws, at most α = 0.2 of them wrong; the histogram distance without its margin fails."""
    law, other = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.7, 0.1])
    truth, runs, alpha = np.abs(law - other).sum() / 2, 400, 0.2
    generator = np.random.default_rng(int(coins.integers(0, 2**31, 1)[0]))
    wrong = bare = 0
    for _ in range(400):
        a, b = generator.choice(3, runs, p=law).tolist(), generator.choice(3, runs, p=other).tolist()
        wrong += confidence_bounds.by_counting(a, b, alpha) < truth
        bare += confidence_bounds.histogram_distance(a, b) < truth
    assert stats.binom.sf(wrong - 1, 400, alpha) > ALARM
    assert stats.binom.sf(bare - 1, 400, alpha) < ALARM, "this test cannot see a bound without its margin"


def test_counting_says_one_for_a_continuous_output(coins):
    a, b = (np.random.default_rng(s).normal(size=500).tolist() for s in (1, 2))
    assert confidence_bounds.by_counting(a, b, 0.01) == 1.0


def test_coupling_bounds_by_how_often_the_two_differ():
    same = list(range(100))
    assert confidence_bounds.by_coupling(same, same, 0.05) == pytest.approx(1 - 0.05 ** (1 / 100))
    assert confidence_bounds.by_coupling(same, [*same[:-50], *[-1] * 50], 0.05) > 0.5


def test_privacy_is_the_distance_of_two_coins_at_that_ratio():
    assert confidence_bounds.by_privacy(1.0, 0.0, 1) == pytest.approx((np.e - 1) / (np.e + 1))
    assert confidence_bounds.by_privacy(0.0, 0.25, 1) == pytest.approx(0.25)
    assert confidence_bounds.by_privacy(1.0, 0.0, 3) == pytest.approx((np.e**3 - 1) / (np.e**3 + 1))
    assert confidence_bounds.by_privacy(40.0, 0.0, 2) == 1.0
    epsilon, delta = 0.7, 0.1  # randomised response with a disclosing output reaches it
    p = (1 - delta) * np.exp(epsilon) / (1 + np.exp(epsilon))
    reached = delta + p - (1 - delta - p)
    assert confidence_bounds.by_privacy(epsilon, delta, 1) == pytest.approx(reached)


def test_density_bounds_the_distance_of_two_normals(coins):
    """ALARM: 300 draws, at most α = 0.2 of them below the true distance."""
    truth = 2 * stats.norm.cdf(0.25) - 1
    generator = np.random.default_rng(int(coins.integers(0, 2**31, 1)[0]))
    wrong = 0
    for _ in range(300):
        z = generator.normal(size=200)
        wrong += confidence_bounds.by_density(stats.norm.logpdf(z, 0.5) - stats.norm.logpdf(z), 0.2) < truth
    assert stats.binom.sf(wrong - 1, 300, 0.2) > ALARM
    assert confidence_bounds.by_density(np.full(50, -np.inf), 0.2) == 1.0


def draws(generator, runs, shift):
    """First outputs that lean on the world; updates that depend on them, and on the world by `shift`."""
    world = np.repeat([True, False], runs)
    first = np.where(generator.random(2 * runs) < 0.3, world * 2, generator.integers(0, 3, 2 * runs))
    return first.tolist(), world, first + generator.normal(size=2 * runs) + shift * world


def test_given_the_first_output_a_safe_target_is_rejected_as_often_as_stated(coins):
    """ALARM: 400 tests at level 0.1.  One that forgets z0 is fooled where z0 depends on the world."""
    generator = np.random.default_rng(int(coins.integers(0, 2**31, 1)[0]))
    rejected = 0
    for _ in range(400):
        first, world, scores = draws(generator, 40, 0.0)
        rejected += confidence_bounds.given_first(first, world, scores, 200, coins)[0] <= 0.1
    assert stats.binom.sf(rejected - 1, 400, 0.1) > ALARM
    assert stats.binom.cdf(rejected, 400, 0.1) > ALARM, "the test never rejects: its p-values are too large"
    biased = np.repeat([0, 1], 40)  # the world decides z0, and the score is z0
    assert confidence_bounds.given_first(biased.tolist(), biased == 0, -biased, 200, coins) == (1.0, 0)
    assert confidence_bounds.given_first([0] * 80, biased == 0, -biased, 2000, coins)[0] < 0.001


def test_who_wants_to_be_surer_than_shuffles_can_make_them_gets_a_bound(coins, monkeypatch):
    """ALARM: 400 tests at level 0.1, by the bound alone; it is no smaller than the p-value that it bounds."""
    monkeypatch.setattr(confidence_bounds, "MOST", 0)
    generator = np.random.default_rng(int(coins.integers(0, 2**31, 1)[0]))
    safe = [confidence_bounds.given_first(*draws(generator, 40, 0.0), 1, coins)[0] for _ in range(400)]
    assert stats.binom.sf(sum(p <= 0.1 for p in safe) - 1, 400, 0.1) > ALARM
    assert min(safe) < 0.5, "it is no constant"
    heights = np.random.default_rng(5).normal(size=(2, 60))
    named = np.repeat([True, False], 60)
    bound = confidence_bounds._by_hoeffding(
        np.zeros(120, dtype=int), named, np.r_[heights[0] + 0.6, heights[1]]
    )
    above = np.r_[heights[0] + 0.6, heights[1]] > (heights.mean() + 0.3)
    exact = stats.hypergeom.sf(above[:60].sum() - 1, 120, above.sum(), 60)
    assert exact < bound < 40 * exact
    leak = draws(generator, 300, 1.5)
    monkeypatch.undo()
    assert confidence_bounds.given_first(*leak, 10**8, coins)[0] < 1e-8


def test_given_the_first_output_a_leak_is_seen(coins):
    generator = np.random.default_rng(3)
    first, world, scores = draws(generator, 100, 1.0)
    p, compared = confidence_bounds.given_first(first, world, scores, 2000, coins)
    assert p < 0.001
    assert compared == 200
