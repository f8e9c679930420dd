"""Intervals for noisy integers: how far the exact value may be from the published one.

    a cell, or the sum of several     the shortest integer interval that holds the noise often enough
    a ratio of two cells              Fieller's set {μ : |S − μN| ≤ w(μ)}, unbounded when N may be 0

The noise is drawn once and deletions subtract exact integers, so an interval is as wide after a deletion
as before.  It is an interval for the clipped statistic on the grid, over the people who remain, and is
computed before any clamping.  The laws are discrete, so an interval may reach one step further on one side.

What is known to be impossible is left out last (`Estimate.within`): a count is never below 0, a mean never
outside its bounds.  The exact number is possible, so an interval that held it still does.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from undeleted.errors import BadQuestion
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace, Law, NoNoise
from undeleted.foundations.digits import in_digits
from undeleted.foundations.schema.dates import moment
from undeleted.foundations.types import Given

_FINE = 1000.0  # laws wider than this many steps are computed on a coarser lattice
_MANY = 64  # sums of more draws are nearly normal: the normal quantile, corrected for kurtosis


@dataclass(frozen=True)
class Estimate:
    """A number, an interval that contains the exact one with this confidence, and the standard error."""

    value: float
    low: float
    high: float
    confidence: float
    standard_error: float
    grain: str = field(default="", repr=False)  # of a date: the value counts its units since 1970-01-01

    def __contains__(self, exact: float) -> bool:
        return self.low <= exact <= self.high

    def within(self, least: float, most: float) -> "Estimate":
        """The estimate and its interval, brought to what is possible.

        >>> Estimate(-3.0, -8.0, 2.0, 0.95, 2.5).within(0, math.inf)
        Estimate(value=0, low=0, high=2.0, confidence=0.95, standard_error=2.5)
        """
        value, low, high = (min(max(x, least), most) for x in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)

    def __str__(self) -> str:
        value, low, high = (self.shown(x) for x in (self.value, self.low, self.high))
        if not self.grain:
            value, low, high = in_digits(value), in_digits(low), in_digits(high)
        return f"{value}  [{low}, {high}] at {self.confidence:.0%}"

    def shown(self, number: float) -> Given:
        """One of its numbers as people read it: a date if it is one, None if it is infinite or unknown."""
        if not self.grain:
            return number
        return moment(number, self.grain) if math.isfinite(number) else None


def estimate(noisy: int, law: Law, *, confidence: float, draws: int = 1, unit: float = 1.0) -> Estimate:
    """An estimate from the sum of `draws` cells, in units of the grid."""
    low, high = noise_interval(law, confidence, draws)
    spread = standard_deviation(law) * math.sqrt(draws)
    return Estimate(noisy * unit, (noisy - high) * unit, (noisy - low) * unit, confidence, spread * unit)


@functools.lru_cache(maxsize=1024)
def noise_interval(law: Law, confidence: float, draws: int = 1) -> tuple[int, int]:
    """The shortest integer interval low ≤ 0 ≤ high with P(low ≤ Σ η ≤ high) ≥ confidence."""
    check_confidence(confidence)
    if isinstance(law, NoNoise) or draws == 0:
        return 0, 0
    if draws > _MANY and _width(law) * math.sqrt(draws) > _FINE:
        reach = standard_deviation(law) * math.sqrt(draws) * _quantile(law, confidence, draws)
        half = max(0, math.ceil(reach - 0.5))  # the integers −half … half cover half a step more on each side
        return -half, half
    step = max(1, math.ceil(_width(law) / _FINE))
    weights = _sum_of(law, step, draws)
    zero = weights.size // 2
    low = high = 0
    held = weights[zero]
    while held < confidence and min(zero + low, weights.size - 1 - zero - high) > 0:
        if -low <= high:
            low -= 1
            held += weights[zero + low]
        else:
            high += 1
            held += weights[zero + high]
    slack = 0 if step == 1 else step
    return low * step - slack, high * step + slack


def half_interval(law: Law, confidence: float = 0.95) -> float:
    """Half the width of the interval for one draw of the noise."""
    low, high = noise_interval(law, confidence)
    return (high - low) / 2


def ratio_interval(
    numerator: int, denominator: int, laws: tuple[Law, Law], confidence: float
) -> tuple[float, float]:
    """Fieller's set for the ratio before noise; (−∞, ∞) when the denominator may be zero."""
    check_confidence(confidence)
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    reach = _half_width(laws, confidence)
    if denominator <= reach(math.inf):
        return -math.inf, math.inf
    middle = numerator / denominator
    span = reach(abs(middle)) / (denominator - reach(math.inf)) + 1e-12
    return (
        _root(lambda mu: numerator - mu * denominator - reach(abs(mu)), middle - 2 * span, middle),
        _root(lambda mu: numerator - mu * denominator + reach(abs(mu)), middle, middle + 2 * span),
    )


