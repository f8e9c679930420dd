"""Deletions per second, compared with a hand-written sqlite3 loop that does the same durable work.

The loop has one row per person and one row per chunk of cells.  It looks up the record by a keyed hash of its
id (the id itself is not stored), deletes it with secure_delete, updates the same cells in place, commits with
synchronous=FULL, and truncates the log as often.  Unlike ours, it leaves holes that reveal who left, and
marks nothing.  Ours must reach 60% of its speed, alone and in batches, in the same run, and must not depend
on the number of records or on the size of the release.
"""

import sqlite3
import struct
import tempfile
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from bench import Bench
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.noisy_count import NoisyCount
from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.curate.mechanisms.noisy_mean import NoisyMean
from undeleted.curate.mechanisms.range_counts import RangeCounts
from undeleted.curate.stores import Publishing
from undeleted.curate.stores._store import CHUNK
from undeleted.curate.stores.sqlite import SqliteStore
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

SINGLE, BATCH, BATCHES = 300, 2_000, 3


def people(values: int) -> tuple[Schema, dict[str, Any]]:
    age, income = Number("age", min=0, max=127), Number("income", min=0, max=values - 1)
    share = Budget(0.25)
    mechanisms = {
        "people": NoisyCount(share),
        "mean": NoisyMean(age, share),
        "ages": RangeCounts(age, share, 4),
        "incomes": NoisyHistogram((income,), share),
    }
    return Schema([age, income], id="id"), mechanisms


def ours(folder: Path, n: int, values: int) -> tuple[float, float]:
    """Return the deletions per second, alone and in batches."""
    schema, mechanisms = people(values)
    numbers = np.arange(n)
    table = schema.table(
        {"id": [f"p{i}" for i in range(n)], "age": numbers % 128, "income": numbers % values}
    )
    releases = {name: m.release(Arrays(table), seeded(name)) for name, m in mechanisms.items()}
    store = SqliteStore.create(str(folder / "ours.db"), Publishing(schema, mechanisms, releases, table, {}))
    leavers = [f"p{i * (n // (SINGLE + BATCH * BATCHES))}" for i in range(SINGLE + BATCH * BATCHES)]

    def single() -> None:
        for person in leavers[:SINGLE]:
            assert store.delete([person]).deleted == 1
            store.erase()

    def batches() -> None:
        for start in range(SINGLE, len(leavers), BATCH):
            assert store.delete(leavers[start : start + BATCH]).deleted == BATCH
            store.erase()

    rates = SINGLE / _seconds(single), BATCH * BATCHES / _seconds(batches)
    store.close()
    return rates


def by_hand(folder: Path, n: int, values: int) -> tuple[float, float]:
    """Do the same by hand: no mechanism, no schema, only SQL statements."""
    db = sqlite3.connect(folder / "hand.db", isolation_level=None)
    for pragma in ("secure_delete = ON", "journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {pragma}").fetchall()
    db.executescript(
        "CREATE TABLE records (tag BLOB PRIMARY KEY, codes BLOB) WITHOUT ROWID;"
        "CREATE TABLE cells (chunk INTEGER PRIMARY KEY, data BLOB); CREATE TABLE state (version INTEGER)"
    )
    db.execute("BEGIN")
    key = bytes(range(32))

    def tag(name: str) -> bytes:
        return blake2b(name.encode(), key=key, digest_size=16).digest()

    ordered = sorted((tag(f"p{i}"), struct.pack("<BI", i % 128, i % values)) for i in range(n))
    db.executemany("INSERT INTO records VALUES (?, ?)", ordered)
    chunks = 3 + -(-values // CHUNK)
    db.executemany("INSERT INTO cells VALUES (?, zeroblob(?))", ((c, 8 * CHUNK) for c in range(chunks)))
    db.execute("INSERT INTO state VALUES (1)")
    db.execute("COMMIT")
    leavers = [f"p{i * (n // (SINGLE + BATCH * BATCHES))}" for i in range(SINGLE + BATCH * BATCHES)]

    def delete(names: list[str]) -> None:
        db.execute("BEGIN IMMEDIATE")
        moved: dict[int, dict[int, int]] = {}
        for name in names:
            taken = db.execute("DELETE FROM records WHERE tag = ? RETURNING codes", (tag(name),))
            [(codes,)] = taken.fetchall()
            age, income = struct.unpack("<BI", codes)
            cells = [(0, 0, 1), (1, 0, 1), (1, 1, age - 63), (3 + income // CHUNK, income % CHUNK, 1)]
            start = 0
            for level in range(1, 5):  # the levels of a tree with four children per node
                cells.append((2, start + age // 4 ** (4 - level), 1))
                start += 4**level
            for chunk, cell, value in cells:
                into = moved.setdefault(chunk, {})
                into[cell] = into.get(cell, 0) + value
        for chunk, inside in moved.items():
            [(data,)] = db.execute("SELECT data FROM cells WHERE chunk = ?", (chunk,)).fetchall()
            after = bytearray(data)
            for cell, value in inside.items():
                struct.pack_into("<q", after, 8 * cell, struct.unpack_from("<q", after, 8 * cell)[0] - value)
            db.execute("UPDATE cells SET data = ? WHERE chunk = ?", (bytes(after), chunk))
        db.execute("UPDATE state SET version = version + 1")
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def single() -> None:
        for name in leavers[:SINGLE]:
            delete([name])

    def batches() -> None:
        for start in range(SINGLE, len(leavers), BATCH):
            delete(leavers[start : start + BATCH])

    rates = SINGLE / _seconds(single), BATCH * BATCHES / _seconds(batches)
    db.close()
    return rates


def _seconds(work: object) -> float:
    assert callable(work)
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    bench = Bench("delete", __doc__ or "", seeds=3)
    worlds = ((10_000, 4_000), (100_000, 4_000), (1_000_000, 4_000), (10_000_000, 4_000), (100_000, 400_000))
    for n, values in worlds:
        best: dict[str, list[tuple[float, float]]] = {"ours": [], "by hand": []}
        for _ in range(bench.seeds if n < 10**6 else 1):
            with tempfile.TemporaryDirectory() as folder:
                best["by hand"].append(by_hand(Path(folder), n, values))
                best["ours"].append(ours(Path(folder), n, values))
        fastest = {name: tuple(max(r[i] for r in rates) for i in (0, 1)) for name, rates in best.items()}
        for i, how in enumerate(("single", "batched")):
            ratio = fastest["ours"][i] / fastest["by hand"][i]
            bench.row(
                records=n,
                cells=values,
                how=how,
                ours=fastest["ours"][i],
                by_hand=fastest["by hand"][i],
                ratio=ratio,
            )
            bench.claim(
                f"{how}, {n:,} records, {values:,} cells: at least 60% of the loop",
                ratio >= 0.6,
                ratio=ratio,
            )
    singles = [row["ours"] for row in bench.rows if row["how"] == "single"]
    flat = max(singles) / min(singles)
    bench.claim(
        "single deletions do not depend on records and cells, within a factor of 2", flat <= 2, factor=flat
    )
    bench.finish()


if __name__ == "__main__":
    main()
