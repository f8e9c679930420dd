"""Publish noisy sums, squares and products once: least squares, discriminants, principal components (M7).

    release   y = the second moments of the features, with those of a target or by class, + η
    forget    subtract the record's own moments
    answer    a covariance that is regularised for the noise; linear models solved from it

The spread s of a product's noise is known, so the regularisation needs no guesses:

    off-diagonal entries    shrunk towards 0 by the share of their squares that noise explains
    the diagonal            raised by s√d, half of what the noise may take off an eigenvalue
    covariances with y      shrunk in the same way; all of them 0 when noise explains them
    means                   shrunk in the same way, towards the middle of the bounds, for the intercept

With little noise nothing is changed, and the answers are those of the exact moments.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

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
from undeleted.curate.statistics.second_moments import SecondMoments
from undeleted.errors import BadQuestion
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import GridColumn

_TINY = 1e-9  # a variance in units of the half range, squared


@dataclass(frozen=True, eq=False)
class _Plan:
    """Constants that all answers share: where the cells are, their units, and their noise."""

    scale: FloatArray
    empty: FloatArray  # a zero for every cell, and one more
    sums: IntArray  # one row per class, one column per number
    table: IntArray  # cells: the means in row 0, then every pair of numbers; the extra one for missing pairs
    to_slopes: FloatArray
    of_sums: FloatArray
    of_squares: FloatArray
    of_products: float
    of_target: float  # the squared noise of the target's sum
    sums_together: float  # the squared noise of the features' sums, added up
    target_together: float  # the same for their products with the target
    means_together: float  # the same for all sums


@dataclass(frozen=True)
class NoisySecondMoments(Parameters, Linear):
    """Noisy second moments.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Number, Schema
    >>> x, y = Number("x", min=0, max=10), Number("y", min=0, max=20)
    >>> mechanism = NoisySecondMoments((x,), Budget(1e6), target=y)
    >>> people = Schema([x, y]).table([(i % 11, 2 * (i % 11)) for i in range(1100)])
    >>> slopes, intercept = mechanism.least_squares(mechanism.release(Arrays(people), seeded(7)))
    >>> round(float(slopes[0]), 2), round(abs(intercept), 1)
    (2.0, 0.0)
    """

    kinds: ClassVar = {
        "pca": (Takes("features", NUMBERS, "numbers"),),
        "linear-regression": (Takes("features", NUMBERS, "numbers", NUMBERS, "numbers", target_as="target"),),
        "logistic-regression": (
            Takes("features", NUMBERS, "numbers", target=CLASSES, options={"products": True}),
        ),
    }

    over: tuple[GridColumn, ...]
    budget: Noise
    by: GridColumn | None = None
    target: GridColumn | None = None
    products: bool = True
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> SecondMoments:
        return SecondMoments(self.over, self.by, self.target, self.products)

    @property
    def kind(self) -> str:
        if self.target is not None:
            return "linear-regression"
        return "pca" if self.by is None else "logistic-regression"

    def parameters(self) -> tuple[list[str], Callable[[FloatArray], FloatArray]]:
        names = [column.name for column in self.over]
        if self.target is not None:
            labels = [f"{self.target.name} ~ {name}" for name in ("(intercept)", *names)]
            return labels, lambda values: np.append(*self.least_squares_of(values)[::-1])
        if self.by is not None:
            first, *others = classes_of(self.by)
            labels = [f"{c} against {first} ~ {name}" for c in others for name in ("(intercept)", *names)]
            return labels, self._against_the_first
        return [f"share of variance, component {i + 1}" for i in range(len(names))], self._shares

    def _against_the_first(self, values: FloatArray) -> FloatArray:
        """Log odds, without regularisation: an interval would not show its bias."""
        slopes, intercepts = self.discriminants_of(values, regularise=False)
        rows = np.column_stack([intercepts, slopes])
        return np.asarray((rows[1:] - rows[0]).ravel())

    def _shares(self, values: FloatArray) -> FloatArray:
        """The share of the variance of each component, the largest first."""
        variances = np.maximum(np.linalg.eigvalsh(self.covariance_of(values)[1])[::-1], 0.0)
        return np.asarray(variances / max(float(variances.sum()), 1e-300))

    def predictions(self, release: Cells, codes: IntArray) -> Rows:
        values, rows = release.value.astype(float), decoded(self.over, codes)
        if self.target is not None:
            slopes, intercept = self.least_squares_of(values)
            return [{"prediction": float(p)} for p in rows @ slopes + intercept]
        if self.by is not None:
            slopes, intercepts = self.discriminants_of(values)
            return likeliest(self.by, rows @ slopes.T + intercepts)
        mean, covariance = self.covariance_of(values)
        basis = np.linalg.eigh(covariance)[1][:, ::-1]
        return [{"prediction": [float(v) for v in row]} for row in (rows - mean) @ basis]

    @cached_property
    def units(self) -> Units:
        return units_of(self.statistic.numbers)

    def counts(self, release: Cells) -> FloatArray:
        """The noisy counts, unchanged, by class if there are classes."""
        return release.value[: self.statistic.classes].astype(float)

    def least_squares(self, release: Cells, penalty: float = 0.0) -> tuple[FloatArray, float]:
        """Slopes and intercept, in the columns' own units; `penalty` is that of ridge regression."""
        return self.least_squares_of(release.value.astype(float), penalty)

    def least_squares_of(
        self, values: FloatArray, penalty: float = 0.0, intercept: bool = True
    ) -> tuple[FloatArray, float]:
        """The same from the cells; written for speed, because it runs after every deletion."""
        if self.target is None or not self.products:
            raise BadQuestion("least squares needs a target and products.", "Publish them too.")
        plan, units, d = self._plan, self.units, len(self.over)
        n, mean, second = self._moments(values)
        at = mean if intercept else -units.centre / units.half  # the origin of the columns' own units
        covariance = second - mean[:, None] * at
        if not intercept:
            covariance -= at[:, None] * (mean - at)
        with_target = covariance[:d, d]
        inner = self._regularised(covariance[:d, :d], n)
        to_half = at[:d]
        drift = plan.sums_together * float(at[d]) ** 2 + plan.of_target * float(to_half @ to_half)
        kept = _signal((plan.target_together + drift) / (n * n), float(with_target @ with_target))
        if penalty:
            inner.ravel()[:: d + 1] += penalty / (n * units.half[:d] ** 2)
        slopes = _solve(inner, with_target * kept) * plan.to_slopes
        if not intercept:
            return slopes, 0.0
        known = _signal(plan.means_together / (n * n), float(mean @ mean))
        mean = units.centre + units.half * np.minimum(np.maximum(mean * known, -1.0), 1.0)
        return slopes, float(mean[d]) - float(slopes @ mean[:d])

    def discriminants(self, release: Cells, penalty: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """A row of slopes and an intercept for every class: log P(class | record), up to a constant."""
        return self.discriminants_of(release.value.astype(float), penalty)

    def discriminants_of(
        self, values: FloatArray, penalty: float = 0.0, regularise: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """The logistic model that the moments determine for classes that share a covariance.

        Regularisation is a bias; intervals are computed without it.
        """
        if self.by is None:
            raise BadQuestion("discriminants need classes.", "Publish the moments by class.")
        plan, d, k = self._plan, len(self.over), self.statistic.classes
        counts = np.maximum(values[:k], 1.0)[:, None]
        n, _, second = self._moments(values)
        shares = counts / n
        seen = np.clip((values * plan.scale)[plan.sums] / counts, -1.0, 1.0)
        common = (shares * seen).sum(axis=0)
        apart = seen - common
        blur = (plan.of_sums / counts) ** 2
        noise = float(blur.sum()) * (k - 1) / k
        kept = max(_signal(noise, float((apart**2).sum())), 0.05) if regularise else 1.0
        means = np.clip(common + apart * kept, -1.0, 1.0)
        inner = self._regularised(second - (shares * means).T @ means, n, raised=regularise)
        spread = (shares * blur).sum(axis=0) if regularise else 0.0
        inner.ravel()[:: d + 1] += spread + penalty / (n * self.units.half**2)
        slopes = _solve(inner, means.T).T
        at = np.log(shares[:, 0]) - 0.5 * (slopes * means).sum(axis=1)
        slopes = slopes / self.units.half
        return slopes, at - slopes @ self.units.centre

    def covariance_of(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of the features, in their own units, regularised for the noise."""
        d, half = len(self.over), self.units.half[: len(self.over)]
        n, mean, second = self._moments(values)
        mean = np.clip(mean[:d], -1.0, 1.0)
        shrunk = self._regularised(second[:d, :d] - np.outer(mean, mean), n, raised=False)
        return self.units.centre[:d] + half * mean, shrunk * np.outer(half, half)

    def _regularised(self, covariance: FloatArray, n: float, raised: bool = True) -> FloatArray:
        """Shrink off-diagonal entries, and keep variances possible.

        If `raised`, variances are raised above the noise, so that the matrix can be solved with.
        """
        plan, d = self._plan, len(covariance)
        inner = covariance.copy()
        flat = inner.ravel()
        diagonal = flat[:: d + 1]
        noise = plan.of_products / n
        off = float(flat @ flat) - float(diagonal @ diagonal)
        kept = _signal(noise * noise * d * (d - 1), off) if self.products else 0.0
        variances = np.maximum(diagonal, plan.of_squares[:d] * (1 / n) + _TINY)
        flat *= kept
        flat[:: d + 1] = variances + kept * noise * d**0.5 if raised else variances
        return inner

    def _moments(self, values: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The number of records, and the numbers' means and raw second moments in units of u."""
        plan, k = self._plan, self.statistic.classes
        cells = plan.empty.copy()
        np.multiply(values, plan.scale, out=cells[:-1])
        n = max(float(cells[0]), 1.0) if k == 1 else float(np.maximum(cells[:k], 1.0).sum())
        moments = cells.take(plan.table)
        moments *= 1 / n
        diagonal = moments.ravel()[:: len(moments) + 1]
        np.subtract(1.0, diagonal, out=diagonal)
        mean = moments[0, 1:] if k == 1 else cells[plan.sums].sum(axis=0) / n
        return n, mean, moments[1:, 1:]

    @cached_property
    def _plan(self) -> _Plan:
        statistic, numbers, k = self.statistic, len(self.statistic.numbers), self.statistic.classes
        d, half = len(self.over), self.units.half
        reach = np.array(statistic.reaches, dtype=float)
        relative = np.array([spread_of(law) for law in self.laws]) / reach
        starts = np.array(statistic.starts)
        spreads = starts[1 : 1 + numbers]
        scale = np.repeat(1 / reach, [block.width for block in statistic.blocks])
        scale[spreads + k] *= 2  # a spread's reach is 2h², and squares are in units of h²
        table = np.full((1 + numbers, 1 + numbers), statistic.size)
        table[0, 1:] = spreads
        np.fill_diagonal(table[1:, 1:], spreads + k)
        for (i, j), start in zip(statistic.pairs, starts[1 + numbers :], strict=True):
            table[1 + i, 1 + j] = table[1 + j, 1 + i] = start
        of_sums, of_pairs = relative[1 : 1 + numbers], relative[1 + numbers :]
        with_target = d if self.target is not None else 0
        return _Plan(
            scale=scale,
            empty=np.zeros(statistic.size + 1),
            sums=spreads + np.arange(k)[:, None],
            table=table,
            to_slopes=half[-1] / half[:d],
            of_sums=of_sums,
            of_squares=2 * of_sums,
            of_products=float(of_pairs[with_target:].max(initial=0.0)),
            of_target=float(of_sums[-1] ** 2),
            sums_together=float((of_sums[:d] ** 2).sum()),
            means_together=float((of_sums**2).sum()),
            target_together=float((of_pairs[:with_target] ** 2).sum()),
        )


def _signal(noise: float, seen: float) -> float:
    """The share of a sum of squares that noise does not explain."""
    return max(0.0, 1 - noise / max(seen, 1e-300))


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric system; if noise has made it indefinite, raise its eigenvalues above 0."""
    _, solution, info = lapack.dposv(matrix, right)
    if info == 0:
        return np.asarray(solution)
    values, vectors = np.linalg.eigh(matrix)
    least = max(1e-6, 0.05 * float(np.abs(values).max(initial=0.0)))
    vectors_right = vectors.T @ right
    scaled = np.maximum(values, least)
    return np.asarray(vectors @ (vectors_right / (scaled if right.ndim == 1 else scaled[:, None])))