def standard_deviation(law: Law) -> float:
    """The standard deviation of one draw of the noise."""
    match law:
        case NoNoise():
            return 0.0
        case DiscreteLaplace(scale):
            q = math.exp(-1 / scale)
            return math.sqrt(2 * q) / -math.expm1(-1 / scale)
        case DiscreteGaussian(sigma) if sigma > 4:
            return sigma
    weights = _sum_of(law, 1, 1)
    points = np.arange(weights.size) - weights.size // 2
    return math.sqrt(float(weights @ points**2))


def check_confidence(confidence: float) -> None:
    if not 0 < confidence <= 1 - 1e-12:
        raise BadQuestion(
            f"confidence = {confidence!r} is not strictly between 0 and 1.", "Choose, say, 0.95."
        )


def _width(law: Law) -> float:
    match law:
        case DiscreteLaplace(scale):
            return scale
        case DiscreteGaussian(sigma):
            return sigma
    raise BadQuestion(
        f"{type(law).__name__} is a law for exact worlds and has no interval.",
        "Publish with a budget instead.",
    )


def _quantile(law: Law, confidence: float, draws: int) -> float:
    """The two-sided quantile of a sum of draws of unit variance (Cornish and Fisher)."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    kurtosis = 3.0 if isinstance(law, DiscreteLaplace) else 0.0
    return z + (z**3 - 3 * z) * kurtosis / (24 * draws)


def _sum_of(law: Law, step: int, draws: int) -> FloatArray:
    """P(Σ η = j · step), for j from −m to m, by the power of the characteristic function."""
    scale = _width(law) / step
    most = math.ceil(40 * scale * math.sqrt(draws)) + 8
    j = np.arange(-most, most + 1)
    exponent = np.abs(j) / scale if isinstance(law, DiscreteLaplace) else j**2 / (2 * scale**2)
    single = np.exp(-exponent)
    if draws == 1:
        return np.asarray(single / single.sum())
    wave = np.fft.rfft(np.fft.ifftshift(single / single.sum()))
    return np.asarray(np.fft.fftshift(np.fft.irfft(wave**draws, n=j.size)))


def _half_width(laws: tuple[Law, Law], confidence: float) -> Callable[[float], float]:
    """w(μ) with P(|η_S − μ η_N| ≤ w(μ)) ≥ confidence; at ∞, the slope of w."""

    def half_width(mu: float) -> float:
        a, b = (_width(laws[0]), mu * _width(laws[1])) if math.isfinite(mu) else (0.0, _width(laws[1]))
        slack = 0.5 * (1 + mu) if math.isfinite(mu) else 0.5
        if type(laws[0]) is not type(laws[1]):  # the union bound holds for any two laws
            each = (1 + confidence) / 2
            return _alone(laws[0], a, each) + _alone(laws[1], b, each) + slack
        if isinstance(laws[0], DiscreteGaussian):
            return NormalDist().inv_cdf((1 + confidence) / 2) * math.hypot(a, b) + slack
        return _reach_of_two_laplaces(a, b, 1 - confidence) + slack

    return functools.lru_cache(maxsize=None)(half_width)


def _alone(law: Law, scale: float, confidence: float) -> float:
    """The half-width of the interval for one noise term of this kind and scale."""
    if isinstance(law, DiscreteGaussian):
        return NormalDist().inv_cdf((1 + confidence) / 2) * scale
    return -math.log(1 - confidence) * scale


def _reach_of_two_laplaces(a: float, b: float, alpha: float) -> float:
    """w with P(|X + Y| > w) = α for independent Laplace X, Y of scales a and b.

    The logarithm of that probability is decreasing and concave, so Newton's method overshoots once and then
    descends to the root.
    """
    a, b = max(a, b), min(a, b)
    w = 0.0
    for _ in range(60 if a else 0):
        beyond, density = _two_laplaces_beyond(w, a, b)
        step = math.log(beyond / alpha) * beyond / density
        w += step
        if abs(step) <= 1e-15 * w:
            break
    return w


def _two_laplaces_beyond(w: float, a: float, b: float) -> tuple[float, float]:
    """P(|X + Y| > w) for independent Laplace X, Y of scales a ≥ b, and the density of |X + Y| at w."""
    first = math.exp(-w / a)
    if b < 1e-9 * a:
        return first, first / a
    if a - b < 1e-6 * a:
        return (1 + w / (2 * a)) * first, (1 + w / a) * first / (2 * a)
    r, second = b / a, math.exp(-w / b)
    return (first - r * r * second) / (1 - r * r), (first - r * second) / (a * (1 - r * r))


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """The zero of a decreasing function; the bracket is widened as needed."""
    while falling(low) < 0:
        low -= high - low
    while falling(high) > 0:
        high += high - low
    for _ in range(50):  # to 10⁻¹⁵ of the bracket
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
