"""Least squares from noisy sums, squares and products.

published    n, Σ x, Σ y, Σ x², Σ y², Σ xy, Σ xx′ (centred, on the grid)
forgotten    subtract the row's own
predicted    by the solution of the normal equations, in which the known noise is tamed
"""

from typing import Any

from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.models._base import STEPS, told, whole
from undeleted.models._row_estimators import OfTarget


class LinearRegression(OfTarget):
    """Linear regression that forgets.

    Parameters
    ----------
    bounds, bounds_y : pairs of numbers or of lists
        Public bounds of the features and of the target; values beyond count as the bound.  "data" leaks
        the data's own.
    budget : float, Budget or Zcdp
        What the release may cost every person in the data; a number is a pure ε.
    fit_intercept : bool
        Without it the line goes through the origin.
    steps : int
        The grid between the bounds.
    rows_per_person : int
        The most rows that one person may have; noise grows with it.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 10, 5001)[:, None]
    >>> model = LinearRegression(bounds=(0, 10), bounds_y=(0, 30), budget=10.0).fit(X, 3 * X[:, 0])
    >>> model.coef_.round(1).tolist()
    [3.0]
    >>> before = model.release_
    >>> int(model.forget(X[:100], 3 * X[:100, 0]).release_.value[0] - before.value[0])
    -100
    """

    _penalty = 0.0

    def __init__(
        self,
        *,
        bounds: Any = None,
        bounds_y: Any = None,
        budget: Any = 1.0,
        fit_intercept: bool = True,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.bounds = bounds
        self.bounds_y = bounds_y
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    coef_ = told("coef_", "Slopes.")
    intercept_ = told("intercept_", "Where the line meets 0.")
    _numbers = ("coef_", "intercept_")
    _solved_with: tuple[str, ...] = ("fit_intercept",)

    @whole
    def fit(self, X: Any, y: Any) -> "LinearRegression":
        """Publish, once."""
        codes = self._fitted_target(X, y)
        mechanism = NoisySecondMoments(
            self._grid.columns,
            self._budget(),
            target=self._target.columns[0],
            rows_per_person=self.rows_per_person,
        )
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> dict[str, Any]:
        slopes, intercept = self._mechanism.least_squares_of(values, self._penalty, self.fit_intercept)
        return {"coef_": slopes, "intercept_": intercept}
