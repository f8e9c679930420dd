"""The statistical-query framework: every learner that needs only sums fits the recipe."""

from math import ceil

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.noisy_class_moments import NoisyClassMoments
from undeleted.curate.mechanisms.noisy_products import NoisyProducts
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Number, Schema
from undeleted.paper.claim import ClaimResult, Setting, exactly, none_above
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, optimum

SAYS = (
    "Output function that can be computed from sums of predicates over the data (the non-adaptive "
    "statistical-query model of Cao and Yang) can be maintained by subtracting what deleted points "
    "contribute. The first sums can be private, so the framework fits the definition."
)
WHERE = "Section 4.2, after Cao and Yang (2015)"
LEARNERS = (
    "noisy-products",
    "noisy-second-moments",
    "noisy-class-moments",
    "noisy-class-histograms",
    "noisy-quantiles",
    "noisy-forest",
)


def m7_statistical_queries(setting: Setting) -> ClaimResult:
    n = setting.pick(20_000, 200_000)
    x, y, tall = Number("x", min=0, max=100), Number("y", min=0, max=300), Boolean("tall")
    schema = Schema([x, y, tall])
    coins = seeded(f"people {setting.seed}")
    xs = coins.integers(0, 101, n)
    ys = np.clip(2 * xs + 40 + coins.integers(-30, 31, n), 0, 300)
    rows_of = list(zip(xs.tolist(), ys.tolist(), (ys > 150).tolist(), strict=True))
    order = np.argsort(
        -(ys - 2 * xs), kind="stable"
    )  # those far above the line leave first, so that it moves
    figures, picture_rows, theory = [], [], []
    line = NoisyProducts((x, y), Budget(1.0))
    for mechanism in (line, NoisyClassMoments(over=(x, y), by=tall, budget=1.0)):
        gone = [rows_of[i] for i in order[: n // 2]]
        left = [rows_of[i] for i in order[n // 2 :]]
        first = mechanism.release(Arrays(schema.table(rows_of)), seeded(setting.seed))
        after = mechanism.forget(first, mechanism.contribution(schema.table(gone)))
        fresh = mechanism.release(Arrays(schema.table(left)), seeded(setting.seed))
        what = (
            f"{type(mechanism).__name__}: cells that differ from a fit of the remaining {n - n // 2:,} "
            "with the same coins"
        )
        figures.append(exactly(what, int(np.count_nonzero(after.value != fresh.value)), 0))
    release = line.release(Arrays(schema.table(rows_of)), seeded(setting.seed))
    horizontal, vertical = "deletions", "intercept"
    step = ceil(n / 12)
    worst = 0.0
    for start in range(0, n // 2 + 1, step):
        kept = order[start:]
        exact = float(np.polyfit(xs[kept], ys[kept], 1)[1])
        intercept = line.regression(release, "y", ["x"])["intercept"].value
        worst = max(worst, abs(intercept - exact))
        picture_rows.append({horizontal: start, vertical: intercept, "fit": "maintained from the leavers"})
        theory.append({horizontal: start, vertical: exact, "fit": "not private, fitted again"})
        leavers = [rows_of[i] for i in order[start : start + step]]
        release = line.forget(release, line.contribution(schema.table(leavers)))
    figures.append(
        none_above(
            "largest distance of the maintained intercept from one that is fitted again without privacy",
            worst,
            10.0,
        )
    )
    for name in LEARNERS:
        proof, command = least(name)
        figures.append(exactly(f"least δ of {name}", optimum(proof), "0", command))
    caption = (
        f"A regression of {n:,} people, of whom those far above the line leave: the private fit is updated "
        "from the leavers alone (ε = 1)."
    )
    alt = "The maintained intercept falls together with the one that is fitted again."
    picture = curves(picture_rows, horizontal, vertical, "fit", theory=theory, caption=caption, alt=alt)
    return ClaimResult(tuple(figures), (picture,))
