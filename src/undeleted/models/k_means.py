"""Clusters from a grown noisy partition.

published    boxes that grow where people are: their noisy counts, and noisy offsets of their leaves
forgotten    subtract the row from the boxes on its path; the shape stays
answered     weighted k-means of the leaves' means: anybody could do it with what was published
"""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from undeleted.curate.mechanisms.grown_boxes import GrownBoxes
from undeleted.curate.releases.clusters import centres_within, clusters
from undeleted.curate.releases.partition import Partition
from undeleted.curate.releases.subtracting import Owned
from undeleted.curate.releases.units import spread_of
from undeleted.errors import BadQuestion
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.models._base import as_count, checked, told, whole
from undeleted.models._row_estimators import OfRows

STEPS = 4095  # a grid of 4,096 points, which can be cut in halves twelve times


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, OfRows):  # type: ignore[misc]
    """K-means clustering that forgets, in up to about ten dimensions.

    Parameters
    ----------
    n_clusters : int
        How many clusters; it may be changed later, up to the number of leaves, and spends nothing.
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond count as the bound.  "data" leaks the data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    expected_rows : int
        About how many rows there are, as far as the public may know: how far boxes may be cut.
    max_depth : int, optional
        How often boxes are cut at most; instead of `expected_rows`.
    steps : int
        The grid between the bounds; best one less than a power of two.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

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
        bounds: Any = None,
        budget: Any = 1.0,
        expected_rows: int = 10_000,
        max_depth: int | None = None,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.bounds = bounds
        self.budget = budget
        self.expected_rows = expected_rows
        self.max_depth = max_depth
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    cluster_centers_ = told("cluster_centers_", "A row a cluster.")
    leaves_ = told("leaves_", "The means of the published leaves, a row each.")
    leaf_weights_ = told("leaf_weights_", "About how many rows are in each of them; never below 0.")
    _numbers = ("cluster_centers_",)
    _solved_with = ("n_clusters",)

    @whole
    def fit(self, X: Any, y: Any = None) -> "KMeans":
        """Publish, once."""
        codes = self._fitted_rows(X)
        self._publish(self._grown(), codes)
        return self

    def _grown(self) -> GrownBoxes:
        """The mechanism; one that cannot be is refused before anything is published."""
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
        except BadQuestion as error:
            raise ValueError(str(error)) from None

    def _has_spread(self) -> bool:
        """Whether a threshold follows from the budget; a law for exact worlds has none."""
        return isinstance(self._budget(), Budget | Zcdp)

    def _wanted(self) -> int:
        k = self.n_clusters
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"n_clusters must be a whole number above 0, got {k!r}.")
        return int(k)

    def _contribution(self, codes: IntArray) -> IntArray:
        return codes

    def _count(self) -> float:
        return float(self._published().counts[0].sum())

    def _noise_of_count(self) -> float:
        return float(np.sqrt(2) * spread_of(self._mechanism.laws[0]))

    def _published(self) -> Partition:
        found: Partition = self._state.release
        return found

    def _answers(self, release: Any) -> dict[str, Any]:
        try:
            found = clusters(self._mechanism, release, self._wanted())
        except BadQuestion as error:
            raise ValueError(str(error)) from None
        return {
            "cluster_centers_": found.centres,
            "leaves_": found.points,
            "leaf_weights_": found.weights,
            "clusters": found,
        }

    def intervals(self, confidence: float = 0.95) -> dict[str, Any]:
        """Where the centres may lie for want of noise, given which leaves belong together."""
        return {"cluster_centers_": centres_within(self._mechanism, self._told()["clusters"], confidence)}

    def predict(self, X: Any) -> IntArray:
        """The nearest centre of every row."""
        return np.asarray(self.transform(X).argmin(axis=1))

    def fit_predict(self, X: Any, y: Any = None) -> IntArray:
        """Publish, and say which centre is nearest to each of these rows."""
        return np.asarray(self.fit(X, y).predict(X))

    def transform(self, X: Any) -> FloatArray:
        """The distance of every row to every centre."""
        centres = self._told()["cluster_centers_"]
        X = checked(self, X, reset=False, dtype=np.float64)
        squares = (X**2).sum(axis=1)[:, None] - 2 * X @ centres.T + (centres**2).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def score(self, X: Any, y: Any = None) -> float:
        """Less the sum of squared distances to the nearest centres."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())

    @property
    def _n_features_out(self) -> int:
        return len(self._told()["cluster_centers_"])
