"""CountMod: by deleting its own copies, an attacker asks any counting query about the others."""

from itertools import product
from math import sqrt

from undeleted.foundations.coins import DiscreteLaplace
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.types import Json
from undeleted.games.reconstruction.fourier_queries import predicted_fraction
from undeleted.paper.claim import ClaimResult, Figure, Setting, about, exactly, more_than
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import attack

SAYS = (
    "CountMod(T), how many i occur 2 times modulo 3, has sensitivity 1, so one release is easy to make "
    "private. An attacker who controls 3n copies of every i turns deletions into n counting queries of its "
    "choice, and reconstructs D unless the error is of order √n."
)
WHERE = "Section 2.1"


def p4_count_mod(setting: Setting) -> ClaimResult:
    n = setting.pick(2**12, 2**14)
    epsilons = setting.pick((0.02, 0.05, 0.1, 0.3), (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5))
    x, y = "ε of every release", "recovered share"
    figures: list[Figure] = []
    rows, theory = [], []
    for epsilon in epsilons:
        result, command = attack("count-mod", n=n, epsilon=epsilon, seed=setting.seed)
        what = f"share of {n:,} recovered, every release ({epsilon:g}, 0)-DP"
        alpha = standard_deviation(DiscreteLaplace(1 / epsilon)) ** 2
        figures.append(recovered(what, result, alpha, command))
        rows.append({x: epsilon, y: result["recovered"], "curator": "recomputed after every deletion"})
        theory.append(
            {x: epsilon, y: predicted_fraction(alpha, n), "curator": "recomputed after every deletion"}
        )
        still, other = attack("count-mod", n=n, epsilon=epsilon, against="release-once", seed=setting.seed)
        rows.append({x: epsilon, y: still["recovered"], "curator": "released once"})
        theory.append({x: epsilon, y: 0.5, "curator": "released once"})
    figures.append(more_than(f"share recovered at ε = {epsilon:g}", result["recovered"], 0.99, command))
    figures.append(
        guesses(f"the same attacker against a first release that is fixed, ε = {epsilon:g}", still, other)
    )
    one, two = sensitivities()
    figures.append(exactly("sensitivity when somebody is added or removed, by brute force", one, 1))
    figures.append(exactly("sensitivity when somebody is replaced, by brute force", two, 2))
    caption = (
        f"Recovered share of {n:,} people; the line is 1 − Q(1/(4√(α/n))) for the variance α of the noise."
    )
    alt = (
        "The recovered share rises with ε from about two thirds to all; the release-once curator stays at "
        "a half."
    )
    note = "Sensitivity 1 is meant under adding or removing a record; under replacement it is 2."
    return ClaimResult(
        tuple(figures),
        (curves(rows, x, y, "curator", theory=theory, log="x", percent=True, caption=caption, alt=alt),),
        note=note,
    )


def recovered(what: str, found: Json, alpha: float, command: str, missed: float = 0.0) -> Figure:
    """A recovered share and what the law of the noise predicts; errors of single people are uncorrelated.

    `alpha` is the variance of an answer.  A share `missed` of the blocks is expected to answer other queries:
    this removes their signal and adds errors of n/8, twice the variance of a query.
    """
    n, blocks = found["n"], found["releases"]

    def predict(share: float) -> float:
        return predicted_fraction(alpha + share * n / 8, n, share)

    p = predict(missed)
    by_misses = (predict(missed + 1 / blocks) - p) * sqrt(missed * blocks)
    return about(what, found["recovered"], p, sqrt((p * (1 - p) + 1 / n) / n + by_misses**2), command)


def guesses(what: str, found: Json, command: str) -> Figure:
    """Half of the people are members: an attacker whose answers never change is right about half of them."""
    return about(what, found["recovered"], 0.5, 0.5 / sqrt(found["n"]), command)


def sensitivities() -> tuple[int, int]:
    """The most that one record changes CountMod, over all multisets of up to five copies of two values."""

    def count_mod(counts: tuple[int, ...]) -> int:
        return sum(c % 3 == 2 for c in counts)

    added = replaced = 0
    for a, b in product(range(6), repeat=2):
        added = max(added, abs(count_mod((a + 1, b)) - count_mod((a, b))))
        replaced = max(replaced, abs(count_mod((a + 1, b)) - count_mod((a, b + 1))))
    return added, replaced
