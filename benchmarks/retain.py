"""What a store keeps about people, what a thief finds of it, and what a deletion costs: three modes, one run.

A million people with planted ids and values are published with `retain` = records, receipts and tags.  All
files of the store are searched for what was planted: records must be found, or the search is blind; nothing
may be found of the others.  The store of receipts may be 5% larger than a bit for every person of its
capacity, beside its publications.  A deletion with a receipt, whose signature is checked and whose seal is
opened, must be at least as fast as one by id in the same run; so must one with rows and salts.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from bench import Bench
from undeleted import Budget, Curator, NoisyCount, NoisyHistogram, NoisySum, Number, Schema

FIRST = 0x1122330000  # planted: such bytes stand nowhere by chance
WIDE = Number("wide", min=0, max=2**40)
AGE = Number("age", min=0, max=127)
SCHEMA = Schema([AGE, WIDE], id="id")
PLANT = "Planted-"
SINGLE, BATCH, ROUNDS = 60, 2_000, 5
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


def leaver(curator: Curator, mode: str, lines: list[str], n: int) -> Callable[[list[int]], None]:
    """Delete these people, however they leave in this mode."""
    if mode == "records":
        return lambda people: _all(curator.delete([f"{PLANT}{i:07d}" for i in people]), people)
    if mode == "receipts":
        return lambda people: _all(curator.delete_with([lines[i] for i in people]), people)
    salts = {(line := json.loads(text))["person"]: line["salt"] for text in lines}

    def with_rows(people: list[int]) -> None:
        ids = [f"{PLANT}{i:07d}" for i in people]
        rows = {"id": ids, "age": [i % 128 for i in people], "wide": [FIRST + i % 2**20 for i in people]}
        _all(curator.delete_rows(rows, salts), people)

    return with_rows


def _all(done: Any, people: list[int]) -> None:
    assert done.deleted == len(people), done


def main() -> None:
    def options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--people", type=int, default=1_000_000, help="how many people (default a million)"
        )

    bench = Bench("retain", __doc__ or "", seeds=1, options=options)
    n = bench.options.people
    capacity = n + n // 5
    with tempfile.TemporaryDirectory() as place:
        curators: dict[str, Curator] = {}
        leave: dict[str, Callable[[list[int]], None]] = {}
        for mode in MODES:
            folder = Path(place) / mode
            folder.mkdir()
            curators[mode], seconds = published(folder, mode, n, capacity)
            curators[mode].erase()
            size = (folder / "people.db").stat().st_size
            lines = [] if mode == "records" else (Path(place) / f"{mode}.jsonl").read_text().splitlines()
            found = planted_in(folder, n)
            bench.row(
                retain=mode,
                people=n,
                capacity=capacity,
                publish_seconds=seconds,
                per_person_us=1e6 * seconds / n,
                bytes=size,
                line_bytes=len(lines[0]) if lines else 0,
                planted_found=found,
            )
            leave[mode] = leaver(curators[mode], mode, lines, n)
        small = Path(place) / "small"
        small.mkdir()
        with published(small, "records", 10, 10)[0]:
            bare = (small / "people.db").stat().st_size
        seen = {row["retain"]: row["planted_found"] for row in bench.rows}
        bench.claim("records are found by the search", seen["records"] >= 1000, found=seen["records"])
        for mode in MODES[1:]:
            bench.claim(f"{mode}: nothing planted is in any file", seen[mode] == 0, found=seen[mode])
        size = bench.rows[1]["bytes"] - bare
        times = size / (capacity / 8)
        bench.claim("receipts: at most 5% more than a bit a person of capacity", times <= 1.05, ratio=times)
        rates: dict[tuple[str, str], list[float]] = {}
        place_in, order = 0, list(np.random.default_rng(1).permutation(n).tolist())
        for _ in range(ROUNDS):  # the modes take turns
            for mode in MODES:
                started, single = time.perf_counter(), order[place_in : place_in + SINGLE]
                for person in single:
                    leave[mode]([person])
                rates.setdefault((mode, "single"), []).append(SINGLE / (time.perf_counter() - started))
                started, batch = time.perf_counter(), order[place_in + SINGLE : place_in + SINGLE + BATCH]
                leave[mode](batch)
                rates.setdefault((mode, "batched"), []).append(BATCH / (time.perf_counter() - started))
            place_in += SINGLE + BATCH
        for mode in MODES:
            how = {each: median(rates[mode, each]) for each in ("single", "batched")}
            bench.row(retain=mode, deletions_single=how["single"], deletions_batched=how["batched"])
            assert curators[mode].check() == []
            folder = Path(place) / mode
            if mode != "records":
                after = planted_in(folder, n)
                bench.claim(f"{mode}: nor after deletions", after == 0, found=after)
                ratio = how["single"] / median(rates["records", "single"])
                bench.claim(f"{mode}: single deletions at least as fast as by id", ratio >= 1.0, ratio=ratio)
            curators[mode].close()
    bench.finish()


if __name__ == "__main__":
    main()
