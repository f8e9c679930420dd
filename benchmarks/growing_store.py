"""A store with 3,650 ticks of 10,000 cells: its size, and what a tick and deletions cost as it grows.

A tick writes a tile of 60 ticks for every 8 cells; a deletion writes, for every cell of the person, one
tile for every 60 ticks since they joined.  Beside them the floor: writing as many bytes into SQLite,
durably.  A deletion in a batch of 1,000 must take less than 10 ms at the horizon.
"""

import argparse
import os
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from bench import Bench
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyHistogram
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.stores import Publishing, Store, create_store
from undeleted.foundations.coins import Seeded, seeded
from undeleted.foundations.privacy import Zcdp
from undeleted.foundations.schema import Number, Schema

BATCH = 1000
AT = (60, 365, 1825, 3650)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ticks", type=int, default=3650)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--daily", type=int, default=20, help="people who join at each tick")


def size_of(place: Path) -> int:
    return sum(path.stat().st_size for path in (place, Path(f"{place}-wal")) if path.exists())


def written_by(process: str = "self") -> int:
    """Bytes that this process has caused to be written."""
    lines = Path(f"/proc/{process}/io").read_text(encoding="ascii").split()
    return int(lines[lines.index("write_bytes:") + 1])


def floor(folder: Path, size: int) -> float:
    """Seconds to write so many bytes into one durable transaction of SQLite."""
    with closing(sqlite3.connect(folder / "floor.db", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE IF NOT EXISTS pages (n INTEGER PRIMARY KEY, data BLOB)")
        data, pages = os.urandom(3900), max(1, size // 4096)
        start = time.perf_counter()
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?)", ((n, data) for n in range(pages)))
        db.execute("COMMIT")
        return time.perf_counter() - start


class Life:
    """People join every tick; a tick is closed; some leave."""

    def __init__(self, place: Path, cells: int, ticks: int, daily: int) -> None:
        self.column = Number("cell", min=0, max=cells - 1)
        self.schema, self.daily, self.next = Schema([self.column], id="id"), daily, 0
        self.rng = np.random.default_rng(1)
        published = {"table": Arrivals(NoisyHistogram((self.column,), Zcdp(0.1)), ticks)}
        first, coins = Arrays(self.people(5 * BATCH)), seeded("first")
        exact = {"table": first.total(published["table"].statistic)}
        releases = {"table": published["table"].release(first, coins)}
        facts = {"epsilon": 1.0, "delta": 1e-6, "left": 0.0}
        publishing = Publishing(self.schema, published, releases, first, facts, (), exact, at=0.0)
        self.store: Store = create_store(str(place), publishing)
        self.leaving = 0

    def people(self, count: int):  # type: ignore[no-untyped-def]
        ids = [f"p{i}" for i in range(self.next, self.next + count)]
        self.next += count
        return self.schema.table({"id": ids, "cell": self.rng.integers(0, self.column.cells, count).tolist()})

    def tick(self, number: int, coins: Seeded) -> float:
        self.store.add(self.people(self.daily))
        start = time.perf_counter()
        self.store.tick(number, coins, float(number))
        return time.perf_counter() - start

    def leave(self, count: int) -> float:
        """Seconds a person: those who have been there the longest, whose deletion moves the most rows."""
        gone = [f"p{i}" for i in range(self.leaving, self.leaving + count)]
        self.leaving += count
        start = time.perf_counter()
        done = self.store.delete(gone)
        self.store.erase()
        assert done.deleted == count
        return (time.perf_counter() - start) / count


def main() -> None:
    bench = Bench("growing_store", __doc__ or "", seeds=1, options=options)
    ticks, cells = bench.options.ticks, bench.options.cells
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = folder / "grown.db"
        life, coins, before = Life(place, cells, ticks, bench.options.daily), seeded("ticks"), written_by()
        spent: list[float] = []
        worst = 0.0
        for number in range(1, ticks):
            spent.append(life.tick(number, coins))
            if number + 1 in AT or number + 1 == ticks:
                life.store.erase()
                bytes_now = written_by()
                one = min(life.leave(1) for _ in range(5))
                alone = (written_by() - bytes_now) / 5
                batch = life.leave(BATCH)
                together = (written_by() - bytes_now - 5 * alone) / BATCH
                erased = life.leave(1)
                recent = sorted(spent[-30:])[15]
                each = (bytes_now - before) / max(1, len(spent))
                write = floor(folder, int(each))
                bench.row(
                    ticks=number + 1,
                    cells=cells,
                    store_mb=size_of(place) / 1e6,
                    tick_ms=1000 * recent,
                    mb_written_by_a_tick=each / 1e6,
                    writing_so_much_ms=1000 * write,
                    deletion_ms=1000 * min(one, erased),
                    deletion_in_a_batch_ms=1000 * batch,
                    kb_written_by_a_deletion=alone / 1e3,
                    kb_written_in_a_batch=together / 1e3,
                )
                worst, before, spent = max(worst, batch), written_by(), []
        start = time.perf_counter()
        problems = life.store.check()
        bench.row(check_s=time.perf_counter() - start)
        bench.claim("the store is intact", not problems)
        bench.claim(
            f"a deletion in a batch of {BATCH:,} takes less than 10 ms", worst < 0.01, ms=1000 * worst
        )
        life.store.close()
    bench.finish()


if __name__ == "__main__":
    main()
