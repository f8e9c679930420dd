"""What the curator keeps after Alice left can be simulated from what the others have seen.

state after D, y   ~   Sim(D ∖ {y}, the outputs)        for every y that Alice may have had
"""

from collections.abc import Iterator
from fractions import Fraction

from undeleted.foundations.types import Json, Output
from undeleted.paper.answers import Answer, data_sets, equal
from undeleted.paper.specimens import Specimen
from undeleted.verifying.best_simulator import Channel

KIND = "retraining"
SOURCE = "Godin and Lamontagne, Deletion-compliance in the absence of privacy, PST 2021"
SIMPLIFIED = (
    "One deletion.  The others' view is their own points and everything published; the simulator is any "
    "kernel, found by a linear program, without a bound on its running time."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}
ONE = Fraction(1)


def godin_lamontagne_2021(specimen: Specimen) -> Answer:
    """The best simulator of the state, for every data set of the others."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        for others in data_sets(specimen, specimen.n - 1):
            if list(others) != sorted(others, key=repr):
                continue
            inputs: dict[Output, dict[int, Fraction]] = {}
            views: dict[Output, dict[int, Fraction]] = {}
            for d, point in enumerate(specimen.domain):
                for end, p in specimen.play((point, *others), [(point,)]).items():
                    seen = inputs.setdefault((end[0],), {})
                    seen[d] = seen.get(d, Fraction(0)) + p
                    views.setdefault(end, {})[d] = p
            best = Channel(inputs, views, lambda name: name[0], keep=True).solve(ONE, ONE, 60.0)
            states = {
                str(point): sorted({str(end[1]) for end, mass in views.items() if d in mass})
                for d, point in enumerate(specimen.domain)
            }
            yield best.upper, {"others": list(others), "kept, by what Alice had": states}

    return equal(cases())
