"""Certified removal: noise in the objective once, then a Newton step for every deletion (Guo et al., 2019).

start    w = argmin Σ ℓ(w·x, y) + (λn/2)‖w‖² + b·w       b ~ N(0, σ²) in every coordinate, drawn once
delete   w ← w + H⁻¹ Δ      Δ = λw + ∇ℓ(w·x, y) of the deleted,  H the Hessian of the others at w

It promises that a removal is (ε, δ)-indistinguishable from never having been in the data, until the errors
of the steps add up to what the noise hides.  Then one retrains, which is not implemented here.  It promises
nothing to those who stay, and they pay for it: the noise b is the same before and after, so the step H⁻¹Δ
is nearly noiseless, and H is a function of everybody who stayed.

The loss is `logistic` (y = 0 or 1) or `ridge` (half the squared error).  A point is its features, then y;
a bare number is a y with the constant feature 1.
"""

from collections.abc import Sequence

import numpy as np

from undeleted.errors import BadSetting
from undeleted.foundations.coins import Coins, DiscreteGaussian
from undeleted.foundations.types import Output
from undeleted.games.baselines._points import Point, Points, nonempty, started, without

GRID = 2.0**30  # the noise is discrete, on a grid so fine that it is treated as continuous
STEPS = 100


class CertifiedRemoval:
    """A linear model that takes a Newton step for each deletion and is not retrained.

    >>> from undeleted.foundations.coins import seeded
    >>> curator = CertifiedRemoval("ridge", l2=0.1, sigma=1.0)
    >>> people = [(1.0, 2.0), (0.5, 1.0), (-1.0, -2.0), (-0.5, -1.0)]
    >>> z0, z1 = curator.start(people, seeded(7)), curator.delete([(0.5, 1.0)])
    >>> len(z0), z0 != z1
    (1, True)
    """

    def __init__(self, loss: str = "logistic", *, l2: float = 0.1, sigma: float = 1.0) -> None:
        if loss not in ("logistic", "ridge"):
            raise BadSetting(f"there is no loss {loss!r}.", "Choose logistic or ridge.")
        if not l2 > 0 or not sigma > 0:
            raise BadSetting("l2 and sigma must be positive.", "Give positive numbers.")
        self.loss, self.l2, self.sigma = loss, l2, sigma
        self._left: Points | None = None
        self._w: Output = None

    def start(self, data: Sequence[Point], coins: Coins) -> tuple[float, ...]:
        self._left = nonempty(data, self)
        x, y = _parts(self._left)
        law = DiscreteGaussian(self.sigma * GRID)
        b = coins.noisy(law, np.zeros(x.shape[1], dtype=np.int64)) / GRID
        self._w = self._minimise(x, y, b)
        return tuple(map(float, self._w))

    def delete(self, points: Sequence[Point]) -> tuple[float, ...]:
        left = started(self._left, self)
        without(left, points)  # fails before any point is deleted
        for point in points:
            left = without(left, [point])
            self._left = left
            if not left:
                break
            x, y = _parts((point,))
            step = self.l2 * self._w + self._gradient(x, y, self._w)
            self._w = self._w + np.linalg.solve(self._hessian(*_parts(left), self._w), step)
        return tuple(map(float, self._w))

    def log_density(self, data: Sequence[Point], output: Sequence[float]) -> float:
        """The log density of the first output: b is minus the gradient, the Hessian is the change of volume.

        It is exact if arithmetic does not round and the noise has no grid.
        """
        x, y = _parts(tuple(data))
        w = np.asarray(output, dtype=np.float64)
        b = self._gradient(x, y, w) + self.l2 * len(y) * w
        volume = np.linalg.slogdet(self._hessian(x, y, w))[1]
        normal = -0.5 * float(b @ b) / self.sigma**2 - b.size * np.log(self.sigma * np.sqrt(2 * np.pi))
        return float(normal + volume)

    def _minimise(self, x: Output, y: Output, b: Output) -> Output:
        """Newton's method with halved steps; the objective is strongly convex."""
        w = np.zeros(x.shape[1])
        for _ in range(STEPS):
            gradient = self._gradient(x, y, w) + self.l2 * len(y) * w + b
            if np.abs(gradient).max() < 1e-13 * (1 + np.abs(b).max() + len(y)):
                break
            step = np.linalg.solve(self._hessian(x, y, w), gradient)
            size = 1.0
            while size > 1e-6 and self._value(x, y, b, w - size * step) > self._value(x, y, b, w):
                size /= 2
            w = w - size * step
        return w

    def _value(self, x: Output, y: Output, b: Output, w: Output) -> float:
        margin = x @ w
        each = np.logaddexp(0, margin) - y * margin if self.loss == "logistic" else (margin - y) ** 2 / 2
        return float(each.sum() + self.l2 * len(y) / 2 * w @ w + b @ w)

    def _gradient(self, x: Output, y: Output, w: Output) -> Output:
        margin = x @ w
        return x.T @ ((_sigmoid(margin) if self.loss == "logistic" else margin) - y)

    def _hessian(self, x: Output, y: Output, w: Output) -> Output:
        """The Hessian with its regulariser, which grows with the number of people."""
        if self.loss == "logistic":
            p = _sigmoid(x @ w)
            weights = p * (1 - p)
        else:
            weights = np.ones(len(y))
        return (x * weights[:, None]).T @ x + self.l2 * len(y) * np.eye(x.shape[1])


def _parts(points: Points) -> tuple[Output, Output]:
    rows = np.array(points, dtype=np.float64)
    if rows.ndim == 1:
        return np.ones((rows.size, 1)), rows
    return rows[:, :-1], rows[:, -1]


def _sigmoid(t: Output) -> Output:
    return 0.5 * (1 + np.tanh(t / 2))
