"""Undeleted-safety, dynamic (D3): the attacker corrupts and deletes as it goes.

Sim(z0, the deleted)  ≈  everything that was published
"""

from undeleted.paper.answers import Answer
from undeleted.paper.definitions._ours import ours
from undeleted.paper.specimens import Specimen

KIND = "ours"
SOURCE = (
    "Cohen, Kohen, Nissim, Stemmer, Protecting the undeleted in machine unlearning, FORC 2026, Definition 3.4"
)
SIMPLIFIED = (
    "Statistical similarity with δ = 0, in one small world; a witness in it is also one for more values or "
    "a larger k."
)
CLAIMS = {
    "retrain-sum": True,
    "retrain-median": False,
    "retrain-bq": False,
    "exact-sum": True,
    "bulletin-board": True,
    "noisy-sum": True,
    "frozen-median": True,
    "ignore": True,
    "xor-undeleted": False,
}


def undeleted_dynamic(specimen: Specimen) -> Answer:
    """The best simulator, by linear programming."""
    return ours(specimen, "dynamic")
