"""Exact laws of transcripts, and whether they depend on those who stay."""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations

from undeleted.foundations.coins import exact_law
from undeleted.games.non_adaptive import non_adaptive_game


def given_the_first(make, data, sequence):
    """Return the exact law of the later outputs given the first one: {z0: {later outputs: probability}}."""
    law = exact_law(lambda coins: non_adaptive_game(make(), data, sequence, coins).outputs)
    given = defaultdict(dict)
    for outputs, probability in law.items():
        given[outputs[0]][outputs[1:]] = probability
    return {
        z0: {rest: p / sum(later.values(), Fraction(0)) for rest, p in later.items()}
        for z0, later in given.items()
    }


def depends_on_those_who_stay(make, data_sets, sequence):
    """Return whether, for some first output, the law of the later outputs differs between two data sets.

    The data sets agree on the deleted points.  If no first output is like this, the algorithm is perfectly
    safe on them, by conditional independence; if one is, it is a witness against any simulator.
    """
    laws = [given_the_first(make, data, sequence) for data in data_sets]
    pairs = combinations(laws, 2)
    return any(one[z0] != other[z0] for one, other in pairs for z0 in one.keys() & other.keys())
