"""Star: the attacker's stars choose the query, and deleting 3kn of them reconstructs n other people."""

from collections.abc import Callable
from math import exp

from undeleted.foundations.coins import DiscreteLaplace
from undeleted.foundations.intervals import standard_deviation
from undeleted.games.reconstruction.tasks import round_half_up
from undeleted.paper.claim import ClaimResult, Setting, exactly, more_than, share
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import attack
from undeleted.paper.claims.p4_count_mod import guesses, recovered

SAYS = (
    "Let the number of stars in the data choose which of n Fourier queries is to be answered, with a "
    "tolerance of k stars. One answer can be private, with k about 1/ε. An attacker who deletes its own 3kn "
    "stars one by one goes through all n queries. At a multiple of 3k stars exactly one index is allowed."
)
WHERE = "Section 2.1, reducing the number of deletions"


def p5_star(setting: Setting) -> ClaimResult:
    n, epsilon = setting.pick(2**12, 2**16), 0.5
    result, command = attack("star", n=n, k=32, epsilon=epsilon, seed=setting.seed)
    still, other = attack("star", n=n, k=32, epsilon=epsilon, against="release-once", seed=setting.seed)
    figures = [
        recovered(
            f"share of {n:,} recovered by deleting {result['deletions']:,} stars",
            result,
            standard_deviation(DiscreteLaplace(2 / epsilon)) ** 2,
            command,
            beyond(32, epsilon),
        ),
        more_than("that share", result["recovered"], 0.99),
        guesses("the same attacker against a first release that is fixed", still, other),
        exactly(
            "numbers of stars without an allowed index, k = 1 … 12, up to 40 queries", without_an_index(), 0
        ),
        exactly("multiples of 3k without exactly one allowed index", *ambiguous()),
    ]
    x, y = "k", "share of releases at a wrong index"
    rows, theory = [], []
    for k in setting.pick((1, 2, 3, 4, 6, 8), (1, 2, 3, 4, 5, 6, 8, 10, 12)):
        missed, command = attack(
            "star", n=setting.pick(2**10, 2**13), k=k, epsilon=epsilon, seed=setting.seed
        )
        wrong = beyond(k, epsilon)
        figures.append(
            share(
                f"releases that answered a wrong index, k = {k}",
                missed["missed_indices"],
                missed["releases"],
                wrong * (1 - 1 / missed["releases"]),
                command,
            )
        )
        rows.append({x: k, y: missed["missed_indices"] / missed["releases"], "which": "measured"})
        theory.append({x: k, y: wrong, "which": "measured"})
    caption = (
        f"How often a release answers another query than the stars choose, at ε = {epsilon:g}; the line "
        "is the tail of the noise."
    )
    alt = (
        "The share of wrong indices falls from above a half at k = 1 to a few percent, along the predicted "
        "line."
    )
    picture = curves(rows, x, y, "which", theory=theory, percent=True, caption=caption, alt=alt)
    return ClaimResult(tuple(figures), (picture,))


def beyond(k: int, epsilon: float) -> float:
    """P(the noise moves the index), stars at a multiple of 3k; at both ends of the line one side is clamped.

    Discrete Laplace of scale 2/ε: r = e^(−ε/2).  The index moves up from ⌈3k/2⌉ on, and down beyond ⌊3k/2⌋.
    """
    r = exp(-epsilon / 2)
    up, down = (3 * k + 1) // 2, 3 * k // 2 + 1
    return (r**up + r**down) / (1 + r)


Rounding = Callable[[int, int], int]  # of a fraction, given as numerator and denominator


def without_an_index(up: Rounding = round_half_up, down: Rounding = round_half_up) -> int:
    """How many star counts allow no index from (Star − k)/3k, rounded up, to (Star + k)/3k, rounded down.

    k = 1 … 12, up to 40 queries; the introduction rounds both to the nearest.
    """
    return sum(
        up(stars - k, 3 * k) > down(stars + k, 3 * k) for k in range(1, 13) for stars in range(120 * k + 1)
    )


def ambiguous() -> tuple[int, int]:
    """How many multiples of 3k do not allow exactly one index; and the prediction."""
    result = 0
    for k in range(1, 13):
        for r in range(1, 41):
            result += round_half_up(3 * k * r - k, 3 * k) != round_half_up(3 * k * r + k, 3 * k)
    return result, 0
