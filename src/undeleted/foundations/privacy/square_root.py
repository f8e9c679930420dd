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
from undeleted.foundations.privacy.running_totals import RunningTotals

BITS = 8  # more bits change the error by less than 0.2%


@dataclass(frozen=True)
class SquareRoot(RunningTotals):
    """The factorization for at most `horizon` ticks.

    >>> SquareRoot(4).coefficients
    array([256, 128,  96,  80])
    >>> rows = SquareRoot(4)
    >>> [round(float(rows.weights_at(t) @ [rows.row(j) @ [10, 20, 5][: j + 1] for j in range(t + 1)]), 9)
    ...  for t in range(3)]
    [10.0, 30.0, 35.0]
    """

    bits: int = BITS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.bits <= 30:
            raise BadSetting(f"bits = {self.bits} is not from 0 to 30.", "Leave it out.")

    @cached_property
    def coefficients(self) -> IntArray:
        """F₀, …, F_{horizon−1}."""
        k = np.arange(1, self.horizon)
        exact = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
        integers: IntArray = np.rint(exact * 2**self.bits).astype(np.int64)
        return integers

    def column(self, joined: int, ticks: int) -> IntArray:
        return self.coefficients[: max(0, ticks - joined)]

    def row(self, tick: int) -> IntArray:
        return self.coefficients[tick::-1]

    @property
    def l1(self) -> int:
        return int(self.coefficients.sum())

    @cached_property
    def norm(self) -> float:
        """√ΣF_k²: how far a batch of size 1 moves all rows together."""
        return math.sqrt(sum(int(f) ** 2 for f in self.coefficients))

    @property
    def entered(self) -> int:
        return self.horizon

    @property
    def largest(self) -> int:
        return int(self.coefficients[0])

    @cached_property
    def weights(self) -> FloatArray:
        """w₀, …, w_{horizon−1}, by inverting the power series of F."""
        f = self.coefficients.astype(float)
        inverse = np.zeros(self.horizon)
        inverse[0] = 1 / f[0]
        for n in range(1, self.horizon):
            inverse[n] = -(f[1 : n + 1] @ inverse[n - 1 :: -1]) / f[0]
        return np.cumsum(inverse)

    def weights_at(self, tick: int) -> FloatArray:
        return self.weights[tick::-1]
