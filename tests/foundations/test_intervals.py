"""Intervals hold the noise as often as they say, from one cell to a hundred million."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from undeleted.errors import Misuse
from undeleted.foundations.coins import ClampedGeometric, DiscreteGaussian, DiscreteLaplace, NoNoise
from undeleted.foundations.intervals import (
    _reach_of_two_laplaces,
    noise_interval,
    ratio_interval,
    standard_deviation,
)


def chance_of(law, draws, low, high):
    """P(low ≤ Σ η ≤ high), by characteristic functions on a fine grid of angles: not how it was computed."""
    angles = (np.arange(200_000) + 0.5) * math.pi / 200_000
    if isinstance(law, DiscreteLaplace):
        q = math.exp(-1 / law.scale)
        wave = (1 - q) ** 2 / (1 - 2 * q * np.cos(angles) + q * q)
    else:
        turns = 2 * math.pi * np.arange(-4, 5)[:, None]  # Poisson's summation formula
        wave = np.exp(-(law.sigma**2) * (angles + turns) ** 2 / 2).sum(axis=0)
        wave /= np.exp(-(law.sigma**2) * turns**2 / 2).sum()
    total = wave**draws if draws < 2**20 else np.exp(draws * np.log(np.maximum(wave, 1e-300)))
    kernel = (np.sin((high + 0.5) * angles) - np.sin((low - 0.5) * angles)) / (2 * np.sin(angles / 2))
    return float((total * kernel).mean())


LAWS = [DiscreteLaplace(s) for s in (0.2, 0.5, 1.0, 1.7, 10.0)] + [
    DiscreteGaussian(s) for s in (0.4, 1.0, 3.0)
]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("draws", [1, 2, 5, 64, 65, 1000, 2**17])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_sums_of_cells_are_held_as_often_as_stated(law, draws, confidence):
    low, high = noise_interval(law, confidence, draws)
    held = chance_of(law, draws, low, high)

    assert held >= confidence - 2e-4
    if chance_of(law, draws, 0, 0) < 0.02:  # a law that hardly moves cannot be held to two points
        assert held <= confidence + 0.02


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(1.0), DiscreteGaussian(1.0), DiscreteLaplace(100.0)], ids=str
)
@pytest.mark.parametrize("draws", [2**20, 2**27])
def test_sums_of_very_many_cells_are_nearly_normal(law, draws):
    low, high = noise_interval(law, 0.95, draws)
    spread = standard_deviation(law) * math.sqrt(draws)

    assert stats.norm.cdf(high / spread) - stats.norm.cdf(low / spread) == pytest.approx(0.95, abs=1e-3)


@pytest.mark.parametrize("law", [DiscreteLaplace(5e4), DiscreteGaussian(3e6)], ids=str)
def test_wide_laws_are_laid_on_a_coarser_lattice_and_still_hold(law):
    low, high = noise_interval(law, 0.95)
    wide = stats.laplace(scale=5e4) if isinstance(law, DiscreteLaplace) else stats.norm(scale=3e6)
    assert 0.95 <= wide.cdf(high) - wide.cdf(low) < 0.953


@pytest.mark.parametrize("law", [*LAWS, DiscreteLaplace(300.0), DiscreteGaussian(50.0)], ids=str)
def test_standard_deviations_are_those_of_the_law(law):
    width = law.scale if isinstance(law, DiscreteLaplace) else law.sigma
    points = np.arange(-int(60 * width) - 5, int(60 * width) + 6)
    exponent = np.abs(points) / width if isinstance(law, DiscreteLaplace) else points**2 / (2 * width**2)
    weights = np.exp(-exponent) / np.exp(-exponent).sum()
    assert standard_deviation(law) == pytest.approx(math.sqrt(weights @ points**2), rel=1e-6)


def test_no_noise_needs_no_interval_and_a_finite_law_has_none():
    from fractions import Fraction

    assert noise_interval(NoNoise(), 0.95) == (0, 0)
    assert noise_interval(DiscreteLaplace(3.0), 0.95, 0) == (0, 0)
    with pytest.raises(Misuse, match="has no interval"):
        noise_interval(ClampedGeometric(Fraction(1, 2), 0, 3), 0.95)


def test_a_ratio_is_unbounded_when_its_denominator_may_be_zero():
    laws = (DiscreteLaplace(10.0), DiscreteLaplace(10.0))
    assert ratio_interval(50, 20, laws, 0.95) == (-math.inf, math.inf)
    low, high = ratio_interval(5000, 1000, laws, 0.95)
    assert low < 5 < high
    assert high - low < 1
    assert ratio_interval(-5000, -1000, laws, 0.95) == (low, high)
    tiny = (DiscreteLaplace(1e-200), DiscreteLaplace(1e-200))
    assert ratio_interval(10, 2, tiny, 0.95) == pytest.approx((5, 5), abs=2)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, math.nan])
def test_a_confidence_lies_strictly_between_0_and_1(confidence):
    with pytest.raises(Misuse, match="confidence"):
        noise_interval(DiscreteLaplace(1.0), confidence)


@settings(max_examples=40)
@given(st.floats(0.1, 50), st.floats(0.0, 1.0), st.sampled_from([0.5, 0.1, 0.01, 1e-6]))
def test_two_laplaces_reach_as_far_as_their_convolution_says(a, ratio, alpha):
    """Against an integral that knows nothing of the closed form: P(|X + Y| > w) = E P(|x + Y| > w)."""
    b = ratio * a if ratio > 0.01 else 0.0
    reach = _reach_of_two_laplaces(a, b, alpha)
    if b == 0.0:
        assert reach == pytest.approx(-math.log(alpha) * a)
        return
    x = stats.laplace(scale=a)
    beyond = (
        2
        * integrate.quad(
            lambda y: x.sf(reach - y) * math.exp(-abs(y) / b) / (2 * b),
            -40 * b,
            40 * b,
            points=sorted({0.0, max(-40 * b, min(40 * b, reach))}),
            limit=200,
        )[0]
    )
    assert beyond == pytest.approx(alpha, rel=1e-5)
