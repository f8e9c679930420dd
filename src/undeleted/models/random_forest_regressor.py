"""A forest of random trees with noisy leaves that tells a number.

published    for every tree and leaf how far the targets are from either bound, added up
forgotten    subtract the row's own in one leaf of every tree
answered     means of every leaf, shrunk towards its parents; their mean over trees
"""

from typing import Any

import numpy as np

from undeleted.curate.mechanisms.noisy_forest import shares_among
from undeleted.foundations.arrays import FloatArray
from undeleted.models._base import STEPS, told, whole
from undeleted.models._forest import OfTrees
from undeleted.models._row_estimators import OfTarget


class RandomForestRegressor(OfTarget, OfTrees):
    """A random forest that forgets.

    The questions of the trees are random and never look at the data; a row moves one leaf of every tree.

    Parameters
    ----------
    n_estimators : int
        How many trees; under a pure ε noise grows with them, under a `Budget` with a δ hardly.
    max_depth : int
        How many questions a tree asks; 2 to that power are its leaves.
    bounds, bounds_y : pair of numbers or of lists
        Public bounds of the features and of the target; values beyond count as the bound.  "data" leaks the
        data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    questions : int
        A public seed, from which the trees' questions follow.
    steps : int
        The grid between the bounds.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

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
        bounds: Any = None,
        bounds_y: Any = None,
        budget: Any = 1.0,
        questions: int = 0,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
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

    mean_ = told("mean_", "The mean of the target.")
    _numbers = ("mean_",)

    @whole
    def fit(self, X: Any, y: Any) -> "RandomForestRegressor":
        """Publish, once."""
        codes = self._fitted_target(X, y)
        self._publish(self._grow({"target": self._target.columns[0]}), codes)
        return self

    def _answers(self, values: FloatArray) -> dict[str, Any]:
        mean = self._from_counts(self._mechanism.counts_of(values))
        return {"mean_": mean, "shares": self._mechanism.shares_of(values)}

    def _from_counts(self, counts: FloatArray) -> float:
        return float(self._in_units(shares_among(counts)[1]))

    def _in_units(self, share: Any) -> Any:
        column = self._target.columns[0]
        return column.decode(0) + (column.decode(column.cells - 1) - column.decode(0)) * share

    def predict(self, X: Any) -> FloatArray:
        """The mean over trees; it lies within `bounds_y`."""
        shares = self._told()["shares"]
        return np.asarray(self._in_units(self._mechanism.means_at(shares, self._asked(X))))
