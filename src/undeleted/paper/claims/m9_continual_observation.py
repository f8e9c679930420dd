"""Continual observation: private for everybody, with a growing error, and safe only if built with care."""

from math import sqrt

import numpy as np

from undeleted.foundations.coins import seeded
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.privacy import Budget
from undeleted.games.baselines.tree_counter import TreeCounter
from undeleted.paper.claim import ClaimResult, Setting, exactly, more_than, none_above
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, optimum, private
from undeleted.paper.claims.m3_private_sum import SCHEMA, SUM, continual
from undeleted.paper.specimens import specimen
from undeleted.paper.survey_table import ask

SAYS = (
    "The task can also be solved under continual observation with the tree algorithm, which protects "
    "both leavers and stayers. Its error must grow at least as log k; a curator that protects only the "
    "undeleted does not have that cost."
)
WHERE = "After Example 4.1"
NOTE = (
    "Which tree is meant matters. A first noisy sum minus a tree over the *deletion stream* is perfectly "
    "undeleted-safe: its later noise is independent of those who stay. A tree with the data in its "
    "stream draws fresh noise around them, again and again: all of its outputs together keep those who "
    "stay differentially private, and it is not undeleted-safe. So the former does not imply the latter."
)


CAPTION = (
    "The error of continual observation grows with a power of the logarithm of the planned deletions; "
    "the line follows from its noise."
)
ALT = "Measured errors rise along the predicted curve."


def m9_continual_observation(setting: Setting) -> ClaimResult:
    safe, of_safe = least("tree-counter", k=2)
    renoised, of_renoised = least("renoised-tree", k=1)
    private_safe, other = private("tree-counter", k=1)
    private_tree, another = private("renoised-tree", k=1)
    runs = setting.pick(40, 60)
    values = seeded(f"people {setting.seed}").integers(0, 101, 5_000)
    x, y = "planned deletions", "standard error of the sum"
    rows, theory, errors_of = [], [], []
    horizons = setting.pick((1, 7, 63, 511), (1, 7, 63, 511, 2_047))
    for k in horizons:
        errors = [
            continual(values, k, f"{setting.seed} {run}") - int(values[k:].sum()) for run in range(runs)
        ]
        errors_of.append(float(np.sqrt(np.mean(np.square(errors)))))
        rows.append({x: k, y: errors_of[-1], "which": "measured"})
        theory.append({x: k, y: predicted(k), "which": "measured"})
    growth = errors_of[-1] / errors_of[0]
    continual_dp = ask("continual-dp", specimen("tree-counter"))
    figures = (
        exactly("least δ of a first noisy sum minus a tree over the deletions", optimum(safe), "0", of_safe),
        more_than(
            "least δ of a tree with the data in its stream", float(renoised.literal.lower), 0.0, of_renoised
        ),
        exactly(
            "the first: its whole transcript is as private for those who stay as its first release",
            private_safe.deletions_cost_nothing,
            True,
            other,
        ),
        exactly(
            "the second: e^ε of those who stay over its whole transcript, which is finite",
            str(private_tree.transcript.ratio),
            "4",
            another,
        ),
        exactly(
            "the first hides everybody, leavers too (continual-dp holds)",
            continual_dp.answer.holds,
            True,
            "undeleted definitions show continual-dp --on tree-counter",
        ),
        none_above(
            "largest ratio of its measured and predicted errors, in either direction",
            max(max(m / p, p / m) for m, p in zip(errors_of, map(predicted, horizons), strict=True)),
            2.0,
            uncertainty=f"root mean squares of {runs} runs",
        ),
        more_than(
            f"growth of its error from 1 to {rows[-1][x]:,} planned deletions",
            growth,
            3.0,
            uncertainty=f"a ratio of root mean squares of {runs} runs",
        ),
    )
    picture = curves(rows, x, y, "which", theory=theory, log="xy", caption=CAPTION, alt=ALT)
    return ClaimResult(figures, (picture,), note=NOTE)


def predicted(k: int) -> float:
    """The standard error from the first noise, and one noise for every block that k requests make."""
    curator = TreeCounter(SUM, SCHEMA, Budget(1.0), horizon=k)
    [first], [later] = curator.first_laws, curator.stream_laws
    return sqrt(standard_deviation(first) ** 2 + k.bit_count() * standard_deviation(later) ** 2)
