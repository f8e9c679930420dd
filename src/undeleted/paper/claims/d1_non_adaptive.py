"""The non-adaptive definition: a simulator writes the transcript from z0 and the deleted points."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement

from undeleted.foundations.types import Output
from undeleted.games.baselines.retrain import median
from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import bars
from undeleted.paper.claims._runs import least, optimum

SAYS = (
    "An algorithm is k-undeleted-safe if some simulator, given the first release and the deleted values, "
    "writes the whole sequence of updated releases, up to similarity, for every data set and every fixed "
    "sequence of deletions. An exact sum, a bulletin board and any other stateless algorithm satisfy it; "
    "the exact median does not."
)
WHERE = "Definition 3.1"
SAFE = ("exact-sum", "retrain-sum", "bulletin-board", "frozen-median", "ignore", "xor-pad", "noisy-sum")


def d1_non_adaptive(setting: Setting) -> ClaimResult:
    figures, rows = [], []
    x, y = "least δ of any simulator", "curator"
    for name in SAFE:
        proof, command = least(name, "non-adaptive", n=2 if name == "xor-pad" else 3)
        figures.append(exactly(f"least δ of {name}", optimum(proof), "0", command))
        rows.append({x: float(proof.literal.upper), y: name})
    for domain in setting.pick((2, 3, 4), (2, 3, 4, 5, 6)):
        proof, command = least("retrain-median", "non-adaptive", domain=domain, shortcuts=False)
        predicted = guess(median, domain)
        figures.append(
            exactly(f"least δ of the retrained median on {domain} values", optimum(proof), predicted, command)
        )
        rows.append({x: float(proof.literal.lower), y: f"retrained median, {domain} values"})
    proof, command = least("xor-undeleted", "non-adaptive", n=2)
    figures.append(exactly("least δ of z ⊕ y on one bit", optimum(proof), "1/2", command))
    rows.append({x: float(proof.literal.lower), y: "xor-undeleted"})
    caption = (
        "The best possible simulator, by linear programming and proven in rational numbers: 0 is perfect "
        "safety."
    )
    alt = "No bar for seven safe curators; bars from a half upwards for the retrained median and z ⊕ y."
    return ClaimResult(tuple(figures), (bars(rows, x, y, caption=caption, alt=alt),))


def guess(function: Callable[[tuple[int, ...]], Output], domain: int) -> str:
    """1 − 1/m, where m is the most values after a deletion for one value before it and one deleted point.

    Three people; counted here by brute force, without the verifier.
    """
    after: dict[tuple[Output, int], set[Output]] = defaultdict(set)
    for data in combinations_with_replacement(range(domain), 3):
        for i, gone in enumerate(data):
            after[function(data), gone].add(function(data[:i] + data[i + 1 :]))
    return str(1 - Fraction(1, max(map(len, after.values()))))
