"""Logistic regression from quadratic sufficient statistics.

    published    n and Σ x by class; Σ x², Σ xx′ of all (centred, on the grid)
    forgotten    subtract the row's own
    predicted    by log P(class | x) = wx + b, whose w and b the moments determine

A logistic loss is no sum of a fixed statistic; its quadratic part is.  Of all data with these moments the
Gaussian ones say least else, and for them the best logistic model is linear discriminant analysis:
w = C⁻¹μ, with one covariance C for all classes.  Where features are far from that (long tails, many zeros),
a logistic regression that reads the rows again and again fits better.
"""

from typing import Any, Literal

import numpy as np

from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.errors import BadQuestion
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.models._base import STEPS, as_number, checked, told, whole
from undeleted.models._row_estimators import OfClasses


class LogisticRegression(OfClasses):
    """Logistic regression that forgets.

    Parameters
    ----------
    bounds : pair of numbers or of lists
        Public bounds of the features; values beyond count as the bound.  "data" leaks the data's own.
    classes : list
        The labels that there may be.  "data" leaks the data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    covariance : "auto", "full" or "diagonal"
        Whether products of features are published.  They are many, so that with few rows their noise
        costs more than they tell; "auto" decides by `expected_rows`, and publishes them without it.
    expected_rows : int, optional
        About how many rows there are, as far as the public may know.
    penalty : float
        The weight of the squared slopes.
    steps : int
        The grid between the bounds.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

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
        bounds: Any = None,
        classes: Any = None,
        budget: Any = 1.0,
        covariance: Literal["auto", "full", "diagonal"] = "auto",
        expected_rows: int | None = None,
        penalty: float = 0.0,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
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

    coef_ = told("coef_", "Slopes: a row a class, or a single one for the second of two classes.")
    intercept_ = told("intercept_", "Intercepts, likewise.")
    _numbers = ("coef_", "intercept_")
    _solved_with = ("penalty",)

    @whole
    def fit(self, X: Any, y: Any) -> "LogisticRegression":
        """Publish, once."""
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
        """Public numbers decide: does the noise of a covariance's eigenvalues stay below 0.3 half ranges²?

        d(d − 1)/2 products share a budget: their noise has the spread √2·d²/2ε, and a d × d matrix of it an
        eigenvalue of 2√d times that.
        """
        if self.covariance not in ("auto", "full", "diagonal"):
            raise BadQuestion(f"covariance = {self.covariance!r} is none.", "Choose auto, full or diagonal.")
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

    def _answers(self, values: FloatArray) -> dict[str, Any]:
        return self._solved(values, tame=True)

    def _untamed(self, values: FloatArray) -> dict[str, Any]:
        return self._solved(values, tame=False)

    def _solved(self, values: FloatArray, tame: bool) -> dict[str, Any]:
        penalty = as_number(self.penalty, "penalty")
        slopes, intercepts = self._mechanism.discriminants_of(values, penalty, tame)
        if len(slopes) == 2:
            slopes, intercepts = slopes[1:] - slopes[:1], intercepts[1:] - intercepts[:1]
        return {"coef_": slopes, "intercept_": intercepts}

    def decision_function(self, X: Any) -> FloatArray:
        """wx + b: a number a row for two classes, otherwise a column a class."""
        told = self._told()
        X = checked(self, X, reset=False, dtype=np.float64)
        scores = X @ told["coef_"].T + told["intercept_"]
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def _log_joint(self, X: Any) -> FloatArray:
        scores = self.decision_function(X)
        return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores

    def _count(self) -> float:
        return float(self._state.value[: len(self.classes_)].sum())

    def _noise_of_count(self) -> float:
        return super()._noise_of_count() * float(np.sqrt(len(self.classes_)))
