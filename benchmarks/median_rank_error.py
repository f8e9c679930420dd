"""The rank error of a median after k deletions from one side: 10⁶ people, 2³² values, ε = 1, δ = 0 or 1e-6.

    subtract    range counts on a grown tree, from which the leavers are subtracted (M5)
    ignore      the exact median, left as it is (M4)
    recompute   the grown tree recomputed after every deletion, the budget split over k + 1 releases (M11)

and on a domain of 2¹⁶ values, where each node of a tree over time can hold a whole tree over values:

    subtract    complete range counts, from which the leavers are subtracted
    continual   a first release, less a binary-tree count of the deletions (M9)

The k smallest values leave.  Rank error: remaining records strictly between the answer and their median.
"""

import altair as alt
import numpy as np

from bench import Bench
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.grown_range_counts import GrownRangeCounts
from undeleted.curate.mechanisms.range_counts import RangeCounts
from undeleted.curate.releases.linear import Cells, add_noise
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import DiscreteGaussian, seeded
from undeleted.foundations.privacy import Budget, Zcdp, calibrate
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.tree_counter import TreeCounter

PEOPLE, DELETIONS = 10**6, (10, 1_000, 100_000)
WIDE, NARROW = Number("x", min=0, max=2**32 - 1), Number("x", min=0, max=2**16 - 1)
PURE, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-6)
# Errors of prototypes; ours must be at most a fifth larger.
SUBTRACT = {(0.0, 10): 25, (0.0, 1_000): 24, (0.0, 100_000): 32}
SUBTRACT |= {(1e-6, 10): 21, (1e-6, 1_000): 22, (1e-6, 100_000): 34}
IGNORE = {10: 4, 1_000: 499, 100_000: 49_999}


def people(distribution: str, top: int) -> IntArray:
    """Return sorted values: uniform, or normal on a log scale (like incomes)."""
    if distribution == "uniform":
        return np.sort(seeded("people").integers(0, top, PEOPLE))
    logs = seeded("people").noisy(DiscreteGaussian(1.5e9), np.full(PEOPLE, 14 * 10**9)) / 1e9
    return np.sort(np.minimum(np.exp(logs * np.log(top) / np.log(2**32)), top - 1).astype(np.int64))


