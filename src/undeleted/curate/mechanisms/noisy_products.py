"""Publish noisy sums and products of several numbers once: correlations and linear regressions (M6).

    release   y = (Σ 1, Σ cᵢ, Σ cᵢcⱼ for i ≤ j) + η      centred codes, noise in proportion to each reach
    forget    y ← y − the record's own (1, cᵢ, cᵢcⱼ)
    answer    covariances, correlations and least squares from the noisy moments

Everything after the release is arithmetic on it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.bootstrap import estimates
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import NUMBERS, Answers, Takes
from undeleted.curate.statistics.cross_products import CrossProducts
from undeleted.errors import BadQuestion
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.intervals import Estimate
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Category, GridColumn
from undeleted.foundations.schema.centred_codes import require_numbers
from undeleted.foundations.types import Given

_DRAWS = 1000  # for intervals: the noise is drawn again around the estimate


@dataclass(frozen=True)
class NoisyProducts(Linear):
    """Noisy moments of several numbers.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Number, Schema
    >>> x, y = Number("x", min=0, max=10), Number("y", min=0, max=20)
    >>> mechanism = NoisyProducts((x, y), Budget(1e6))
    >>> people = Schema([x, y]).table([(i % 11, 2 * (i % 11)) for i in range(110)])
    >>> release = mechanism.release(Arrays(people), seeded(7))
    >>> round(mechanism.correlation(release, "x", "y").value, 3)
    1.0
    >>> {name: round(b.value, 3) for name, b in mechanism.regression(release, "y", ["x"]).items()}
    {'intercept': 0.0, 'x': 2.0}
    """

    kinds: ClassVar = {"products": (Takes("columns", NUMBERS, "numbers"),)}
    questions: ClassVar = ("correlation", "regression")

    over: tuple[GridColumn, ...]
    budget: Noise
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_numbers(*self.over)

    @cached_property
    def statistic(self) -> CrossProducts:
        return CrossProducts(self.over)

    def answers(self, release: Cells, asked: Mapping[str, Given], confidence: float) -> Answers:
        """All correlations; or one, or a regression of a column on the others."""
        names = [column.name for column in self.over]
        if target := asked.get("regression"):
            features = [name for name in names if name != target]
            for name, slope in self.regression(release, target, features, confidence).items():
                yield f"{target} ~ {name}", slope
        pairs = [asked["correlation"]] if "correlation" in asked else [] if asked else combinations(names, 2)
        for one, other in pairs:
            yield f"correlation of {one} and {other}", self.correlation(release, one, other, confidence)

    def covariance(self, release: Cells) -> FloatArray:
        """The covariance matrix, in the columns' own units, from moments clamped to possible values."""
        return self._moments(release.value.astype(float))[1]

    def correlation(self, release: Cells, one: str, other: str, confidence: float = 0.95) -> Estimate:
        """The correlation of two columns."""
        i, j = self._places([one, other])

        def of(values: FloatArray) -> float:
            _, covariance = self._moments(values)
            spread = math.sqrt(covariance[i, i] * covariance[j, j])
            return max(-1.0, min(1.0, float(covariance[i, j]) / spread)) if spread > 0 else 0.0

        result = estimates(
            self, release.value.astype(float), lambda values: np.array([of(values)]), confidence, _DRAWS
        )[0]
        return Estimate(
            result.value, max(-1.0, result.low), min(1.0, result.high), confidence, result.standard_error
        )

    def regression(
        self, release: Cells, target: str, features: Sequence[str], confidence: float = 0.95
    ) -> dict[str, Estimate]:
        """Least squares of a column on others: the intercept and a slope for each."""
        if target in features or not features:
            raise BadQuestion("a regression needs features other than its target.", "Name some.")
        (t, *rest) = self._places([target, *features])

        def of(values: FloatArray) -> FloatArray:
            mean, covariance = self._moments(values)
            inner = covariance[np.ix_(rest, rest)]
            slopes = np.linalg.lstsq(inner, covariance[rest, t], rcond=None)[0]
            return np.concatenate([[mean[t] - slopes @ mean[rest]], slopes])

        result = estimates(self, release.value.astype(float), of, confidence, _DRAWS)
        return dict(zip(["intercept", *features], result, strict=True))

    def _moments(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and covariances in the columns' units; variances at least that of a tenth of a step."""
        width = len(self.over)
        count = max(1.0, float(values[0]))
        mean = values[1 : 1 + width] / count
        covariance = np.zeros((width, width))
        for (i, j), total in zip(
            combinations_with_replacement(range(width), 2), values[1 + width :], strict=True
        ):
            covariance[i, j] = covariance[j, i] = total / count - mean[i] * mean[j]
        np.fill_diagonal(covariance, np.maximum(np.diag(covariance), 0.01))
        numbers = [
            column for column in self.over if not isinstance(column, Category)
        ]  # all of them: categories are refused
        steps = np.array([float(column.step) for column in numbers])
        middles = np.array([column.decode(column.middle) for column in numbers])
        return middles + steps * mean, covariance * np.outer(steps, steps)

    def _places(self, names: Sequence[str]) -> list[int]:
        known = [column.name for column in self.over]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise BadQuestion(
                f"the products have no column {', '.join(unknown)}.", f"Their columns: {', '.join(known)}."
            )
        return [known.index(name) for name in names]
