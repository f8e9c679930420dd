"""How few points the attacker must control, for any ε and δ: the remark after the paper's first theorem.

For each (ε, δ) the task is set up so that its one-shot algorithm errs by α/n of at most 0.0075, which is
honest, and the attacker of the theorem plays it.  The blocks that takes grow as log(1/δ)/ε², and the
recovered share stays what Q(1/(4√(α/n))) says.
"""

import math

import altair as alt

from bench import Bench
from undeleted.games.attacks.batch_queries import run, sigma_of

N, TARGET = 2**17, 0.0075


def main() -> None:
    bench = Bench("batch_queries_curve", __doc__ or "", seeds=1)
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for delta in (1e-3, 1e-6, 1e-9):
            t = 1 << max(
                0, math.floor(math.log2(TARGET * N / sigma_of("tight", 64, epsilon, delta) ** 2 * 64))
            )
            k = max(1, math.ceil(2 / epsilon * math.log(2 * (N // t) / 0.05)))
            found = run(n=N, k=k, t=t, epsilon=epsilon, delta=delta)
            bench.row(
                epsilon=epsilon,
                delta=delta,
                k=k,
                t=t,
                blocks=N // t,
                controlled=found["controlled"],
                scale=math.log(1 / delta) / epsilon**2,
                recovered=found["recovered"],
                predicted=found["predicted"],
                honest=found["honest"],
            )
            close = abs(found["recovered"] - found["predicted"]) < 0.002
            bench.claim(f"as predicted at ε = {epsilon}, δ = {delta:g}", close and found["honest"])
    ratios = [row["blocks"] / row["scale"] for row in bench.rows]
    spread = max(ratios) / min(ratios)
    bench.claim(
        "blocks grow as log(1/δ)/ε², within a factor of 8 (t is a power of two)", spread <= 8, spread=spread
    )
    bench.picture(
        alt.Chart(alt.InlineData(values=bench.rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("scale:Q", scale=alt.Scale(type="log"), title="log(1/δ) / ε²"),
            y=alt.Y("controlled:Q", scale=alt.Scale(type="log"), title="controlled points"),
            color=alt.Color("epsilon:N", title="ε"),
        )
        .properties(width=420, height=280, title=f"Points that reconstruct {N:,} others")
    )
    bench.finish()


if __name__ == "__main__":
    main()
