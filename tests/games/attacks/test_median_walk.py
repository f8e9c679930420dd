"""The walk wins against retraining, exactly as predicted, and gets nothing from a release-once mechanism."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from undeleted.curate.mechanisms import NoisyHistogram
from undeleted.errors import Misuse
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.games.attacks.median_walk import DOMAIN, median_walk, run
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import dynamic_game, ideal_game
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.simulator import simulate

ALARM = 1e-6  # how often a safe mechanism may fail a test in this file


@settings(max_examples=40)
@given(st.integers(1, 400), st.data())
def test_retraining_exposes_half_of_what_is_deleted(n, data):
    controlled = data.draw(st.integers(0, n // 2))
    result = run(n=n, controlled=controlled, seed=n)

    assert result["wrong"] == 0
    assert result["exposed"] == result["predicted"] == (-(-controlled // 2) if n % 2 else controlled // 2)


@pytest.mark.parametrize("against", ["noisy-histogram", "frozen-median"])
def test_a_release_once_mechanism_exposes_nobody(against):
    """First it wins at this size.  Then a claim is right by luck alone, with probability n/2²⁰ each."""
    assert run(n=1001, controlled=64)["exposed"] == 32
    runs = [run(n=1001, controlled=64, against=against, seed=seed) for seed in range(20)]
    exposed, claims = (sum(r[key] for r in runs) for key in ("exposed", "claims"))

    assert (
        claims == 0 or stats.binomtest(exposed, claims, 1001 / DOMAIN, alternative="greater").pvalue > ALARM
    )
    assert stats.binomtest(5, max(claims, 5), 1001 / DOMAIN, alternative="greater").pvalue < ALARM


def test_it_learns_the_same_from_a_simulation():
    column = Number("v", min=0, max=99)
    mechanism, people = NoisyHistogram((column,), Budget(1.0)), Schema([column])
    data = list(range(0, 100, 3))

    def attacker(world):
        return median_walk(world, controlled=range(24, 34), read=mechanism.median)

    for seed in range(20):
        real = dynamic_game(ReleaseOnce(mechanism, people), attacker, data, 10, seeded(seed))
        curator = ReleaseOnce(mechanism, people)
        assert real == ideal_game(curator, simulate(mechanism, people, attacker), data, 10, seeded(seed))


def test_own_points_below_the_median_are_left_alone():
    data = [10, 20, 30, 40, 50]
    outcome = dynamic_game(Retrain(median), lambda w: median_walk(w, controlled=[0, 4]), data, 2, seeded(7))
    assert outcome == ((0, 4), (20,))


@pytest.mark.parametrize(("n", "controlled"), [(0, 0), (DOMAIN + 1, 0), (10, 6), (10, -1)])
def test_impossible_sizes_are_refused(n, controlled):
    with pytest.raises(Misuse):
        run(n=n, controlled=controlled)