def rank_error(left: IntArray, value: float) -> int:
    """Records strictly between a value and the lower median of those who remain."""
    low, high = sorted((int(value), int(left[(left.size - 1) // 2])))
    between = np.searchsorted(left, high, side="left") - np.searchsorted(left, low, side="right")
    return max(0, int(between))


def note(bench: Bench, method: str, domain: str, data: str, delta: float, k: int, errors: list[int]) -> None:
    bench.row(
        method=method,
        domain=domain,
        data=data,
        delta=delta,
        k=k,
        mean=float(np.mean(errors)),
        p95=float(np.percentile(errors, 95)),
        seeds=len(errors),
    )


def on_the_wide_domain(bench: Bench, data: str) -> None:
    schema, values = Schema([WIDE]), people(data, 2**32)
    everybody = Arrays(schema.table(values))
    for budget in (PURE, APPROXIMATE):
        once = GrownRangeCounts(WIDE, budget)
        for k in DELETIONS:
            left, gone = values[k:], once.contribution(schema.table(values[:k]))
            errors = []
            for seed in range(bench.seeds):
                release = once.release(everybody, seeded(f"first {seed}"))
                release = once.forget(release, gone)
                errors.append(rank_error(left, once.median(release).value))
            note(bench, "subtract", "2^32", data, budget.delta, k, errors)
            again = GrownRangeCounts(WIDE, share_of(budget, k + 1, once))
            rest = Arrays(schema.table(left))
            errors = [
                rank_error(left, again.median(again.release(rest, seeded(f"again {seed}"))).value)
                for seed in range(bench.seeds)
            ]
            note(bench, "recompute", "2^32", data, budget.delta, k, errors)
    for k in DELETIONS:
        errors = [rank_error(values[k:], float(values[(PEOPLE - 1) // 2]))]
        note(bench, "ignore", "2^32", data, 0.0, k, errors)


def share_of(budget: Budget, releases: int, once: GrownRangeCounts) -> Budget | Zcdp:
    """Return the budget that each of `releases` equal releases may spend."""
    if budget.delta == 0:
        return Budget(budget.epsilon / releases)
    noise = calibrate([(1,) * once.levels], budget, times=releases)[0]
    return Zcdp(sum(1 / (2 * law.sigma**2) for law in noise if isinstance(law, DiscreteGaussian)))


def on_the_narrow_domain(bench: Bench) -> None:
    schema, values = Schema([NARROW]), people("uniform", 2**16)
    everybody = Arrays(schema.table(values))
    for budget in (PURE, APPROXIMATE):
        once = RangeCounts(NARROW, budget)
        total = everybody.total(once.statistic)
        for k in DELETIONS:
            left = values[k:]
            gone = once.contribution(schema.table(values[:k]))
            counter = TreeCounter(once.statistic, schema, budget, horizon=k)
            remaining = total.copy()
            remaining[gone.cells] -= gone.values
            ours, continual = [], []
            for seed in range(bench.seeds):
                coins = seeded(f"narrow {seed}")
                noisy = Cells(add_noise(once.statistic, once.laws, remaining, coins))
                ours.append(rank_error(left, once.median(noisy).value))
                # The counter's output after the last deletion has one noise for the start and one per block.
                noisy = Cells(add_noise(once.statistic, counter.first_laws, remaining, coins))
                for _ in range(k.bit_count()):
                    noisy = Cells(add_noise(once.statistic, counter.stream_laws, noisy.value, coins))
                continual.append(rank_error(left, once.median(noisy).value))
            note(bench, "subtract", "2^16", "uniform", budget.delta, k, ours)
            note(bench, "continual", "2^16", "uniform", budget.delta, k, continual)


def check(bench: Bench) -> None:
    means = {(r["method"], r["domain"], r["data"], r["delta"], r["k"]): r["mean"] for r in bench.rows}
    for (delta, k), figure in SUBTRACT.items():
        mean = means["subtract", "2^32", "uniform", delta, k]
        text = f"subtract within a fifth of {figure} after {k:,} deletions"
        bench.claim(text, mean <= 1.2 * figure, delta=delta, mean=mean)
    for k, figure in IGNORE.items():
        mean = means["ignore", "2^32", "uniform", 0.0, k]
        bench.claim(f"ignore has exactly its worst-case error after {k:,}", mean == figure, mean=mean)
    for delta in (0.0, 1e-6):
        ours = means["subtract", "2^32", "uniform", delta, 100_000]
        theirs = means["recompute", "2^32", "uniform", delta, 100_000]
        bench.claim("subtract beats recompute a hundredfold at 100,000", theirs >= 100 * ours, delta=delta)
        for k in DELETIONS:
            narrow, tree = (
                means["subtract", "2^16", "uniform", delta, k],
                means["continual", "2^16", "uniform", delta, k],
            )
            bench.claim(
                f"subtract beats continual after {k:,}",
                tree > 2 * narrow,
                delta=delta,
                ours=narrow,
                theirs=tree,
            )


def draw(bench: Bench) -> None:
    rows = [
        {
            **r,
            "curve": f"{r['method']}, {r['domain']}",
            "noise": "ε = 1" if r["delta"] == 0 else "ε = 1, δ = 1e-6",
        }
        for r in bench.rows
        if r["data"] == "uniform"
    ]
    bench.picture(
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("k:Q", scale=alt.Scale(type="log"), title="deletions, all from one side"),
            y=alt.Y("mean:Q", scale=alt.Scale(type="log"), title="mean rank error of the median"),
            color=alt.Color("curve:N", title=None),
            strokeDash=alt.StrokeDash("noise:N", title=None),
        )
        .properties(width=460, height=300, title="A median of 1,000,000 people after deletions")
    )


def main() -> None:
    bench = Bench("median_rank_error", __doc__ or "", seeds=150)
    on_the_wide_domain(bench, "uniform")
    on_the_wide_domain(bench, "lognormal")
    on_the_narrow_domain(bench)
    check(bench)
    draw(bench)
    bench.finish()


if __name__ == "__main__":
    main()
