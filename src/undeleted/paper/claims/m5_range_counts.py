"""Private range counts, from which leavers are subtracted: medians and ranges whose error does not grow."""

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.range_counts import RangeCounts
from undeleted.curate.releases.linear import Cells, add_noise
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.recompute import Recompute
from undeleted.games.baselines.tree_counter import TreeCounter
from undeleted.paper.claim import ClaimResult, Picture, Setting, exactly, more_than
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, optimum, private

SAYS = (
    "Release a differentially private structure P that answers range counts, and answer P(a, b) minus the "
    "deleted points in the range. Medians and quantiles follow, with differential privacy for those who "
    "stay and an error that does not grow with deletions."
)
WHERE = "Example 4.3"
CORRECTION = (
    "The example leaves open whether all of P is published. If it is, the mechanism is stateless, and so "
    "undeleted-safe. If only medians are published, as Section 4.1 asks for, and P stays hidden, it is "
    "not: each median reveals a little more of P. It is then safe with P as stated leakage."
)
X = Number("x", min=0, max=2**12 - 1)
SCHEMA = Schema([X])
METHODS = ("subtract", "exact, then ignore", "continual observation", "recompute, budget split")


def m5_range_counts(setting: Setting) -> ClaimResult:
    n, runs = setting.pick((20_000, 12), (1_000_000, 60))
    deletions = setting.pick((10, 100, 1_000, 8_000), (10, 100, 1_000, 10_000, 100_000))
    values = np.sort(seeded(f"people {setting.seed}").integers(0, 2**12, n))
    once = RangeCounts(X, Budget(1.0))
    total = Arrays(SCHEMA.table(values)).total(once.statistic)
    means: dict[str, list[float]] = {name: [] for name in METHODS}
    for k in deletions:
        for name, errors in rank_errors(once, total, values, k, runs, setting.seed).items():
            means[name].append(float(np.mean(errors)))
    ours, last = means["subtract"][-1], deletions[-1]
    of_means = f"a ratio of means of {runs} runs"
    safe, of_safe = least("range-counts")
    hidden, of_hidden = least("hidden-range-median")
    privacy, of_privacy = private("range-counts")
    figures = (
        exactly(
            f"cells whose noise changed in {last:,} deletions", changed(once, values, last, setting.seed), 0
        ),
        more_than(
            f"rank error of a median that is never updated, in units of ours (+ 1), after {last:,} deletions",
            means["exact, then ignore"][-1] / (ours + 1),
            3.0,
            uncertainty=of_means,
        ),
        more_than(
            "rank error under continual observation, in the same units",
            means["continual observation"][-1] / (ours + 1),
            2.0,
            uncertainty=of_means,
        ),
        more_than(
            "rank error of recomputing with a split budget, in the same units",
            means["recompute, budget split"][-1] / (ours + 1),
            10.0,
            uncertainty=of_means,
        ),
        exactly("least δ where all of P is published", optimum(safe), "0", of_safe),
        exactly(
            "least δ where only medians are published, and P is hidden",
            optimum(hidden),
            "0",
            of_hidden,
            literal=True,
        ),
        exactly(
            "e^ε of those who stay: over the whole transcript, and of the first release",
            f"{privacy.transcript.ratio} and {privacy.first.ratio}",
            "2 and 2",
            of_privacy,
        ),
    )
    return ClaimResult(figures, (_picture(means, deletions, n, runs),), CORRECTION)


def _picture(means: dict[str, list[float]], deletions: tuple[int, ...], n: int, runs: int) -> Picture:
    x, y = "deletions, all from one side", "mean rank error of the median, + 1"
    rows = [
        {x: k, y: m + 1, "curator": name}
        for name in METHODS
        for k, m in zip(deletions, means[name], strict=True)
    ]
    caption = (
        f"The median of {n:,} people on {2**12:,} values after deletions, ε = 1: mean rank error of {runs} "
        "runs, plus one."
    )
    alt = (
        "The line for subtracting stays low; those for a median that is never updated, continual observation "
        "and recomputing rise."
    )
    return curves(rows, x, y, "curator", log="xy", joined=True, order=METHODS, caption=caption, alt=alt)


def rank_errors(
    once: RangeCounts, total: IntArray, values: IntArray, k: int, runs: int, seed: int
) -> dict[str, list[int]]:
    """Errors after the k smallest leave: remaining records strictly between the answer and the median."""
    left, gone = values[k:], once.contribution(SCHEMA.table(values[:k]))
    remaining = total.copy()
    remaining[gone.cells] -= gone.values
    counter = TreeCounter(once.statistic, SCHEMA, Budget(1.0), horizon=k)
    split = Recompute.split_over(
        k + 1, lambda noise: RangeCounts(X, noise, once.statistic.branching), Budget(1.0), SCHEMA
    )
    errors: dict[str, list[int]] = {name: [] for name in METHODS}
    errors["exact, then ignore"] = [between(left, int(values[(values.size - 1) // 2]))]
    for run in range(runs):
        coins = seeded(f"{seed} {k} {run}")
        # Noise that was drawn once for the total is also the noise of what remains; so is a tree's.
        noisy = {"subtract": add_noise(once.statistic, once.laws, remaining, coins)}
        tree = add_noise(once.statistic, counter.first_laws, remaining, coins)
        for _ in range(k.bit_count()):
            tree = add_noise(once.statistic, counter.stream_laws, tree, coins)
        noisy["continual observation"] = tree
        noisy["recompute, budget split"] = add_noise(once.statistic, split.mechanism.laws, remaining, coins)
        for name, cells in noisy.items():
            errors[name].append(between(left, int(once.median(Cells(cells)).value)))
    return errors


def between(left: IntArray, value: int) -> int:
    """The paper's rank error."""
    low, high = sorted((value, int(left[(left.size - 1) // 2])))
    return max(0, int(np.searchsorted(left, high, side="left") - np.searchsorted(left, low, side="right")))


def changed(once: RangeCounts, values: IntArray, k: int, seed: int) -> int:
    """How many cells have another noise, maintained count minus true remaining count, than at first."""
    everybody, rest = Arrays(SCHEMA.table(values)), Arrays(SCHEMA.table(values[k:]))
    first = once.release(everybody, seeded(seed))
    after = once.forget(first, once.contribution(SCHEMA.table(values[:k])))
    noise = first.value - everybody.total(once.statistic)
    return int(np.count_nonzero(after.value - rest.total(once.statistic) != noise))
