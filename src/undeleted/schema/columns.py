"""Columns: public bounds, an integer grid, and what happens to a value that does not fit.

A column turns values into grid codes 0, …, cells − 1.  Bounds, steps and categories are public: they are
chosen by a person, never read off the data.  A value that does not fit follows the column's rule:

    error   the whole table is refused (the default)
    drop    the record contributes nothing to any statistic of this column
    clamp   a number is moved to the nearer bound; `round` moves it to the nearest grid point

The same code runs at release and at deletion, so a clamped or dropped record is forgotten as it was counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from undeleted.arrays import BoolArray, IntArray
from undeleted.errors import BadBounds, BadColumns, RejectedValue

Codes: TypeAlias = tuple[IntArray, BoolArray]  # the codes, and which of them count
_ON_GRID = 1e-6  # how far from a grid point, in steps, floating point may put a value that lies on it


@dataclass(frozen=True, init=False)
class Number:
    """A number on the grid min, min + step, …, max.

    >>> age = Number("age", min=0, max=120, step=1, out_of_range="clamp")
    >>> age.encode([34, 150])[0]
    array([ 34, 120])
    """

    name: str
    min: Fraction
    max: Fraction
    step: Fraction = Fraction(1)
    out_of_range: Literal["error", "clamp", "drop"] = "error"
    off_grid: Literal["error", "round", "drop"] = "error"
    missing: Literal["error", "drop"] = "error"

    def __init__(
        self,
        name: str,
        *,
        min: Any,
        max: Any,
        step: Any = 1,
        out_of_range: Literal["error", "clamp", "drop"] = "error",
        off_grid: Literal["error", "round", "drop"] = "error",
        missing: Literal["error", "drop"] = "error",
    ) -> None:
        bounds = {"min": min, "max": max, "step": step}
        fields = {k: _fraction(name, k, v) for k, v in bounds.items()}
        rules = {"out_of_range": out_of_range, "off_grid": off_grid, "missing": missing}
        for key, value in {"name": name, **fields, **rules}.items():
            object.__setattr__(self, key, value)
        self._check()

    def _check(self) -> None:
        if self.min >= self.max:
            raise BadBounds(
                self.name, f"min = {self.min} is not below max = {self.max}.", "Give bounds with min < max."
            )
        if self.step <= 0 or (self.max - self.min) % self.step:
            raise BadBounds(
                self.name,
                f"step = {self.step} does not divide max − min = {self.max - self.min}.",
                "Choose a positive step that divides the range into whole cells.",
            )
        if float(self.step) == 0 or math.isinf(float(self.max) - float(self.min)):
            problem = "floating point cannot tell its grid points apart."
            raise BadBounds(self.name, problem, "Choose bounds nearer to 0, or a wider step.")
        if self.cells > 2**64:
            raise BadBounds(
                self.name, f"the grid has {self.cells} points.", "Choose a step with at most 2⁶⁴ points."
            )
        _check_rule(self.name, "out_of_range", self.out_of_range, ("error", "clamp", "drop"))
        _check_rule(self.name, "off_grid", self.off_grid, ("error", "round", "drop"))
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))

    @cached_property
    def cells(self) -> int:
        return int((self.max - self.min) / self.step) + 1

    @cached_property
    def unit(self) -> Fraction:
        """The largest unit in which all grid points are whole: `value = unit · (offset + stride · code)`."""
        a, b = self.min, self.step
        return Fraction(
            math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
        )

    @property
    def offset(self) -> int:
        return int(self.min / self.unit)

    @property
    def stride(self) -> int:
        return int(self.step / self.unit)

    @property
    def middle(self) -> int:
        """The code at the centre of the grid; centred codes lie in −cells // 2 … cells // 2."""
        return (self.cells - 1) // 2

    def decode(self, code: float) -> float:
        """The value at a (possibly fractional) code."""
        return float(self.min) + float(self.step) * code

    def value(self, code: int) -> int | float:
        """The value at a code, exact where values are whole."""
        exact = self.min + self.step * code
        return int(exact) if exact.denominator == 1 else float(exact)

    def first_at(self, value: float) -> int:
        """The first code at or above a value; it may lie outside of the grid."""
        return self._near(value, math.ceil)

    def last_at(self, value: float) -> int:
        """The last code at or below a value; it may lie outside of the grid."""
        return self._near(value, math.floor)

    def _near(self, value: float, rounding: Any) -> int:
        """A float that stands for a grid point is that point, as when it is encoded."""
        if math.isinf(value):
            return -1 if value < 0 else self.cells
        steps = (Fraction(value) - self.min) / self.step
        near = round(steps)
        on_grid = isinstance(value, float) and abs(steps - near) < Fraction(1, 10**6)
        return near if on_grid else int(rounding(steps))

    def encode(self, values: Any) -> Codes:
        array = np.asarray(values)
        whole = self.min.denominator == self.step.denominator == 1 and self.max - self.min < 2**64
        if array.dtype.kind in "iu" and whole:
            return self._encode_integers(array)
        if whole and array.dtype.kind in "fO" and _beyond_floats(values):
            return self._encode_long(_listed(values))
        if array.dtype == object and whole:
            there = np.array([not _is_missing(v) for v in array], dtype=bool)
            present = np.asarray([v for v, t in zip(array, there, strict=True) if t])
            if present.dtype.kind in "iu":  # integers among gaps stay exact
                return self._encode_present(present, there)
        return self._encode_floats(_as_floats(self.name, array))

    def _encode_long(self, numbers: list[Any]) -> Codes:
        """Whole numbers of which some do not fit 64 bits with the others: put in bounds one by one."""
        low, high = int(self.min), int(self.max)
        there = np.array([not _is_missing(v) for v in numbers], dtype=bool)
        kept = self._apply("missing", ~there, "values must be present")
        present = [low if _is_missing(v) else v for v in numbers]
        inside = np.array([low <= v <= high for v in present], dtype=bool)
        kept &= self._apply("out_of_range", ~inside, f"values must lie in [{self.min}, {self.max}]")
        kind = np.int64 if high < 2**63 else np.uint64 if low >= 0 else None
        if kind is None:  # the grid itself spans more than any kind of integer: count from its start
            shifted = Number(self.name, min=0, max=high - low, step=self.step, off_grid=self.off_grid)
            codes, fits = shifted._encode_integers(
                np.array([min(max(v, low), high) - low for v in present], dtype=np.uint64)
            )
        else:
            codes, fits = self._encode_integers(
                np.array([min(max(v, low), high) for v in present], dtype=kind)
            )
        kept &= fits
        return np.where(kept, codes, codes.dtype.type(0)), kept

    def _encode_present(self, present: Any, there: BoolArray) -> Codes:
        kept = self._apply("missing", ~there, "values must be present")
        some, some_kept = self._encode_integers(present)
        codes = np.zeros(there.size, dtype=some.dtype)
        codes[there] = some
        kept[there] &= some_kept
        return codes, kept

    def _encode_integers(self, array: Any) -> Codes:
        low, high, step = int(self.min), int(self.max), int(self.step)
        half = 2**62  # within it a code that wraps around lands far outside
        if step == 1 and array.size and array.dtype != np.uint64 and abs(low) <= half and high - low < half:
            codes = array.astype(np.int64)
            if low:
                codes -= low
            if int(codes.view(np.uint64).max()) <= high - low:  # everything fits, as mostly; else go on below
                return codes, np.ones(array.shape, dtype=bool)
        inside = (array >= low) & (array <= high)
        kept = self._apply("out_of_range", ~inside, f"values must lie in [{self.min}, {self.max}]")
        shifted = _distance(array, low, high)
        on_grid = (shifted % step == 0) | ~inside
        kept &= self._apply("off_grid", ~on_grid, f"values must be min plus a multiple of step = {self.step}")
        whole, rest = np.divmod(shifted, shifted.dtype.type(step))
        codes = whole + (rest >= step - rest).astype(shifted.dtype)  # to the nearest, halves up
        return np.where(kept, codes, 0), kept

    def _encode_floats(self, array: Any) -> Codes:
        low, high, step = float(self.min), float(self.max), float(self.step)
        present = ~np.isnan(array)
        kept = self._apply("missing", ~present, "values must be present")
        inside = (array >= low - _ON_GRID * step) & (array <= high + _ON_GRID * step)
        kept &= self._apply("out_of_range", present & ~inside, f"values must lie in [{self.min}, {self.max}]")
        steps = (np.clip(np.where(present, array, low), low, high) - low) / step
        codes = np.floor(steps + 0.5)
        off = inside & (np.abs(steps - codes) > _ON_GRID)
        kept &= self._apply("off_grid", off, f"values must be min plus a multiple of step = {self.step}")
        return _as_codes(np.where(kept, codes, 0), self.cells), kept

    def _apply(self, rule: str, misfits: BoolArray, text: str) -> BoolArray:
        return _apply(self.name, rule, getattr(self, rule), misfits, text)


