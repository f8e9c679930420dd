"""Columns: public bounds, an integer grid, and what happens to a value that does not fit.

A column turns values into grid codes 0, …, cells − 1.  Bounds, steps and categories are public: they are
chosen by a person, never taken from the data.  A value that does not fit follows the column's rule:

    error   the whole table is refused (the default)
    drop    the record contributes nothing to any statistic of this column
    clamp   a number is moved to the nearer bound; `round` moves it to the nearest grid point, halves up

Every value is encoded on its own and exactly (`grid_fit.py`): its code depends only on the value and the
column.  The same program runs at release and at deletion, so a clamped or dropped record is forgotten exactly
as it was counted.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from undeleted.errors import BadBounds, BadColumns, RejectedValue
from undeleted.foundations.arrays import BoolArray, IntArray
from undeleted.foundations.schema.grid_fit import Fit, Judge
from undeleted.foundations.schema.incoming import incoming, listed, may_have_lost_digits
from undeleted.foundations.schema.values import (
    as_boolean,
    as_label,
    as_number,
    as_text,
    each,
    is_missing,
    is_plain,
)
from undeleted.foundations.types import Given

Codes: TypeAlias = tuple[IntArray, BoolArray]  # the codes, and which of them count
ErrorOrDrop: TypeAlias = Literal["error", "drop"]
_FAR = 400  # powers of ten beyond the range of floating point
_FLOATS = 2**53  # integers below it are exact as floats


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
    missing: ErrorOrDrop = "error"
    not_a_number: ErrorOrDrop = "error"

    def __init__(
        self,
        name: str,
        *,
        min: Given,
        max: Given,
        step: Given = 1,
        out_of_range: Literal["error", "clamp", "drop"] = "error",
        off_grid: Literal["error", "round", "drop"] = "error",
        missing: ErrorOrDrop = "error",
        not_a_number: ErrorOrDrop = "error",
    ) -> None:
        bounds = {"min": min, "max": max, "step": step}
        fields = {k: _fraction(name, k, v) for k, v in bounds.items()}
        rules = {
            "out_of_range": out_of_range,
            "off_grid": off_grid,
            "missing": missing,
            "not_a_number": not_a_number,
        }
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
        if not _is_float(self.step) or not _is_float(self.max - self.min):
            problem = "floating point cannot distinguish its grid points."
            raise BadBounds(self.name, problem, "Choose bounds nearer to 0, or a wider step.")
        if self.cells > 2**64:
            raise BadBounds(
                self.name, f"the grid has {self.cells} points.", "Choose a step with at most 2⁶⁴ points."
            )
        _check_rule(self.name, "out_of_range", self.out_of_range, ("error", "clamp", "drop"))
        _check_rule(self.name, "off_grid", self.off_grid, ("error", "round", "drop"))
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))
        _check_rule(self.name, "not_a_number", self.not_a_number, ("error", "drop"))

    @cached_property
    def cells(self) -> int:
        return int((self.max - self.min) / self.step) + 1

    @cached_property
    def unit(self) -> Fraction:
        """The largest unit that divides all grid points: `value = unit · (offset + stride · code)`."""
        a, b = self.min, self.step
        return Fraction(
            math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator
        )

    @cached_property
    def offset(self) -> int:
        return int(self.min / self.unit)

    @cached_property
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
        """The value at a code: an exact integer if it is whole, else a float."""
        exact = self.min + self.step * code
        return int(exact) if exact.denominator == 1 else float(exact)

    def first_at(self, value: float | Decimal) -> int:
        """The first code at or above a value; it may lie outside of the grid."""
        return self._near(value, math.ceil)

    def last_at(self, value: float | Decimal) -> int:
        """The last code at or below a value; it may lie outside of the grid."""
        return self._near(value, math.floor)

    def _near(self, value: float | Decimal, rounding: Given) -> int:
        """Round a value to a code; a float means the decimal that it prints, as in `encode`."""
        number = as_number(value)
        if number is None or not math.isfinite(number):
            return -1 if value < 0 else self.cells
        return int(rounding((number - self.min) / self.step))

    @cached_property
    def is_finer_than_floats(self) -> bool:
        """Whether floating point cannot distinguish all grid points."""
        most = max(abs(self.offset), abs(self.offset + self.stride * (self.cells - 1)))
        return most >= (_FLOATS if self.unit.denominator == 1 else 10**15) or most * self.unit >= _FLOATS

    def encode(self, values: Given) -> Codes:
        if self.is_finer_than_floats:
            _require_all_digits(self.name, "grid points", values)
        if isinstance(values, np.ndarray) and values.dtype.kind == "b":
            problem = "is an array of booleans, which numpy turns into numbers when one row has a number."
            raise BadColumns([self.name], problem, "Declare a Boolean, or give a list.")
        codes, verdicts = self._judge.column(incoming(values))
        kept = np.ones(len(codes), dtype=bool)
        if not verdicts.any():  # the usual case: everything fits
            return codes, kept
        for verdict, rule, text in (
            (Fit.MISSING, "missing", "values must be present"),
            (Fit.NOT_A_NUMBER, "not_a_number", "values must be numbers"),
            (Fit.OUT_OF_RANGE, "out_of_range", f"values must lie in [{self.min}, {self.max}]"),
            (Fit.OFF_GRID, "off_grid", f"values must be min plus a multiple of step = {self.step}"),
        ):
            misfits = verdicts == verdict
            if misfits.any():
                kept &= apply_rule(self.name, rule, getattr(self, rule), misfits, text)
        return (codes, kept) if kept.all() else (np.where(kept, codes, codes.dtype.type(0)), kept)

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.min, self.step, self.cells)


@dataclass(frozen=True)
class Category:
    """One of a declared list of values.  Each declared value has a cell, whether it occurs or not.

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
                "Set `other` to one of the declared values.",
            )
        _check_rule(self.name, "unknown", self.unknown, ("error", "drop", "other"))
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))

    @property
    def cells(self) -> int:
        return len(self.values)

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def _is_finer_than_floats(self) -> bool:
        numbers = (as_number(value) for value in self.values)
        return any(isinstance(number, Fraction) and abs(number) >= _FLOATS for number in numbers)

    def encode(self, values: Given) -> Codes:
        if self._is_finer_than_floats:
            _require_all_digits(self.name, "categories", values)
        codes = _each(incoming(values), self._code)
        kept = apply_rule(self.name, "missing", self.missing, codes == -2, "values must be present")
        kept &= apply_rule(
            self.name, "unknown", self.unknown, codes == -1, "values must be among the declared categories"
        )
        return np.where(kept, codes, 0), kept

    def _code(self, value: Given) -> int:
        """The code of one value; −1 if it is unknown, −2 if it is missing."""
        if is_missing(value):
            return -2
        fallback = self._code_of[self.other] if self.other is not None else -1
        return self._code_of.get(as_label(value), fallback) if is_plain(value) else fallback


