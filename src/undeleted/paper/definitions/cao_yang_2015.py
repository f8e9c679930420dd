"""After any deletions the system is as if it had been trained on what is left.

law(last output on D, y1, …, yk)  =  law(first output on D ∖ {y1, …, yk})
"""

from undeleted.paper.answers import Answer, equal, hockey_stick
from undeleted.paper.definitions._retraining import compared
from undeleted.paper.specimens import Specimen

KIND = "retraining"
SOURCE = "Cao and Yang, Towards making systems forget with machine unlearning, IEEE S&P 2015"
SIMPLIFIED = (
    "Completeness only; timeliness is about running time.  Their systems are compared by predictions, "
    "the finite world by what is published."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}


def cao_yang_2015(specimen: Specimen) -> Answer:
    """Equality after every sequence of deletions."""
    return equal(compared(specimen, hockey_stick, specimen.k))
