"""Intervals for answers without a formula: how far an answer moves if noise of the same laws is added again.

The noise is added to the published values, with coins that are independent of those of the release.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from itertools import groupby
from operator import itemgetter

import numpy as np

from undeleted.curate.releases.linear import Linear
from undeleted.curate.releases.publishable import Answers
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.coins import Coins, FiniteLaw, seeded
from undeleted.foundations.intervals import Estimate, check_confidence
from undeleted.foundations.types import Given

DRAWS = 400  # of the noise, for the intervals of a model's parameters
_AT_ONCE = 1 << 20  # numbers that are drawn at a time


def redrawn(
    mechanism: Linear,
    values: FloatArray,
    of: Callable[[FloatArray], FloatArray],
    confidence: float,
    draws: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The answer, the ends of its interval, and its spread; all have the shape of the answer."""
    check_confidence(confidence)
    answer, coins = of(values), seeded("noise once more")
    at_once = max(1, _AT_ONCE // max(1, values.size))
    noise = (
        row
        for start in range(0, draws, at_once)
        for row in _noise(mechanism, coins, min(at_once, draws - start))
    )
    moved = np.array([of(values + row) for row in noise])
    tail = (1 - confidence) / 2
    low, high = np.quantile(moved, [tail, 1 - tail], axis=0)
    ends = np.minimum(2 * answer - high, low), np.maximum(2 * answer - low, high)
    return answer, *ends, moved.std(axis=0)


def _noise(mechanism: Linear, coins: Coins, draws: int) -> FloatArray:
    """Noise of the mechanism's laws for all cells, one row per draw; it is 0 for a law for exact worlds."""
    parts = []
    blocks = zip(mechanism.laws, (block.width for block in mechanism.statistic.blocks), strict=True)
    for law, run in groupby(blocks, key=itemgetter(0)):
        nothing = np.zeros(draws * sum(width for _, width in run), dtype=np.int64)
        noise = nothing if isinstance(law, FiniteLaw) else coins.noisy(law, nothing)
        parts.append(noise.reshape(draws, -1))
    return np.concatenate(parts, axis=1).astype(float)


def estimates(
    mechanism: Linear,
    values: FloatArray,
    of: Callable[[FloatArray], FloatArray],
    confidence: float,
    draws: int,
) -> list[Estimate]:
    """The same, as a list of estimates."""
    result = redrawn(mechanism, values, of, confidence, draws)
    return [
        Estimate(float(a), float(low), float(high), confidence, float(s))
        for a, low, high, s in zip(*map(np.ravel, result), strict=True)
    ]


class Parameters(ABC):
    """A model whose answers are its parameters, each with an interval from redrawn noise."""

    @abstractmethod
    def parameters(self) -> tuple[list[str], Callable[[FloatArray], FloatArray]]:
        """The names of the parameters, and the function that computes them from the cells."""

    def answers(self, release: Given, asked: Mapping[str, Given], confidence: float) -> Answers:
        labels, of = self.parameters()
        values = release.value.astype(float)
        mechanism: Given = self
        yield from zip(labels, estimates(mechanism, values, of, confidence, DRAWS), strict=True)