@dataclass(frozen=True)
class Boolean:
    """False or true, as cells 0 and 1; 0 and 1, yes and no, t and f are accepted too."""

    name: str
    missing: ErrorOrDrop = "error"
    unknown: ErrorOrDrop = "error"

    def __post_init__(self) -> None:
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))
        _check_rule(self.name, "unknown", self.unknown, ("error", "drop"))

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

    def encode(self, values: Given) -> Codes:
        codes = _each(incoming(values), self._code)
        kept = apply_rule(self.name, "missing", self.missing, codes == -2, "values must be present")
        kept &= apply_rule(self.name, "unknown", self.unknown, codes == -1, "values must be true or false")
        return np.where(kept, codes, 0), kept

    def _code(self, value: Given) -> int:
        """The code of one value; −1 if it is neither true nor false, −2 if it is missing."""
        if is_missing(value):
            return -2
        truth = as_boolean(value)
        return -1 if truth is None else int(truth)


@dataclass(frozen=True)
class Text:
    """Free text, for the bulletin board.  It has no grid, and no statistic can use it."""

    name: str
    max_length: int = 10_000
    missing: ErrorOrDrop = "error"
    too_long: ErrorOrDrop = "error"

    def __post_init__(self) -> None:
        if self.max_length < 1:
            problem = f"max_length = {self.max_length} is below 1."
            raise BadBounds(self.name, problem, "Allow at least one character.")
        _check_rule(self.name, "missing", self.missing, ("error", "drop"))
        _check_rule(self.name, "too_long", self.too_long, ("error", "drop"))

    def texts(self, values: Given) -> tuple[list[str], BoolArray]:
        raw = listed(values)
        absent = np.array([is_missing(v) or not is_plain(v) for v in raw], dtype=bool)
        kept = apply_rule(self.name, "missing", self.missing, absent, "values must be present")
        texts = ["" if gone else writable(as_text(v)) for v, gone in zip(raw, absent, strict=True)]
        long = np.array([len(t) > self.max_length for t in texts], dtype=bool)
        most = f"texts must have at most {self.max_length} characters"
        kept &= apply_rule(self.name, "too_long", self.too_long, long, most)
        return texts, kept


