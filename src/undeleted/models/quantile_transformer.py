"""Quantiles of every feature from noisy trees of counts.

published    for every feature counts on all levels of a tree over its grid
forgotten    subtract 1 from one node per level
answered     each value replaced by its rank, uniform or normal
"""

from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from undeleted.curate.mechanisms.noisy_quantiles import NoisyQuantiles
from undeleted.curate.releases.linear import Cells
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Noise
from undeleted.models._base import STEPS, checked, fitted_attribute, restore_on_failure, transformed
from undeleted.models._row_estimators import RowEstimator
from undeleted.models._types import Answers, Matrix, PublicBounds, RandomState, RowLabels

_EDGE = 1e-7  # ranks are clipped to it before they become normal, as in scikit-learn


class QuantileTransformer(OneToOneFeatureMixin, TransformerMixin, RowEstimator):  # type: ignore[misc]
    """A quantile transformer that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond are clipped.  "data" takes, and leaks, the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    n_quantiles : int
        The number of quantiles computed from the trees; they cost nothing.
    output_distribution : "uniform" or "normal"
        The distribution of the transformed features.
    steps : int
        The number of grid steps between the bounds; 4,095 steps fill a tree of three levels.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

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
        bounds: PublicBounds = None,
        budget: Noise = 1.0,
        n_quantiles: int = 1000,
        output_distribution: Literal["uniform", "normal"] = "uniform",
        steps: int = STEPS - 1,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.budget = budget
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    quantiles_ = fitted_attribute("quantiles_", "One row per quantile, one column per feature.")
    _numbers = ("quantiles_",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels | None = None) -> "QuantileTransformer":
        """Publish a noisy release of the data, once."""
        if self.output_distribution not in ("uniform", "normal"):
            raise ValueError(f"output_distribution={self.output_distribution!r}: choose uniform or normal.")
        if not isinstance(self.n_quantiles, int | np.integer) or self.n_quantiles < 2:
            raise ValueError(f"n_quantiles={self.n_quantiles!r} must be a whole number of at least 2.")
        codes = self._fitted_rows(X)
        self.references_ = np.linspace(0.0, 1.0, self.n_quantiles)
        mechanism = NoisyQuantiles(self._grid.columns, self._budget(), rows_per_person=self.rows_per_person)
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> Answers:
        return {"quantiles_": self._mechanism.quantiles(Cells(values), self.references_)}  # type: ignore[arg-type]

    def transform(self, X: Matrix) -> FloatArray:
        """Replace every value by the share of rows at or below it."""
        quantiles = self._cached_answers()["quantiles_"]
        shares = checked(self, X, reset=False, dtype=np.float64, copy=True)
        for i in range(shares.shape[1]):
            shares[:, i] = _between(shares[:, i], quantiles[:, i], self.references_)
        normal = self.output_distribution == "normal"
        return np.asarray(ndtri(np.clip(shares, _EDGE, 1 - _EDGE)) if normal else shares)

    def inverse_transform(self, X: Matrix) -> FloatArray:
        """Undo `transform`."""
        quantiles = self._cached_answers()["quantiles_"]
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
    """Interpolate from both sides, so that a value that many rows share gets the middle of its ranks."""
    up = np.interp(values, quantiles, references)
    down = np.interp(-values, -quantiles[::-1], -references[::-1])
    return np.asarray(0.5 * (up - down))
