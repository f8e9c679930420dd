"""The square-root factorization of running totals, in integers.

    A = L·L      A the lower triangle of ones; L has the coefficients f₀ = 1, f_k = f_{k−1}·(2k − 1)/(2k)
    rows         Y_r = Σ_{c ≤ r} F_{r−c} x_c + N_r      F_k = round(2^bits · f_k), integers
    total        Σ_{c ≤ t} x_c = Σ_{j ≤ t} w_{t−j} (Y_j − N_j)      w the first column of A F⁻¹

A batch x_c moves row r by F_{r−c} x_c, so all rows together by Δ·√ΣF_k² in L2: this follows from the integers
that are used, and nothing is rounded later.  The weights w are floating point; they only read what is
published.  The factorization is that of Fichtenberger, Henzinger and Upadhyay (2023).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.errors import BadSetting
from undeleted.foundations.arrays import FloatArray, IntArray

MOST_TICKS = 100_000
BITS = 8  # more bits change the error by less than 0.2%


@dataclass(frozen=True)
class SquareRoot:
    """The coefficients and the weights for at most `horizon` ticks.

    >>> SquareRoot(4).coefficients
    array([256, 128,  96,  80])
    >>> rows = SquareRoot(4)
    >>> [round(float(rows.decode(rows.encode([[10], [20], [5]], t), t)[0]), 9) for t in range(3)]
    [10.0, 30.0, 35.0]
    """

    horizon: int
    bits: int = BITS

    def __post_init__(self) -> None:
        if not 1 <= self.horizon <= MOST_TICKS:
            raise BadSetting(
                f"a horizon of {self.horizon} ticks is not possible.",
                f"Choose from 1 to {MOST_TICKS:,} ticks.",
            )
        if not 0 <= self.bits <= 30:
            raise BadSetting(f"bits = {self.bits} is not from 0 to 30.", "Leave it out.")

    @cached_property
    def coefficients(self) -> IntArray:
        """F₀, …, F_{horizon−1}."""
        k = np.arange(1, self.horizon)
        exact = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
        integers: IntArray = np.rint(exact * 2**self.bits).astype(np.int64)
        return integers

    @cached_property
    def norm(self) -> float:
        """√ΣF_k²: how far a batch of size 1 moves all rows together."""
        return math.sqrt(sum(int(f) ** 2 for f in self.coefficients))

    @cached_property
    def weights(self) -> FloatArray:
        """w₀, …, w_{horizon−1}, by inverting the power series of F."""
        f = self.coefficients.astype(float)
        inverse = np.zeros(self.horizon)
        inverse[0] = 1 / f[0]
        for n in range(1, self.horizon):
            inverse[n] = -(f[1 : n + 1] @ inverse[n - 1 :: -1]) / f[0]
        return np.cumsum(inverse)

    def error(self, tick: int) -> float:
        """The standard deviation of the total at a tick, in units of one release with the same budget."""
        return self.norm * math.sqrt(float((self.weights[: tick + 1] ** 2).sum()))

    def encode(self, batches: list[list[int]] | IntArray, tick: int) -> IntArray:
        """The exact rows up to a tick."""
        x = np.asarray(batches, dtype=np.int64)
        return np.array([self.coefficients[r::-1] @ x[: r + 1] for r in range(tick + 1)])

    def decode(self, rows: IntArray, tick: int) -> FloatArray:
        """The running totals at the end of a tick."""
        decoded: FloatArray = self.weights[tick::-1] @ rows[: tick + 1]
        return decoded
