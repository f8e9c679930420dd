"""Batch queries: few controlled points reconstruct almost everybody, the headline theorem."""

from math import ceil, log, log2, sqrt

import numpy as np
from scipy.special import ndtr

from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace, seeded
from undeleted.games.attacks.batch_queries import sigma_of
from undeleted.games.reconstruction.block_attackers import single
from undeleted.games.reconstruction.fourier_queries import (
    exact_answers,
    hidden_half,
    predicted_fraction,
    reconstruct,
)
from undeleted.games.reconstruction.pictures import as_png, frames_of, hidden_picture
from undeleted.games.reconstruction.tasks import BatchQueries
from undeleted.paper.claim import (
    ClaimResult,
    Figure,
    Picture,
    Setting,
    about,
    exactly,
    more_than,
    none_above,
    share,
)
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import attack
from undeleted.paper.claims.p4_count_mod import recovered
from undeleted.paper.claims.p5_star import beyond, without_an_index

SAYS = (
    "There is a task that can be solved once with differential privacy, and that any curator who retrains "
    "must solve again after every deletion: the number of stars chooses a block of t queries. An attacker "
    "who controls only 3kn/t stars (ω(1): growing arbitrarily slowly) gets all n answers by deleting "
    "them, and reconstructs almost all of the data."
)
WHERE = "Theorem 1.1, Section 2.1 and Appendix B"
DELTA = 1e-6
CORRECTION = (
    "Two corrections. The appendix allows the indices from ⌈(Star − k)/3k⌉ to ⌊(Star + k)/3k⌋: that set is "
    "empty for (k − 1)/3k of all star counts, so no algorithm solves the task there. The introduction "
    "rounds to the nearest integer, which always leaves an index and forces it near multiples of 3k; we "
    "clamp it to 1, …, n/t. And in the continual setting one point leaves per round, so the attacker "
    "needs 3k(r − 1) rounds, not r = n/t. The theorem then holds."
)
NOTE = (
    "β is for a single release: all r of them hit an allowed index with probability 1 − β if k ≥ "
    "(2/ε)ln(2r/β). With a smaller k some blocks answer other queries, which the attack survives. The "
    "remark after the theorem speaks of ω(log(1/δ)/ε²) controlled points: that many *blocks* are needed; "
    "each takes 3k of them, and k itself grows as 1/ε."
)


