"""The noise laws, as values.

    DiscreteLaplace(b)          P(x) ∝ exp(−|x| / b)             pure ε
    DiscreteGaussian(σ)         P(x) ∝ exp(−x² / 2σ²)            zCDP and (ε, δ)
    ClampedGeometric(r, a, b)   clamp(x + η, a, b), P(η) ∝ r^|η|  finite and rational: for exact worlds
    TruncatedGeometric(r, w)    P(x) ∝ r^|x| for |x| ≤ w          the same, with noise that ignores the data
    NoNoise                     the exact sum; it satisfies no ε

Canonne, Kamath, Steinke (2020) give the discrete Gaussian; Ghosh, Roughgarden, Sundararajan (2009) the
geometric with clamped output.
"""

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from undeleted.errors import BadBudget

WIDEST = 2.0**56  # noise beyond 2⁶² then has probability e^-64


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(x) ∝ exp(−|x| / scale) on the integers."""

    scale: float

    def __post_init__(self) -> None:
        _positive("scale", self.scale)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(x) ∝ exp(−x² / 2σ²) on the integers."""

    sigma: float

    def __post_init__(self) -> None:
        _positive("sigma", self.sigma)


@dataclass(frozen=True)
class ClampedGeometric:
    """Two-sided geometric noise of a rational ratio; the noisy output is clamped to [low, high]."""

    ratio: Fraction
    low: int
    high: int

    def __post_init__(self) -> None:
        least = Fraction(1, 10**9)
        if not (isinstance(self.ratio, Fraction) and least <= self.ratio <= 1 - least):
            raise BadBudget("ratio", self.ratio, "a Fraction from 1e-9 to 1 − 1e-9")
        if self.low > self.high:
            raise BadBudget("low", self.low, f"at most high = {self.high}")

    @functools.cache  # noqa: B019  exact worlds are small and use the same few values repeatedly
    def probabilities(self, exact: int) -> tuple[Fraction, ...]:
        """P(output = low), …, P(output = high) for a given exact value."""
        at_most = [self._at_most(x - exact) for x in range(self.low, self.high)] + [Fraction(1)]
        return at_most[0], *(b - a for a, b in itertools.pairwise(at_most))

    def _at_most(self, x: int) -> Fraction:
        r = self.ratio
        return 1 - r ** (x + 1) / (1 + r) if x >= 0 else r**-x / (1 + r)


@dataclass(frozen=True)
class TruncatedGeometric:
    """P(η) ∝ r^|η| for |η| ≤ width, and 0 beyond: (ε, δ) with a large δ, so never for publishing.

    In an exact world it keeps what clamping destroys: a noisy sum minus a point is a noisy sum of the rest.
    """

    ratio: Fraction
    width: int

    def __post_init__(self) -> None:
        if not (isinstance(self.ratio, Fraction) and 0 < self.ratio < 1):
            raise BadBudget("ratio", self.ratio, "a Fraction strictly between 0 and 1")
        if self.width < 1:
            raise BadBudget("width", self.width, "at least 1")

    @functools.cached_property
    def probabilities(self) -> tuple[Fraction, ...]:
        """P(η = −width), …, P(η = width)."""
        weights = [self.ratio ** abs(x) for x in range(-self.width, self.width + 1)]
        return tuple(w / sum(weights) for w in weights)


@dataclass(frozen=True)
class NoNoise:
    """The exact sum."""


FiniteLaw: TypeAlias = ClampedGeometric | TruncatedGeometric  # for exact worlds; no ε is claimed
Law: TypeAlias = DiscreteLaplace | DiscreteGaussian | FiniteLaw | NoNoise


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise BadBudget(name, value, "positive and finite")
    if value > WIDEST:
        raise BadBudget(
            name, value, "at most 2⁵⁶, or the noise would not fit 64 bits: spend more ε or narrow the bounds"
        )
