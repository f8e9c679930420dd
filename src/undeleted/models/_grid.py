"""Encode rows of numbers and labels on a public grid, in the same way for fitting and for forgetting.

A value beyond its bounds is clipped to the bound, and every value is rounded to the nearest grid point.  All
columns are encoded at once: a row costs a few microseconds.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from sklearn.utils.validation import assert_all_finite

from undeleted.curate.kernels import kernel
from undeleted.errors import BadBounds, MissingBounds, PrivacyLeakWarning, UndeclaredValue
from undeleted.foundations.arrays import Array, FloatArray, IntArray
from undeleted.foundations.schema import Category, Number
from undeleted.foundations.types import Given, Json
from undeleted.models._warnings import warn

FEW = 16
LAYOUT = "All low bounds come first, then all high ones: (low, high), or ([low, …], [high, …])."
MOST_STEPS = 2**16  # sums over two billion rows still fit 64 bits


@dataclass(frozen=True)
class Grid:
    """Several numbers with public bounds, each on a grid of steps."""

    columns: tuple[Number, ...]

    @classmethod
    def between(cls, low: FloatArray, high: FloatArray, steps: int, name: str) -> "Grid":
        if not isinstance(steps, int | np.integer) or isinstance(steps, bool) or not 1 <= steps <= MOST_STEPS:
            raise BadBounds("steps", f"{steps!r} steps are not possible.", f"Choose from 1 to {MOST_STEPS}.")
        with np.errstate(over="ignore"):
            widths = (high - low) / steps
        if not (np.isfinite(widths).all() and (low + widths > low).all() and (high - widths < high).all()):
            problem = f"floating point cannot distinguish {steps} steps between them."
            raise BadBounds(name, problem, "Choose bounds that are nearer to 0 or further apart.")
        ends = [(_exact(a), _exact(b)) for a, b in zip(low, high, strict=True)]
        rules: Json = {"out_of_range": "clamp", "off_grid": "round"}
        return cls(
            tuple(
                Number(f"{name}{i}", min=a, max=b, step=(b - a) / steps, **rules)
                for i, (a, b) in enumerate(ends)
            )
        )

    def __getstate__(self) -> Json:
        """Pickle the columns only: cached values would reveal how the grid was used."""
        return {"columns": self.columns}

    @cached_property
    def _plan(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        ends = [[float(c.min), float(c.step), c.cells - 1] for c in self.columns]
        low, step, last = np.array(ends).T.copy()
        return low, step, last

    def codes(self, values: FloatArray, name: str = "X", more: int = 0) -> IntArray:
        """Encode every column as its own `encode` does, except that halves are rounded as floats.

        Codes never leave the grid, whatever the rounding.  The result has room for `more` columns at the end.
        """
        low, step, last = self._plan
        codes = np.empty((len(values), len(low) + more), dtype=np.int64)
        ours = codes[:, : len(low)] if more else codes
        compiled = kernel("encode")
        if compiled is not None and values.dtype == np.float64 and compiled(values, low, step, last, ours):
            return codes
        with np.errstate(over="ignore", invalid="ignore"):
            if not math.isfinite(values.sum()):
                assert_all_finite(values, input_name=name)
            steps = values - low
            steps /= step
        steps += 0.5
        np.floor(steps, out=steps)
        np.maximum(steps, 0.0, out=steps)
        np.minimum(steps, last, out=steps)
        ours[:] = steps
        return codes


@dataclass(frozen=True, eq=False)
class Labels:
    """Declared values, sorted; their names are not part of what is published."""

    values: Array
    places: dict[Hashable, int]  # the code of every value; always there, so a pickle reveals nothing

    @classmethod
    def of(cls, declared: Given) -> "Labels":
        try:
            values = np.unique(np.asarray(declared))
        except TypeError:
            raise TypeError("every argument must be a string or a number") from None
        return cls(values, {value: code for code, value in enumerate(values.tolist())})

    def column(self, name: str) -> Category:
        return Category(name, values=tuple(str(i) for i in range(len(self.values))))

    def codes(self, given: Given, what: str) -> IntArray | list[int]:
        """The index of each value among the declared ones; undeclared values are refused."""
        given = np.asarray(given)
        if given.size <= FEW or given.dtype.kind != self.values.dtype.kind or given.dtype.kind in "cmMO":
            kinds = {given.dtype.kind, self.values.dtype.kind}
            comparable = given.dtype == self.values.dtype if kinds & set("mM") else "c" not in kinds
            indices = [self._place(value) if comparable else -1 for value in given.tolist()]
            wrong = indices.count(-1)
        else:
            indices = np.minimum(self.values.searchsorted(given), len(self.values) - 1)
            wrong = int(np.sum(self.values[indices] != given))
        if wrong:
            raise UndeclaredValue(what, wrong, "Declare it when you fit, or correct the rows.")
        return indices

    def _place(self, value: Hashable) -> int:
        try:
            return self.places.get(value, -1)
        except TypeError:  # unhashable, such as a list
            return -1


def bounds_for(
    given: Given, data: FloatArray, estimator: str, parameter: str = "bounds"
) -> tuple[FloatArray, FloatArray]:
    """Public bounds, a pair per column; `"data"` uses the data's own, with a warning."""
    columns = data.shape[1]
    if given is None:
        raise MissingBounds(estimator, parameter, f"{parameter}=(0, 100), or one pair of lists")
    if isinstance(given, str):
        if given != "data":
            raise BadBounds(parameter, f"{given!r} are not bounds.", 'Give a pair (low, high), or "data".')
        problem = f"{estimator}: `{parameter}` are read from the data and published without noise."
        warn(f"{problem} Give public ones.", PrivacyLeakWarning)
        low, high = data.min(axis=0), data.max(axis=0)
        same = low >= high
        return np.where(same, low - 0.5, low), np.where(same, high + 0.5, high)
    try:
        low, high = (np.broadcast_to(np.asarray(end, dtype=float), (columns,)).copy() for end in given)
    except (TypeError, ValueError):
        rule = f"a pair of numbers, or of lists with {columns} numbers each."
        raise BadBounds(parameter, f"they must be {rule}", LAYOUT) from None
    wrong = ~(np.isfinite(low) & np.isfinite(high) & (low < high))
    if wrong.any():
        problem = f"the low bound of feature {int(wrong.argmax())} must be finite and below its high one."
        raise BadBounds(parameter, problem, LAYOUT)
    return low, high


def declared(given: Given, data: Given, estimator: str, parameter: str, example: str) -> Labels:
    """Public classes or categories; `"data"` uses the data's own, with a warning."""
    if given is None:
        raise MissingBounds(estimator, parameter, example)
    if isinstance(given, str):
        if given != "data":
            raise BadBounds(parameter, f"{given!r} is not a list.", 'Give a list, or "data".')
        problem = f"{estimator}: `{parameter}` are read from the data and published without noise."
        warn(f"{problem} Declare them.", PrivacyLeakWarning)
        return Labels.of(data)
    listed = sorted(given, key=repr) if isinstance(given, set | frozenset) else given
    if isinstance(given, bytes | dict) or np.ndim(listed) != 1 or np.size(listed) == 0:
        raise BadBounds(parameter, "they must be a list of values.", f"For example: {example}.")
    return Labels.of(listed)


def _exact(value: float) -> Fraction:
    """The exact value of a bound as it is written: 0.1 is one tenth."""
    return Fraction(repr(float(value)))
