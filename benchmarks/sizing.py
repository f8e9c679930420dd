"""Measure the cost per row, publication and deletion: the units for the page on sizing.

Stores of two million people with a few publications, and of a thousand publications, in SQLite and in
PostgreSQL: how fast records are loaded, how many bytes they take, what a deletion costs alone and in batches,
how that grows with the number of publications, and what `check` and `vacuum` cost per record.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import Bench
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.noisy_mean import NoisyMean
from undeleted.curate.stores import Publishing, Store, create_store
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

N, COLUMNS = 2_000_000, 10
FEW, MANY = 10, 1_000
SINGLE, BATCH, BATCHES = 200, 1_000, 20


def publishing(n: int, publications: int) -> Publishing:
    columns = [Number(f"c{i}", min=0, max=99) for i in range(COLUMNS)]
    schema = Schema(columns, id="id")
    numbers = np.arange(n)
    data: dict[str, Any] = {"id": [f"p{i}" for i in range(n)]}
    table = schema.table(data | {c.name: (numbers * (i + 3)) % 100 for i, c in enumerate(columns)})
    share = Budget(0.001)
    mechanisms = {f"m{i}": NoisyMean(columns[i % COLUMNS], share) for i in range(publications)}
    totals, releases = Arrays(table), dict[str, Any]()
    for i, (name, mechanism) in enumerate(mechanisms.items()):
        same = f"m{i % COLUMNS}"
        releases[name] = mechanism.release(totals, seeded(name)) if i < COLUMNS else releases[same]
    return Publishing(schema, mechanisms, releases, table, {})


def seconds(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def deletions(store: Store, left: list[str]) -> tuple[float, float]:
    """Return the seconds per deletion, alone and in batches."""
    single = seconds(lambda: [(store.delete([left.pop()]), store.erase()) for _ in range(SINGLE)]) / SINGLE
    batches = [[left.pop() for _ in range(BATCH)] for _ in range(BATCHES)]
    batched = seconds(lambda: [(store.delete(b), store.erase()) for b in batches]) / (BATCH * BATCHES)
    return single, batched


def size_of(store: Store, place: str) -> int:
    if place.startswith("postgresql"):
        tables = ("records", "posts", "state", "held", "cells", "shapes", "meta")
        sizes = " + ".join(f"pg_total_relation_size('{{}}.{table}')" for table in tables)
        return int(store._one(f"SELECT {sizes}"))  # type: ignore[attr-defined]
    return Path(place).stat().st_size


def main() -> None:
    bench = Bench("sizing", __doc__ or "", seeds=1)
    from support.servers import Server

    server = Server("max_wal_size=8GB")
    rng = np.random.default_rng(7)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("sqlite", "postgres"):

                def place(name: str, kind: str = kind) -> str:
                    file = Path(folder) / f"{kind}-{name}"
                    return str(file) if kind == "sqlite" else server.url(name, f"{file}.key")

                published = publishing(N, FEW)
                started = time.perf_counter()
                store = create_store(place("few"), published)
                load = (time.perf_counter() - started) / N
                left = [f"p{i}" for i in rng.permutation(N)]
                single, batched = deletions(store, left)
                bench.row(
                    store=kind,
                    records=N,
                    load_us=1e6 * load,
                    bytes_a_record=size_of(store, place("few")) / N,
                    check_us=1e6 * seconds(store.check) / N,
                    vacuum_us=1e6 * seconds(store.vacuum) / N,
                    single_us=1e6 * single,
                    batched_us=1e6 * batched,
                )
                store.close()
                small = N // 20
                store = create_store(place("many"), publishing(small, MANY))
                left = [f"p{i}" for i in rng.permutation(small)]
                many_single, many_batched = deletions(store, left)
                bench.row(
                    store=kind,
                    publications=MANY,
                    single_us=1e6 * many_single,
                    batched_us=1e6 * many_batched,
                    single_us_a_publication=1e6 * max(0.0, many_single - single) / (MANY - FEW),
                    batched_us_a_publication=1e6 * max(0.0, many_batched - batched) / (MANY - FEW),
                )
                bench.claim(f"{kind}: the stores are intact afterwards", store.check() == [])
                store.close()
    finally:
        server.remove()
    bench.finish()


if __name__ == "__main__":
    main()