def p6_batch_queries(setting: Setting) -> ClaimResult:
    figures: list[Figure] = []
    for n, k, t, epsilon in setting.pick(
        [(2**16, 2, 128, 4.0), (2**15, 26, 4, 1.0)],
        [(2**20, 2, 2048, 4.0), (2**20, 8, 128, 1.0), (2**22, 26, 512, 1.0)],
    ):
        options = {"n": n, "k": k, "t": t, "epsilon": epsilon, "delta": DELTA, "seed": setting.seed}
        result, command = attack("batch-queries", **options)
        within = "within" if result["within_theorem"] else "outside of"
        what = (
            f"share of {n:,} recovered by deleting {result['deletions']:,} stars, each release ({epsilon:g}, "
            f"1e-6)-DP, {within} the theorem's conditions on ε and k"
        )
        misses = beyond(k, epsilon)
        figures.append(recovered(what, result, result["sigma"] ** 2, command, misses))
        figures.append(more_than("that share", result["recovered"], 0.98))
        what = "error α/n of the answers that it got (of a constant n/4: 0.0625)"
        figures.append(none_above(what, result["alpha"] / n, 0.02))
        expected = misses * (1 - t / n)
        figures.append(
            share("releases at a block that is not allowed", result["missed_indices"], n // t, expected)
        )
        figures.append(from_one_release(n, k, t, epsilon, setting.seed))
        if k == 2:
            r = n // t
            what = "points that must leave, one per round, if r = n/t rounds were enough"
            figures.append(exactly(what, result["deletions"], r, literal=True))
            figures.append(exactly("the same, if 3k(r − 1) are needed", result["deletions"], 3 * k * (r - 1)))
    n, k, t = setting.pick(2**14, 2**17), 2, setting.pick(64, 512)
    once, command = attack("batch-queries", n=n, k=k, t=t, seed=setting.seed)
    every, other = attack("batch-queries", n=n, k=k, t=t, attacker="all", seed=setting.seed)
    what = (
        "people whom an attacker that averages all releases gets wrong, as a share of those whom the "
        "theorem's attacker gets wrong"
    )
    figures.append(none_above(what, every["wrong"] / max(1, once["wrong"]), 0.5, other))
    appendix = without_an_index(lambda a, b: -(-a // b), lambda a, b: a // b)  # ⌈·⌉ and ⌊·⌋
    what = "star counts without an allowed index, k = 1 … 12, as the appendix writes it"
    figures.append(exactly(what, appendix, 0, literal=True))
    figures.append(exactly("the same, by formula: 40·Σ(k − 1)", appendix, 40 * sum(range(12))))
    figures.append(exactly("the same, rounded to the nearest index", without_an_index(), 0))
    blocks, more = any_budget(setting)
    figures += more
    return ClaimResult(
        tuple(figures), (hidden(setting), against_controlled(setting), blocks), CORRECTION, NOTE
    )


def from_one_release(n: int, k: int, t: int, epsilon: float, seed: int) -> Figure:
    """What an attacker recovers who uses all answers of the first release, and the mean for the others.

    It knows a share φ = t/n of the coefficients: x̂ moves by φ/2, with a variance of φ(1 − φ)/4 + 4φσ²/n from
    the other coefficients and the noise.
    """
    members = hidden_half(n, seeded(f"members {seed}"))
    sigma = sigma_of("tight", t, epsilon, DELTA)
    laws = (DiscreteLaplace(2 / epsilon), DiscreteGaussian(sigma))
    world = BatchQueries(exact_answers(members), k, t, laws, seeded(seed), frozen=True)
    answers = np.full(n, n / 4)
    first = world.look()
    answers[(world.answered - 1) * t : world.answered * t] = first
    answers[0] = n / 2  # how many members there are is public
    right = float(np.mean((reconstruct(answers) > 0.5) == (members == 1)))
    share_known = t / n
    spread = sqrt(share_known * (1 - share_known) / 4 + 4 * share_known * sigma**2 / n)
    p = float(ndtr(share_known / 2 / spread))
    what = "share recovered from the first release alone, all of its answers used"
    return about(what, right, p, sqrt(p * (1 - p) / n))


def against_controlled(setting: Setting) -> Picture:
    """The recovered share as the attacker controls more: smaller blocks, less noise on each answer."""
    n, k = setting.pick(2**14, 2**18), 2
    x, y, by = "controlled points", "recovered share", "ε of every release"
    rows, theory = [], []
    for epsilon in (1.0, 4.0):
        for t in setting.pick((16, 64, 256, 1024), (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)):
            result, _ = attack(
                "batch-queries", n=n, k=k, t=t, epsilon=epsilon, delta=DELTA, seed=setting.seed
            )
            rows.append({x: result["controlled"], y: result["recovered"], by: f"ε = {epsilon:g}"})
            alpha, missed = sigma_of("tight", t, epsilon, DELTA) ** 2, beyond(k, epsilon)
            predicted = predicted_fraction(alpha + missed * n / 8, n, missed)
            theory.append({x: result["controlled"], y: predicted, by: f"ε = {epsilon:g}"})
    caption = (
        f"Recovered share of {n:,} people against the points that the attacker controls (k = {k}); lines "
        "are the theory's "
        "1 − Q((1 − f)/(4√(α/n))) for the variance α of the answers and the share f of wrong blocks."
    )
    alt = (
        "The recovered share rises along the theory's curve from about a half to all as more points are "
        "controlled."
    )
    return curves(rows, x, y, by, theory=theory, log="x", percent=True, caption=caption, alt=alt)


def any_budget(setting: Setting) -> tuple[Picture, list[Figure]]:
    """The remark after the theorem: for any ε and δ the blocks grow as log(1/δ)/ε²; all are attacked."""
    n, target = setting.pick(2**16, 2**17), 0.0075
    x, y = "log(1/δ) / ε²", "blocks n/t"
    rows: list[dict[str, float | str]] = []
    figures, ratios = [], []
    for epsilon in setting.pick((1.0, 2.0, 4.0), (0.5, 1.0, 2.0, 4.0)):
        for delta in setting.pick((DELTA,), (1e-3, DELTA, 1e-9)):
            one = sigma_of("tight", 64, epsilon, delta) ** 2 / 64
            t = 1 << max(0, int(log2(target * n / one)))
            k = max(1, ceil(2 / epsilon * log(2 * (n // t) / 0.05)))
            options = {"n": n, "k": k, "t": t, "epsilon": epsilon, "delta": delta, "seed": setting.seed}
            result, command = attack("batch-queries", **options)
            what = f"share of {n:,} recovered in {n // t:,} blocks, each release ({epsilon:g}, {delta:g})-DP"
            figures.append(recovered(what, result, result["sigma"] ** 2, command, beyond(k, epsilon)))
            scale = log(1 / delta) / epsilon**2
            rows.append({x: scale, y: n // t, "which": "needed"})
            ratios.append(n / t / scale)
    what = "largest over smallest number of blocks in units of log(1/δ)/ε² (t is rounded to a power of two)"
    figures.append(none_above(what, max(ratios) / min(ratios), 4.0))
    caption = (
        "For any ε and δ: how many blocks keep the one-shot error α/n at 0.0075, at which an attack "
        "recovers 99.8%; they grow as log(1/δ)/ε²."
    )
    alt = "The number of blocks grows about in proportion to log(1/δ)/ε², on logarithmic axes."
    return curves(rows, x, y, "which", log="xy", caption=caption, alt=alt), figures


def hidden(setting: Setting) -> Picture:
    """What an attacker sees of a hidden picture, quarter by quarter; top row: a curator that retrains."""
    n, k, t, epsilon = setting.pick((2**14, 2, 32, 4.0), (2**18, 2, 512, 4.0))
    exact = exact_answers(hidden_picture(n))
    laws = (DiscreteLaplace(2 / epsilon), DiscreteGaussian(sigma_of("tight", t, epsilon, DELTA)))

    def world(frozen: bool) -> BatchQueries:
        return BatchQueries(exact, k, t, laws, seeded(setting.seed), frozen=frozen)

    pixels = frames_of(n, world, single)
    caption = (
        f"A hidden picture of {n:,} pixels, a person each, after a quarter, a half, three quarters and "
        "all of "
        f"{3 * k * (n // t) - 3 * k:,} deletions. Above, a curator that retrains with fresh (4, "
        "1e-6)-differential privacy; "
        "below, one that released once: its dashes are the only block of answers that it gave."
    )
    alt = (
        "Top row: rings and waves become clearer from frame to frame. Bottom row: all four frames stay grey."
    )
    return Picture(caption, alt, png=as_png(pixels))
