"""What a grown tree costs: 10⁶ people on 2³² values, released with secure coins, then deleted from.

The cost of a deletion must depend only on the length of its path, not on the size of the tree.  This is
measured at three sizes, and compared with a bare numpy decrement of as many cells.
"""

import resource
import time

import numpy as np

from bench import Bench
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.grown_range_counts import Grown, GrownRangeCounts
from undeleted.curate.releases.subtracting import Owned
from undeleted.foundations.coins import secure, seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

WIDE = Number("x", min=0, max=2**32 - 1)
SCHEMA = Schema([WIDE])
PEOPLE, MANY, SINGLES = 10**6, 100_000, 2_000


def main() -> None:
    bench = Bench("grown_release", __doc__ or "", seeds=5)
    values = seeded("people").integers(0, 2**32, PEOPLE)
    for budget in (Budget(1.0), Budget(1.0, 1e-6)):
        released(bench, budget, values)
    flat(bench, values)
    bench.finish()


def released(bench: Bench, budget: Budget, values: np.ndarray) -> None:
    mechanism = GrownRangeCounts(WIDE, budget)
    start = time.perf_counter()
    release = mechanism.release(Arrays(SCHEMA.table(values)), secure())
    seconds = time.perf_counter() - start
    megabytes = sum(a.nbytes for a in release.prefixes + release.counts) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    start = time.perf_counter()
    mechanism.forget(release, mechanism.contribution(SCHEMA.table(values[:MANY])))
    deletions = time.perf_counter() - start
    bench.row(delta=budget.delta, nodes=release.size, seconds=seconds, megabytes=megabytes, peak_mb=peak)
    bench.claim("released in under 30 s", seconds < 30, seconds=seconds)
    bench.claim("in under 1 GB", peak < 1000, peak_mb=peak)
    bench.claim("a release of at most 5 MB", megabytes <= 5, megabytes=megabytes)
    bench.claim("100,000 deletions in under 1 s", deletions < 1, seconds=deletions)


def flat(bench: Bench, values: np.ndarray) -> None:
    """One deletion at a time, on trees of three sizes, interleaved; the median of several rounds."""
    mechanism = GrownRangeCounts(WIDE, Budget(1.0))
    sizes = (10_000, 100_000, PEOPLE)
    trees = [mechanism.release(Arrays(SCHEMA.table(values[:n])), seeded(f"tree {n}")) for n in sizes]
    codes = values[:SINGLES].astype(np.uint64)
    timings: dict[int, list[float]] = {n: [] for n in sizes}
    for _ in range(bench.seeds):
        for n, tree in zip(sizes, trees, strict=True):
            timings[n].append(one_by_one(mechanism, Owned(tree, mechanism.shaped), codes))
    floor = decrement(trees[-1], codes)
    medians = {n: float(np.median(t)) for n, t in timings.items()}
    for n, tree in zip(sizes, trees, strict=True):
        levels = len(tree.counts)
        bench.row(
            people=n, nodes=tree.size, levels=levels, microseconds=medians[n], per_level=medians[n] / levels
        )
    per_level = [medians[n] / len(tree.counts) for n, tree in zip(sizes, trees, strict=True)]
    ratio = max(per_level) / min(per_level)
    bench.claim("a deletion costs its path, whatever the size", ratio < 1.5, ratio=ratio, floor_us=floor)


def one_by_one(mechanism: GrownRangeCounts, tree: Owned, codes: np.ndarray) -> float:
    start = time.perf_counter()
    for i in range(codes.size):
        tree = mechanism.forget(tree, codes[i : i + 1])
    return (time.perf_counter() - start) / codes.size * 1e6


def decrement(tree: Grown, codes: np.ndarray) -> float:
    """The floor: decrement as many cells, without looking them up."""
    start = time.perf_counter()
    for _ in range(codes.size):
        for counts in tree.counts:
            counts[0:1] -= 1
    return (time.perf_counter() - start) / codes.size * 1e6


if __name__ == "__main__":
    main()
