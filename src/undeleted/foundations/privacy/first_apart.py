"""Rows in which the first batch stands apart: it was published before, as a release of its own.

    rows      Y_0 = x_0 + N_0;  from then on the rows of another way, over the batches 1, 2, …
    total     Y_0 + the total of the others

Structures that grew where people are keep the shape that the first batch gave them.  The first people pay for
that release, and newcomers for the other rows: nobody pays for both.
"""

from dataclasses import dataclass

import numpy as np

from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy.running_totals import RunningTotals


@dataclass(frozen=True)
class FirstApart(RunningTotals):
    """The first batch alone, and the others in rows of another way, whose horizon is one tick shorter.

    >>> from undeleted.foundations.privacy.cohorts import Cohorts
    >>> rows = FirstApart(4, Cohorts(3))
    >>> rows.column(0, 4), rows.column(2, 4), rows.row(2), rows.weights_at(1)
    (array([1, 0, 0, 0]), array([1, 0]), array([0, 0, 1]), array([1., 1.]))
    """

    others: RunningTotals

    def column(self, joined: int, ticks: int) -> IntArray:
        if joined:
            return self.others.column(joined - 1, ticks - 1)
        moved = np.zeros(max(0, ticks), dtype=np.int64)
        moved[:1] = 1
        return moved

    def row(self, tick: int) -> IntArray:
        moves = np.zeros(tick + 1, dtype=np.int64)
        if tick:
            moves[1:] = self.others.row(tick - 1)
        else:
            moves[0] = 1
        return moves

    def weights_at(self, tick: int) -> FloatArray:
        later = self.others.weights_at(tick - 1) if tick else np.zeros(0)
        return np.concatenate([[1.0], later])

    @property
    def widest(self) -> int:
        return 1 + self.others.widest if self.horizon > 1 else 0

    @property
    def l1(self) -> int:
        return self.others.l1

    @property
    def norm(self) -> float:
        return self.others.norm

    @property
    def entered(self) -> int:
        return self.others.entered

    @property
    def largest(self) -> int:
        return self.others.largest
