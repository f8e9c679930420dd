"""The error of a sum after k deletions: it does not grow if we subtract, and grows if we recompute.

200,000 people with a number from 0 to 100; the k largest leave.  Mean absolute error of the last release:

    subtract    one noisy sum, from which the leavers are subtracted (M3)
    ignore      one noisy sum, left as it is (M8)
    split       recomputed after every deletion, the budget split over all k + 1 releases (M11)
    fixed       recomputed after every deletion with the whole budget each time; the total ε is shown
"""

import altair as alt
import numpy as np

from bench import Bench
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.recompute import Recompute

PEOPLE, DELETIONS = 200_000, (10, 100, 1_000, 10_000, 100_000)
X = Number("x", min=0, max=100)
SCHEMA = Schema([X])
BUDGETS = (Budget(1.0), Budget(1.0, 1e-6))


def main() -> None:
    bench = Bench("sum_error", __doc__ or "", seeds=400)
    values = np.sort(seeded("people").integers(0, 101, PEOPLE))
    everybody = Arrays(SCHEMA.table(values))
    for budget in BUDGETS:
        once = NoisySum(X, budget)
        first = [once.release(everybody, seeded(f"first {seed}")) for seed in range(bench.seeds)]
        for k in DELETIONS:
            gone, rest = SCHEMA.table(values[-k:]), Arrays(SCHEMA.table(values[:-k]))
            exact = int(values[:-k].sum())
            split = Recompute.split_over(k + 1, lambda noise: NoisySum(X, noise), budget, SCHEMA).mechanism
            left = once.contribution(gone)
            subtracted = [once.forget(z, left) for z in first]
            recomputed = [split.release(rest, seeded(f"split {seed}")) for seed in range(bench.seeds)]
            again = [once.release(rest, seeded(f"again {seed}")) for seed in range(bench.seeds)]
            events = [type(e)(e.law, e.shift, e.rows, times=k + 1) for e in once.events or []]
            for method, releases, cost in (
                ("subtract", subtracted, budget.epsilon),
                ("ignore", first, budget.epsilon),
                ("split", recomputed, budget.epsilon),
                ("fixed", again, account(events, budget.delta).epsilon),
            ):
                error = float(np.mean([abs(int(z.value[0]) - exact) for z in releases]))
                bench.row(method=method, delta=budget.delta, k=k, error=error, epsilon=cost)
    check(bench)
    draw(bench)
    bench.finish()


def check(bench: Bench) -> None:
    """Check that our error is constant (exactly: the noise is the same), and that a split budget's grows."""
    for budget in BUDGETS:
        errors = {
            m: [r["error"] for r in bench.rows if (r["method"], r["delta"]) == (m, budget.delta)]
            for m in METHODS
        }
        ours, split = errors["subtract"], errors["split"]
        bench.claim("subtract does not grow", max(ours) == min(ours), delta=budget.delta, error=ours[-1])
        growth = split[-1] / split[0]
        bench.claim("split grows at least fiftyfold", growth >= 50, delta=budget.delta, growth=growth)
        ratio = split[-1] / ours[-1]
        bench.claim("subtract beats split a hundredfold", ratio >= 100, delta=budget.delta, ratio=ratio)


METHODS = ("subtract", "ignore", "split", "fixed")


def draw(bench: Bench) -> None:
    names = {0.0: "ε = 1", 1e-6: "ε = 1, δ = 1e-6"}
    rows = [{**r, "budget": names[r["delta"]]} for r in bench.rows if r["method"] != "fixed"]
    bench.picture(
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("k:Q", scale=alt.Scale(type="log"), title="deletions"),
            y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="mean absolute error of the sum"),
            color=alt.Color("method:N", title=None),
            strokeDash=alt.StrokeDash("budget:N", title=None),
        )
        .properties(width=420, height=280, title="A sum of 200,000 people after deletions")
    )


if __name__ == "__main__":
    main()