@dataclass(frozen=True)
class Category:
    """One of a declared list of values.  Cells cover the declared values only, present or not.

    An undeclared value is an error, is dropped, or is counted as the declared category named by `other`.

    >>> Category("grade", values=("low", "high"), unknown="drop").encode(["high", "none"])
    (array([1, 0]), array([ True, False]))
    """

    name: str
    values: tuple[str, ...]
    unknown: Literal["error", "drop", "other"] = "error"
    missing: Literal["error", "drop"] = "error"
    other: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            raise BadBounds(self.name, "categories must be a list.", "List the categories by hand.")
        object.__setattr__(self, "values", tuple(as_text(value) for value in self.values))
        if not self.values or len(set(self.values)) < len(self.values):
            raise BadBounds(
                self.name, "categories must be declared, each once.", "List the categories by hand."
            )
        if (self.unknown == "other") != (self.other is not None) or (
            self.other and self.other not in self.values
        ):
            raise BadBounds(
                self.name,
                'unknown = "other" and other = … go together.',
                "Let `other` be one of the declared values.",
            )
        _check_rule(self.name, "unknown", self.unknown, ("error", "drop", "other"))
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))

    @property
    def cells(self) -> int:
        return len(self.values)

    def encode(self, values: Any) -> Codes:
        code_of = {value: code for code, value in enumerate(self.values)}
        fallback = code_of[self.other] if self.other is not None else -1
        raw = [None if _is_missing(v) else as_text(v) for v in _listed(values)]
        codes = np.array([-2 if v is None else code_of.get(v, fallback) for v in raw], dtype=np.int64)
        kept = _apply(self.name, "missing", self.missing, codes == -2, "values must be present")
        kept &= _apply(
            self.name, "unknown", self.unknown, codes == -1, "values must be among the declared categories"
        )
        return np.where(kept, codes, 0), kept


