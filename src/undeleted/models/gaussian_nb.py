"""Gaussian naive Bayes from noisy moments by class.

published    for every class n, and for every feature Σ x and Σ x² (centred, in one block)
forgotten    subtract the row's own terms from the cells of its class
predicted    from Gaussians whose variances include the noise of their means
"""

import numpy as np

from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.types import Given
from undeleted.models._base import STEPS, checked, fitted_attribute, restore_on_failure
from undeleted.models._row_estimators import RowClassifier
from undeleted.models._types import Answers, Labelled, Matrix, PublicBounds, RandomState, RowLabels


class GaussianNB(RowClassifier):
    """Gaussian naive Bayes that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond are clipped.  "data" takes, and leaks, the data's own.
    classes : list
        All possible labels.  "data" takes, and leaks, the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    priors : list, optional
        Class shares that are known beforehand, in the order of the sorted classes.
    steps : int
        The number of grid steps between the bounds.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace([[10.0], [50.0]], [[30.0], [90.0]], 1000).reshape(-1, 1)  # young, old, …
    >>> y = np.tile(["young", "old"], 1000)
    >>> model = GaussianNB(bounds=(0, 100), classes=["old", "young"], budget=5.0).fit(X, y)
    >>> model.predict([[25.0], [70.0]]).tolist()
    ['young', 'old']
    >>> before = model.release_
    >>> model.forget(X[:1], y[:1]).release_.value[:2] - before.value[:2]    # one young person fewer
    array([ 0, -1])
    """

    def __init__(
        self,
        *,
        bounds: PublicBounds = None,
        classes: Labelled = None,
        budget: Noise = 1.0,
        priors: Labelled = None,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.classes = classes
        self.budget = budget
        self.priors = priors
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    theta_ = fitted_attribute("theta_", "Means, one row per class.")
    var_ = fitted_attribute("var_", "Variances, one row per class.")
    class_count_ = fitted_attribute(
        "class_count_", "The noisy count of the rows that are left, by class; at least 1."
    )
    class_prior_ = fitted_attribute("class_prior_", "Class shares.")
    _numbers = ("theta_", "var_", "class_prior_")
    _solved_with = ("priors",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels) -> "GaussianNB":
        """Publish a noisy release of the data, once."""
        codes = self._fitted_classes(X, y)
        self._priors()
        label = self._labels.column("class")
        mechanism = NoisyClassMoments(self._grid.columns, self._budget(), label, self.rows_per_person)
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> Answers:
        moments = self._mechanism.gaussians_of(values)
        known = self._priors()
        prior = moments.shares if known is None else known
        return {
            "theta_": moments.means,
            "var_": moments.variances,
            "gaussians": moments,
            "class_count_": moments.counts,
            "class_prior_": prior,
        }

    def _priors(self) -> FloatArray | None:
        """Class shares that are known beforehand, checked."""
        if self.priors is None:
            return None
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != (len(self.classes_),):
            raise ValueError("Number of priors must match number of classes.")
        if (priors < 0).any() or not np.isclose(priors.sum(), 1.0):
            raise ValueError("The priors must be non-negative and add up to 1.")
        return priors

    def _log_joint(self, X: Given) -> FloatArray:
        X = checked(self, X, reset=False, dtype=np.float64)
        answers = self._cached_answers()
        with np.errstate(divide="ignore"):  # a class with prior 0 is never chosen
            return np.asarray(np.log(answers["class_prior_"]) + answers["gaussians"].log_likelihood(X))

    def _count(self) -> float:
        return float(self._state.value[: len(self.classes_)].sum())

    def _noise_of_count(self) -> float:
        return super()._noise_of_count() * float(np.sqrt(len(self.classes_)))
