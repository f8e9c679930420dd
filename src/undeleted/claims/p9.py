"""Dwork and Yekhanin's Fourier reconstruction, on which P4, P5 and P6 rest."""

from undeleted.attacks._reconstruction import predicted_fraction
from undeleted.claims._claim import Found, Setting, none_above
from undeleted.claims._pictures import curves
from undeleted.claims._runs import attack
from undeleted.claims.p4 import guesses, recovered

SAYS = (
    "From answers to n fixed counting queries with mean squared error α = o(n), an attacker reconstructs "
    "a set that differs from "
    "the data in at most α places."
)
WHERE = "Theorem B.3, after Dwork and Yekhanin (2008)"
CORRECTION = (
    "|D Δ D̂| ≤ α is off by a constant. The error of a coordinate is (2/n)(He)_i, so at most 16α + 1 "
    "places are wrong, and errors that "
    "are chosen with care reach 16α with this attacker; no attacker on these queries can guarantee fewer "
    "than 8α. For Gaussian noise "
    "of c√n the wrong share is Q(1/(4c)), whatever n. What the theorem is used for, o(n) wrong places, "
    "stands."
)


def p9(setting: Setting) -> Found:
    n = setting.pick(2**16, 2**20)
    sizes = setting.pick((0.1, 0.2, 0.4), (0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 1.0))
    x, y = "noise c, in √n", "recovered share"
    figures, rows = [], []
    for c in sizes:
        found, command = attack("fourier", n=n, c=c, seed=setting.seed)
        found["predicted_with_misses"] = predicted_fraction(c * c * n, n)
        figures.append(recovered(f"share of {n:,} recovered from Gaussian noise of {c:g}·√n", found, command))
        rows.append({x: c, y: found["recovered"], "who": "answers with Gaussian noise"})
        figures.append(
            none_above(f"wrong places, in units of 16α + 1 (c = {c:g})", found["wrong"] / found["bound"], 1)
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
        "The recovered share falls from 100 % below a tenth of √n towards 60 % at √n, along the predicted "
        "line."
    )
    picture = curves(rows, x, y, "who", theory=theory, percent=True, caption=caption, alt=alt)
    return Found(tuple(figures), (picture,), CORRECTION)
