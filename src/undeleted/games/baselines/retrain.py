"""Perfect retraining: compute any function again on what is left (M10).

What unlearning strives for, and what leaks:

start    f(D)
delete   D ← D ∖ {y};  f(D)
"""

from collections.abc import Callable, Sequence
from typing import Any

from undeleted.foundations.coins import Coins
from undeleted.games.baselines._points import Point, Points, nonempty, started, without


def total(points: tuple[Any, ...]) -> Any:
    """The exact sum."""
    return sum(points)


def median(points: tuple[Any, ...]) -> Any:
    """The lower median: of an even number of points the smaller of the two in the middle; None of none."""
    return sorted(points)[(len(points) - 1) // 2] if points else None


class Retrain:
    """The function of the remaining data, after every deletion.

    >>> from undeleted.foundations.coins import seeded
    >>> curator = Retrain(median)
    >>> curator.start([0, 0, 5, 9, 9], seeded(7)), curator.delete([9]), curator.delete([9])
    (5, 0, 0)
    """

    def __init__(self, function: Callable[[Points], Any]) -> None:
        self.function = function
        self._left: Points | None = None

    def start(self, data: Sequence[Point], coins: Coins) -> Any:
        self._left = nonempty(data, self)
        return self.function(self._left)

    def delete(self, points: Sequence[Point]) -> Any:
        self._left = without(started(self._left, self), points)
        return self.function(self._left)
