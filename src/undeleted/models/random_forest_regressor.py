"""Random forest regression: random trees with noisy leaves.

published    for every tree and leaf the sums of the targets' distances from either bound
forgotten    subtract the row's own distances in one leaf of every tree
answered     means of every leaf, shrunk towards its parents; their mean over trees
"""

import numpy as np

from undeleted.curate.mechanisms.noisy_forest import shares_among
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Noise
from undeleted.models._base import STEPS, fitted_attribute, restore_on_failure
from undeleted.models._forest import TreeEstimator
from undeleted.models._row_estimators import RowRegressor
from undeleted.models._types import Answers, Matrix, PublicBounds, RandomState, RowLabels


class RandomForestRegressor(RowRegressor, TreeEstimator):
    """A random forest that forgets.

    The questions of the trees are random and independent of the data; a row changes one leaf of every tree.

    Parameters
    ----------
    n_estimators : int
        The number of trees; noise grows with it under a pure ε, and hardly under a `Budget` with a δ.
    max_depth : int
        The number of questions on a path; a tree has 2 to that power leaves.
    bounds, bounds_y : pair of numbers or of lists
        Public bounds of the features and of the target; values beyond are clipped.  "data" takes, and leaks,
        the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    questions : int
        A public seed that determines the trees' questions.
    steps : int
        The number of grid steps between the bounds.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 8000).reshape(4000, 2)
    >>> model = RandomForestRegressor(bounds=(0, 1), bounds_y=(0, 10), budget=5.0)
    >>> model.fit(X, 10 * (X[:, 0] > 0.5)).predict([[0.05, 0.05], [0.95, 0.95]]).round().tolist()
    [0.0, 10.0]
    """

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_depth: int = 8,
        bounds: PublicBounds = None,
        bounds_y: PublicBounds = None,
        budget: Noise = 1.0,
        questions: int = 0,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.bounds = bounds
        self.bounds_y = bounds_y
        self.budget = budget
        self.questions = questions
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    mean_ = fitted_attribute("mean_", "The mean of the target.")
    _numbers = ("mean_",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels) -> "RandomForestRegressor":
        """Publish a noisy release of the data, once."""
        codes = self._fitted_target(X, y)
        self._publish(self._grow({"target": self._target.columns[0]}), codes)
        return self

    def _answers(self, values: FloatArray) -> Answers:
        mean = self._from_counts(self._mechanism.counts_of(values))
        return {"mean_": mean, "shares": self._mechanism.shares_of(values)}

    def _from_counts(self, counts: FloatArray) -> float:
        return float(self._in_units(shares_among(counts)[1]))

    def _in_units(self, share: FloatArray) -> FloatArray:
        column = self._target.columns[0]
        return column.decode(0) + (column.decode(column.cells - 1) - column.decode(0)) * share

    def predict(self, X: Matrix) -> FloatArray:
        """The mean over trees; it lies within `bounds_y`."""
        shares = self._cached_answers()["shares"]
        return np.asarray(self._in_units(self._mechanism.means_at(shares, self._asked(X))))
