"""Random forest classification: random trees with noisy leaves.

published    for every tree and leaf the count of every class
forgotten    subtract 1 in one leaf of every tree
answered     shares of every leaf, shrunk towards its parents; their geometric mean over trees
"""

from undeleted.curate.mechanisms.noisy_forest import shares_among
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.types import Given
from undeleted.models._base import STEPS, fitted_attribute, restore_on_failure
from undeleted.models._forest import TreeEstimator
from undeleted.models._row_estimators import RowClassifier
from undeleted.models._types import Answers, Labelled, Matrix, PublicBounds, RandomState, RowLabels


class RandomForestClassifier(RowClassifier, TreeEstimator):
    """A random forest that forgets.

    The questions of the trees are random and independent of the data; a row changes one leaf of every tree.

    Parameters
    ----------
    n_estimators : int
        The number of trees; noise grows with it under a pure ε, and hardly under a `Budget` with a δ.
    max_depth : int
        The number of questions on a path; a tree has 2 to that power leaves.
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond are clipped.  "data" takes, and leaks, the data's own.
    classes : list
        Public labels.  "data" takes, and leaks, the data's own.
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
    >>> model = RandomForestClassifier(bounds=(0, 1), classes=[0, 1], budget=5.0)
    >>> model.fit(X, X[:, 0] > 0.5).predict([[0.1, 0.1], [0.9, 0.9]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_depth: int = 8,
        bounds: PublicBounds = None,
        classes: Labelled = None,
        budget: Noise = 1.0,
        questions: int = 0,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
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

    class_prior_ = fitted_attribute("class_prior_", "The share of every class.")
    _numbers = ("class_prior_",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels) -> "RandomForestClassifier":
        """Publish a noisy release of the data, once."""
        codes = self._fitted_classes(X, y)
        self._publish(self._grow({"by": self._labels.column("label")}), codes)
        return self

    def _answers(self, values: FloatArray) -> Answers:
        prior = self._from_counts(self._mechanism.counts_of(values))
        return {"class_prior_": prior, "shares": self._mechanism.shares_of(values)}

    def _from_counts(self, counts: FloatArray) -> FloatArray:
        return shares_among(counts)

    def _log_joint(self, X: Given) -> FloatArray:
        return self._mechanism.log_shares_at(self._cached_answers()["shares"], self._asked(X))
