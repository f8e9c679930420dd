"""The same publication by every engine, at 20 million rows, in one run: time, memory, and equal integers.

    arrays      Arrow reads Parquet, numpy adds in blocks: the default
    duckdb      Ibis on a DuckDB file
    postgres    Ibis on PostgreSQL, on a server that the benchmark starts
    pyspark     Ibis on Spark, local[2], from Parquet

Every kind of statistic: group counts, all sums and products of six columns, a histogram of 65,536 bins,
trees of counts, moments by class.  Processor time includes the process, its children and the server; memory
excludes the server, which uses what it is configured for.  Start-up and loading are measured separately.

`publish.py --engine all` runs the same.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import Bench
from publish import MOST, write

ENGINES = ("arrays", "duckdb", "postgres", "pyspark")
ROWS = 20_000_000


def statistics() -> tuple[Any, list[Any]]:
    from undeleted.curate.statistics import (
        ClassHistograms,
        ClassMoments,
        ClippedSum,
        Count,
        CrossProducts,
        Histogram,
        Moments,
        Prefix,
        RangeTree,
        RangeTrees,
        SecondMoments,
    )
    from undeleted.foundations.schema import Number, Schema

    columns = {name: Number(name, min=0, max=most) for name, most in MOST.items()}
    wanted = [
        Histogram((columns["a"], columns["b"])),
        CrossProducts(tuple(columns.values())),
        Histogram((columns["c"],)),
        RangeTree(columns["d"], 16),
        RangeTrees((columns["e"], columns["f"]), 32),
        Prefix(columns["c"], 256),
        Count((columns["a"],)),
        ClippedSum(columns["c"]),
        Moments(columns["d"], 3),
        ClassMoments((columns["e"], columns["f"]), columns["a"]),
        ClassHistograms((columns["b"], columns["f"]), columns["a"]),
        SecondMoments((columns["d"], columns["e"]), target=columns["f"]),
    ]
    return Schema(list(columns.values())), wanted


def engine_of(name: str, place: str) -> Any:
    """Return an engine that is ready; the time of this call is start-up."""
    schema, _ = statistics()
    if name == "arrays":
        from undeleted.curate.files import read

        return lambda: read(place, schema)
    from undeleted.curate.connections import connected
    from undeleted.curate.engines.ibis import Ibis

    connection, _, table = place.rpartition(" ")
    engine = Ibis(schema, connected(connection, table, Path()))
    if name == "pyspark":  # the first job of a session starts its workers
        engine._ask(engine._raw.limit(1))
    return engine


def measure(name: str, place: str, server: int) -> None:
    """In a separate process: start up, compute the statistics, and print the facts as JSON."""
    from undeleted.curate.engines.scan import scan
    from undeleted.curate.files import blocks

    schema, wanted = statistics()
    started = time.perf_counter()
    engine = engine_of(name, place)
    up = time.perf_counter() - started
    before, started = _cpu(server), time.perf_counter()
    if name == "arrays":
        totals = scan(blocks(place, schema), wanted)
        found = [totals[statistic] for statistic in wanted]
    else:
        engine.prepare(wanted)
        found = [engine.total(statistic) for statistic in wanted]
    facts = {
        "start_up": up,
        "wall": time.perf_counter() - started,
        "cpu": _cpu(server) - before,
        "memory_mb": _memory(),
        "found": [int(np.dot(t, np.arange(1, t.size + 1) % 1009)) for t in found],
    }
    print(json.dumps(facts))


def _cpu(server: int) -> float:
    """Processor seconds of this process and everything that it or the server started."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents = _processes()
    wanted = {os.getpid(), *([server] if server else [])}
    while more := {pid for pid, (parent, _) in parents.items() if parent in wanted} - wanted:
        wanted |= more
    return sum(parents[pid][1] for pid in wanted if pid in parents) / ticks


def _processes() -> dict[int, tuple[int, int]]:
    """By process: its parent, and its ticks including those of its ended children."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        found[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    return found


def _memory() -> float:
    """Peak memory of this process and of those it started, in MB; without the server."""
    parents, wanted = _processes(), {os.getpid()}
    while more := {pid for pid, (parent, _) in parents.items() if parent in wanted} - wanted:
        wanted |= more
    peaks = [0.0]
    for pid in wanted:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        peaks += [int(line.split()[1]) / 1e3 for line in status.splitlines() if line.startswith("VmHWM")]
    return sum(peaks)


def prepared(name: str, parquet: Path, folder: Path) -> tuple[str, Any]:
    """Load the same rows into an engine; return their place, and the server if there is one."""
    if name == "arrays":
        return str(parquet), None
    if name == "pyspark":
        return f"pyspark://local[2]?spark.driver.memory=4g {parquet}", None
    import duckdb

    if name == "duckdb":
        with duckdb.connect(str(folder / "people.duckdb")) as file:
            file.execute(f"CREATE TABLE people AS SELECT * FROM read_parquet('{parquet}')")
        return f"duckdb://{folder / 'people.duckdb'} people", None
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import psycopg

    from support.servers import Server

    server = Server("shared_buffers=1GB", "max_wal_size=8GB", "work_mem=64MB", "jit=on")
    listed = ", ".join(f"{column} integer" for column in MOST)
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute(f"CREATE UNLOGGED TABLE people ({listed})")
        with db.cursor().copy("COPY people FROM STDIN (FORMAT CSV)") as copy:
            csv = folder / "people.csv"
            duckdb.sql(f"COPY (SELECT * FROM read_parquet('{parquet}')) TO '{csv}' (HEADER false)")
            with csv.open("rb") as file:
                while block := file.read(1 << 22):
                    copy.write(block)
            csv.unlink()
        db.execute("VACUUM ANALYZE people")
    return f"{server.url()} people", server


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    bench = Bench(
        "engines",
        __doc__ or "",
        seeds=1,
        options=lambda parser: (
            parser.add_argument(
                "--engine", choices=(*ENGINES, "all"), action="append", help="only these; all by default"
            ),
            parser.add_argument("--rows", type=int, default=ROWS),
        ),
    )
    found: dict[str, Any] = {}
    named = bench.options.engine or ["all"]
    with tempfile.TemporaryDirectory() as folder:
        parquet = Path(folder) / "people.parquet"
        write(parquet, bench.options.rows)
        for name in ENGINES if "all" in named else named:
            place, server = prepared(name, parquet, Path(folder))
            try:
                pid = int((server.data / "postmaster.pid").read_text().split()[0]) if server else 0
                command = [sys.executable, __file__, "--measure", name, place, str(pid)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            finally:
                if server is not None:
                    server.remove()
            facts = json.loads(done.stdout.splitlines()[-1])
            found[name] = facts.pop("found")
            bench.row(engine=name, rows=bench.options.rows, **facts)
    bench.claim("identical integers from every engine", len({str(f) for f in found.values()}) == 1)
    bench.finish()


if __name__ == "__main__":
    main()
