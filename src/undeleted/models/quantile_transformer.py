"""Quantiles of every feature from noisy trees of counts.

published    for every feature counts on all levels of a tree over its grid
forgotten    subtract 1 from one node a level
answered     each value by its rank, uniform or normal
"""

from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from undeleted.curate.mechanisms.noisy_quantiles import NoisyQuantiles
from undeleted.curate.releases.linear import Cells
from undeleted.foundations.arrays import FloatArray
from undeleted.models._base import STEPS, checked, told, transformed, whole
from undeleted.models._row_estimators import OfRows

_EDGE = 1e-7  # of the uniform, before it is made normal: as far as scikit-learn goes


class QuantileTransformer(OneToOneFeatureMixin, TransformerMixin, OfRows):  # type: ignore[misc]
    """A quantile transformer that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond count as the bound.  "data" leaks the data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    n_quantiles : int
        How many quantiles are read off the trees; they cost nothing.
    output_distribution : "uniform" or "normal"
        What the features become.
    steps : int
        The grid between the bounds; 4,095 steps fill a tree of three levels.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 5001)[:, None] ** 2
    >>> model = QuantileTransformer(bounds=(0, 1), budget=5.0).fit(X)
    >>> model.transform([[0.25]]).round(1).tolist()
    [[0.5]]
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        budget: Any = 1.0,
        n_quantiles: int = 1000,
        output_distribution: Literal["uniform", "normal"] = "uniform",
        steps: int = STEPS - 1,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.budget = budget
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    quantiles_ = told("quantiles_", "A row a quantile, a column a feature.")
    _numbers = ("quantiles_",)

    @whole
    def fit(self, X: Any, y: Any = None) -> "QuantileTransformer":
        """Publish, once."""
        if self.output_distribution not in ("uniform", "normal"):
            raise ValueError(f"output_distribution={self.output_distribution!r}: choose uniform or normal.")
        if not isinstance(self.n_quantiles, int | np.integer) or self.n_quantiles < 2:
            raise ValueError(f"n_quantiles={self.n_quantiles!r} must be a whole number of at least 2.")
        codes = self._fitted_rows(X)
        self.references_ = np.linspace(0.0, 1.0, self.n_quantiles)
        mechanism = NoisyQuantiles(self._grid.columns, self._budget(), rows_per_person=self.rows_per_person)
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> dict[str, Any]:
        return {"quantiles_": self._mechanism.quantiles(Cells(values), self.references_)}  # type: ignore[arg-type]

    def transform(self, X: Any) -> FloatArray:
        """Every value by the share of rows at or below it."""
        quantiles = self._told()["quantiles_"]
        X = checked(self, X, reset=False, dtype=np.float64, copy=True)
        for i in range(X.shape[1]):
            X[:, i] = _between(X[:, i], quantiles[:, i], self.references_)
        return np.asarray(ndtri(np.clip(X, _EDGE, 1 - _EDGE)) if self.output_distribution == "normal" else X)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Values again."""
        quantiles = self._told()["quantiles_"]
        X = transformed(X, quantiles.shape[1])
        X = ndtr(X) if self.output_distribution == "normal" else X
        for i in range(X.shape[1]):
            X[:, i] = np.interp(X[:, i], self.references_, quantiles[:, i])
        return np.asarray(X)

    def _count(self) -> float:
        first = self._mechanism.statistic.blocks[0].width
        return float(self._state.value[:first].sum())

    def _noise_of_count(self) -> float:
        return super()._noise_of_count() * float(np.sqrt(self._mechanism.statistic.blocks[0].width))


def _between(values: FloatArray, quantiles: FloatArray, references: FloatArray) -> FloatArray:
    """Interpolated from both sides, so that values that many rows share land in the middle of their ranks."""
    up = np.interp(values, quantiles, references)
    down = np.interp(-values, -quantiles[::-1], -references[::-1])
    return np.asarray(0.5 * (up - down))
