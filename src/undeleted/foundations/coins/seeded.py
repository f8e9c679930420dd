"""Coins that can be reproduced from a seed: for the lab and for tests, never for publishing."""

import hashlib
import math

import numpy as np

from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins.laws import (
    ClampedGeometric,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    NoNoise,
    TruncatedGeometric,
)


class Seeded:
    """A seeded generator; the same seed gives the same coins."""

    kind = "seeded"

    def __init__(self, seed: int | str) -> None:
        number = isinstance(seed, int) and seed >= 0
        words = [int(seed)] if number else list(hashlib.sha256(str(seed).encode()).digest())
        self._generator = np.random.default_rng(words)

    def bits(self, size: int) -> IntArray:
        return self.integers(0, 2, size)

    def integers(self, low: int, high: int, size: int) -> IntArray:
        return self._generator.integers(low, high, size, dtype=np.int64)

    def choose(self, population: int, count: int) -> IntArray:
        return self._generator.choice(population, count, replace=False).astype(np.int64)

    def noisy(self, law: Law, exact: IntArray) -> IntArray:
        match law:
            case NoNoise():
                return exact.copy()
            case DiscreteLaplace(scale):
                return exact + self._laplace(scale, exact.size).reshape(exact.shape)
            case DiscreteGaussian(sigma):
                return exact + self._gaussian(sigma, exact.size).reshape(exact.shape)
            case ClampedGeometric(ratio, low, high):
                noise = self._laplace(-1 / math.log(ratio), exact.size).reshape(exact.shape)
                return np.asarray(np.clip(exact + noise, low, high), dtype=np.int64)
            case TruncatedGeometric(_, width):
                weights = [float(p) for p in law.probabilities]
                return exact + self._generator.choice(2 * width + 1, exact.shape, p=weights) - width

    def _laplace(self, scale: float, size: int) -> IntArray:
        """The difference of two geometrics of ratio exp(−1/scale)."""
        p = -math.expm1(-1 / scale)
        return self._generator.geometric(p, size) - self._generator.geometric(p, size)

    def _gaussian(self, sigma: float, size: int) -> IntArray:
        """Rejection from a discrete Laplace of scale ⌊σ⌋ + 1 (Canonne, Kamath, Steinke 2020, Algorithm 3)."""
        if sigma < 0.02:  # P(η ≠ 0) < e^-1000
            return np.zeros(size, dtype=np.int64)
        t = math.floor(sigma) + 1
        accepted = np.empty(0, dtype=np.int64)
        while accepted.size < size:
            draw = self._laplace(t, size - accepted.size)
            keep = np.exp(-((np.abs(draw) - sigma**2 / t) ** 2) / (2 * sigma**2))
            accepted = np.concatenate([accepted, draw[self._generator.random(draw.size) < keep]])
        return accepted


def seeded(seed: int | str) -> Seeded:
    """Coins for lab runs and tests; a text is hashed into a seed."""
    return Seeded(seed)
