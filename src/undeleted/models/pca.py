"""Principal components from a noisy covariance.

published    n, Σ x, Σ x², Σ xx′ (centred, on the grid)
forgotten    subtract the row's own terms
answered     eigenvectors of the covariance, whose off-diagonal entries are shrunk by what noise explains
"""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Noise
from undeleted.models._base import STEPS, checked, fitted_attribute, restore_on_failure, transformed
from undeleted.models._row_estimators import RowEstimator
from undeleted.models._types import Answers, Matrix, PublicBounds, RandomState, RowLabels


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowEstimator):  # type: ignore[misc]
    """Principal component analysis that forgets.

    Parameters
    ----------
    n_components : int, optional
        The number of components; all of them by default.
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond are clipped.  "data" takes, and leaks, the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    whiten : bool
        Whether components are scaled to unit variance.
    steps : int
        The number of grid steps between the bounds.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(-1, 1, 4001)
    >>> model = PCA(n_components=1, bounds=(-1, 1), budget=5.0).fit(np.column_stack([t, t]))
    >>> model.components_.round(1).tolist()
    [[0.7, 0.7]]
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        bounds: PublicBounds = None,
        budget: Noise = 1.0,
        whiten: bool = False,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.bounds = bounds
        self.budget = budget
        self.whiten = whiten
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    mean_ = fitted_attribute("mean_", "Means of the features.")
    components_ = fitted_attribute("components_", "One row per component, the largest variance first.")
    explained_variance_ = fitted_attribute("explained_variance_", "The variance along each component.")
    explained_variance_ratio_ = fitted_attribute("explained_variance_ratio_", "Shares of the total variance.")
    _numbers = ("mean_", "explained_variance_", "explained_variance_ratio_")

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels | None = None) -> "PCA":
        """Publish a noisy release of the data, once."""
        codes = self._fitted_rows(X)
        d = self.n_features_in_
        wanted = d if self.n_components is None else self.n_components
        if not isinstance(wanted, int | np.integer) or not 1 <= wanted <= d:
            raise ValueError(f"n_components={wanted!r} must be between 1 and n_features={d}.")
        self.n_components_ = int(wanted)
        mechanism = NoisySecondMoments(
            self._grid.columns, self._budget(), rows_per_person=self.rows_per_person
        )
        self._publish(mechanism, codes)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _answers(self, values: FloatArray) -> Answers:
        mean, covariance = self._mechanism.covariance_of(values)
        variances, vectors = np.linalg.eigh(covariance)
        variances, vectors = np.maximum(variances[::-1], 0.0), vectors[:, ::-1]
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.where(vectors[largest, np.arange(len(vectors))] < 0, -1.0, 1.0)
        k = self.n_components_
        return {
            "mean_": mean,
            "components_": vectors.T[:k],
            "explained_variance_": variances[:k],
            "explained_variance_ratio_": variances[:k] / max(float(variances.sum()), 1e-300),
        }

    def transform(self, X: Matrix) -> FloatArray:
        """Coordinates along the components."""
        answers = self._cached_answers()
        X = checked(self, X, reset=False, dtype=np.float64)
        rows = (X - answers["mean_"]) @ answers["components_"].T
        return np.asarray(rows / self._scale(answers) if self.whiten else rows)

    def inverse_transform(self, X: Matrix) -> FloatArray:
        """Undo `transform`, except for what the components leave out."""
        answers = self._cached_answers()
        X = transformed(X, self.n_components_)
        rows = X * self._scale(answers) if self.whiten else X
        return np.asarray(rows @ answers["components_"] + answers["mean_"])

    def _scale(self, answers: Answers) -> FloatArray:
        return np.asarray(np.sqrt(np.maximum(answers["explained_variance_"], 1e-12)))
