"""Noisy prefix sums of a stream by a binary tree of partial sums (Dwork, Naor, Pitassi, Rothblum 2010).

A prefix of length t is the disjoint union of at most log₂ t + 1 dyadic blocks [i·2ʲ, (i+1)·2ʲ), one for
every 1 in t's binary digits.  Each block's sum gets its noise once, when it is first used.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.releases.linear import add_noise
from undeleted.curate.statistics import Statistic
from undeleted.errors import BadBudget, BudgetSpent
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins, Law
from undeleted.foundations.privacy import Budget, Noise, Zcdp, as_noise, calibrate
from undeleted.foundations.schema import Schema
from undeleted.games.baselines._points import Point, Points, nonempty, started, without

Sum: TypeAlias = Callable[[int, int], IntArray]  # the exact sum of the stream's elements from, …, to − 1


def levels_of(length: int) -> int:
    """How many sizes of blocks a stream of this length has."""
    return max(1, length.bit_length())


def noise_for(statistic: Statistic, budget: Noise, times: int) -> tuple[Law, ...]:
    """One law per block of the statistic, for a person who is in `times` of its noisy sums."""
    noise = as_noise(budget)
    if isinstance(noise, Budget | Zcdp):
        return calibrate([statistic.sensitivity], noise, times=times)[0]
    return noise if isinstance(noise, tuple) else (noise,) * len(statistic.blocks)


class Continual:
    """The bookkeeping of a curator under continual observation: who is left, and the stream of deletions."""

    def __init__(self, statistic: Statistic, schema: Schema, horizon: int) -> None:
        if not isinstance(horizon, int) or horizon < 1:
            raise BadBudget("horizon", horizon, "at least 1")
        self.statistic, self.schema, self.horizon = statistic, schema, horizon
        self._left: Points | None = None
        self._stream: list[tuple[Point, ...]] = []

    def _begin(self, data: Sequence[Point]) -> IntArray:
        """Take the data and return their exact total."""
        self._left, self._stream = nonempty(data, self), []
        return Arrays(self.schema.table(list(self._left))).total(self.statistic)

    def _advance(self, points: Sequence[Point]) -> int:
        """Delete points within the horizon, and return the number of requests so far.

        A request is one element of the stream, however many people it names.  With one element per person,
        one person more or fewer would move all later elements to other blocks, which would be visible.
        """
        left = without(started(self._left, self), points)
        if len(self._stream) >= self.horizon:
            raise BudgetSpent(f"deletion {len(self._stream) + 1}", 1 / self.horizon, 0.0, 1.0)
        self._left = left
        self._stream.append(tuple(points))
        return len(self._stream)

    def _deleted(self, start: int, end: int) -> IntArray:
        """The total that the requests start, …, end − 1 removed."""
        points = [point for batch in self._stream[start:end] for point in batch]
        gone = self.statistic.of(self.schema.table(points))
        total = np.zeros(self.statistic.size, dtype=np.int64)
        total[gone.cells] = gone.values
        return total


class Dyadic:
    """The noisy blocks of one stream."""

    def __init__(self, statistic: Statistic, laws: Sequence[Law], exact: Sum, coins: Coins) -> None:
        self._statistic, self._laws, self._exact, self._coins = statistic, laws, exact, coins
        self._blocks: dict[tuple[int, int], IntArray] = {}

    def prefix(self, length: int) -> IntArray:
        """The noisy sum of the first elements of the stream."""
        total = np.zeros(self._statistic.size, dtype=np.int64)
        start = 0
        for level in reversed(range(length.bit_length())):
            if length >> level & 1:
                total += self._block(level, start)
                start += 1 << level
        return total

    def _block(self, level: int, start: int) -> IntArray:
        if (level, start) not in self._blocks:
            exact = self._exact(start, start + (1 << level))
            self._blocks[level, start] = add_noise(self._statistic, self._laws, exact, self._coins)
        return self._blocks[level, start]