@dataclass(frozen=True)
class Boolean:
    """False or true, as cells 0 and 1."""

    name: str
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))

    @property
    def cells(self) -> int:
        return 2

    @property
    def middle(self) -> int:
        return 0

    @property
    def step(self) -> Fraction:
        return Fraction(1)

    def decode(self, code: float) -> float:
        """The share of true, at a (possibly fractional) code."""
        return code

    def encode(self, values: Any) -> Codes:
        raw = _listed(values)
        absent = np.array([_is_missing(v) for v in raw], dtype=bool)
        kept = _apply(self.name, "missing", self.missing, absent, "values must be present")
        wrong = np.array([not _is_missing(v) and v not in (0, 1) for v in raw], dtype=bool)
        _apply(self.name, "values", "error", wrong, "values must be true or false")
        return np.array(
            [int(bool(v)) if k else 0 for v, k in zip(raw, kept, strict=True)], dtype=np.int64
        ), kept


@dataclass(frozen=True)
class Text:
    """Free text, for the bulletin board.  It has no grid and no statistic can be made of it."""

    name: str
    max_length: int = 10_000
    missing: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        if self.max_length < 1:
            raise BadBounds(self.name, f"max_length = {self.max_length}.", "Allow at least one character.")
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))

    def texts(self, values: Any) -> tuple[list[str], BoolArray]:
        raw = _listed(values)
        absent = np.array([_is_missing(v) for v in raw], dtype=bool)
        kept = _apply(self.name, "missing", self.missing, absent, "values must be present")
        found = ["" if gone else str(v) for v, gone in zip(raw, absent, strict=True)]
        long = np.array([len(t) > self.max_length for t in found], dtype=bool)
        _apply(
            self.name, "max_length", "error", long, f"texts must have at most {self.max_length} characters"
        )
        return found, kept


