"""Statistics of a large Parquet file, compared with a hand-written DuckDB and numpy loop, in one run.

20 million rows of six columns: 200 group counts, every sum and product of the six (28), and a histogram of
65,536 bins.  Each side runs in its own process; processor time must be at most 1.3 times the loop's, and peak
memory under 1 GB.  The extra cost of the records table is measured separately, on a tenth of the rows.

With `--engine arrays --engine duckdb …` (or `--engine all`) the engines are compared instead: see engines.py.
"""

import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import Bench

ROWS, BLOCK = 20_000_000, 1 << 20
MOST = {"a": 9, "b": 19, "c": 65_535, "d": 999, "e": 499, "f": 99}


def write(path: Path, rows: int, *, ids: bool = False) -> None:
    """Write a table of random numbers."""
    generator = np.random.default_rng(7)
    writer = None
    for start in range(0, rows, BLOCK):
        size = min(BLOCK, rows - start)
        columns = {
            name: generator.integers(0, most + 1, size).astype(np.int32) for name, most in MOST.items()
        }
        people = {"id": [f"p{i}" for i in range(start, start + size)]} if ids else {}
        table = pa.table(people | columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def ours(path: str) -> list[int]:
    from undeleted.curate.engines.scan import scan
    from undeleted.curate.files import blocks
    from undeleted.curate.statistics import CrossProducts, Histogram
    from undeleted.foundations.schema import Number, Schema

    columns = {name: Number(name, min=0, max=most) for name, most in MOST.items()}
    wanted = [
        Histogram((columns["a"], columns["b"])),
        CrossProducts(tuple(columns.values())),
        Histogram((columns["c"],)),
    ]
    totals = scan(blocks(path, Schema(list(columns.values()))), wanted)
    return [int(totals[statistic].sum()) for statistic in wanted]


def by_hand(path: str) -> list[int]:
    import duckdb

    groups, bins = np.zeros(200, dtype=np.int64), np.zeros(65_536, dtype=np.int64)
    products = np.zeros((7, 7))
    middles = [most // 2 for most in MOST.values()]
    connection = duckdb.connect(config={"threads": 2})
    for batch in connection.sql("SELECT * FROM read_parquet(?)", params=[path]).to_arrow_reader(1 << 17):
        columns = [batch.column(i).to_numpy() for i in range(6)]
        groups += np.bincount(columns[0] * 20 + columns[1], minlength=200)
        bins += np.bincount(columns[2], minlength=65_536)
        matrix = np.empty((7, len(columns[0])))
        matrix[0] = 1
        for i, (column, middle) in enumerate(zip(columns, middles, strict=True), start=1):
            matrix[i] = column - middle
        products += matrix @ matrix.T
    upper = np.concatenate([products[0], products[1:, 1:][np.triu_indices(6)]])
    return [int(groups.sum()), int(upper.sum()), int(bins.sum())]


def records(path: str) -> list[int]:
    from undeleted.curate.curator import Curator
    from undeleted.curate.engines.arrays import Arrays
    from undeleted.curate.files import read
    from undeleted.curate.mechanisms.noisy_count import NoisyCount
    from undeleted.curate.mechanisms.noisy_mean import NoisyMean
    from undeleted.foundations.privacy import Budget
    from undeleted.foundations.schema import Number, Schema

    columns = [Number(name, min=0, max=most) for name, most in MOST.items()]
    people = Schema(columns, id="id")
    table = read(path, people)
    share = Budget(0.1)
    publications = {"people": NoisyCount(share)} | {c.name: NoisyMean(c, share) for c in columns}
    with Curator(people, Budget(1.0), f"{path}.db") as curator:
        curator._publish(Arrays(table), publications, {})
    return [Path(f"{path}.db").stat().st_size]


def measured(side: str, path: Path) -> dict[str, float]:
    """Run one side in its own process; return processor and wall seconds, peak memory, and its totals."""
    done = subprocess.run(
        [sys.executable, __file__, "--side", side, str(path)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def side(name: str, path: str) -> None:
    # Import before timing: start-up is not compared.
    for module in ("duckdb", "pyarrow.parquet", "pyarrow.compute", "undeleted.curate.curator"):
        importlib.import_module(module)
    started, before = time.perf_counter(), time.process_time()
    found = {"ours": ours, "by_hand": by_hand, "records": records}[name](path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    facts = {
        "cpu": time.process_time() - before,
        "wall": time.perf_counter() - started,
        "memory_mb": used.ru_maxrss / 1e3,
        "found": found,
    }
    print(json.dumps(facts))


def main() -> None:
    if sys.argv[1:2] == ["--side"]:
        side(*sys.argv[2:4])
        return
    if "--engine" in sys.argv:
        import engines

        engines.main()
        return
    bench = Bench("publish", __doc__ or "", seeds=5)
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "people.parquet", Path(folder) / "ids.parquet"
        write(path, ROWS)
        best: dict[str, dict[str, float]] = {}
        for _ in range(bench.seeds):
            for name in ("by_hand", "ours"):
                run = measured(name, path)
                if name not in best or run["cpu"] < best[name]["cpu"]:
                    best[name] = run
        for name, run in best.items():
            bench.row(side=name, rows=ROWS, cpu=run["cpu"], wall=run["wall"], memory_mb=run["memory_mb"])
        write(small, ROWS // 10, ids=True)
        run = measured("records", small)
        bench.row(
            side="with the records table",
            rows=ROWS // 10,
            cpu=run["cpu"],
            wall=run["wall"],
            memory_mb=run["memory_mb"],
        )
    ratio = best["ours"]["cpu"] / best["by_hand"]["cpu"]
    bench.claim("the same integers", best["ours"]["found"] == best["by_hand"]["found"])
    bench.claim("processor time at most 1.3 times the loop's", ratio <= 1.3, ratio=ratio)
    bench.claim(
        "peak memory under 1 GB", best["ours"]["memory_mb"] < 1000, memory_mb=best["ours"]["memory_mb"]
    )
    bench.finish()


if __name__ == "__main__":
    main()
