"""Compute one row's contribution in a microsecond: loops that numba compiles, where it is installed.

The expressions are in each statistic's `terms`; the loops give the same integers, as the tests check.
"""

import functools
from collections.abc import Callable

from undeleted.foundations.arrays import Array


@functools.cache
def kernel(name: str) -> Callable[..., bool | None] | None:
    """A compiled loop by name; None without numba."""
    try:
        from numba import njit
    except ImportError:
        return None
    loops: dict[str, Callable[..., bool | None]] = {
        "encode": _encode,
        "class": _class_moments,
        "second": _second_moments,
        "forest": _forest,
    }
    try:
        compiled: Callable[..., bool | None] = njit(cache=True)(loops[name])
    except RuntimeError:  # no folder for the cache of compiled code
        compiled = njit(loops[name])
    return compiled


def _encode(values: Array, low: Array, step: Array, last: Array, out: Array) -> bool:
    """Turn numbers into codes; return false if one of them is not finite."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            s = (values[i, j] - low[j]) / step[j] + 0.5
            if s - s != 0.0:  # infinite or NaN: left to the caller
                return False
            s = s // 1.0
            out[i, j] = 0 if s < 0.0 else last[j] if s > last[j] else s
    return True


def _class_moments(row: Array, label: int, classes: int, middles: Array, halves: Array, out: Array) -> None:
    """1, 2hc and h² − c², in the cells of the row's class."""
    out[label] = 1
    for j in range(middles.shape[0]):
        c, h = row[j] - middles[j], halves[j]
        at = classes + 2 * classes * j + label
        out[at] = 2 * h * c
        out[at + classes] = h * h - c * c


def _second_moments(
    row: Array,
    label: int,
    classes: int,
    middles: Array,
    halves: Array,
    first: Array,
    second: Array,
    out: Array,
) -> None:
    """1 and 2hc in the cells of the row's class, h² − c² in one cell for all classes, and products."""
    out[label] = 1
    end = classes + (classes + 1) * middles.shape[0]
    for j in range(middles.shape[0]):
        c, h = row[j] - middles[j], halves[j]
        at = classes + (classes + 1) * j
        out[at + label] = 2 * h * c
        out[at + classes] = h * h - c * c
    for p in range(first.shape[0]):
        i, j = first[p], second[p]
        out[end + p] = (row[i] - middles[i]) * (row[j] - middles[j])


def _forest(
    codes: Array,
    columns: Array,
    least: Array,
    kinds: int,
    top: int,
    cells: Array,
    values: Array,
    summed: bool,
) -> None:
    """The cells of a row's leaves and what it adds to them; or, if `summed`, the totals over all rows."""
    for i in range(codes.shape[0]):
        y = codes[i, codes.shape[1] - 1]
        for t in range(columns.shape[0]):
            leaf = 0
            for q in range(columns.shape[1]):
                leaf = 2 * leaf + (1 if codes[i, columns[t, q]] >= least[t, q] else 0)
            first = ((t << columns.shape[1]) + leaf) * kinds
            if top == 0 and summed:
                values[first + y] += 1
            elif top == 0:
                cells[t] = first + y
                values[t] = 1
            elif summed:
                values[first] += top - y
                values[first + 1] += y
            else:
                cells[2 * t] = first
                values[2 * t] = top - y
                cells[2 * t + 1] = first + 1
                values[2 * t + 1] = y
