"""Ridge regression from noisy sums, squares and products.

The same release as linear regression; the penalty `alpha` enters only when the equations are solved, so
that it may be changed on a fitted model, and nothing is spent.
"""

from typing import Any

from undeleted.models._base import STEPS, as_number, whole
from undeleted.models.linear_regression import LinearRegression


class Ridge(LinearRegression):
    """Ridge regression that forgets; parameters as for `LinearRegression`.

    Parameters
    ----------
    alpha : float
        The weight of the squared slopes, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 10, 5001)[:, None]
    >>> model = Ridge(alpha=1e6, bounds=(0, 10), bounds_y=(0, 30), budget=10.0).fit(X, 3 * X[:, 0])
    >>> bool(0 < model.coef_[0] < 0.5)
    True
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        bounds: Any = None,
        bounds_y: Any = None,
        budget: Any = 1.0,
        fit_intercept: bool = True,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.bounds = bounds
        self.bounds_y = bounds_y
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.steps = steps
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    _solved_with = ("fit_intercept", "alpha")

    @property
    def _penalty(self) -> float:  # type: ignore[override]
        return as_number(self.alpha, "alpha")

    @whole
    def fit(self, X: Any, y: Any) -> "Ridge":
        """Publish, once."""
        as_number(self.alpha, "alpha")
        super().fit(X, y)
        return self
