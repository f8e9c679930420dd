"""Differential privacy recomputed after every deletion: those who stay pay for each of them."""

from math import sqrt

import numpy as np

from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.games.baselines.recompute import Recompute
from undeleted.paper.claim import ClaimResult, Figure, Setting, exactly, more_than, none_above
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, private
from undeleted.paper.claims.m3_private_sum import SCHEMA, X

SAYS = (
    "Compute a differentially private result again after every deletion. Each release is private; "
    "together they are not: by deleting more and more points an attacker sees more and more releases, and "
    "may infer the rest. Ensuring privacy of all releases together costs utility."
)
WHERE = "Section 2.1"


def m11_recomputed_privacy(setting: Setting) -> ClaimResult:
    most = setting.pick(3, 4)
    x, y = "deletions", "ε of those who stay, over the whole transcript"
    figures, rows, theory = [], [], []
    for k in range(1, most + 1):
        again, command = private("recompute-sum", n=most + 1, k=k)
        once, _ = private("noisy-sum", n=most + 1, k=k)
        figures.append(
            exactly(
                f"e^ε of those who stay after {k} deletions, e^ε of one release being 2",
                str(again.transcript.ratio),
                str(2 ** (k + 1)),
                command,
            )
        )
        for name, result, predicted in (("recompute", again, k + 1), ("subtract", once, 1)):
            rows.append({x: k, y: result.transcript.epsilon, "curator": name})
            theory.append({x: k, y: predicted * once.first.epsilon, "curator": name})
    figures.append(exactly(f"the same for subtracting, {most} deletions", str(once.transcript.ratio), "2"))
    proof, command = least("recompute-sum")
    figures.append(more_than("least δ of recomputing", float(proof.literal.lower), 0.0, command))
    figures.append(averaged(setting))
    caption = (
        "What deletions cost those who stay: recomputing spends ε again each time, subtracting never. "
        "Exact, in a small world."
    )
    alt = "A rising line for recomputing, a flat one for subtracting."
    picture = curves(rows, x, y, "curator", theory=theory, caption=caption, alt=alt)
    return ClaimResult(tuple(figures), (picture,))


def averaged(setting: Setting) -> Figure:
    """An attacker deletes its own zeros and averages the releases: the noise falls as 1/√k."""
    k, people = setting.pick(400, 4_000), [70, 13, 42]
    curator = Recompute(NoisySum(X, Budget(1.0)), SCHEMA)
    releases = [curator.start([*people, *[0] * k], seeded(setting.seed))]
    releases += [curator.delete([0]) for _ in range(k)]
    error = abs(float(np.mean([int(z.value[0]) for z in releases])) - sum(people))
    bound = 100 * sqrt(2) / sqrt(k + 1)
    what = (
        f"error of the average of {k + 1:,} releases, when {k:,} zeros of the attacker's own leave, in its "
        "standard errors"
    )
    return none_above(what, error / bound, 5.5, uncertainty="one run; chance exceeds it once in ten million")
