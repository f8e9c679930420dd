"""How the exact verifier's time grows with the number of transcripts |Z|^(k+1), and how much merging saves.

A noisy sum recomputed after every deletion is our hardest curator for it: every output is noisy and none
follows from another.  It is compared with the linear program as written in the definition (every ordered data
set, every view, nothing merged), solved by the same HiGHS on the same world.
"""

import time
from collections import Counter
from math import factorial, prod

import altair as alt

from bench import Bench
from undeleted.verifying.best_simulator import Channel
from undeleted.verifying.exact import FiniteWorld, verify
from undeleted.verifying.history_tree import by_value, grow, leaves, restricted, sequences, spread
from undeleted.verifying.small_worlds import WorldNoise, named_world
from undeleted.verifying.step_laws import Steps

WORLDS = (  # domain, n, k, low, high
    (2, 3, 1, 0, 3),
    (2, 4, 1, 0, 4),
    (3, 3, 1, 0, 6),
    (2, 3, 2, 0, 3),
    (2, 4, 2, 0, 4),
    (3, 3, 2, 0, 6),
    (3, 4, 2, -1, 9),
    (2, 3, 3, 0, 3),
)
PLAIN_UP_TO = 12_000  # variables of a plain program; a larger one is not solved


def main() -> None:
    bench = Bench("exact_verifier", __doc__ or "", seeds=1)
    for domain, n, k, low, high in WORLDS:
        world = named_world(
            "recompute-sum", domain=domain, n=n, k=k, noise=WorldNoise(low=low, high=high)
        ).world
        result = verify(world, time_limit=300)
        transcripts = (high - low + 1) ** (k + 1)
        plain = _plain_seconds(world)
        bench.row(
            domain=domain,
            n=n,
            k=k,
            outputs=high - low + 1,
            transcripts=transcripts,
            delta=float(result.literal.lower),
            delta_keep_z0=float(result.keep_z0.lower),
            certified=result.certified,
            variables=result.variables,
            plain_variables=result.plain_variables,
            smaller=result.plain_variables / result.variables,
            seconds=result.seconds,
            plain_seconds=plain,
        )
        bench.claim(f"certified at |X| = {domain}, n = {n}, k = {k}", result.certified)
    large = next(row for row in bench.rows if row["outputs"] == 11)
    bench.claim(
        "|X| = 3, n = 4, k = 2, 11 outputs in under 30 s", large["seconds"] < 30, seconds=large["seconds"]
    )
    bench.claim(
        "and with programs at least ten times smaller", large["smaller"] >= 10, smaller=large["smaller"]
    )
    both = [row for row in bench.rows if row["plain_seconds"] is not None]
    ratio = sum(row["plain_seconds"] for row in both) / sum(row["seconds"] for row in both)
    bench.claim(
        "faster than the plain programs in the same run, in all", ratio > 1, ratio=ratio, worlds=len(both)
    )
    bench.picture(
        alt.Chart(alt.InlineData(values=bench.rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("transcripts:Q", scale=alt.Scale(type="log"), title="transcripts |Z|^(k+1)"),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), title="seconds, enumeration included"),
            color=alt.Color("k:N", title="k"),
        )
        .properties(width=420, height=280, title="The best simulator, both optima, certified")
    )
    bench.finish()


def _plain_seconds(world: FiniteWorld) -> float | None:
    """Both optima of all sequences by the plain programs: enumeration and solving; None if too large."""
    started = time.perf_counter()
    data = dict(enumerate(world.data_sets()))
    tree = grow(Steps(world.make), data, world.k, by_value)
    roots = tree.without_leaks()
    number = len(data)
    ordered = {d: _orders(points) for d, points in data.items()}
    for length in range(1, world.k + 1):
        for sequence, having in sequences(data, length).items():
            kept = {
                z: restricted(node, having, lambda made, s=sequence: s[len(made) : len(made) + 1])  # type: ignore[misc]
                for z, node in roots.items()
            }
            views = leaves(kept, spread(sequence))
            copies = {d: [d, *range(number + d * 10**6, number + d * 10**6 + ordered[d] - 1)] for d in having}
            inputs = {
                w: {c: m for d, m in mass.items() if d in copies for c in copies[d]}
                for w, mass in tree.inputs().items()
            }
            spread_out = {v: {c: m for d, m in mass.items() for c in copies[d]} for v, mass in views.items()}
            for keep in (False, True):
                channel = Channel(
                    {w: m for w, m in inputs.items() if m}, spread_out, lambda name: name[0], keep
                )
                if channel.plain_variables > PLAIN_UP_TO:
                    return None
                channel.program().solve(300.0)
    return time.perf_counter() - started


def _orders(points: tuple[object, ...]) -> int:
    return factorial(len(points)) // prod(map(factorial, Counter(points).values()))


if __name__ == "__main__":
    main()
