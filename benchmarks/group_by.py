"""Statistics by group against DuckDB's own GROUP BY, in one run: time, memory, and equal results.

    ours      count, sum, mean, variance and share of 50 groups, on the public grid, with all values checked:
              Ibis on a DuckDB table, as a spec with `connection` uses it
    DuckDB    SELECT g, count(*), sum(x), avg(x), var_pop(x), avg(b) … GROUP BY g on the same table

The statistics alone are one claim.  A table that is published has ids, and nobody may have more rows than the
noise was made for: that check is another, against DuckDB with the same check in its own SQL beside its GROUP
BY.  It takes far longer than the statistics, for both.

All are warm, and the runs alternate; the claims are about medians of ratios.  Memory is what the process
grew by, beyond DuckDB's own limit.
"""

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import Bench

GROUPS = 50
CHECK = "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM t GROUP BY id HAVING count(*) > 1)"
MEMORY = 2048  # MB: DuckDB's own limit
PEER = (
    "SELECT g, count(*) AS n, sum(x) AS s, avg(x) AS m, var_pop(x) AS v, avg(b::INT) AS p FROM t GROUP BY g"
)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=20_000_000)


def filled(folder: str, rows: int) -> Any:
    """A DuckDB file with a table of synthetic people."""
    import duckdb

    connection = duckdb.connect(str(Path(folder) / "t.duckdb"))
    connection.execute("SELECT setseed(0.5)")
    connection.execute(
        f"""CREATE TABLE t AS SELECT (random() * {GROUPS - 1})::INTEGER AS g, (random() * 120)::INTEGER AS x,
            random() < 0.3 AS b, 'p' || range AS id FROM range({rows})"""
    )
    return connection


def wanted(person: str | None = None) -> tuple[Any, list[Any]]:
    from undeleted.curate.statistics import ClippedSum, Count, GroupedCells, Moments
    from undeleted.foundations.schema import Boolean, Number, Schema

    g, x, b = Number("g", min=0, max=GROUPS - 1), Number("x", min=0, max=120), Boolean("b")
    inner = [Count(), ClippedSum(x), Moments(x, 1), Moments(x, 2), Moments(b, 1)]
    return Schema([g, x, b], id=person), [GroupedCells(each, (g,)) for each in inner]


def ours(table: Any, person: str | None = None) -> list[Any]:
    from undeleted.curate.engines.ibis import Ibis

    schema, asked = wanted(person)
    engine = Ibis(schema, table)
    engine.prepare(asked)
    return [engine.total(statistic) for statistic in asked]


def main() -> None:
    import ibis

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    bench = Bench("group_by", __doc__ or "", seeds=7, options=options)
    with tempfile.TemporaryDirectory() as folder:
        filled(folder, bench.options.rows).close()
        backend = ibis.duckdb.connect(str(Path(folder) / "t.duckdb"), read_only=True)
        backend.con.execute("SET threads = 2")
        backend.con.execute(f"SET memory_limit = '{MEMORY}MB'")
        table = backend.table("t")
        ratios = []
        for run in range(-1, bench.seeds):  # the first warms both up
            start = time.perf_counter()
            peer = backend.con.sql(PEER).to_arrow_table().sort_by("g").to_pydict()
            between = time.perf_counter()
            totals = ours(table)
            end = time.perf_counter()
            if run >= 0:
                ratios.append((end - between) / (between - start))
                bench.row(duckdb=between - start, ours=end - between, ratio=ratios[-1])
        before = peak()
        checked = []
        for run in range(-1, bench.seeds):
            start = time.perf_counter()
            assert backend.con.sql(CHECK).fetchall() == [(0,)]
            backend.con.sql(PEER).to_arrow_table()
            between = time.perf_counter()
            again = ours(table, "id")
            end = time.perf_counter()
            if run >= 0:
                checked.append((end - between) / (between - start))
                bench.row(duckdb_with_ids=between - start, ours_with_ids=end - between, ratio=checked[-1])
        assert all((a == b).all() for a, b in zip(totals, again, strict=True))
        count, total, _, moments, truths = totals
        mean = 60 + moments[GROUPS : 2 * GROUPS] / count
        spread = moments[2 * GROUPS :] / count - (moments[GROUPS : 2 * GROUPS] / count) ** 2
        same = (
            count.tolist() == peer["n"]
            and total.tolist() == [int(s) for s in peer["s"]]
            and np.allclose(mean, peer["m"])
            and np.allclose(spread, peer["v"])
            and np.allclose(truths[GROUPS:] / truths[:GROUPS], peer["p"])
        )
        backend.disconnect()
    bench.claim("the same results", same)
    middle = statistics.median(ratios)
    bench.claim("the statistics: at most 1.3 times DuckDB's own GROUP BY", middle <= 1.3, ratio=middle)
    middle = statistics.median(checked)
    bench.claim("with ids: at most 1.3 times DuckDB with the same check", middle <= 1.3, ratio=middle)
    grown = peak() - before
    bench.claim("memory stays within DuckDB's limit and 500 MB", grown <= MEMORY + 500, megabytes=grown)
    bench.finish()


if __name__ == "__main__":
    main()
