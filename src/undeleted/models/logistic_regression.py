"""Logistic regression from quadratic sufficient statistics.

    published    n and Σ x by class; Σ x², Σ xx′ of all (centred, on the grid)
    forgotten    subtract the row's own terms
    predicted    from log P(class | x) = wx + b, where the moments determine w and b

A logistic loss is not a sum of a fixed statistic, but its quadratic part is.  Of all distributions with these
moments the Gaussian has the largest entropy, and for it the best logistic model is linear discriminant
analysis: w = C⁻¹μ, with one covariance C for all classes.  If features are far from that (long tails, many
zeros), a logistic regression that reads the rows repeatedly fits better.
"""

from typing import Literal

import numpy as np

from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.errors import BadSetting
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Budget, Noise, Zcdp
from undeleted.foundations.types import Given
from undeleted.models._base import STEPS, as_number, checked, fitted_attribute, restore_on_failure
from undeleted.models._row_estimators import RowClassifier
from undeleted.models._types import Answers, Labelled, Matrix, PublicBounds, RandomState, RowLabels


class LogisticRegression(RowClassifier):
    """Logistic regression that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond are clipped.  "data" takes, and leaks, the data's own.
    classes : list
        All possible labels.  "data" takes, and leaks, the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    covariance : "auto", "full" or "diagonal"
        Whether products of features are published.  There are many of them, so with few rows their
        noise outweighs their information; "auto" decides by `expected_rows`, and without it publishes them.
    expected_rows : int, optional
        A public estimate of the number of rows.
    penalty : float
        The weight of the squared slopes.
    steps : int
        The number of grid steps between the bounds.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 2000)[:, None]
    >>> y = X[:, 0] > 0
    >>> model = LogisticRegression(bounds=(-1, 1), classes=[False, True], budget=5.0).fit(X, y)
    >>> model.predict([[-0.5], [0.5]]).tolist()
    [False, True]
    >>> bool(model.forget(X[:10], y[:10]).coef_[0, 0] > 0)
    True
    """

    def __init__(
        self,
        *,
        bounds: PublicBounds = None,
        classes: Labelled = None,
        budget: Noise = 1.0,
        covariance: Literal["auto", "full", "diagonal"] = "auto",
        expected_rows: int | None = None,
        penalty: float = 0.0,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.classes = classes
        self.budget = budget
        self.covariance = covariance
        self.expected_rows = expected_rows
        self.penalty = penalty
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    coef_ = fitted_attribute(
        "coef_", "Slopes: one row per class, or one row in all, for the second of two classes."
    )
    intercept_ = fitted_attribute("intercept_", "Intercepts, likewise.")
    _numbers = ("coef_", "intercept_")
    _solved_with = ("penalty",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels) -> "LogisticRegression":
        """Publish a noisy release of the data, once."""
        as_number(self.penalty, "penalty")
        if self.expected_rows is not None:
            as_number(self.expected_rows, "expected_rows", 1)
        codes = self._fitted_classes(X, y)
        if len(self.classes_) < 2:
            raise ValueError("This estimator needs at least 2 classes; only one class was declared.")
        mechanism = NoisySecondMoments(
            self._grid.columns,
            self._budget(),
            by=self._labels.column("class"),
            products=self._with_products(),
            rows_per_person=self.rows_per_person,
        )
        self._publish(mechanism, codes)
        return self

    def _with_products(self) -> bool:
        """Return whether the noise of a covariance's eigenvalues stays below 0.3 half ranges², for "auto".

        Only public numbers decide.  d(d − 1)/2 products share a budget: their noise has the spread √2·d²/2ε,
        and a d × d matrix of such noise has an eigenvalue of 2√d times that.
        """
        if self.covariance not in ("auto", "full", "diagonal"):
            raise BadSetting(f"covariance = {self.covariance!r}: unknown.", "Choose auto, full or diagonal.")
        budget, d = self._budget(), self.n_features_in_
        if self.covariance != "auto" or self.expected_rows is None or not isinstance(budget, Budget | Zcdp):
            return self.covariance != "diagonal"
        products = d * (d - 1) / 2
        if isinstance(budget, Budget) and budget.delta == 0:
            spread = np.sqrt(2) * products / budget.epsilon
        else:
            rho = (
                budget.rho if isinstance(budget, Zcdp) else budget.epsilon**2 / (4 * np.log(1 / budget.delta))
            )
            spread = np.sqrt(products / (2 * rho))
        return bool(2 * np.sqrt(d) * spread < 0.3 * self.expected_rows)

    def _answers(self, values: FloatArray) -> Answers:
        return self._solved(values, tame=True)

    def _untamed(self, values: FloatArray) -> Answers:
        return self._solved(values, tame=False)

    def _solved(self, values: FloatArray, tame: bool) -> Answers:
        penalty = as_number(self.penalty, "penalty")
        slopes, intercepts = self._mechanism.discriminants_of(values, penalty, tame)
        if len(slopes) == 2:
            slopes, intercepts = slopes[1:] - slopes[:1], intercepts[1:] - intercepts[:1]
        return {"coef_": slopes, "intercept_": intercepts}

    def decision_function(self, X: Matrix) -> FloatArray:
        """wx + b: one number per row for two classes, otherwise one column per class."""
        answers = self._cached_answers()
        X = checked(self, X, reset=False, dtype=np.float64)
        scores = X @ answers["coef_"].T + answers["intercept_"]
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def _log_joint(self, X: Given) -> FloatArray:
        scores = self.decision_function(X)
        return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores

    def _count(self) -> float:
        return float(self._state.value[: len(self.classes_)].sum())

    def _noise_of_count(self) -> float:
        return super()._noise_of_count() * float(np.sqrt(len(self.classes_)))
