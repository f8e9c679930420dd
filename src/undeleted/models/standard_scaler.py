"""Means and variances of every feature from noisy moments.

published    n, and for every feature Σ x and Σ x² (centred, in one block)
forgotten    subtract the row's own
answered     (x − mean) / standard deviation
"""

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.models._base import STEPS, checked, told, transformed, whole
from undeleted.models._row_estimators import OfRows


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, OfRows):  # type: ignore[misc]
    """A scaler that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond count as the bound.  "data" leaks the data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    with_mean, with_std : bool
        Whether means are taken off, and whether rows are divided by standard deviations.
    steps : int
        The grid between the bounds.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 10, 2001)[:, None]
    >>> model = StandardScaler(bounds=(0, 10), budget=10.0).fit(X)
    >>> model.transform([[5.0]]).round(1).tolist()
    [[...0.0]]
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        budget: Any = 1.0,
        with_mean: bool = True,
        with_std: bool = True,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.budget = budget
        self.with_mean = with_mean
        self.with_std = with_std
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    mean_ = told("mean_", "Means of the features.")
    var_ = told("var_", "Variances of the features.")
    scale_ = told("scale_", "Standard deviations; 1 for a feature that does not vary on the grid.")
    _numbers = ("mean_", "var_", "scale_")

    @whole
    def fit(self, X: Any, y: Any = None) -> "StandardScaler":
        """Publish, once."""
        codes = self._fitted_rows(X)
        mechanism = NoisyClassMoments(
            self._grid.columns, self._budget(), rows_per_person=self.rows_per_person
        )
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> dict[str, Any]:
        found = self._mechanism.gaussians_of(values)
        variance = found.variances[0]
        step = np.array([float(column.step) for column in self._grid.columns])
        scale = np.where(variance > step**2, np.sqrt(variance), 1.0)
        return {"mean_": found.means[0], "var_": variance, "scale_": scale}

    def transform(self, X: Any) -> FloatArray:
        """Rows with means and scales taken off."""
        told = self._told()
        X = checked(self, X, reset=False, dtype=np.float64, copy=True)
        if self.with_mean:
            X -= told["mean_"]
        if self.with_std:
            X /= told["scale_"]
        return np.asarray(X)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Rows as they were."""
        told = self._told()
        X = transformed(X, self.n_features_in_)
        if self.with_std:
            X *= told["scale_"]
        if self.with_mean:
            X += told["mean_"]
        return np.asarray(X)
