"""Batch queries: a handful of deletions reconstructs almost everybody, the headline theorem."""

import base64
import io
from math import ceil, log, log2
from typing import Any

from undeleted.attacks._blocks import single
from undeleted.attacks._picture import frames_of, hidden_picture
from undeleted.attacks._reconstruction import exact_answers
from undeleted.attacks._tasks import BatchQueries, round_half_up
from undeleted.attacks.batch_queries import sigma_of
from undeleted.claims._claim import Figure, Found, Picture, Setting, exactly, none_above
from undeleted.claims._pictures import curves
from undeleted.claims._runs import attack
from undeleted.claims.p4 import guesses, recovered
from undeleted.coins import DiscreteGaussian, DiscreteLaplace, seeded

SAYS = (
    "There is a task that can be solved once with differential privacy, and that any curator who retrains "
    "must solve again "
    "after every deletion: the number of stars chooses a block of t queries. An attacker who controls "
    "only 3kn/t stars "
    "(ω(1): as slowly growing as one likes) gets all n answers by deleting them, and reconstructs almost "
    "all of the data."
)
WHERE = "Theorem 1, Section 2.1 and Appendix B"
DELTA = 1e-6
CORRECTION = (
    "The appendix allows the indices from ⌈(Star − k)/3k⌉ to ⌊(Star + k)/3k⌋. That set is empty for a "
    "third of all star counts, "
    "so no algorithm solves the task there. The introduction rounds to the nearest integer instead, which "
    "always leaves an "
    "index and forces it near multiples of 3k; we clamp it to 1, …, n/t. The theorem then holds."
)


def p6(setting: Setting) -> Found:
    figures: list[Figure] = []
    for n, k, t, epsilon in setting.pick(
        [(2**16, 2, 128, 4.0)], [(2**20, 2, 2048, 4.0), (2**20, 8, 128, 1.0), (2**22, 26, 512, 1.0)]
    ):
        options = {"n": n, "k": k, "t": t, "epsilon": epsilon, "delta": DELTA, "seed": setting.seed}
        found, command = attack("batch-queries", **options)
        what = (
            f"share of {n:,} recovered by deleting {found['deletions']:,} stars, each release "
            f"({epsilon:g}, 1e-6)-DP"
        )
        figures.append(recovered(what, found, command))
        what = "one-shot error α/n of the same curator (the constant n/4 has 0.0625)"
        figures.append(none_above(what, found["sigma"] ** 2 / n, 0.02))
        still, other = attack("batch-queries", against="release-once", **options)
        figures.append(guesses("the same against a first release that stays", still, other))
    n, k, t = setting.pick(2**14, 2**17), 2, setting.pick(64, 512)
    once, command = attack("batch-queries", n=n, k=k, t=t, seed=setting.seed)
    every, other = attack("batch-queries", n=n, k=k, t=t, attacker="all", seed=setting.seed)
    what = (
        "people whom an attacker that averages all releases gets wrong, as a share of the theorem's "
        "attacker's"
    )
    figures.append(none_above(what, every["wrong"] / max(1, once["wrong"]), 0.5, other))
    appendix, introduction = empty_sets()
    figures.append(
        exactly("star counts without an allowed index, as the appendix writes it", appendix, 0, literal=True)
    )
    figures.append(exactly("the same, rounded to the nearest index", introduction, 0))
    return Found(
        tuple(figures), (hidden(setting), against_controlled(setting), any_budget(setting)), CORRECTION
    )


def empty_sets() -> tuple[int, int]:
    """Star counts with no allowed index, k = 1 … 12 and up to 40 blocks: in the appendix, and rounded."""
    ceilings = rounded = 0
    for k in range(1, 13):
        for stars in range(3 * k * 40 + 1):
            ceilings += -((k - stars) // (3 * k)) > (stars + k) // (3 * k)
            rounded += round_half_up(stars - k, 3 * k) > round_half_up(stars + k, 3 * k)
    return ceilings, rounded


def against_controlled(setting: Setting) -> Picture:
    """The recovered share as the attacker controls more: smaller blocks, less noise on each answer."""
    n, k = setting.pick(2**14, 2**18), 2
    x, y, by = "controlled points", "recovered share", "ε of every release"
    rows, theory = [], []
    for epsilon in (1.0, 4.0):
        for t in setting.pick((16, 64, 256, 1024), (8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384)):
            found, _ = attack("batch-queries", n=n, k=k, t=t, epsilon=epsilon, delta=DELTA, seed=setting.seed)
            rows.append({x: found["controlled"], y: found["recovered"], by: f"ε = {epsilon:g}"})
            predicted = found["predicted_with_misses"]
            theory.append({x: found["controlled"], y: predicted, by: f"ε = {epsilon:g}"})
    caption = (
        f"Recovered share of {n:,} people against the points that the attacker controls (k = {k}); lines "
        "are the theory's "
        "1 − Q((1 − f)/(4√(α/n))) for the error α and the share f of wrong blocks that were measured."
    )
    alt = (
        "The recovered share rises along the theory's curve from about a half to all as more points are "
        "controlled."
    )
    return curves(rows, x, y, by, theory=theory, log="x", percent=True, caption=caption, alt=alt)


def any_budget(setting: Setting) -> Picture:
    """The remark after the theorem: ω(log(1/δ)/ε²) controlled points for any ε and δ."""
    n, target = setting.pick(2**13, 2**17), 0.0075
    x, y = "log(1/δ) / ε²", "controlled points"
    rows = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for delta in setting.pick((DELTA,), (1e-3, DELTA, 1e-9)):
            one = sigma_of("tight", 64, epsilon, delta) ** 2 / 64
            t = 1 << max(0, int(log2(target * n / one)))
            k = max(1, ceil(2 / epsilon * log(2 * (n // t) / 0.05)))
            rows.append({x: log(1 / delta) / epsilon**2, y: 3 * k * (n // t), "which": "needed"})
    caption = (
        "What it takes for any ε and δ: points that the attacker must control for α/n ≤ 0.0075, as the "
        "remark after the theorem says."
    )
    alt = "Controlled points grow about in proportion to log(1/δ)/ε², on logarithmic axes."
    return curves(rows, x, y, "which", log="xy", caption=caption, alt=alt)


def hidden(setting: Setting) -> Picture:
    """What an attacker sees of a hidden picture, quarter by quarter: above of a curator that retrains."""
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
        "below, one that released once."
    )
    alt = (
        "Top row: rings and waves become clearer from frame to frame. Bottom row: all four frames stay grey."
    )
    return Picture(caption, alt, png=_png(pixels))


def _png(pixels: Any) -> str:
    from PIL import Image

    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "png", optimize=True)
    return base64.b64encode(data.getvalue()).decode()
