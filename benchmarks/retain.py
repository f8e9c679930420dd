"""What a store keeps about people, what a thief finds of it, and what a deletion costs: three modes, one run.

A million people with planted ids and values are published with `retain` = records, receipts and tags.  All
files of the store are searched for what was planted: records must be found, or the search is blind; nothing
may be found of the others.  A store of receipts may grow by 5% more than a bit for every person of capacity.
People leave by id and with receipts where records are kept, and with receipts, or rows and salts, where they
are not; the ways take turns.  Leaving with a receipt must be at least 90% as fast without records as with
them: the marks of all chunks lie under one root, which is a page more to write.

    python benchmarks/retain.py --stream 10000000   the memory that so many receipts take, from Parquet
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench import Bench
from undeleted import Budget, Curator, NoisyCount, NoisyHistogram, NoisySum, Number, Schema

FIRST = 0x1122330000  # planted: such bytes stand nowhere by chance
WIDE = Number("wide", min=0, max=2**38)
AGE = Number("age", min=0, max=127)
SCHEMA = Schema([AGE, WIDE], id="id")
PLANT = "Planted-"
SINGLE, BATCH, ROUNDS = 100, 2_000, 7
MODES = ("records", "receipts", "tags")


def table(n: int) -> pa.Table:
    numbers = np.arange(n)
    ids = pa.array([f"{PLANT}{i:07d}" for i in range(n)])
    return pa.table({"id": ids, "age": numbers % 128, "wide": FIRST + numbers % 2**20})


def publications() -> dict[str, Any]:
    third = Budget(1.0)
    return {
        "people": NoisyCount(third),
        "ages": NoisyHistogram((AGE,), third),
        "wide": NoisySum(WIDE, third),
    }


def published(folder: Path, mode: str, n: int, capacity: int) -> tuple[Curator, float]:
    """A store of this mode, with what people leave with in a file beside its folder; and how long it took."""
    rules: dict[str, Any] = {} if mode == "records" else {"retain": mode, "capacity": capacity}
    curator = Curator(SCHEMA, Budget(3.0), folder / "people.db", **rules)
    given: dict[str, Any] = {} if mode == "records" else {"receipts": folder.parent / f"{mode}.jsonl"}
    started = time.perf_counter()
    curator.publish(table(n), publications(), **given)
    return curator, time.perf_counter() - started


def planted_in(folder: Path, n: int) -> int:
    """How many of a thousand people's values are in the files of a folder; or the beginning of an id."""
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    some = range(0, n, max(1, n // 1000))
    values = {(FIRST + i % 2**20).to_bytes(8, "little") for i in some}
    return sum(each in everything for each in values) + (PLANT.encode() in everything)


def by_id(curator: Curator) -> Callable[[list[int]], None]:
    """Delete these people by id."""
    return lambda people: _all(curator.delete([f"{PLANT}{i:07d}" for i in people]), people)


def leaver(curator: Curator, mode: str, lines: list[str]) -> Callable[[list[int]], None]:
    """Delete these people with what they were given."""
    if mode != "tags":
        return lambda people: _all(curator.delete_with([lines[i] for i in people]), people)
    salts = {(line := json.loads(text))["person"]: line["salt"] for text in lines}

    def with_rows(people: list[int]) -> None:
        ids = [f"{PLANT}{i:07d}" for i in people]
        rows = {"id": ids, "age": [i % 128 for i in people], "wide": [FIRST + i % 2**20 for i in people]}
        _all(curator.delete_rows(rows, salts), people)

    return with_rows


def _all(done: Any, people: list[int]) -> None:
    assert done.deleted == len(people), done


def peak(folder: Path, n: int) -> tuple[float, float]:
    """Publish people from Parquet, with receipts, in a process of its own: its memory in MB, and seconds."""
    source = folder / f"{n}.parquet"
    with pq.ParquetWriter(source, table(1).schema) as writer:
        for start in range(0, n, 10**6):
            count = min(10**6, n - start)
            ids = pa.array([f"{PLANT}{i:08d}" for i in range(start, start + count)])
            numbers = np.arange(start, start + count)
            columns = {"id": ids, "age": numbers % 128, "wide": FIRST + numbers % 2**20}
            writer.write_table(pa.table(columns))
    command = [sys.executable, __file__, "--child", str(source), "--people", str(n)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(said[0]), float(said[1])


def publish_here(source: Path, n: int) -> None:
    """Publish a file that DuckDB reads a block at a time; print the memory and the seconds."""
    import ibis

    started = time.perf_counter()
    path = source.with_suffix(".db")
    with Curator(SCHEMA, Budget(3.0), path, retain="receipts", capacity=n + n // 5) as curator:
        curator.publish(ibis.read_parquet(source), publications(), receipts=source.with_suffix(".jsonl"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(memory, time.perf_counter() - started)


def stream(bench: Bench, most: int) -> None:
    """The memory that receipts take: a few numbers a person, and not the receipts."""
    with tempfile.TemporaryDirectory() as place:
        sizes = (most // 10, most)
        peaks = []
        for n in sizes:
            memory, seconds = peak(Path(place), n)
            lines = (Path(place) / f"{n}.jsonl").stat().st_size
            peaks.append(memory)
            bench.row(people=n, memory_mb=memory, seconds=seconds, receipts_mb=lines / 1e6)
    each = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0]) * 1e6
    bench.claim("at most 128 bytes of memory a person more, of 468 written", each <= 128, bytes=each)


def main() -> None:
    def options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--people", type=int, default=1_000_000, help="how many people (default a million)"
        )

        parser.add_argument("--stream", type=int, help="only the memory of so many receipts, from Parquet")
        parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)

    bench = Bench("retain", __doc__ or "", seeds=1, options=options)
    n = bench.options.people
    if bench.options.child:
        return publish_here(bench.options.child, n)
    if bench.options.stream:
        bench.name = "retain_stream"
        stream(bench, bench.options.stream)
        bench.finish()
    capacity = n + n // 5
    with tempfile.TemporaryDirectory() as place:
        curators: dict[str, Curator] = {}
        leave: dict[str, Callable[[list[int]], None]] = {}
        seen: dict[str, int] = {}
        for mode in MODES:
            folder = Path(place) / mode
            folder.mkdir()
            curator, seconds = published(folder, mode, n, capacity)
            curator.erase()
            curators[mode], seen[mode] = curator, planted_in(folder, n)
            if mode == "records":
                lines = list(curator.receipts_of(table(n)))
                leave["records, by id"] = by_id(curator)
            else:
                lines = (Path(place) / f"{mode}.jsonl").read_text().splitlines()
            leave[f"{mode}, with {'rows and salts' if mode == 'tags' else 'receipts'}"] = leaver(
                curator, mode, lines
            )
            bench.row(
                retain=mode,
                people=n,
                capacity=capacity,
                publish_seconds=seconds,
                per_person_us=1e6 * seconds / n,
                bytes=(folder / "people.db").stat().st_size,
                line_bytes=len(lines[0]),
                planted_found=seen[mode],
            )
        bench.claim("records are found by the search", seen["records"] >= 1000, found=seen["records"])
        for mode in MODES[1:]:
            bench.claim(f"{mode}: nothing planted is in any file", seen[mode] == 0, found=seen[mode])
        sizes = []
        for million in (1, 9):
            folder = Path(place) / f"{million}" / "store"
            folder.mkdir(parents=True)
            with published(folder, "receipts", 10, million * 10**6)[0]:
                sizes.append((folder / "people.db").stat().st_size)
        each = (sizes[1] - sizes[0]) / 8
        bench.claim("receipts: at most 131 kB for a million more of capacity", each <= 131_250, bytes=each)
        rates: dict[tuple[str, str], list[float]] = {}
        at, order = 0, np.random.default_rng(1).permutation(n).tolist()
        for _ in range(ROUNDS):  # the ways of leaving take turns
            for way, go in leave.items():
                started = time.perf_counter()
                for person in order[at : at + SINGLE]:
                    go([person])
                rates.setdefault((way, "single"), []).append(SINGLE / (time.perf_counter() - started))
                started, batch = time.perf_counter(), order[at + SINGLE : at + SINGLE + BATCH]
                go(batch)
                rates.setdefault((way, "batched"), []).append(BATCH / (time.perf_counter() - started))
                at += SINGLE + BATCH
        for way in leave:
            how = {each: median(rates[way, each]) for each in ("single", "batched")}
            bench.row(leaving=way, single=how["single"], batched=how["batched"])
        ratio = median(rates["receipts, with receipts", "single"]) / median(
            rates["records, with receipts", "single"]
        )
        bench.claim(
            "with receipts, one by one: at least 90% as fast without records", ratio >= 0.9, ratio=ratio
        )
        for mode, curator in curators.items():
            assert curator.check() == []
            if mode != "records":
                after = planted_in(Path(place) / mode, n)
                bench.claim(f"{mode}: nor after deletions", after == 0, found=after)
            curator.close()
    bench.finish()


if __name__ == "__main__":
    main()
