"""Deleting one point leaves the model distributed as if it had never been there.

law(output on D, y)  =  law(first output on D ∖ {y})
"""

from undeleted.paper.answers import Answer, equal, hockey_stick
from undeleted.paper.definitions._retraining import compared
from undeleted.paper.specimens import Specimen

KIND = "retraining"
SOURCE = "Ginart, Guan, Valiant, Zou, Making AI forget you: data deletion in machine learning, NeurIPS 2019"
SIMPLIFIED = (
    "One deletion that does not depend on the model; efficiency, the definition's purpose, is left out."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}


def ginart_2019(specimen: Specimen) -> Answer:
    """Equality in distribution after one deletion."""
    return equal(compared(specimen, hockey_stick, 1))
