"""Coins that nobody can reproduce: OpenDP's exact samplers for noise, the operating system for the rest."""

import functools
import math
import random

import numpy as np

from undeleted.errors import BadBudget
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins.laws import (
    ClampedGeometric,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    NoNoise,
    TruncatedGeometric,
)
from undeleted.foundations.types import Given

_system = random.SystemRandom()


class Secure:
    """OpenDP's exact samplers for noise, the operating system's generator for uniform choices."""

    kind = "secure"

    def bits(self, size: int) -> IntArray:
        return self.integers(0, 2, size)

    def integers(self, low: int, high: int, size: int) -> IntArray:
        return np.array([_system.randrange(low, high) for _ in range(size)], dtype=np.int64)

    def choose(self, population: int, count: int) -> IntArray:
        return np.array(_system.sample(range(population), count), dtype=np.int64)

    def noisy(self, law: Law, exact: IntArray) -> IntArray:
        if isinstance(law, NoNoise) or exact.size == 0:
            return exact.copy()
        if isinstance(law, TruncatedGeometric):
            raise BadBudget("noise", law, "unbounded: a truncated geometric is for exact worlds")
        noisy = np.asarray(_measurement(law)(exact), dtype=np.int64)
        return np.clip(noisy, law.low, law.high) if isinstance(law, ClampedGeometric) else noisy


def secure() -> Secure:
    """Coins for publishing."""
    return Secure()


@functools.lru_cache(maxsize=256)
def _measurement(law: DiscreteLaplace | DiscreteGaussian | ClampedGeometric) -> Given:
    """An OpenDP measurement that adds the law's noise to a vector of 64-bit integers."""
    import opendp.prelude as dp
    from opendp.core import as_array

    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T="i64"))
    if isinstance(law, DiscreteGaussian):
        measurement = dp.m.make_gaussian(integers, dp.l2_distance(T="f64"), scale=law.sigma)
    else:
        scale = law.scale if isinstance(law, DiscreteLaplace) else -1 / math.log(law.ratio)
        measurement = dp.m.make_laplace(integers, dp.l1_distance(T="i64"), scale=scale)
    return measurement >> as_array()
