"""Gaussian naive Bayes from noisy moments by class.

published    for every class n, and for every feature Σ x and Σ x² (centred, in one block)
forgotten    subtract the row's own terms from the cells of its class
predicted    by Gaussians whose variances carry the noise of their means
"""

from typing import Any

import numpy as np

from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.models._base import STEPS, checked, told, whole
from undeleted.models._row_estimators import OfClasses


class GaussianNB(OfClasses):
    """Gaussian naive Bayes that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond count as the bound.  "data" leaks the data's own.
    classes : list
        The labels that there may be.  "data" leaks the data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    priors : list, optional
        Class shares that are known beforehand, in the order of the sorted classes.
    steps : int
        The grid between the bounds.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

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
        bounds: Any = None,
        classes: Any = None,
        budget: Any = 1.0,
        priors: Any = None,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.classes = classes
        self.budget = budget
        self.priors = priors
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    theta_ = told("theta_", "Means, a row a class.")
    var_ = told("var_", "Variances, a row a class.")
    class_count_ = told("class_count_", "About how many rows of each class are left, 1 at least.")
    class_prior_ = told("class_prior_", "Class shares.")
    _numbers = ("theta_", "var_", "class_prior_")
    _solved_with = ("priors",)

    @whole
    def fit(self, X: Any, y: Any) -> "GaussianNB":
        """Publish, once."""
        codes = self._fitted_classes(X, y)
        self._priors()
        label = self._labels.column("class")
        mechanism = NoisyClassMoments(self._grid.columns, self._budget(), label, self.rows_per_person)
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> dict[str, Any]:
        found = self._mechanism.gaussians_of(values)
        known = self._priors()
        prior = found.shares if known is None else known
        return {
            "theta_": found.means,
            "var_": found.variances,
            "gaussians": found,
            "class_count_": found.counts,
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

    def _log_joint(self, X: Any) -> FloatArray:
        X = checked(self, X, reset=False, dtype=np.float64)
        told = self._told()
        with np.errstate(divide="ignore"):  # a prior of 0 is a class that is never chosen
            return np.asarray(np.log(told["class_prior_"]) + told["gaussians"].log_likelihood(X))

    def _count(self) -> float:
        return float(self._state.value[: len(self.classes_)].sum())

    def _noise_of_count(self) -> float:
        return super()._noise_of_count() * float(np.sqrt(len(self.classes_)))
