"""How the batches of a growing table enter the rows that are published, one row for every tick.

    rows      Y_r = Σ_{c ≤ r} A_rc x_c + N_r      x_c the exact total of batch c, A_rc integers
    total     Σ_{c ≤ t} x_c = Σ_{j ≤ t} w_tj (Y_j − N_j)

    square_root   A from the square-root factorization; the noise of a total hardly grows with the horizon
    cohorts       A the identity: every batch alone
    binary_tree   A of 0 and 1: row r holds the batches of one node of a binary tree

How far a person moves all rows together follows from these integers; nothing is rounded afterwards.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from undeleted.errors import BadSetting
from undeleted.foundations.arrays import FloatArray, IntArray

MOST_TICKS = 100_000


@dataclass(frozen=True)
class RunningTotals(ABC):
    """The coefficients and the weights for at most `horizon` ticks."""

    horizon: int

    def __post_init__(self) -> None:
        whole = isinstance(self.horizon, int) and not isinstance(self.horizon, bool)
        if not whole or not 1 <= self.horizon <= MOST_TICKS:
            raise BadSetting(
                f"a horizon of {self.horizon} ticks is not possible.",
                f"Choose from 1 to {MOST_TICKS:,} ticks.",
            )

    @abstractmethod
    def column(self, joined: int, ticks: int) -> IntArray:
        """By how much the batch of tick `joined` moves the rows joined, …, ticks − 1."""

    @abstractmethod
    def row(self, tick: int) -> IntArray:
        """By how much the batches 0, …, tick move the row of a tick."""

    @abstractmethod
    def weights_at(self, tick: int) -> FloatArray:
        """The weights of the rows 0, …, tick in the total at the end of a tick."""

    @property
    @abstractmethod
    def l1(self) -> int:
        """How far a batch of size 1 moves all rows together at most, in L1."""

    @property
    @abstractmethod
    def norm(self) -> float:
        """The same in L2."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The largest coefficient."""

    @property
    @abstractmethod
    def entered(self) -> int:
        """The most rows that a batch enters."""

    @property
    def widest(self) -> int:
        """The tick whose total has the most noise."""
        return self.horizon - 1

    def decode(self, rows: IntArray, tick: int) -> FloatArray:
        """The running totals at the end of a tick."""
        weights = self.weights_at(tick)
        used = weights.nonzero()[0]
        decoded: FloatArray = weights[used] @ rows[used]
        return decoded

    def spread(self, tick: int) -> float:
        """The standard deviation of the total at a tick, if that of every row is 1."""
        return math.sqrt(float((self.weights_at(tick) ** 2).sum()))
