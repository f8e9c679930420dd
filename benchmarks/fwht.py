"""The Walsh–Hadamard transform compared with a plain read-write pass over the array, n = 2¹⁶ … 2²⁶.

Runs of both kernels and of the pass are interleaved; figures are medians.  At 2²⁴ numba may take the time of
15 passes (goal 10) and must not need a second array; numpy may take 60.
"""

import functools
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from bench import Bench
from undeleted.games.reconstruction.walsh_hadamard import fwht

LEVELS = (16, 18, 20, 22, 24, 26)
REST = 0.1  # seconds: BLAS threads spin for a while after their work, and would occupy a core
LIMITS = {"numba": 15, "numpy": 60}


def main() -> None:
    bench = Bench("fwht", __doc__ or "", seeds=9)
    for dtype in (np.float64, np.float32):
        for levels in LEVELS:
            passes = ratios(np.ones(1 << levels, dtype=dtype), max(9, bench.seeds))
            for kernel, figures in passes.items():
                bench.row(kernel=kernel, precision=dtype.__name__, levels=levels, **figures)
    for row in bench.rows:
        if row["levels"] == 24:
            limit = LIMITS[row["kernel"]]
            text = f"{row['kernel']}, {row['precision']}: at most {limit} passes at 2^24"
            bench.claim(text, row["passes"] <= limit, passes=row["passes"])
    extra = second_array(1 << 24)
    bench.claim("numba takes no second array", extra < 0.1, share_of_the_array=extra)
    bench.finish()


def ratios(array: Any, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds and passes of each kernel, interleaved with plain passes."""
    scale = 1 / np.sqrt(array.size)
    times: dict[str, list[float]] = {"numba": [], "numpy": [], "pass": []}
    fwht(array, kernel="numba")
    array *= scale
    for _ in range(rounds):
        for kernel in ("numba", "numpy"):
            time.sleep(REST)
            times["pass"].append(timed(plain_pass, array))
            times[kernel].append(timed(functools.partial(fwht, kernel=kernel), array))
            array *= scale
    plain = float(np.median(times["pass"]))
    return {
        kernel: {
            "milliseconds": 1e3 * float(np.median(times[kernel])),
            "passes": float(np.median(times[kernel])) / plain,
        }
        for kernel in ("numba", "numpy")
    }


def plain_pass(array: Any) -> None:
    np.add(array, 1, out=array)


def timed(work: Callable[[Any], None], array: Any) -> float:
    start = time.perf_counter()
    work(array)
    return time.perf_counter() - start


def second_array(n: int) -> float:
    """Return the extra memory that numba's kernel allocates, as a share of the array."""
    array = np.ones(n)
    tracemalloc.start()
    fwht(array, kernel="numba")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    buffers = 2 * 32 * (n >> 12) * 8  # one strip of columns a thread, held by the kernel itself
    return (peak + buffers) / array.nbytes


if __name__ == "__main__":
    main()
