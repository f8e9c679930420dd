"""Goodness of fit for integer noise; a p-value below ALARM is a failure."""

import numpy as np
from scipy import stats

from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace

ALARM = 1e-9  # how often a correct mechanism may fail one such test


def fit(noise, law) -> float:
    """Return the p-value of a chi-square test of the noise against a law, with bins that are large enough."""
    noise = np.asarray(noise)
    width = law.scale if isinstance(law, DiscreteLaplace) else law.sigma
    most = int(40 * width) + 10
    points = np.arange(-most, most + 1)
    exponent = np.abs(points) / width if isinstance(law, DiscreteLaplace) else points**2 / (2 * width**2)
    weights = np.exp(-exponent)
    weights /= weights.sum()
    edges = _edges(np.cumsum(weights), noise.size)
    expected = np.add.reduceat(weights, edges) * noise.size
    observed = np.add.reduceat(np.bincount(np.clip(noise, -most, most) + most, minlength=points.size), edges)
    return float(stats.chisquare(observed, expected).pvalue)


def _edges(cumulative, size):
    """Return where bins start, so that each expects at least 50 draws and there are at most 60 bins."""
    step = max(50 / size, 1 / 60)
    starts, last = [0], 0.0
    for i, c in enumerate(cumulative[:-1]):
        if c - last >= step and 1 - c >= step:
            starts.append(i + 1)
            last = c
    return np.array(starts)


def with_scale(law, factor):
    """The same kind of law, wider or narrower."""
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.scale * factor)
    return DiscreteGaussian(law.sigma * factor)
