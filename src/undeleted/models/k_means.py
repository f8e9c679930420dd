"""Clusters from a grown noisy partition.

published    boxes that grow where people are: their noisy counts, and noisy offsets of their leaves
forgotten    subtract the row from the boxes on its path; the shape stays
answered     weighted k-means of the leaves' means: anybody could compute it from the release
"""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from undeleted.curate.mechanisms.grown_boxes import GrownBoxes
from undeleted.curate.releases.clusters import centres_within, clusters
from undeleted.curate.releases.partition import Partition
from undeleted.curate.releases.subtracting import Owned
from undeleted.curate.releases.units import spread_of
from undeleted.errors import Misuse
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy import Budget, Noise, Zcdp
from undeleted.foundations.types import Given
from undeleted.models._base import as_count, checked, fitted_attribute, restore_on_failure
from undeleted.models._row_estimators import RowEstimator
from undeleted.models._types import Answers, Intervals, Matrix, PublicBounds, RandomState, RowLabels

STEPS = 4095  # a grid of 4,096 points, which can be halved twelve times


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, RowEstimator):  # type: ignore[misc]
    """K-means clustering that forgets, in up to about ten dimensions.

    Parameters
    ----------
    n_clusters : int
        The number of clusters; changing it later, up to the number of leaves, spends nothing.
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond are clipped.  "data" takes, and leaks, the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    expected_rows : int
        A public estimate of the number of rows; it determines how often boxes may be split.
    max_depth : int, optional
        The maximum number of splits of a box; instead of `expected_rows`.
    steps : int
        The number of grid steps between the bounds; best one less than a power of two.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[1.0, 1.0], [8.0, 9.0]], 20_000, axis=0)
    >>> model = KMeans(2, bounds=(0, 10), budget=5.0).fit(X)
    >>> sorted(model.cluster_centers_.round().tolist())
    [[1.0, 1.0], [8.0, 9.0]]
    >>> round(model.forget(X[:10_000]).count_, -3)
    30000.0
    """

    _mechanism: GrownBoxes
    _state: Owned

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        bounds: PublicBounds = None,
        budget: Noise = 1.0,
        expected_rows: int = 10_000,
        max_depth: int | None = None,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.bounds = bounds
        self.budget = budget
        self.expected_rows = expected_rows
        self.max_depth = max_depth
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    cluster_centers_ = fitted_attribute("cluster_centers_", "One row per cluster.")
    leaves_ = fitted_attribute("leaves_", "The means of the published leaves, one per row.")
    leaf_weights_ = fitted_attribute("leaf_weights_", "The noisy count of rows in each leaf; never below 0.")
    _grows = False
    _numbers = ("cluster_centers_",)
    _solved_with = ("n_clusters",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels | None = None) -> "KMeans":
        """Publish a noisy release of the data, once."""
        codes = self._fitted_rows(X)
        self._publish(self._grown(), codes)
        return self

    def _grown(self) -> GrownBoxes:
        """Build the mechanism; an invalid one is refused before anything is published."""
        try:
            return GrownBoxes(
                self._grid.columns,
                self._budget(),
                clusters=self._wanted(),
                depth=as_count(self.max_depth),
                expected_rows=as_count(self.expected_rows),
                threshold=None if self._has_spread() else 0.0,
                rows_per_person=self._cap(),
            )
        except Misuse as error:
            raise ValueError(str(error)) from None

    def _has_spread(self) -> bool:
        """Return whether the budget determines a threshold; a law for exact worlds does not."""
        return isinstance(self._budget(), Budget | Zcdp)

    def _wanted(self) -> int:
        k = self.n_clusters
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"n_clusters must be a whole number above 0, got {k!r}.")
        return int(k)

    def _count(self) -> float:
        return float(self._published().counts[0].sum())

    def _noise_of_count(self) -> float:
        return float(np.sqrt(2) * spread_of(self._mechanism.laws[0]))

    def _published(self) -> Partition:
        release: Partition = self._state.release
        return release

    def _answers(self, release: Given) -> Answers:
        try:
            fitted = clusters(self._mechanism, release, self._wanted())
        except Misuse as error:
            raise ValueError(str(error)) from None
        return {
            "cluster_centers_": fitted.centres,
            "leaves_": fitted.points,
            "leaf_weights_": fitted.weights,
            "clusters": fitted,
        }

    def intervals(self, confidence: float = 0.95) -> Intervals:
        """Intervals for the centres without noise, given which leaves belong together."""
        return {
            "cluster_centers_": centres_within(
                self._mechanism, self._cached_answers()["clusters"], confidence
            )
        }

    def predict(self, X: Matrix) -> IntArray:
        """The nearest centre of every row."""
        return np.asarray(self.transform(X).argmin(axis=1))

    def fit_predict(self, X: Matrix, y: RowLabels | None = None) -> IntArray:
        """Publish, and return the nearest centre of each of these rows."""
        return np.asarray(self.fit(X, y).predict(X))

    def transform(self, X: Matrix) -> FloatArray:
        """The distance of every row to every centre."""
        centres = self._cached_answers()["cluster_centers_"]
        rows = checked(self, X, reset=False, dtype=np.float64)
        squares = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def score(self, X: Matrix, y: RowLabels | None = None) -> float:
        """Minus the sum of squared distances to the nearest centres."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    @property
    def _n_features_out(self) -> int:
        return len(self._cached_answers()["cluster_centers_"])
