"""Every batch alone: rows of their own people, each with the whole budget.

    rows      Y_r = x_r + N_r
    total     Σ_{j ≤ t} Y_j      its noise grows as the root of the number of ticks

Nothing of a batch is needed once its tick has closed.
"""

from dataclasses import dataclass

import numpy as np

from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy.running_totals import RunningTotals


@dataclass(frozen=True)
class Cohorts(RunningTotals):
    """The identity.

    >>> Cohorts(4).column(1, 4), Cohorts(4).row(2)
    (array([1, 0, 0]), array([0, 0, 1]))
    """

    def column(self, joined: int, ticks: int) -> IntArray:
        moved = np.zeros(max(0, ticks - joined), dtype=np.int64)
        moved[:1] = 1
        return moved

    def row(self, tick: int) -> IntArray:
        moves = np.zeros(tick + 1, dtype=np.int64)
        moves[tick] = 1
        return moves

    def weights_at(self, tick: int) -> FloatArray:
        return np.ones(tick + 1)

    @property
    def l1(self) -> int:
        return 1

    @property
    def norm(self) -> float:
        return 1.0

    @property
    def entered(self) -> int:
        return 1

    @property
    def largest(self) -> int:
        return 1
