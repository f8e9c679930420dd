"""Dwork and Yekhanin's Fourier reconstruction, on which P4, P5 and P6 rest."""

import numpy as np

from undeleted.foundations.coins import seeded
from undeleted.games.reconstruction.fourier_queries import predicted_fraction
from undeleted.paper.claim import ClaimResult, Setting, about, more_than, none_above
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import attack
from undeleted.paper.claims.p4_count_mod import guesses, recovered

SAYS = (
    "From answers to n fixed counting queries with mean squared error α = o(n), an attacker reconstructs a "
    "set that differs from the data in at most α places."
)
WHERE = "Theorem B.3, after Dwork and Yekhanin (2008)"
CORRECTION = (
    "|D Δ D̂| ≤ α is off by a constant. On these queries the attacker's error in a coordinate is "
    "(2/n)(He)_i, so at most 16α + 1 places are wrong, and errors that are chosen with care reach 16α. No "
    "other attacker on these queries can guarantee fewer than 8α: two sets that differ in m places with "
    "alternating signs have answers whose midpoint is only α = m/16 away from both, and one of the two is "
    "missed by m/2. For any other queries a random choice of signs leaves at least 2α in the same way. For "
    "Gaussian noise of c√n the wrong share is Q(1/(4c)), whatever n. What the theorem is used for, o(n) "
    "wrong places, remains true."
)


def p9_fourier_queries(setting: Setting) -> ClaimResult:
    n = setting.pick(2**16, 2**20)
    sizes = setting.pick((0.1, 0.2, 0.4), (0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0))
    x, y = "noise c, in √n", "recovered share"
    figures, rows = [], []
    for c in sizes:
        result, command = attack("fourier", n=n, c=c, seed=setting.seed)
        figures.append(
            recovered(f"share of {n:,} recovered from Gaussian noise of {c:g}·√n", result, c * c * n, command)
        )
        rows.append({x: c, y: result["recovered"], "who": "answers with Gaussian noise"})
        figures.append(
            none_above(f"wrong places, in units of 16α + 1 (c = {c:g})", result["wrong"] / result["bound"], 1)
        )
    worst, command = attack("fourier", n=n, c=0.1, noise="worst", seed=setting.seed)
    ratio = worst["wrong"] / worst["alpha"]
    figures.append(
        none_above(
            "wrong places in units of α, errors chosen against the attacker",
            ratio,
            1.0,
            command,
            literal=True,
        )
    )
    figures.append(none_above("the same in units of 16α + 1", worst["wrong"] / worst["bound"], 1.0))
    figures.append(about("the same in units of α", ratio, 16.0, 0.01))
    for queries, places in (("these queries", 8.0), ("as many random counting queries", 2.0)):
        found_ratio = whatever_the_attacker(queries == "these queries", setting.seed)
        what = f"places that any attacker must miss in one of two sets, in units of α, for {queries}"
        figures.append(none_above(what, found_ratio, 1.0, literal=True))
        figures.append(more_than(f"the same, at least nine tenths of {places:g}", found_ratio, 0.9 * places))
    still, other = attack("fourier", n=n, against="release-once", seed=setting.seed)
    figures.append(guesses("from a single noisy count instead of n answers", still, other))
    small, command = attack("fourier", n=setting.pick(2**10, 2**12), c=0.01, seed=setting.seed)
    figures.append(
        none_above("wrong places at c = 0.01: none but perhaps index 0", small["wrong"], 1, command)
    )
    theory = [
        {x: c / 100, y: predicted_fraction((c / 100) ** 2 * n, n), "who": "answers with Gaussian noise"}
        for c in range(4, 101, 2)
    ]
    caption = (
        "The recovered share against the noise in every answer; the line is 1 − Q(1/(4c)), the same for "
        "every n."
    )
    alt = (
        "The recovered share falls from 100 % below a tenth of √n towards 60% at √n, along the predicted "
        "line."
    )
    picture = curves(rows, x, y, "who", theory=theory, percent=True, caption=caption, alt=alt)
    return ClaimResult(tuple(figures), (picture,), CORRECTION)


def whatever_the_attacker(fourier: bool, seed: int) -> float:
    """Half of the difference of two sets, over α: what is missed if the answers are midway between theirs."""
    n, coins = 512, seeded(f"signs {seed}")
    if fourier:
        rows = np.array([[(i & s).bit_count() % 2 == 0 for i in range(n)] for s in range(n)], dtype=float)
    else:
        rows = coins.integers(0, 2, n * n).reshape(n, n).astype(float)
    signs = np.ones(n)
    signs[coins.choose(n, n // 2)] = -1.0  # half are in one set only, half in the other
    signs[0] = 0.0  # index 0 is in every Fourier query
    middle = rows @ signs / 2  # how far the answers of each set are from the middle
    return float(np.count_nonzero(signs) / 2 / np.mean(middle**2))
