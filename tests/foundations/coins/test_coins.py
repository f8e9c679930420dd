"""All kinds of coins follow the same laws.

Covers: foundations/coins/*.py
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.fits import ALARM, fit, with_scale
from undeleted.errors import BadBudget, CoinsRefused, NotEnumerable, NotReproducible
from undeleted.foundations.coins import (
    ClampedGeometric,
    DiscreteGaussian,
    DiscreteLaplace,
    Enumerated,
    NoNoise,
    TruncatedGeometric,
    exact_law,
    outcomes,
    require_secure,
    secure,
    seeded,
)

LAWS = [DiscreteLaplace(0.7), DiscreteLaplace(2.0), DiscreteLaplace(300.0)]
LAWS += [DiscreteGaussian(0.6), DiscreteGaussian(3.0), DiscreteGaussian(250.5)]
HALF = Fraction(1, 2)


@pytest.mark.width
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("kind", ["secure", "seeded"])
def test_noise_is_as_wide_as_its_law(law, kind, coins):
    noise = (secure() if kind == "secure" else coins).noisy(law, np.zeros(40_000, dtype=np.int64))

    assert fit(noise, law) > ALARM
    assert fit(noise, with_scale(law, 0.85)) < ALARM, "this test cannot see too much noise"
    assert fit(noise, with_scale(law, 1.15)) < ALARM, "this test cannot see too little noise"


@pytest.mark.parametrize("kind", ["secure", "seeded"])
def test_noise_is_added_to_the_exact_values(kind, coins):
    tosser = secure() if kind == "secure" else coins
    exact = np.array([-(2**60), 0, 2**60])

    assert np.abs(tosser.noisy(DiscreteLaplace(1.0), exact) - exact).max() < 200
    assert np.array_equal(tosser.noisy(NoNoise(), exact), exact)
    assert tosser.noisy(DiscreteLaplace(1.0), exact[:0]).size == 0


@pytest.mark.parametrize("kind", ["secure", "seeded"])
def test_the_clamp_is_on_the_output_and_not_on_the_noise(kind, coins):
    law = ClampedGeometric(HALF, low=0, high=3)
    drawn = (secure() if kind == "secure" else coins).noisy(law, np.full(20_000, 2))
    expected = np.array([float(p) for p in law.probabilities(2)]) * drawn.size

    assert stats.chisquare(np.bincount(drawn, minlength=4), expected).pvalue > ALARM
    assert law.probabilities(2)[0] == Fraction(1, 6)  # P(η ≤ −2) = r²/(1 + r)


@given(
    ratio=st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20)),
    low=st.integers(-5, 5),
    width=st.integers(0, 6),
    exact=st.integers(-20, 20),
)
def test_a_clamped_geometric_is_a_law(ratio, low, width, exact):
    law = ClampedGeometric(ratio, low, low + width)
    probabilities = law.probabilities(exact)

    assert len(probabilities) == width + 1
    assert sum(probabilities) == 1
    assert min(probabilities) > 0
    for inside, (x, p) in enumerate(zip(range(low, low + width + 1), probabilities, strict=True)):
        if 0 < inside < width:
            assert p == (1 - ratio) / (1 + ratio) * ratio ** abs(x - exact)


def test_enumerated_coins_give_exact_probabilities():
    law = exact_law(lambda coins: (int(coins.bits(1)[0]), tuple(coins.choose(3, 2))))

    assert len(law) == 2 * 6
    assert set(law.values()) == {Fraction(1, 12)}


def test_enumerated_noise_is_the_law_of_the_seeded_noise(coins):
    noise = ClampedGeometric(Fraction(1, 3), low=-1, high=4)
    exact = np.array([1, 3])
    law = exact_law(lambda c: tuple(int(v) for v in c.noisy(noise, exact)))
    drawn = coins.noisy(noise, np.tile(exact, (30_000, 1)))
    keys = sorted(law)
    counts = [int((drawn == key).all(axis=1).sum()) for key in keys]

    assert sum(law.values()) == 1
    assert stats.chisquare(counts, [float(law[key]) * 30_000 for key in keys]).pvalue > ALARM


def test_later_tosses_may_depend_on_earlier_ones():
    def geometric(coins):
        length = 0
        while length < 3 and coins.bits(1)[0]:
            length += 1
        return length

    assert exact_law(geometric) == {0: HALF, 1: HALF**2, 2: HALF**3, 3: HALF**3}


@pytest.mark.parametrize("law", [DiscreteLaplace(1.0), DiscreteGaussian(1.0)], ids=str)
def test_enumerated_coins_refuse_infinite_laws_by_name(law):
    with pytest.raises(NotEnumerable, match=type(law).__name__):
        Enumerated().noisy(law, np.zeros(1, dtype=np.int64))


def test_a_function_that_is_not_one_of_its_coins_is_caught():
    calls = []

    def moody(coins):
        calls.append(1)
        return coins.integers(0, 1 + len(calls), 1)[0]

    with pytest.raises(NotReproducible):
        list(outcomes(moody))


def test_the_same_seed_gives_the_same_coins():
    draws = [
        seeded(seed).noisy(DiscreteLaplace(5.0), np.zeros(50, dtype=np.int64)) for seed in (7, 7, 8, "a")
    ]

    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert not np.array_equal(draws[0], draws[3])


@pytest.mark.parametrize("kind", ["secure", "seeded"])
def test_choices_are_uniform_and_without_replacement(kind, coins):
    tosser = secure() if kind == "secure" else coins
    drawn = np.array([tosser.choose(4, 2) for _ in range(6_000)])
    pairs = np.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16).reshape(4, 4)

    assert (np.diag(pairs) == 0).all()
    assert stats.chisquare(pairs[~np.eye(4, dtype=bool)]).pvalue > ALARM
    assert set(tosser.integers(3, 6, 200)) == {3, 4, 5}
    assert set(tosser.bits(100)) == {0, 1}


@pytest.mark.parametrize("tosser", [seeded(7), Enumerated()], ids=["seeded", "enumerated"])
def test_only_secure_coins_may_publish(tosser):
    require_secure(secure(), "publishing")
    with pytest.raises(CoinsRefused, match=f"got {tosser.kind} coins"):
        require_secure(tosser, "publishing")


def test_any_seed_will_do():
    assert seeded(-1).bits(20).tolist() != seeded(1).bits(20).tolist()
    assert seeded(1.5).bits(20).tolist() == seeded("1.5").bits(20).tolist()


def test_noise_that_would_not_fit_64_bits_is_refused():
    for law in (DiscreteLaplace, DiscreteGaussian):
        with pytest.raises(BadBudget, match="would not fit 64 bits"):
            law(2.0**57)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_scales_are_positive_and_finite(bad):
    with pytest.raises(BadBudget, match="positive and finite"):
        DiscreteLaplace(bad)
    with pytest.raises(BadBudget, match="positive and finite"):
        DiscreteGaussian(bad)


def test_a_geometric_needs_a_rational_ratio_and_an_interval():
    with pytest.raises(BadBudget, match="from 1e-9 to 1 − 1e-9"):
        ClampedGeometric(Fraction(1), 0, 1)
    with pytest.raises(BadBudget, match="from 1e-9 to 1 − 1e-9"):
        ClampedGeometric(0.5, 0, 1)
    with pytest.raises(BadBudget, match="at most high"):
        ClampedGeometric(HALF, 1, 0)


def test_truncated_noise_has_its_law_ignores_the_data_and_is_never_published():
    """Exact on enumerated coins, whatever the exact value; as drawn by seeded ones, with an alarm of 1e-9."""
    law = TruncatedGeometric(Fraction(1, 2), 2)
    expected = {
        -2: Fraction(1, 10),
        -1: Fraction(1, 5),
        0: Fraction(2, 5),
        1: Fraction(1, 5),
        2: Fraction(1, 10),
    }
    for exact in (0, 7):
        noise = exact_law(lambda coins, x=exact: int(coins.noisy(law, np.array([x]))[0]) - x)
        assert noise == expected

    drawn = seeded("truncated").noisy(law, np.zeros(20_000, dtype=np.int64))
    counts = [int((drawn == x).sum()) for x in expected]
    assert sum(counts) == drawn.size
    right = [float(p) * drawn.size for p in expected.values()]
    wide = [drawn.size / 5] * 5
    assert stats.chisquare(counts, right).pvalue > 1e-9
    assert stats.chisquare(counts, wide).pvalue < 1e-9, "this test cannot see another ratio"

    with pytest.raises(BadBudget, match="for exact worlds"):
        secure().noisy(law, np.array([1]))