GridColumn: TypeAlias = Number | Category | Boolean
Column: TypeAlias = GridColumn | Text


def _apply(column: str, rule: str, action: str, misfits: BoolArray, text: str) -> BoolArray:
    """Raise, or return which rows stay in."""
    if action == "error" and misfits.any():
        other = rule in ("out_of_range", "off_grid", "missing", "unknown")
        remedy = f"Correct the rows{f', or choose another `{rule}` rule for the column' if other else ''}."
        raise RejectedValue(column, text, int(misfits.argmax()), int(misfits.sum()), remedy)
    return ~misfits if action == "drop" else np.ones_like(misfits)


def _check_rule(column: str, rule: str, action: str, allowed: Sequence[str]) -> None:
    if action not in allowed:
        raise BadBounds(column, f"{rule} = {action!r} is not a rule.", f"Choose one of {', '.join(allowed)}.")


def _fraction(column: str, field: str, value: Any) -> Fraction:
    """A decimal as a person wrote it: 0.1 is one tenth, not its nearest binary fraction."""
    try:
        return value if isinstance(value, Fraction) else Fraction(Decimal(str(value)))
    except (ArithmeticError, ValueError, TypeError):
        problem = f"{field} must be a finite number, got {value!r}."
        raise BadBounds(column, problem, "Bounds are public and finite; choose them by hand.") from None


def _as_floats(column: str, array: Any) -> Any:
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    try:
        return np.array([math.nan if _is_missing(v) else _float(v) for v in array.tolist()], dtype=np.float64)
    except (TypeError, ValueError):
        raise BadColumns(
            [column], "some values are not numbers.", "Correct the rows or declare a Category."
        ) from None


def _distance(array: Any, low: int, high: int) -> Any:
    """value − low, clipped to 0 … high − low; unsigned where 63 bits do not hold it."""
    wrapped = array.astype(np.uint64) - np.uint64(low % 2**64)  # exact modulo 2⁶⁴
    inside = np.where(array > high, np.uint64(high - low), wrapped)
    distance = np.where(array < low, np.uint64(0), inside)
    return distance if high - low >= 2**63 else distance.astype(np.int64)


def _as_codes(codes: Any, cells: int) -> Any:
    """Whole floats as integers; unsigned where 63 bits do not hold them."""
    last = float(cells - 1)
    last = last if int(last) < cells else math.nextafter(last, 0.0)
    return np.minimum(codes, last).astype(np.int64 if cells <= 2**63 else np.uint64)


def _beyond_floats(values: Any) -> bool:
    """Whether a list of whole numbers has some that floating point cannot hold, and nothing but them."""
    some = isinstance(values, list) or getattr(getattr(values, "dtype", None), "kind", "") == "O"
    listed = _listed(values) if some else []
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in listed if not _is_missing(v))
    return whole and any(isinstance(v, int) and abs(v) > 2**53 for v in listed)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond floating point is out of any range
        return math.inf if value > 0 else -math.inf


def as_text(value: Any) -> str:
    """A label or an id as text; 7.0 is 7, as a column of integers becomes when it has gaps."""
    whole = (isinstance(value, float) and value.is_integer()) or (
        isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value()
    )
    return str(int(value)) if whole else str(value)


def _listed(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas has its own nothings
        return True
    return (isinstance(value, str) and value == "") or (isinstance(value, float) and math.isnan(value))
