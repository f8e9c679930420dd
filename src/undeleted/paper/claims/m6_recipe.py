"""The recipe: private sufficient statistics, maintained from the deleted points alone."""

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.recipe import Recipe
from undeleted.curate.statistics import Count, Histogram, Moments, SecondMoments
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.paper.claim import ClaimResult, Setting, exactly
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, optimum, private

SAYS = (
    "To fit a function to the framework: find sufficient statistics for it, estimate them with "
    "differential privacy, and maintain them as a function of the deleted points."
)
WHERE = "Section 4.2"


def m6_recipe(setting: Setting) -> ClaimResult:
    n, gone = setting.pick((2_000, 1_000), (100_000, 50_000))
    age, income = Number("age", min=0, max=120), Number("income", min=0, max=1_000)
    schema = Schema([age, income])
    statistics = (Count(), Moments(income, 2), Histogram((age,)), SecondMoments((age, income)))
    recipe = Recipe(statistics, Budget(4.0))
    coins = seeded(f"people {setting.seed}")
    people = list(zip(coins.integers(0, 121, n).tolist(), coins.integers(0, 1001, n).tolist(), strict=True))
    everybody, rest = Arrays(schema.table(people)), Arrays(schema.table(people[gone:]))
    first = recipe.release(everybody, seeded(setting.seed))
    after = first
    for start in range(0, gone, gone // 4):
        leavers = schema.table(people[start : start + gone // 4])
        after = recipe.forget(after, recipe.contribution(leavers))
    fresh = recipe.release(rest, seeded(setting.seed))
    noises = [
        (z.value - everybody.total(s), w.value - rest.total(s))
        for s, z, w in zip(statistics, first, after, strict=True)
    ]
    cells = sum(a.size for a, _ in noises)
    proof, command = least("recipe", k=setting.pick(1, 2))
    privacy, other = private("recipe")
    figures = (
        exactly(
            f"of {cells:,} cells of four statistics, those whose noise changed in {gone:,} deletions",
            sum(int(np.count_nonzero(a != b)) for a, b in noises),
            0,
        ),
        exactly(
            "those that differ from a release of the remaining people with the same coins",
            sum(int(np.count_nonzero(a.value != b.value)) for a, b in zip(after, fresh, strict=True)),
            0,
        ),
        exactly("least δ", optimum(proof), "0", command),
        exactly(
            "e^ε of those who stay: over the whole transcript, and of the first release",
            f"{privacy.transcript.ratio} and {privacy.first.ratio}",
            "4 and 4",
            other,
        ),
    )
    x, y = "noise at the first release", f"noise after {gone:,} deletions"
    a, b = noises[2]
    rows = [{x: int(p), y: int(q), "cells": "of the histogram"} for p, q in zip(a, b, strict=True)]
    line = [{x: int(v), y: int(v), "cells": "of the histogram"} for v in (a.min(), a.max())]
    caption = (
        f"The noise in each cell of a histogram, before and after half of {n:,} people left: it is the "
        "same, cell by cell."
    )
    alt = "All points lie on the diagonal."
    return ClaimResult(figures, (curves(rows, x, y, "cells", theory=line, caption=caption, alt=alt),))
