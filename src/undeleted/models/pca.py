"""Principal components from a noisy covariance.

published    n, Σ x, Σ x², Σ xx′ (centred, on the grid)
forgotten    subtract the row's own
answered     eigenvectors of the covariance, its off-diagonal entries shrunk by what noise explains
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.models._base import STEPS, checked, told, transformed, whole
from undeleted.models._row_estimators import OfRows


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OfRows):  # type: ignore[misc]
    """Principal component analysis that forgets.

    Parameters
    ----------
    n_components : int, optional
        How many components; all of them if it is not said.
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond count as the bound.  "data" leaks the data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    whiten : bool
        Whether components are scaled to unit variance.
    steps : int
        The grid between the bounds.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

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
        bounds: Any = None,
        budget: Any = 1.0,
        whiten: bool = False,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.bounds = bounds
        self.budget = budget
        self.whiten = whiten
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    mean_ = told("mean_", "Means of the features.")
    components_ = told("components_", "A row a component, the largest variance first.")
    explained_variance_ = told("explained_variance_", "The variance along each component.")
    explained_variance_ratio_ = told("explained_variance_ratio_", "The same as a share of all.")
    _numbers = ("mean_", "explained_variance_", "explained_variance_ratio_")

    @whole
    def fit(self, X: Any, y: Any = None) -> "PCA":
        """Publish, once."""
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

    def _answers(self, values: FloatArray) -> dict[str, Any]:
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

    def transform(self, X: Any) -> FloatArray:
        """Coordinates along the components."""
        told = self._told()
        X = checked(self, X, reset=False, dtype=np.float64)
        found = (X - told["mean_"]) @ told["components_"].T
        return np.asarray(found / self._scale(told) if self.whiten else found)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Rows again, up to what the components leave out."""
        told = self._told()
        X = transformed(X, self.n_components_)
        return np.asarray((X * self._scale(told) if self.whiten else X) @ told["components_"] + told["mean_"])

    def _scale(self, told: dict[str, Any]) -> FloatArray:
        return np.asarray(np.sqrt(np.maximum(told["explained_variance_"], 1e-12)))
