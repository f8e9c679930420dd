"""The exact median, never updated: rank error at most k, and in fact less than half of that."""

from itertools import combinations, combinations_with_replacement

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.frozen_median import FrozenMedian
from undeleted.foundations.coins import seeded
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.retrain import median
from undeleted.paper.claim import ClaimResult, Setting, exactly, none_above
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, optimum

SAYS = (
    "Release the exact median and ignore all deletions. This is stateless, so it is undeleted-safe, and "
    "its rank error is at most k after k deletions."
)
WHERE = "Section 4.1"


def m4_frozen_median(setting: Setting) -> ClaimResult:
    n, domain = setting.pick((6, 6), (8, 7))
    x = Number("x", min=0, max=domain - 1)
    schema, mechanism = Schema([x]), FrozenMedian(x)
    worst, claimed = [0] * n, [0] * n
    for data in combinations_with_replacement(range(domain), n):
        first = mechanism.release(Arrays(schema.table(list(data))), seeded(7))
        for k in range(n):
            release = mechanism.forget(first, k)
            claimed[k] = max(claimed[k], release.rank_error)
            for kept in combinations(data, n - k):
                middle = median(kept)
                low, high = sorted((middle, int(mechanism.median(release))))
                worst[k] = max(worst[k], sum(low < v < high for v in kept))
    sharp = [max(0, (k + 1) // 2 - 1) for k in range(n)]
    attained = [min(sharp[k], (n - k) // 2) for k in range(n)]  # at most those on one side of a median
    proof, command = least("frozen-median", k=2)
    figures = (
        none_above(
            f"rank error in excess of k, all data sets of {n} people on {domain} values, all deletions",
            max(w - k for k, w in enumerate(worst)),
            0,
        ),
        none_above(
            "rank error in excess of max(0, ⌈k/2⌉ − 1)",
            max(w - s for w, s in zip(worst, sharp, strict=True)),
            0,
        ),
        exactly(
            "worst rank errors found, k = 0, 1, …",
            str(worst),
            str(attained),
        ),
        exactly("the worst case that a release itself states", str(claimed), str(sharp)),
        exactly("least δ, up to two leave", optimum(proof), "0", command),
    )
    rows = [{"deletions": k, "rank error": w, "which": "worst case, found"} for k, w in enumerate(worst)]
    theory = [{"deletions": k, "rank error": k, "which": "the paper's bound"} for k in range(n)]
    theory += [{"deletions": k, "rank error": s, "which": "worst case, found"} for k, s in enumerate(sharp)]
    caption = (
        "The worst rank error of a fixed median, by brute force; it is max(0, ⌈k/2⌉ − 1), less than "
        "half of the paper's bound, as long as enough people remain."
    )
    alt = "The found worst case lies on a staircase below half of the diagonal."
    picture = curves(rows, "deletions", "rank error", "which", theory=theory, caption=caption, alt=alt)
    note = (
        "The bound k is right; with the paper's error, which counts records strictly between, max(0, ⌈k/2⌉ "
        "− 1) is never exceeded, and reached as long as enough people remain."
    )
    return ClaimResult(figures, (picture,), note=note)
