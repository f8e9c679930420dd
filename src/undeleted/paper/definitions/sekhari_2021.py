"""Deleting a set at once is (ε, δ)-close to training on the rest and deleting the empty set.

U(S, A(D))  ≈  U(∅, A(D ∖ S))
"""

from undeleted.paper.answers import FACTOR, Answer, close, hockey_stick
from undeleted.paper.definitions._retraining import compared
from undeleted.paper.specimens import Specimen

KIND = "retraining"
SOURCE = "Sekhari, Acharya, Kamath, Suresh, Remember what you want to forget, NeurIPS 2021"
SIMPLIFIED = (
    "At e^ε = 8, δ = 3/10, for sets of up to k points.  Unlearning need not get by with a few statistics of "
    "the data, on which their efficiency rests."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}


def sekhari_2021(specimen: Specimen) -> Answer:
    """(ε, δ)-closeness after one batch."""
    distances = compared(specimen, lambda p, q: hockey_stick(p, q, FACTOR), specimen.k, at_once=True)
    return close(distances)
