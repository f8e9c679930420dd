"""Noisy counts brought to what is possible: no cell below 0, and the same total.

    c ← max(y − τ, 0)      with τ such that Σ c = max(Σ y, 0)

This is the nearest table of counts with this total (a projection onto a simplex), rounded to whole people.
Sums of its cells agree with each other: a margin is the sum of the cells that are shown.  It is computed from
what is published, on a copy.
"""

import numpy as np

from undeleted.foundations.arrays import IntArray


def possible_counts(noisy: IntArray) -> IntArray:
    """The nearest counts that are possible, in the shape of the noisy ones.

    >>> possible_counts(np.array([40, -3, 5, 1]))
    array([39,  0,  4,  0])
    >>> possible_counts(np.array([-3, 1]))
    array([0, 0])
    """
    flat = noisy.ravel().astype(np.int64)
    total = int(flat.sum())
    if total <= 0 or flat.size == 0:
        return np.zeros_like(noisy)
    if int(flat.min()) >= 0:
        return noisy.copy()
    descending = np.sort(flat)[::-1]
    sums = np.cumsum(descending)
    sizes = np.arange(1, flat.size + 1)
    kept = int(np.flatnonzero(descending * sizes > sums - total)[-1]) + 1  # cells that stay above 0
    exact = np.maximum(flat - (int(sums[kept - 1]) - total) / kept, 0.0)
    counts = np.floor(exact).astype(np.int64)
    rest = total - int(counts.sum())  # whole people that rounding down left out: to the largest fractions
    counts[np.argsort(counts - exact, kind="stable")[:rest]] += 1
    shaped: IntArray = counts.reshape(noisy.shape)
    return shaped
