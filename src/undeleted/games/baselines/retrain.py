"""Perfect retraining: compute any function again on what is left (M10).

This is what unlearning aims for, and it leaks:

start    f(D)
delete   D ← D ∖ {y};  f(D)
"""

from collections.abc import Callable, Sequence

from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output
from undeleted.games.baselines._points import Point, Points, nonempty, started, without


def total(points: tuple[Output, ...]) -> Output:
    """The exact sum."""
    return sum(points)


def median(points: tuple[Output, ...]) -> Output:
    """The lower median: the smaller of the two middle points if their number is even; None without points."""
    return sorted(points)[(len(points) - 1) // 2] if points else None


class Retrain:
    """A curator that computes the function of the remaining data after every deletion.

    >>> from undeleted.foundations.coins import seeded
    >>> curator = Retrain(median)
    >>> curator.start([0, 0, 5, 9, 9], seeded(7)), curator.delete([9]), curator.delete([9])
    (5, 0, 0)
    """

    def __init__(self, function: Callable[[Points], Output]) -> None:
        self.function = function
        self._left: Points | None = None

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        self._left = nonempty(data, self)
        return self.function(self._left)

    def delete(self, points: Sequence[Point]) -> Output:
        self._left = without(started(self._left, self), points)
        return self.function(self._left)
