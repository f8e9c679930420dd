"""A forest of random trees with noisy leaves that tells classes.

published    for every tree and leaf the count of every class
forgotten    subtract 1 in one leaf of every tree
answered     shares of every leaf, shrunk towards its parents; their geometric mean over trees
"""

from typing import Any

from undeleted.curate.mechanisms.noisy_forest import shares_among
from undeleted.foundations.arrays import FloatArray
from undeleted.models._base import STEPS, told, whole
from undeleted.models._forest import OfTrees
from undeleted.models._row_estimators import OfClasses


class RandomForestClassifier(OfClasses, OfTrees):
    """A random forest that forgets.

    The questions of the trees are random and never look at the data; a row moves one leaf of every tree.

    Parameters
    ----------
    n_estimators : int
        How many trees; under a pure ε noise grows with them, under a `Budget` with a δ hardly.
    max_depth : int
        How many questions a tree asks; 2 to that power are its leaves.
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond count as the bound.  "data" leaks the data's own.
    classes : list
        Public labels.  "data" leaks the data's own.
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
    >>> model = RandomForestClassifier(bounds=(0, 1), classes=[0, 1], budget=5.0)
    >>> model.fit(X, X[:, 0] > 0.5).predict([[0.1, 0.1], [0.9, 0.9]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_depth: int = 8,
        bounds: Any = None,
        classes: Any = None,
        budget: Any = 1.0,
        questions: int = 0,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.bounds = bounds
        self.classes = classes
        self.budget = budget
        self.questions = questions
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    class_prior_ = told("class_prior_", "The share of every class.")
    _numbers = ("class_prior_",)

    @whole
    def fit(self, X: Any, y: Any) -> "RandomForestClassifier":
        """Publish, once."""
        codes = self._fitted_classes(X, y)
        self._publish(self._grow({"by": self._labels.column("label")}), codes)
        return self

    def _answers(self, values: FloatArray) -> dict[str, Any]:
        prior = self._from_counts(self._mechanism.counts_of(values))
        return {"class_prior_": prior, "shares": self._mechanism.shares_of(values)}

    def _from_counts(self, counts: FloatArray) -> FloatArray:
        return shares_among(counts)

    def _log_joint(self, X: Any) -> FloatArray:
        return self._mechanism.log_shares_at(self._told()["shares"], self._asked(X))
