"""Least squares from noisy sums, squares and products.

published    n, Σ x, Σ y, Σ x², Σ y², Σ xy, Σ xx′ (centred, on the grid)
forgotten    subtract the row's own terms
predicted    from the solution of the normal equations, corrected for the known noise
"""

from undeleted.curate.mechanisms.noisy_second_moments import NoisySecondMoments
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.privacy import Noise
from undeleted.models._base import STEPS, fitted_attribute, restore_on_failure
from undeleted.models._row_estimators import RowRegressor
from undeleted.models._types import Answers, Matrix, PublicBounds, RandomState, RowLabels


class LinearRegression(RowRegressor):
    """Linear regression that forgets.

    Parameters
    ----------
    bounds, bounds_y : pairs of numbers or of lists
        Public bounds of the features and of the target; values beyond are clipped.  "data" takes, and leaks,
        the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    fit_intercept : bool
        Without it the line goes through the origin.
    steps : int
        The number of grid steps between the bounds.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

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
        bounds: PublicBounds = None,
        bounds_y: PublicBounds = None,
        budget: Noise = 1.0,
        fit_intercept: bool = True,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.bounds = bounds
        self.bounds_y = bounds_y
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    coef_ = fitted_attribute("coef_", "Slopes.")
    intercept_ = fitted_attribute("intercept_", "The prediction where all features are 0.")
    _numbers = ("coef_", "intercept_")
    _solved_with: tuple[str, ...] = ("fit_intercept",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels) -> "LinearRegression":
        """Publish a noisy release of the data, once."""
        codes = self._fitted_target(X, y)
        mechanism = NoisySecondMoments(
            self._grid.columns,
            self._budget(),
            target=self._target.columns[0],
            rows_per_person=self.rows_per_person,
        )
        self._publish(mechanism, codes)
        return self

    def _answers(self, values: FloatArray) -> Answers:
        slopes, intercept = self._mechanism.least_squares_of(values, self._penalty, self.fit_intercept)
        return {"coef_": slopes, "intercept_": intercept}
