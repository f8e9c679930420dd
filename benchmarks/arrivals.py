"""The error of a running total while people join for years, in units of one release with the same budget.

    ours              the square-root factorization with integer coefficients
    after half left   the same, after half of everybody who joined has left, by the mechanism's own `forget`
    hidden leavers    departures in rows of their own, with a budget as large: the total is the difference
    cohorts           every batch alone
    two trees         binary-tree counters over arrivals and over departures, each with the budget
    split budget      the total released again at every tick, with the budget divided by the number of ticks

All are discrete Gaussians accounted in zCDP.  Measured over cells, which are independent copies, and compared
with what is foreseen; the error is the root of the mean square at the last tick.
"""

import argparse
import math

import numpy as np

from bench import Bench
from undeleted.curate.mechanisms import NoisyHistogram
from undeleted.curate.releases.arrivals import Arrivals, Rows
from undeleted.curate.statistics import Contribution
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.coins import DiscreteGaussian, seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number

BUDGET = Budget(1.0, 1e-6)
MOST = {12: 2.0, 365: 3.0, 3650: 3.75}
CELLS = 400


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--horizons", type=int, nargs="+", default=list(MOST))


def closed(arrivals: Arrivals, batches: IntArray, seed: str) -> Rows:
    rows, coins = arrivals.start(), seeded(seed)
    for tick in range(len(batches)):
        rows = arrivals.tick(rows, list(batches[: tick + 1]), coins)
    return rows


def of_tree(horizon: int, one: float, seed: str) -> FloatArray:
    """The noise of a binary-tree counter's last total: the worst tick has a node of every level."""
    levels = horizon.bit_length()
    law = DiscreteGaussian(one * math.sqrt(levels))
    nodes = max(range(1, horizon + 1), key=lambda tick: tick.bit_count()).bit_count()
    noise = seeded(seed).noisy(law, np.zeros((nodes, CELLS), dtype=np.int64))
    total: FloatArray = noise.sum(axis=0).astype(float)
    return total


def rms(wrong: FloatArray) -> float:
    return math.sqrt(float((wrong**2).mean()))


def main() -> None:
    bench = Bench("arrivals", __doc__ or "", seeds=5, options=options)
    mechanism = NoisyHistogram((Number("cell", min=0, max=CELLS - 1),), BUDGET)
    for horizon in bench.options.horizons:
        arrivals = Arrivals(mechanism, horizon)
        one = arrivals.laws[0].sigma / arrivals.factors.norm  # type: ignore[union-attr]
        last = horizon - 1
        found: dict[str, list[float]] = {}
        for seed in range(bench.seeds):
            rng = np.random.default_rng(seed)
            joined = rng.integers(0, 20, (horizon, CELLS))
            left = joined // 2
            rows = closed(arrivals, joined, f"arrivals {seed}")
            ours = arrivals.total(rows) - joined.sum(axis=0)
            after = rows
            for tick in range(horizon):
                after = arrivals.forget(after, Contribution(slice(None), left[tick]), joined=tick)
            departures = closed(arrivals, left, f"departures {seed}")
            cohorts = Arrivals(mechanism, horizon, "cohorts")
            apart = closed(cohorts, joined, f"cohorts {seed}")
            again = DiscreteGaussian(one * math.sqrt(horizon))
            for name, wrong in {
                "ours": ours,
                "after half left": arrivals.total(after) - (joined - left).sum(axis=0),
                "hidden leavers": arrivals.total(rows)
                - arrivals.total(departures)
                - (joined - left).sum(axis=0),
                "cohorts": cohorts.total(apart) - joined.sum(axis=0),
                "two trees": of_tree(horizon, one, f"tree {seed}")
                - of_tree(horizon, one, f"other tree {seed}"),
                "split budget": seeded(f"split {seed}")
                .noisy(again, np.zeros(CELLS, dtype=np.int64))
                .astype(float),
            }.items():
                found.setdefault(name, []).append(rms(wrong) / one)
        measured = {
            name: math.sqrt(sum(x * x for x in several) / len(several)) for name, several in found.items()
        }
        bench.row(ticks=horizon, foreseen=arrivals.error(last), **measured)
        slack = 4 / math.sqrt(2 * CELLS * bench.seeds)  # four standard errors of a root mean square
        near = abs(measured["ours"] / arrivals.error(last) - 1) < slack
        bench.claim(f"{horizon} ticks: the error is what is foreseen", near, slack=slack)
        same = abs(measured["after half left"] / measured["ours"] - 1) < 1e-6
        bench.claim(f"{horizon} ticks: deletions add no noise", same)
        if horizon in MOST:
            most = max(measured["ours"], measured["after half left"])
            at_most = f"{horizon} ticks: measured, at most {MOST[horizon]} of one release"
            bench.claim(at_most, most <= MOST[horizon], ratio=most)
        hidden = measured["hidden leavers"] / measured["ours"]
        bench.claim(
            f"{horizon} ticks: hidden leavers cost at most 1.5 times that", hidden < 1.5, ratio=hidden
        )
    bench.finish()


if __name__ == "__main__":
    main()
