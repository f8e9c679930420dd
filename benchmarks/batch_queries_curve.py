"""How many points the attacker must control for each ε and δ: the remark after the paper's first theorem.

For each (ε, δ) the task is set up so that its one-shot algorithm has an error α/n of at most 0.0075, which is
honest, and the theorem's attacker plays it.  The number of blocks needed grows as log(1/δ)/ε², and the
recovered share stays at Q(1/(4√(α/n))).
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
            result = run(n=N, k=k, t=t, epsilon=epsilon, delta=delta)
            bench.row(
                epsilon=epsilon,
                delta=delta,
                k=k,
                t=t,
                blocks=N // t,
                controlled=result["controlled"],
                scale=math.log(1 / delta) / epsilon**2,
                recovered=result["recovered"],
                predicted=result["predicted"],
                honest=result["honest"],
            )
            close = abs(result["recovered"] - result["predicted"]) < 0.002
            bench.claim(f"as predicted at ε = {epsilon}, δ = {delta:g}", close and result["honest"])
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
