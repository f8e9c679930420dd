"""Coins that enumerate every outcome: run a function once per outcome and compute its exact law.

The function is run repeatedly.  Each run follows a path of choices; where the path ends it takes the first
option and records how many there were, and the next run takes the next one.  The function needs no change:
the mechanism code that publishes is also the code that is enumerated.

>>> def two_dice(coins):
...     return int(coins.integers(1, 7, 2).sum())
>>> exact_law(two_dice)[12]
Fraction(1, 36)
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from undeleted.errors import NotEnumerable, NotReproducible, TooLarge
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins.laws import ClampedGeometric, Law, NoNoise, TruncatedGeometric

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)
Toss = tuple[int, tuple[Fraction, ...]]  # which option was taken, and the probabilities of all
MOST_OUTCOMES = 10_000  # of one toss
MOST_TOSSES = 10_000  # in one run; a function that needs more may never end


class Enumerated:
    """Coins that follow a path of choices and extend it by first options."""

    kind = "enumerated"

    def __init__(self, path: Sequence[Toss] = ()) -> None:
        self.path = list(path)
        self.tossed = 0

    def bits(self, size: int) -> IntArray:
        return self.integers(0, 2, size)

    def integers(self, low: int, high: int, size: int) -> IntArray:
        fair = (Fraction(1, high - low),) * (high - low)
        return np.array([low + self._toss(fair) for _ in range(size)], dtype=np.int64)

    def choose(self, population: int, count: int) -> IntArray:
        left = list(range(population))
        return np.array(
            [left.pop(self._toss((Fraction(1, len(left)),) * len(left))) for _ in range(count)],
            dtype=np.int64,
        )

    def noisy(self, law: Law, exact: IntArray) -> IntArray:
        match law:
            case NoNoise():
                return exact.copy()
            case ClampedGeometric():
                if law.high - law.low >= MOST_OUTCOMES:
                    remedy = "Choose closer bounds for the noise of an exact world."
                    raise TooLarge(
                        "the outcomes of one noisy number", law.high - law.low + 1, MOST_OUTCOMES, remedy
                    )
                drawn = [law.low + self._toss(law.probabilities(int(x))) for x in exact.ravel()]
                return np.array(drawn, dtype=np.int64).reshape(exact.shape)
            case TruncatedGeometric():
                noise = [self._toss(law.probabilities) - law.width for _ in range(exact.size)]
                return exact + np.array(noise, dtype=np.int64).reshape(exact.shape)
        raise NotEnumerable(type(law).__name__)

    @property
    def probability(self) -> Fraction:
        """The probability of the path that was taken."""
        product = Fraction(1)
        for option, weights in self.path:
            product *= weights[option]
        return product

    def _toss(self, weights: tuple[Fraction, ...]) -> int:
        if self.tossed == MOST_TOSSES:
            raise NotEnumerable(f"an algorithm that tosses more than {MOST_TOSSES:,} coins in one run")
        if self.tossed == len(self.path):
            self.path.append((next(i for i, w in enumerate(weights) if w), weights))
        option, known = self.path[self.tossed]
        if known != weights:
            raise NotReproducible
        self.tossed += 1
        return option


def outcomes(run: Callable[[Enumerated], T], after: Sequence[Toss] = ()) -> Iterator[tuple[T, Fraction]]:
    """Every result of `run` with the probability of its coins; a result may occur more than once.

    With `after`, only the paths that begin with those tosses, each with its probability given them.
    """
    path: list[Toss] | None = list(after)
    given = Enumerated(after).probability
    while path is not None:
        coins = Enumerated(path)
        result = run(coins)
        if coins.tossed < len(coins.path):
            raise NotReproducible
        yield result, coins.probability / given
        path = _next_path(coins.path, len(after))


def exact_law(run: Callable[[Enumerated], H]) -> dict[H, Fraction]:
    """The exact distribution of `run(coins)`; the probabilities add up to 1."""
    law: dict[H, Fraction] = {}
    for result, probability in outcomes(run):
        law[result] = law.get(result, Fraction(0)) + probability
    return law


def _next_path(path: list[Toss], kept: int) -> list[Toss] | None:
    """The next path: the last choice that has another option takes it; the first `kept` choices stay."""
    for depth in range(len(path) - 1, kept - 1, -1):
        option, weights = path[depth]
        for other in range(option + 1, len(weights)):
            if weights[other]:
                return [*path[:depth], (other, weights)]
    return None
