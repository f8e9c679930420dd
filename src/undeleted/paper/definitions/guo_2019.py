"""Certified removal: after one deletion no outcome is more than e^ε times as likely as without the point.

e^-ε  ≤  P(output on D, y ∈ T) / P(first output on D ∖ {y} ∈ T)  ≤  e^ε
"""

from undeleted.paper.answers import FACTOR, Answer, largest_ratio, worst
from undeleted.paper.definitions._retraining import compared
from undeleted.paper.specimens import Specimen

KIND = "retraining"
SOURCE = (
    "Guo, Goldstein, Hannun, van der Maaten, Certified data removal from machine learning models, ICML 2020"
)
SIMPLIFIED = (
    "ε-certified removal of one point at e^ε = 8; their (ε, δ) variant is the definition of Sekhari et al."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}


def guo_2019(specimen: Specimen) -> Answer:
    """The largest ratio after one deletion."""
    ratio, witness = worst(compared(specimen, largest_ratio, 1))
    return Answer(ratio is not None and ratio <= FACTOR, ratio, "largest ratio e^ε", witness, str(FACTOR))
