"""Continual observation: private for everybody, at an error that grows; and safe only if built with care."""

from math import sqrt

import numpy as np

from undeleted.baselines.tree_counter import TreeCounter
from undeleted.claims._claim import Found, Setting, exactly, more_than
from undeleted.claims._pictures import curves
from undeleted.claims._runs import least, optimum, private
from undeleted.claims.m3 import SCHEMA, SUM, continual
from undeleted.coins import seeded
from undeleted.definitions._specimens import specimen
from undeleted.definitions._table import ask
from undeleted.intervals import standard_deviation
from undeleted.privacy import Budget

SAYS = (
    "The task can also be solved under continual observation with the tree algorithm, which protects "
    "leavers and stayers alike. Its error must "
    "grow at least as log k; whoever protects only the undeleted does not pay that."
)
WHERE = "After Example 4.1"
NOTE = (
    "Which tree is meant matters. A first noisy sum less a tree over the *deletion stream* is perfectly "
    "undeleted-safe: its later noise has "
    "nothing to do with those who stay. A tree with the data in its stream draws fresh noise around them, "
    "again and again; it is differentially "
    "private over the whole transcript and not undeleted-safe. Continual differential privacy alone does "
    "not imply the definition."
)


def m9(setting: Setting) -> Found:
    safe, of_safe = least("tree-counter", k=2)
    renoised, of_renoised = least("renoised-tree", k=1)
    private_safe, other = private("tree-counter", k=1)
    private_tree, another = private("renoised-tree", k=1)
    runs = setting.pick(40, 60)
    values = seeded(f"people {setting.seed}").integers(0, 101, 5_000)
    x, y = "planned deletions", "standard error of the sum"
    rows, theory, errors_of = [], [], []
    for k in setting.pick((1, 7, 63, 511), (1, 7, 63, 511, 2_047)):
        errors = [
            continual(values, k, f"{setting.seed} {run}") - int(values[k:].sum()) for run in range(runs)
        ]
        errors_of.append(float(np.sqrt(np.mean(np.square(errors)))))
        rows.append({x: k, y: errors_of[-1], "which": "measured"})
        theory.append({x: k, y: predicted(k), "which": "measured"})
    growth = errors_of[-1] / errors_of[0]
    continual_dp = ask("continual-dp", specimen("tree-counter"))
    figures = (
        exactly("least δ of a first noisy sum less a tree over the deletions", optimum(safe), "0", of_safe),
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
            "the second is differentially private over its whole transcript all the same",
            private_tree.transcript.ratio is not None,
            True,
            another,
        ),
        exactly(
            "the first hides everybody, leavers too (continual-dp holds)",
            continual_dp.answer.holds,
            True,
            "undeleted definitions show continual-dp --on tree-counter",
        ),
        more_than(
            f"growth of its error from 1 to {rows[-1][x]:,} planned deletions",
            growth,
            3.0,
            uncertainty=f"a ratio of root mean squares of {runs} runs",
        ),
    )
    caption = (
        "The error of continual observation grows with the logarithm of the planned deletions; the line "
        "follows from its noise."
    )
    alt = "Measured errors rise along the predicted curve."
    picture = curves(rows, x, y, "which", theory=theory, log="xy", caption=caption, alt=alt)
    return Found(figures, (picture,), note=NOTE)


def predicted(k: int) -> float:
    """A first noise, and one for every block that k requests make."""
    curator = TreeCounter(SUM, SCHEMA, Budget(1.0), horizon=k)
    [first], [later] = curator.first_laws, curator.stream_laws
    return sqrt(standard_deviation(first) ** 2 + k.bit_count() * standard_deviation(later) ** 2)
