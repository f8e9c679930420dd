"""Publish noisy counts, sums and squares by class once: means, variances, Gaussian naive Bayes (M7).

    release   for every class n + η; for every number Σ 2hc + η and Σ (h² − c²) + η
    forget    subtract the record's own terms from the cells of its class
    answer    class shares, means and variances, from moments clamped to possible values

A variance that is mostly noise is shrunk towards the one that all classes share.  The noise of a mean is
added to the variance with which a record is scored, so a number that is mostly noise has little effect.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.bootstrap import Parameters
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import (
    CLASSES,
    NUMBERS,
    Rows,
    Takes,
    classes_of,
    decoded,
    likeliest,
)
from undeleted.curate.releases.units import Units, spread_of, units_of
from undeleted.curate.statistics.class_moments import ClassMoments
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import GridColumn

_TINY = 1e-9  # a variance in units of the half range, squared: less than that of rounding to 2¹³ steps


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A Gaussian per class and number, in their own units; `blur` is the variance of a mean's noise."""

    counts: FloatArray
    means: FloatArray
    variances: FloatArray
    blur: FloatArray

    @property
    def shares(self) -> FloatArray:
        return np.asarray(self.counts / self.counts.sum())

    def log_joint(self, values: FloatArray) -> FloatArray:
        """log P(class) + log P(values | class), one row per record and one column per class."""
        return np.asarray(np.log(self.shares) + self.log_likelihood(values))

    def log_likelihood(self, values: FloatArray) -> FloatArray:
        """log P(values | class), with variances that include the noise of their means."""
        result = np.empty((len(values), len(self.means)))
        for k, (mean, spread) in enumerate(zip(self.means, self.variances + self.blur, strict=True)):
            far = (values - mean) ** 2 / spread
            result[:, k] = -0.5 * (np.log(2 * np.pi * spread) + far).sum(axis=1)
        return result


@dataclass(frozen=True)
class NoisyClassMoments(Parameters, Linear):
    """Noisy moments by class.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Boolean, Number, Schema
    >>> height, tall = Number("height", min=100, max=220), Boolean("tall")
    >>> mechanism = NoisyClassMoments((height,), Budget(1e6), by=tall)
    >>> people = Schema([height, tall]).table([(150 + i % 50, i % 50 > 30) for i in range(500)])
    >>> result = mechanism.gaussians(mechanism.release(Arrays(people), seeded(7)))
    >>> result.means.round(1).tolist()
    [[165.0], [190.0]]
    """

    kinds: ClassVar = {"naive-bayes": (Takes("features", NUMBERS, "numbers", target=CLASSES),)}

    over: tuple[GridColumn, ...]
    budget: Noise
    by: GridColumn | None = None
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> ClassMoments:
        return ClassMoments(self.over, self.by)

    def parameters(self) -> tuple[list[str], Callable[[FloatArray], FloatArray]]:
        classes, names = classes_of(self.by), [column.name for column in self.over]
        labels = [f"share of {c}" for c in classes] + [f"mean {n} of {c}" for c in classes for n in names]

        def gaussians(values: FloatArray) -> FloatArray:
            result = self.gaussians_of(values)
            return np.concatenate([result.shares, result.means.ravel()])

        return labels, gaussians

    def predictions(self, release: Cells, codes: IntArray) -> Rows:
        return likeliest(self.by, self.gaussians(release).log_joint(decoded(self.over, codes)))

    @cached_property
    def units(self) -> Units:
        return units_of(self.over)

    @cached_property
    def _plan(self) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Factors from cells to units of u, and the spread of the noise of counts, sums and squares in u."""
        scale = np.ones(self.statistic.size)
        for start, block in zip(self.statistic.starts[1:], self.statistic.blocks[1:], strict=True):
            scale[start : start + block.width // 2] = 1 / block.reach
            scale[start + block.width // 2 : start + block.width] = 2 / block.reach
        noise = np.array([spread_of(law) for law in self.laws])
        reach = np.array(self.statistic.reaches)
        return scale, float(noise[0]), noise[1:] / reach[1:], 2 * noise[1:] / reach[1:]

    def counts(self, release: Cells) -> FloatArray:
        """The noisy class counts, unchanged."""
        return release.value[: self.statistic.classes].astype(float)

    def gaussians(self, release: Cells) -> Gaussians:
        """The Gaussians of every class."""
        return self.gaussians_of(release.value.astype(float))

    def gaussians_of(self, values: FloatArray) -> Gaussians:
        scale, _, noise_of_sums, noise_of_squares = self._plan
        k, d = self.statistic.classes, len(self.over)
        cells = values * scale
        counts = np.maximum(cells[:k], 1.0)
        moments = cells[k:].reshape(d, 2, k)
        n = counts[:, None]
        means = np.clip(moments[:, 0].T / n, -1.0, 1.0)
        variances = 1 - moments[:, 1].T / n - means**2
        blur = np.minimum(noise_of_sums / n, 1.0) ** 2
        noise_variance = (noise_of_squares / n) ** 2 + (2 * means) ** 2 * blur
        variances = _shrunk_variances(variances, noise_variance, counts / counts.sum())
        half = self.units.half
        return Gaussians(counts, self.units.centre + half * means, half**2 * variances, half**2 * blur)


def _shrunk_variances(variances: FloatArray, noise_variance: FloatArray, shares: FloatArray) -> FloatArray:
    """Variances by class, shrunk towards those of all classes together by the share that noise explains."""
    weight = shares[:, None]
    common = (weight * variances).sum(axis=0)
    doubt = np.sqrt((weight**2 * noise_variance).sum(axis=0))
    common = np.clip(np.maximum(common, doubt / 2), _TINY, 1.0)
    deviations = variances - common
    kept = max(0.0, 1 - float(noise_variance.sum()) / max(float((deviations**2).sum()), 1e-300))
    least = np.where(noise_variance > 0, 0.1 * common, _TINY)
    return np.asarray(np.clip(common + kept * deviations, least, 1.0))
