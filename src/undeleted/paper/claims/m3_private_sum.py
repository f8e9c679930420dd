"""A private sum, from which leavers are subtracted: its error does not depend on how many leave."""

from math import exp

import numpy as np
from scipy.special import gammaincinv

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.curate.statistics import ClippedSum
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.recompute import Recompute
from undeleted.games.baselines.tree_counter import TreeCounter
from undeleted.paper.claim import ALARM, SHOWN, ClaimResult, Figure, Setting, exactly, more_than, short
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, optimum, private

SAYS = (
    "Publish one differentially private sum and subtract what leavers contributed. That is undeleted-safe, "
    "and differentially private for those who stay over all releases. Its error is independent of k, where "
    "continual observation must pay Ω(log k)."
)
WHERE = "Example 4.1"
X = Number("x", min=0, max=100)
SCHEMA = Schema([X])
SUM = ClippedSum(X)


def m3_private_sum(setting: Setting) -> ClaimResult:
    n, runs = setting.pick((2_000, 60), (50_000, 400))
    deletions = setting.pick((1, 8, 64, 512), (1, 16, 256, 2_048))
    values = seeded(f"people {setting.seed}").integers(0, 101, n)
    once = NoisySum(X, Budget(1.0))
    means = _mean_errors(setting, once, values, deletions, runs)
    x, y, by = "deletions", "mean absolute error of the sum", "curator"
    rows = [{x: k, y: m, by: name} for name in means for k, m in zip(deletions, means[name], strict=True)]
    ours, of_means = means["subtract"], f"a ratio of means of {len(few(setting, runs))} and {runs} runs"
    proof, command = least("noisy-sum", k=2)
    privacy, other = private("noisy-sum", k=2)
    figures = (
        mean_of_laplace(
            f"mean absolute error after {deletions[-1]:,} deletions, ε = 1, numbers up to 100",
            ours[-1],
            100.0,
            runs,
        ),
        exactly(
            "how much that differs from the error after one deletion, with the same noise",
            ours[-1] - ours[0],
            0.0,
        ),
        more_than(
            f"error of continual observation, in units of ours, after {deletions[-1]:,} deletions",
            means["continual observation"][-1] / ours[-1],
            3.0,
            uncertainty=of_means,
        ),
        more_than(
            "error of recomputing with a split budget, in the same units",
            means["recompute, budget split"][-1] / ours[-1],
            10.0,
            uncertainty=of_means,
        ),
        exactly("least δ, up to two leave", optimum(proof), "0", command),
        exactly(
            "e^ε of those who stay: over the whole transcript, and of the first release",
            f"{privacy.transcript.ratio} and {privacy.first.ratio}",
            "2 and 2",
            other,
        ),
    )
    caption = f"A sum of {n:,} people after deletions, ε = 1: the error of subtracting does not grow."
    alt = (
        "A flat line for subtracting; lines that rise for continual observation and, steeply, for "
        "recomputing."
    )
    return ClaimResult(figures, (curves(rows, x, y, by, log="xy", joined=True, caption=caption, alt=alt),))


def _mean_errors(
    setting: Setting, once: NoisySum, values: IntArray, deletions: tuple[int, ...], runs: int
) -> dict[str, list[float]]:
    """The mean absolute error of every curator after so many deletions."""
    everybody = Arrays(SCHEMA.table(values))
    means: dict[str, list[float]] = {}
    first = [once.release(everybody, seeded(f"{setting.seed} {run}")) for run in range(runs)]
    for k in deletions:
        gone, rest = values[:k], values[k:]
        exact, left = int(rest.sum()), once.contribution(SCHEMA.table(gone))
        split = Recompute.split_over(k + 1, lambda noise: NoisySum(X, noise), Budget(1.0), SCHEMA).mechanism
        errors = {
            "subtract": [abs(int(once.forget(z, left).value[0]) - exact) for z in first],
            "continual observation": [abs(continual(values, k, seed) - exact) for seed in few(setting, runs)],
            "recompute, budget split": [
                abs(int(split.release(Arrays(SCHEMA.table(rest)), seeded(f"{k} {seed}")).value[0]) - exact)
                for seed in few(setting, runs)
            ],
        }
        for name, samples in errors.items():
            means.setdefault(name, []).append(float(np.mean(samples)))
    return means


def few(setting: Setting, runs: int) -> list[str]:
    return [f"{setting.seed} {run}" for run in range(setting.pick(runs // 2, runs // 8))]


def continual(values: np.ndarray, k: int, seed: str) -> int:
    """What a tree over the deletion stream publishes after k deletions."""
    curator = TreeCounter(SUM, SCHEMA, Budget(1.0), horizon=k)
    coins = seeded(f"tree {seed}")
    kept = values[: k + 1]  # the others only add to the first total, exactly
    released = curator.start([int(v) for v in kept], coins)
    for value in values[:k]:
        released = curator.delete([int(value)])
    return int(released.value[0]) + int(values[k + 1 :].sum())


def mean_of_laplace(what: str, measured: float, scale: float, runs: int) -> Figure:
    """The mean of |discrete Laplace|; a sum of exponentials, whose quantiles are those of a gamma law."""
    r = exp(-1 / scale)
    predicted = 2 * r / (1 - r * r)

    def quantile(p: float) -> float:
        return float(gammaincinv(runs, p)) / runs

    low, high = (measured / quantile(p) for p in (1 - SHOWN / 2, SHOWN / 2))
    holds = quantile(ALARM / 2) <= measured / predicted <= quantile(1 - ALARM / 2)
    return Figure(what, measured, predicted, holds, f"{short(low)} to {short(high)} (95%, {runs} runs)")
