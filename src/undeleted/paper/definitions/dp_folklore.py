"""Differential privacy for the group of all who leave, over everything that is published.

transcript(D)  ≈  transcript(D′),  where D and D′ differ in up to k people, who are then deleted
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from undeleted.foundations.types import Json
from undeleted.paper.answers import Answer, adaptively, close
from undeleted.paper.specimens import Specimen

KIND = "privacy"
SOURCE = (
    "Folklore; differential privacy is from Dwork, McSherry, Nissim, Smith, Calibrating noise to sensitivity "
    "in private data analysis, TCC 2006"
)
SIMPLIFIED = (
    "Groups of k people, at e^ε = 8, δ = 3/10 for the whole group; they are deleted one by one in any order. "
    "Noise that was chosen for one person, such as the tree counter's, is too little for a group of two."
)
CLAIMS = {"retrain-sum": False, "exact-sum": False, "bulletin-board": False, "ignore": True}


def dp_folklore(specimen: Specimen) -> Answer:
    """The best adaptive observer of who the leavers were."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        k, domain = specimen.k, specimen.domain
        for stay in product(domain, repeat=specimen.n - k):
            if list(stay) != sorted(stay, key=repr):
                continue
            for one in product(domain, repeat=k):
                for other in product(domain, repeat=k):
                    if repr(one) < repr(other):
                        yield adaptively(specimen, (*one, *stay), (*other, *stay), range(k))

    return close(cases())
