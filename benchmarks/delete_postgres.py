"""Deletions per second in PostgreSQL, compared with a hand-written set-based SQL loop for the same work.

The loop has one row per person and one row per cell.  It deletes a batch with one statement that removes the
records, adds up their contributions and updates the cells, all inside the server; then it increments the
version and commits.  Both run on one server in turns.  In the median, batches of 1,000 must reach 60% of it.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from bench import Bench
from delete import people
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.stores import Publishing
from undeleted.curate.stores.postgres import PostgresStore
from undeleted.foundations.coins import seeded

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

N, VALUES, BATCHES, SINGLE = 1_000_000, 4_000, 20, 300
STARTS = {
    "people": 0,
    "count": 1,
    "sum": 2,
    "ages": 10,
    "incomes": 1000,
}  # where each publication's cells begin
TAKE = f"""
WITH gone AS (DELETE FROM hand.records WHERE id = ANY (%s) RETURNING age, income),
moved AS (
    SELECT cell, sum(value)::bigint AS value FROM gone, LATERAL (VALUES
        ({STARTS["people"]}, 1), ({STARTS["count"]}, 1), ({STARTS["sum"]}, age - 63),
        ({STARTS["ages"]} + age / 64, 1), ({STARTS["ages"]} + 4 + age / 16, 1),
        ({STARTS["ages"]} + 20 + age / 4, 1), ({STARTS["ages"]} + 84 + age, 1),
        ({STARTS["incomes"]} + income, 1)
    ) AS moves (cell, value) GROUP BY cell
)
UPDATE hand.cells AS c SET value = c.value - moved.value FROM moved WHERE c.cell = moved.cell
"""


def by_hand(url: str) -> Callable[[list[str]], None]:
    db = psycopg.connect(url, autocommit=True)
    db.execute("CREATE SCHEMA hand")
    db.execute("CREATE TABLE hand.records (id text PRIMARY KEY, age integer, income integer)")
    db.execute("CREATE TABLE hand.cells (cell bigint PRIMARY KEY, value bigint) WITH (fillfactor = 50)")
    db.execute("CREATE TABLE hand.state (version bigint)")
    db.execute(
        f"INSERT INTO hand.records SELECT 'p' || i, i % 128, i % {VALUES} FROM generate_series(0, {N - 1}) i"
    )
    db.execute(f"INSERT INTO hand.cells SELECT i, 0 FROM generate_series(0, {1000 + VALUES}) i")
    db.execute("INSERT INTO hand.state VALUES (1)")
    db.execute("VACUUM ANALYZE hand.records")

    def delete(names: list[str]) -> None:
        db.execute("BEGIN")
        db.execute(TAKE, (names,))
        db.execute("UPDATE hand.state SET version = version + 1")
        db.execute("COMMIT")

    return delete


def ours(url: str, key: Path) -> PostgresStore:
    schema, mechanisms = people(VALUES)
    numbers = np.arange(N)
    table = schema.table(
        {"id": [f"p{i}" for i in range(N)], "age": numbers % 128, "income": numbers % VALUES}
    )
    releases = {name: m.release(Arrays(table), seeded(name)) for name, m in mechanisms.items()}
    store = PostgresStore.create(
        f"{url}?schema=ours&key={key}", Publishing(schema, mechanisms, releases, table, {})
    )
    store._run("VACUUM ANALYZE {}.records")
    return store


def main() -> None:
    bench = Bench("delete_postgres", __doc__ or "", seeds=5)
    from support.servers import Server

    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            hand, store = by_hand(server.url()), ours(server.url(), Path(folder) / "key")
            sides: dict[str, Callable[[list[str]], Any]] = {"by hand": hand, "ours": store.delete}
            rng = np.random.default_rng(7)
            left = [f"p{i}" for i in rng.permutation(N)]
            rates: dict[tuple[str, int], float] = {}
            for size, batches in ((1, SINGLE), (1000, BATCHES)):
                times: dict[str, list[float]] = {name: [] for name in sides}
                for _ in range(bench.seeds):
                    chosen = [left[size * i : size * (i + 1)] for i in range(batches)]
                    left = left[size * batches :]
                    for name, delete in sides.items():
                        for batch in chosen:
                            started = time.perf_counter()
                            delete(batch)
                            times[name].append(time.perf_counter() - started)
                for name in sides:
                    rates[name, size] = size / float(np.median(times[name]))
            problems = store.check()
            store.close()
    finally:
        server.remove()
    for size in (1, 1000):
        ratio = rates["ours", size] / rates["by hand", size]
        bench.row(batch=size, ours=rates["ours", size], by_hand=rates["by hand", size], ratio=ratio)
    bench.claim("batches of 1,000: at least 60% of the loop", ratio >= 0.6, ratio=ratio)
    bench.claim("the store is intact afterwards", not problems)
    bench.finish()


if __name__ == "__main__":
    main()
