"""D5: how close two worlds are, by any notion of similarity between finite distributions.

    total_variation()             statistical: the best advantage of any observer
    approximate(epsilon)          the δ of (ε, δ)-indistinguishability, both directions
    distinguishers(tests)         computational in spirit: the best advantage within a class of tests

A notion is a function of two laws, `{outcome: probability}`, that returns a number; 0 is perfect.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from undeleted.errors import BadBudget
from undeleted.foundations.types import Output

Law: TypeAlias = Mapping[Output, Fraction]
Similarity: TypeAlias = Callable[[Law, Law], Fraction | float]


def total_variation() -> Similarity:
    """Half the L1 distance, exactly.

    >>> total_variation()({0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1)})
    Fraction(1, 2)
    """
    none = Fraction(0)
    return lambda p, q: sum((abs(p.get(x, none) - q.get(x, none)) for x in p.keys() | q.keys()), none) / 2


def approximate(epsilon: float) -> Similarity:
    """The least δ for which the two laws are (ε, δ)-indistinguishable.

    >>> third = Fraction(1, 3)
    >>> approximate(math.log(2))({0: 2 * third, 1: third}, {0: third, 1: 2 * third})
    0.0
    """
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise BadBudget("epsilon", epsilon, "non-negative and finite")

    def one_way(p: Law, q: Law) -> float:
        return math.fsum(max(0.0, float(p[x]) - math.exp(epsilon) * float(q.get(x, 0))) for x in p)

    return lambda p, q: max(one_way(p, q), one_way(q, p))


def distinguishers(tests: Sequence[Callable[[Hashable], bool]]) -> Similarity:
    """The best |P(test accepts p) − P(test accepts q)| over the given tests.

    >>> parity = distinguishers([lambda x: x % 2 == 0])
    >>> parity({0: Fraction(1)}, {2: Fraction(1)}), parity({0: Fraction(1)}, {1: Fraction(1)})
    (Fraction(0, 1), Fraction(1, 1))
    """

    def accepts(test: Callable[[Hashable], bool], law: Law) -> Fraction:
        return sum((w for x, w in law.items() if test(x)), Fraction(0))

    return lambda p, q: max((abs(accepts(t, p) - accepts(t, q)) for t in tests), default=Fraction(0))
