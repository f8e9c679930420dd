"""Means and variances of every feature from noisy moments.

published    n, and for every feature Σ x and Σ x² (centred, in one block)
forgotten    subtract the row's own terms
answered     (x − mean) / standard deviation
"""

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Noise
from undeleted.models._base import STEPS, checked, fitted_attribute, restore_on_failure, transformed
from undeleted.models._row_estimators import RowEstimator
from undeleted.models._types import Answers, Matrix, PublicBounds, RandomState, RowLabels


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, RowEstimator):  # type: ignore[misc]
    """A scaler that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond are clipped.  "data" takes, and leaks, the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    with_mean, with_std : bool
        Whether to subtract the means, and whether to divide by the standard deviations.
    steps : int
        The number of grid steps between the bounds.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

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
        bounds: PublicBounds = None,
        budget: Noise = 1.0,
        with_mean: bool = True,
        with_std: bool = True,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.budget = budget
        self.with_mean = with_mean
        self.with_std = with_std
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    mean_ = fitted_attribute("mean_", "Means of the features.")
    var_ = fitted_attribute("var_", "Variances of the features.")
    scale_ = fitted_attribute(
        "scale_", "Standard deviations; 1 for a feature that does not vary on the grid."
    )
    _numbers = ("mean_", "var_", "scale_")

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels | None = None) -> "StandardScaler":
        """Publish a noisy release of the data, once."""
        codes = self._fitted_rows(X)
        mechanism = NoisyClassMoments(
            self._grid.columns, self._budget(), rows_per_person=self.rows_per_person
        )
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> Answers:
        moments = self._mechanism.gaussians_of(values)
        variance = moments.variances[0]
        step = np.array([float(column.step) for column in self._grid.columns])
        scale = np.where(variance > step**2, np.sqrt(variance), 1.0)
        return {"mean_": moments.means[0], "var_": variance, "scale_": scale}

    def transform(self, X: Matrix) -> FloatArray:
        """Standardise rows: subtract the means and divide by the scales."""
        answers = self._cached_answers()
        X = checked(self, X, reset=False, dtype=np.float64, copy=True)
        if self.with_mean:
            X -= answers["mean_"]
        if self.with_std:
            X /= answers["scale_"]
        return np.asarray(X)

    def inverse_transform(self, X: Matrix) -> FloatArray:
        """Undo `transform`."""
        answers = self._cached_answers()
        X = transformed(X, self.n_features_in_)
        if self.with_std:
            X *= answers["scale_"]
        if self.with_mean:
            X += answers["mean_"]
        return np.asarray(X)
