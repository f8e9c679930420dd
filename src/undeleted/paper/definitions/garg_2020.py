"""Deletion as compliance: what is kept, and all that the others saw, is as if Alice had never been there.

real    (z0, z1, state) with Alice, who leaves after z0
ideal   (z0, z0, state) of the others alone
"""

from collections.abc import Iterator
from fractions import Fraction

from undeleted.foundations.types import Json
from undeleted.paper.answers import FACTOR, Answer, close, data_sets, hockey_stick, marginal, two_laws
from undeleted.paper.specimens import Specimen

KIND = "privacy"
SOURCE = (
    "Garg, Goldwasser, Vasudevan, Formalizing data deletion in the context of the right to be forgotten, "
    "EUROCRYPT 2020"
)
SIMPLIFIED = (
    "One Alice with one point; the others only watch, and look at the published value before and after she "
    "leaves.  At e^ε = 8, δ = 3/10 instead of negligible distance; statistical, not computational."
)
CLAIMS = {"retrain-sum": False, "exact-sum": False, "bulletin-board": False}


def garg_2020(specimen: Specimen) -> Answer:
    """State and view, with and without Alice."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        for data in data_sets(specimen):
            real = specimen.play(data, [(data[0],)])
            ideal = marginal(specimen.play(data[1:]), lambda end: (end[0] * 2, end[1]))
            witness = {"data": list(data), "Alice": data[0]}
            laws = two_laws(real, ideal, ("with Alice", "without her"))
            yield hockey_stick(real, ideal, FACTOR), witness | laws

    return close(cases())
