"""Ridge regression from noisy sums, squares and products.

The release is that of linear regression.  The penalty `alpha` is used only when the equations are solved, so
changing it on a fitted model spends nothing.
"""

from undeleted.foundations.privacy import Noise
from undeleted.models._base import STEPS, as_number, restore_on_failure
from undeleted.models._types import Matrix, PublicBounds, RandomState, RowLabels
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
        bounds: PublicBounds = None,
        bounds_y: PublicBounds = None,
        budget: Noise = 1.0,
        fit_intercept: bool = True,
        steps: int = STEPS,
        rows_per_person: int = 1,
        random_state: RandomState = None,
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

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels) -> "Ridge":
        """Publish a noisy release of the data, once."""
        as_number(self.alpha, "alpha")
        super().fit(X, y)
        return self
