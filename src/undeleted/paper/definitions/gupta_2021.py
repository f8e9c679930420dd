"""Unlearning under adaptive requests: given the requests, no event is much likelier than after a fresh start.

P(z_t ∈ E | requests u1, …, ut, chosen from what was seen)  ≤  e^α P(first output on D ∖ {u1, …, ut} ∈ E) + β
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

from undeleted.foundations.types import Json, Output
from undeleted.paper.answers import FACTOR, Answer, close, data_sets, marginal, one_way, two_laws, without
from undeleted.paper.specimens import Specimen

KIND = "retraining"
SOURCE = "Gupta, Jung, Neel, Roth, Sharifi-Malvajerdi, Waites, Adaptive machine unlearning, NeurIPS 2021"
SIMPLIFIED = (
    "With γ = 0, at e^α = 8, β = 3/10.  A requester may ask for these points after one history only, so the "
    "worst requests condition on a single history; with γ > 0 rare histories could be ignored."
)
CLAIMS = {"retrain-sum": True, "retrain-median": True, "retrain-bq": True}


def gupta_2021(specimen: Specimen) -> Answer:
    """Compare the output, given every history, with a fresh one."""

    def cases() -> Iterator[tuple[Fraction, Json]]:
        for data in data_sets(specimen):
            if list(data) != sorted(data, key=repr):
                continue  # requests come in every order instead
            for length in range(1, min(specimen.k, specimen.n - 1) + 1):
                for order in dict.fromkeys(permutations(range(specimen.n), length)):
                    yield from _given_histories(specimen, data, order)

    return close(cases())


def _given_histories(
    specimen: Specimen, data: tuple[Output, ...], order: tuple[int, ...]
) -> Iterator[tuple[Fraction, Json]]:
    published = marginal(specimen.play(data, [(data[i],) for i in order]), lambda end: end[0])
    fresh = marginal(specimen.play(without(data, *order)), lambda end: end[0][-1])
    for history, chance in marginal(published, lambda outputs: outputs[:-1]).items():
        given = {outputs[-1]: p / chance for outputs, p in published.items() if outputs[:-1] == history}
        witness = {
            "data": list(data),
            "deleted": [data[i] for i in order],
            "having seen": [str(z) for z in history],
        }
        laws = two_laws(given, fresh, ("unlearned", "retrained"))
        yield one_way(given, fresh, FACTOR), witness | laws
