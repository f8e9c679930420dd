"""The fast Walsh–Hadamard transform, in place: a ← Ha with H[s, i] = (−1)^⟨s, i⟩.

Two kernels give the same answers.  The numba kernel passes over the array twice, and transforms small
blocks first while they are in the cache.  The numpy kernel does six levels at a time, as products with a
64 × 64 Hadamard matrix.  Both work in the array's own precision, float32 or float64, without a second array.
"""

import functools
import importlib.util
from collections.abc import Callable

import numpy as np

from undeleted.errors import BadSetting, WrongType
from undeleted.foundations.arrays import Array

_RADIX = 6  # levels per product in numpy
_CHUNK = 1 << 16  # elements of temporary memory per product


def fwht(array: Array, *, kernel: str = "auto") -> None:
    """Transform in place.

    >>> a = np.array([1.0, 0.0, 1.0, 0.0])
    >>> fwht(a)
    >>> a
    array([2., 2., 0., 0.])
    """
    require_power_of_two(array.size)
    if array.ndim != 1 or array.dtype not in (np.float32, np.float64) or not array.flags.c_contiguous:
        raise WrongType("the transform works in place.", "Give a contiguous vector of float32 or float64.")
    if kernel == "auto":
        worth_compiling = array.size >= 1 << 22 and importlib.util.find_spec("numba")
        kernel = "numba" if worth_compiling else "numpy"
    if kernel == "numba":
        _numba_kernel()(array)
    else:
        _numpy_kernel(array)


def require_power_of_two(n: int) -> None:
    if n < 1 or n & (n - 1):
        raise BadSetting(f"n = {n} is not a power of two.", "Choose one, such as 16384 or 1048576.")


def _numpy_kernel(array: Array) -> None:
    levels, done = array.size.bit_length() - 1, 0
    while done < levels:
        step = min(_RADIX, levels - done)
        hadamard, across = _matrix(step, array.dtype.str), _CHUNK >> step
        if done == 0:
            rows = array.reshape(-1, 1 << step)
            for start in range(0, rows.shape[0], across):
                rows[start : start + across] = rows[start : start + across] @ hadamard
        else:
            for block in array.reshape(-1, 1 << step, 1 << done):
                for start in range(0, 1 << done, across):
                    block[:, start : start + across] = hadamard @ block[:, start : start + across]
        done += step


@functools.cache
def _matrix(levels: int, dtype: str) -> Array:
    matrix = np.ones((1, 1), dtype=dtype)
    for _ in range(levels):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return np.ascontiguousarray(matrix)


def _across(a: Array, start: int, count: int, length: int) -> None:
    """Transform across `count` runs of `length` neighbours; the inner loops are long and contiguous."""
    width = 1
    while width < count:
        run = width * length
        if width * 4 <= count:
            for base in range(start, start + count * length, 4 * run):
                p, q = a[base : base + run], a[base + run : base + 2 * run]
                r, s = a[base + 2 * run : base + 3 * run], a[base + 3 * run : base + 4 * run]
                for j in range(run):  # separate slices from 0: the compiler vectorises this
                    u, v, w, x = p[j] + q[j], p[j] - q[j], r[j] + s[j], r[j] - s[j]
                    p[j], q[j], r[j], s[j] = u + w, v + x, u - w, v - x
            width *= 4
        else:
            for base in range(start, start + count * length, 2 * run):
                p, q = a[base : base + run], a[base + run : base + 2 * run]
                for j in range(run):
                    p[j], q[j] = p[j] + q[j], p[j] - q[j]
            width *= 2


def _inside(a: Array, start: int, length: int) -> None:
    """The two lowest levels, within runs of 4."""
    for base in range(start, start + length, 4):
        p, q, r, s = a[base], a[base + 1], a[base + 2], a[base + 3]
        u, v, w, x = p + q, p - q, r + s, r - s
        a[base], a[base + 1], a[base + 2], a[base + 3] = u + w, v + x, u - w, v - x


@functools.cache
def _numba_kernel() -> Callable[[Array], None]:
    """The numba kernel, compiled on first use.

    The array is a matrix of rows of 4096.  Each row is transformed while it is in the L1 cache.  Then
    strips of columns are copied to a small buffer, transformed there, and copied back: two passes in all.
    """
    from numba import njit, prange

    row, strip = 1 << 12, 32

    across, inside = njit(fastmath=True)(_across), njit(fastmath=True)(_inside)

    @njit(fastmath=True, parallel=True)
    def transform(a: Array) -> None:
        n = a.size
        if n < 16:
            across(a, 0, n, 1)
            return
        size = min(row, n)
        for b in prange(n // size):
            across(a, b * size, size // 4, 4)
            inside(a, b * size, size)
        rows = n // size
        if rows > 1:
            for task in prange(size // strip):
                buffer = np.empty(rows * strip, dtype=a.dtype)
                for i in range(rows):
                    for j in range(strip):
                        buffer[i * strip + j] = a[i * size + task * strip + j]
                across(buffer, 0, rows, strip)
                for i in range(rows):
                    for j in range(strip):
                        a[i * size + task * strip + j] = buffer[i * strip + j]

    kernel: Callable[[Array], None] = transform
    return kernel
