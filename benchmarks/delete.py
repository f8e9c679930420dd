"""Deletions per second, compared with a hand-written sqlite3 loop that does the same durable work.

The loop has one row per person and one row per chunk of cells.  It looks up the record by a keyed hash of its
id (the id itself is not stored), deletes it with secure_delete, updates the same cells in place, commits with
synchronous=FULL, and truncates the log as often.  Unlike ours, it leaves holes that reveal who left, and
marks nothing.  Ours must reach 60% of its speed, alone and in batches, in the same run, and must not depend
on the number of records or on the size of the release.

With `--retain`, stores that keep no records take turns with stores that do: a deletion with a claim, which
is what a receipt carries, must be at least 85% as fast as a deletion by id.  It writes one page more and
computes four more digests, because the marks of all chunks lie under one root.
"""

import argparse
import sqlite3
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench import Bench
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.noisy_count import NoisyCount
from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.curate.mechanisms.noisy_mean import NoisyMean
from undeleted.curate.mechanisms.range_counts import RangeCounts
from undeleted.curate.stores import Claim, Claims, Publishing, Serials
from undeleted.curate.stores._store import CHUNK
from undeleted.curate.stores.sqlite import SqliteStore
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

SINGLE, BATCH, BATCHES, TURNS = 300, 2_000, 3, 15


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


class ClaimsInMemory:
    """Gives everybody a claim, without the seal and the signature of a receipt: the store alone is timed."""

    def __init__(self, capacity: int) -> None:
        self.claims: dict[str, bytes] = {}
        self._order = Serials(capacity)

    def begin(self, key: bytes, claims: Claims) -> None:
        self._written = claims.written

    def take(self, people: Sequence[str], rows: Any) -> None:
        serials = self._order.take(len(self.claims), len(people)).tolist()
        for person, serial, row in zip(people, serials, rows, strict=True):
            self.claims[person] = self._written(Claim(serial, (row.tobytes(),)))

    def finish(self) -> None: ...

    def kept(self) -> Iterator[Any]:
        return iter(())


def published(folder: Path, n: int, values: int, issue: ClaimsInMemory | None = None) -> SqliteStore:
    """A new store; of receipts, if claims are issued."""
    schema, mechanisms = people(values)
    numbers = np.arange(n)
    table = schema.table(
        {"id": [f"p{i}" for i in range(n)], "age": numbers % 128, "income": numbers % values}
    )
    releases = {name: m.release(Arrays(table), seeded(name)) for name, m in mechanisms.items()}
    facts = {} if issue is None else {"retain": "receipts", "capacity": 2 * n}
    publishing = Publishing(schema, mechanisms, releases, table, facts, issue=issue)
    return SqliteStore.create(str(folder / f"{'ours' if issue is None else 'receipts'}.db"), publishing)


def ours(folder: Path, n: int, values: int) -> tuple[float, float]:
    """Return the deletions per second, alone and in batches."""
    store = published(folder, n, values)
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


def retaining(bench: Bench, n: int, values: int) -> None:
    """Deletions by id from a store of records, and with claims from a store of receipts, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        issue = ClaimsInMemory(2 * n)
        records = published(Path(folder), n, values)
        receipts = published(Path(folder), n, values, issue)
        by_claim = receipts.delete_tagged
        ways: dict[str, tuple[SqliteStore, Callable[[list[str]], Any]]] = {
            "by id": (records, records.delete),
            "with a claim": (receipts, lambda names: by_claim([issue.claims[name] for name in names])),
        }
        order = [f"p{i}" for i in np.random.default_rng(1).permutation(n).tolist()]
        rates: dict[tuple[str, int], list[float]] = {}
        for _ in range(TURNS):
            for way, (store, delete) in ways.items():
                for size, times in ((1, 100), (BATCH, 1)):
                    parts = [[order.pop() for _ in range(size)] for _ in range(times)]
                    started = time.perf_counter()
                    for part in parts:
                        assert delete(part).deleted == size
                        store.erase()
                    rates.setdefault((way, size), []).append(size * times / (time.perf_counter() - started))
        for size, how in ((1, "single"), (BATCH, "batched")):
            one, other = (rates[way, size] for way in ways)
            ratio = median(b / a for a, b in zip(one, other, strict=True))
            figures = {"by_id": median(one), "with_a_claim": median(other), "ratio": ratio}
            bench.row(records=n, cells=values, how=how, **figures)
            bench.claim(f"{how}, {n:,} people: with a claim at least 85% as fast", ratio >= 0.85, ratio=ratio)
        records.close()
        receipts.close()


def main() -> None:
    def options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--retain", action="store_true", help="compare stores with and without records")

    bench = Bench("delete", __doc__ or "", seeds=3, options=options)
    if bench.options.retain:
        bench.name = "delete_retain"
        for n in (100_000, 1_000_000):
            retaining(bench, n, 4_000)
        bench.finish()
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
