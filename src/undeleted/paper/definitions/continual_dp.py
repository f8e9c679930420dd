"""Differential privacy under continual observation: the whole transcript hides any one person.

transcript(D)  ≈  transcript(D′),  where D and D′ differ in one person, who may leave or stay
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from undeleted.foundations.types import Json
from undeleted.paper.answers import Answer, adaptively, close, data_sets
from undeleted.paper.specimens import Specimen

KIND = "privacy"
SOURCE = "Dwork, Naor, Pitassi, Rothblum, Differential privacy under continual observation, STOC 2010"
SIMPLIFIED = (
    "Neighbours replace one person, who leaves at the same time in both worlds or stays; "
    "at e^ε = 8, δ = 3/10."
)
CLAIMS = {"tree-counter": True}


def continual_dp(specimen: Specimen) -> Answer:
    """The best adaptive observer of one person."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        for others in data_sets(specimen, specimen.n - 1):
            if list(others) == sorted(others, key=repr):
                for one, other in combinations(specimen.domain, 2):
                    yield adaptively(specimen, (one, *others), (other, *others), range(specimen.n))

    return close(cases())
