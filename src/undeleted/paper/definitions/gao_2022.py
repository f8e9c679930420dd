"""Deletion inference: of Alice's two records one is deleted, and nobody can tell which.

view(D, delete the first of Alice's, others follow)  ≈  view(D, delete the second, others follow)
"""

from collections.abc import Iterator
from fractions import Fraction

from undeleted.foundations.types import Json
from undeleted.paper.answers import Answer, adaptively, close, data_sets
from undeleted.paper.specimens import Specimen

KIND = "privacy"
SOURCE = (
    "Gao, Garg, Mahmoody, Vasudevan, Deletion inference, reconstruction, and compliance in machine "
    "(un)learning, PETS 2022"
)
SIMPLIFIED = (
    "Deletion inference for two records of one person, at e^ε = 8, δ = 3/10.  After Alice others may leave, "
    "chosen from what was seen, up to k deletions in all."
)
CLAIMS = {"retrain-sum": False, "exact-sum": False, "bulletin-board": False}


def gao_2022(specimen: Specimen) -> Answer:
    """The best adaptive observer of which record went."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        for data in data_sets(specimen):
            if list(data[2:]) == sorted(data[2:], key=repr):
                distance, witness = adaptively(specimen, data, data, range(2, specimen.n), first=(0, 1))
                yield distance, witness | {"Alice has": list(data[:2])}

    return close(cases())
