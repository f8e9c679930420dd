"""How far an answer moves when noise of the same laws is added once more: intervals for what has no formula.

The noise is drawn around what was published, with coins that have nothing to do with those that made it.
"""

from collections.abc import Callable

import numpy as np

from undeleted.arrays import FloatArray
from undeleted.intervals import Estimate, check_confidence
from undeleted.mechanisms._linear import Linear
from undeleted.mechanisms._units import spread_of


def redrawn(
    mechanism: Linear,
    values: FloatArray,
    of: Callable[[FloatArray], FloatArray],
    confidence: float,
    draws: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """An answer, the ends of its interval, and its spread; each as wide as the answer is."""
    check_confidence(confidence)
    widths = [block.width for block in mechanism.statistic.blocks]
    spreads = np.repeat([spread_of(law) for law in mechanism.laws], widths)
    answer = of(values)
    generator = np.random.default_rng(0)
    moved = np.array([of(values + generator.normal(0.0, spreads)) for _ in range(draws)])
    tail = (1 - confidence) / 2
    low, high = np.quantile(moved, [tail, 1 - tail], axis=0)
    ends = np.minimum(2 * answer - high, low), np.maximum(2 * answer - low, high)
    return answer, *ends, moved.std(axis=0)


def estimates(
    mechanism: Linear,
    values: FloatArray,
    of: Callable[[FloatArray], FloatArray],
    confidence: float,
    draws: int,
) -> list[Estimate]:
    """The same, one by one."""
    found = redrawn(mechanism, values, of, confidence, draws)
    return [
        Estimate(float(a), float(low), float(high), confidence, float(s))
        for a, low, high, s in zip(*map(np.ravel, found), strict=True)
    ]
