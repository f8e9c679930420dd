"""Differencing, the threshold and the pads: who is exposed, and by whom not.

Covers: games/attacks/*.py
"""

import pytest
from scipy import stats

from undeleted.errors import BadBudget, Misuse


def run(name, **options):
    import importlib

    return importlib.import_module(f"undeleted.games.attacks.{name}").run(**options)


@pytest.mark.parametrize("against", ["retrain-sum", "exact-sum", "noisy-sum"])
def test_sums_in_a_row_give_every_leaver_away_and_nobody_else(against):
    result = run("sum_differencing", against=against)
    assert result["deleted_values_learned"] == result["predicted"] == 50


@pytest.mark.parametrize("against", ["recompute", "tree-counter"])
def test_noise_on_the_deletions_hides_the_leavers(against):
    """A value from 0 to 1000 is hit by luck; the noise is wider than that, so 5 of 50 has P < 1e-6."""
    assert run("sum_differencing", against=against)["deleted_values_learned"] < 5


def test_one_deletion_opens_the_vault_and_not_a_count():
    assert run("threshold", n=500)["exposed"] == 499
    assert run("threshold", n=500, against="noisy-count")["exposed"] == 0


@pytest.mark.parametrize("variant", ["", "-cumulative"])
@pytest.mark.parametrize("name", ["xor_pad", "xor_undeleted"])
def test_two_pads_give_a_point_away_every_time(name, variant):
    result = run(name, trials=200, against=name.replace("_", "-") + variant)
    assert result["recovered"] == result["predicted"] == 1


def test_unrelated_pads_give_nothing_away():
    """At 8 bits guessing hits now and then: no oftener than it should, at a false-alarm rate of 1e-6."""
    for name, against in (("xor_pad", "two-pads"), ("xor_undeleted", "two-pads")):
        assert run(name, bits=8, trials=300)["recovered"] == 1
        result = run(name, bits=8, trials=2000, against=against)
        assert stats.binomtest(result["hits"], 2000, result["guessing"], alternative="greater").pvalue > 1e-6


def test_a_pad_over_the_deleted_hides_those_who_stay():
    result = run("xor_undeleted", bits=32, trials=500, against="xor-pad")
    assert result["hits"] == 0


@pytest.mark.parametrize("strategy", ["one-sided", "two-sided", "alternating"])
@pytest.mark.parametrize("n", [100, 101, 1001])
@pytest.mark.parametrize("controlled", [0, 1, 2, 7, 40])
def test_every_strategy_exposes_what_the_ranks_say(strategy, n, controlled):
    result = run("median_walk", n=n, controlled=controlled, strategy=strategy)
    assert result["exposed"] == result["predicted"]
    assert result["wrong"] == 0
    if strategy == "alternating":
        assert result["exposed"] <= 1


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("sum_differencing", {"leavers": 2000}, Misuse),
        ("sum_differencing", {"epsilon": 0}, BadBudget),
        ("threshold", {"n": 1}, Misuse),
        ("xor_pad", {"bits": 63}, Misuse),
        ("xor_undeleted", {"n": 1}, Misuse),
        ("xor_pad", {"trials": 0}, Misuse),
    ],
)
def test_what_cannot_be_is_refused(name, options, error):
    with pytest.raises(error):
        run(name, **options)