def writable(text: str) -> str:
    """Return a text that UTF-8 can encode: a lone surrogate (half a character) becomes a question mark."""
    return text.encode("utf-8", "replace").decode() if any("\ud800" <= c <= "\udfff" for c in text) else text


GridColumn: TypeAlias = Number | Category | Boolean
Column: TypeAlias = GridColumn | Text


def _require_all_digits(column: str, what: str, values: Given) -> None:
    """Refuse column types that round integers as soon as one row is missing or has a fraction."""
    if may_have_lost_digits(values):
        raise BadColumns(
            [column],
            f"has {what} beyond 2⁵³; a column of floats, or of pandas' own types, may have lost digits.",
            'Give Arrow integers, nullable integers (dtype "Int64" or "int64[pyarrow]"), or text.',
        )


def _each(values: Given, code: Callable[[Given], int]) -> IntArray:
    """The code of every value, encoded on its own; equal values of one type are encoded once."""
    if isinstance(values, np.ndarray):
        unique, places = np.unique(values, return_inverse=True)
        return np.array([code(v) for v in unique], dtype=np.int64)[places]
    if not isinstance(values, list):
        encoded = values.dictionary_encode()
        known = np.array([*(code(v) for v in encoded.dictionary.to_pylist()), code(None)], dtype=np.int64)
        codes: IntArray = known[encoded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)]
        return codes
    return np.fromiter(each(values, code), dtype=np.int64, count=len(values))


def apply_rule(column: str, rule: str, action: str, misfits: BoolArray, text: str) -> BoolArray:
    """Apply a rule: raise, or return which rows are kept."""
    if action == "error" and misfits.any():
        remedy = f"Correct the rows, or choose another `{rule}` rule for the column."
        raise RejectedValue(column, text, int(misfits.argmax()), int(misfits.sum()), remedy)
    return ~misfits if action == "drop" else np.ones_like(misfits)


def _is_float(number: Fraction) -> bool:
    """Whether a positive number is neither 0 nor infinite as a float."""
    try:
        return 0 < float(number) < math.inf
    except OverflowError:
        return False


def _check_rule(column: str, rule: str, action: str, allowed: Sequence[str]) -> None:
    if action not in allowed:
        raise BadBounds(column, f"{rule} = {action!r} is not a rule.", f"Choose one of {', '.join(allowed)}.")


def _fraction(column: str, field: str, value: Given) -> Fraction:
    """A decimal as a person wrote it: 0.1 is one tenth, not its nearest binary fraction."""
    try:
        if isinstance(value, Fraction):
            return value
        number = Decimal(str(value))
        if number and abs(number.adjusted()) > _FAR:
            raise BadBounds(
                column, f"{field} is out of range.", "Choose bounds that floating point can represent."
            )
        return Fraction(number)
    except (ArithmeticError, ValueError, TypeError):
        problem = f"{field} must be a finite number, got {value!r}."
        raise BadBounds(column, problem, "Bounds are public and finite; choose them by hand.") from None
