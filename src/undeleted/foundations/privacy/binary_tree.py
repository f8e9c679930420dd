"""A binary tree over the ticks, in which every tick closes one node (Fenwick 1994).

    rows      Y_r = Σ x_c over the 2^i batches that end with r; 2^i is the largest power that divides r + 1
    total     the sum of one row for every 1 among the binary digits of t + 1

A batch is in at most ⌊log₂ horizon⌋ + 1 rows, so pure ε divides by that number.  At long horizons the total
is then less noisy than with cohorts.
"""

import math
from dataclasses import dataclass

import numpy as np

from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy.running_totals import RunningTotals


@dataclass(frozen=True)
class BinaryTree(RunningTotals):
    """The nodes that each tick closes.

    >>> tree = BinaryTree(8)
    >>> tree.column(0, 8), tree.row(5), tree.weights_at(6), tree.l1
    (array([1, 1, 0, 1, 0, 0, 0, 1]), array([0, 0, 0, 0, 1, 1]), array([0., 0., 0., 1., 0., 1., 1.]), 4)
    """

    def column(self, joined: int, ticks: int) -> IntArray:
        moved = np.zeros(max(0, ticks - joined), dtype=np.int64)
        at = joined + 1
        while at <= ticks:
            moved[at - 1 - joined] = 1
            at += at & -at
        return moved

    def row(self, tick: int) -> IntArray:
        moves = np.zeros(tick + 1, dtype=np.int64)
        moves[tick + 1 - (tick + 1 & -(tick + 1)) :] = 1
        return moves

    def weights_at(self, tick: int) -> FloatArray:
        weights, at = np.zeros(tick + 1), tick + 1
        while at:
            weights[at - 1] = 1.0
            at &= at - 1
        return weights

    @property
    def widest(self) -> int:
        """The tick t where t + 1 has the most ones in binary: each is a row, and each row has its noise."""
        ones = (1 << (self.horizon.bit_length() - 1)) - 2
        return max(self.horizon - 1, ones, key=self.spread) if ones > 0 else self.horizon - 1

    @property
    def l1(self) -> int:
        """The batch of the first tick is in the most rows: one for every power of 2 up to the horizon."""
        return self.horizon.bit_length()

    @property
    def norm(self) -> float:
        return math.sqrt(self.l1)

    @property
    def entered(self) -> int:
        return self.l1

    @property
    def largest(self) -> int:
        return 1
