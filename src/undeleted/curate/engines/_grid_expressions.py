"""Columns of a database put on the grid by expressions: the same integers as in numpy, row for row.

Only where expressions are exact on every backend: whole numbers on a grid of whole numbers, truths, and
texts that are compared.  Everything else (floats, decimals, numbers written as texts) is judged here, value
by value, by `foundations.schema`.  Ibis writes `//` as a division of floats, so quotients are taken of exact
multiples and corrected by their rest, and what does not fit 64 bits is decimal.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import ibis

from undeleted.errors import BadColumns
from undeleted.foundations.schema import Boolean, Category, Column, GridColumn, Number

_NARROW = 2**62  # within it differences of 64-bit integers are 64-bit integers
_WIDE = "decimal(38, 0)"
_WIDEST = 38  # digits; databases have integers that need more, and those are read as texts
_DECIMALS = 10**37  # what a wide decimal holds


@dataclass(frozen=True)
class Misfit:
    """Rows that a rule refuses: which rule, which rows, and what it says."""

    rule: str
    rows: Any
    text: str


@dataclass(frozen=True)
class OnGrid:
    """A column's code, whether it counts, and what its rules refuse."""

    code: Any
    kept: Any
    refused: Sequence[Misfit]


def on_grid(column: GridColumn, values: Any) -> OnGrid | None:
    """The expressions of a column, or None if its values must be judged one by one."""
    kind = values.type()
    match column:
        case Number() if kind.is_integer() or (kind.is_decimal() and kind.scale == 0):
            whole = column.min.denominator == column.step.denominator == 1
            near = max(abs(column.min), abs(column.max)) < _DECIMALS
            return _whole(column, values) if whole and near else None
        case Category() if kind.is_string() or kind.is_integer() or kind.is_boolean():
            return _category(column, values.cast("string"))
        case Boolean() if kind.is_boolean() or kind.is_integer():
            return _boolean(column, values)
    return None


def plain(values: Any, postgres: bool) -> Any:
    """A column as both sides read it: one meaning here and there, and nothing that one of them cannot hold.

    PostgreSQL pads char(n), and compares enumerations with nothing but themselves: joined to an empty text
    they are texts.  Its decimals may be no number, which Arrow does not have.
    """
    kind = values.type()
    if kind.is_string():
        return ibis.literal("") + values if postgres else values
    if kind.is_decimal() and kind.scale == 0 and (kind.precision or _WIDEST) < _WIDEST:
        number = values.cast("float64")
        return number.isnan().ifelse(ibis.null(_WIDE), values.cast(_WIDE)) if postgres else values.cast(_WIDE)
    if kind.is_uuid() or kind.is_decimal() or kind.is_unknown():
        return values.cast("string")  # as it is written, and not as a driver makes it
    return values


def as_id(values: Any, kind: Any, name: str) -> Any:
    """Whose record it is, as text: what a request to delete will say.  `kind` is its kind in the table."""
    whole = kind.is_integer() or (kind.is_decimal() and kind.scale == 0)
    if not (kind.is_string() or kind.is_uuid() or whole):
        problem = f"is {kind} in the table; an id is a text, a whole number or a UUID."
        raise BadColumns([name], problem, "Cast it to text in a view, as requests to delete will write it.")
    return values if values.type().is_string() else values.cast("string")


def wrong_type(column: Column, kind: Any) -> BadColumns:
    """A column of texts that is none in the database."""
    problem = f"is {kind} in the table; a text is read from a column of texts."
    return BadColumns([column.name], problem, "Cast it in a view, or declare it as what it is.")


def absent(values: Any) -> Any:
    """Which rows have no value: NULL, an empty text, not a number."""
    kind = values.type()
    if kind.is_string():
        return values.isnull() | (values == "")
    return values.isnull() | values.isnan() if kind.is_floating() else values.isnull()


def _whole(column: Number, values: Any) -> OnGrid:
    low, high, step = int(column.min), int(column.max), int(column.step)
    kind = values.type()
    signed = kind.is_integer() and str(kind).lstrip("!") != "uint64"
    wide = not signed or high >= _NARROW or low <= -_NARROW or high - low >= _NARROW
    missing = absent(values)
    x = values.cast(_WIDE if wide else "int64")
    first, last, width = (number(n, wide) for n in (low, high, step))
    x = missing.ifelse(first, x)
    outside = (x < first) | (x > last)
    x = ibis.cases((x < first, first), (x > last, last), else_=x) - first
    code, off = x, ibis.literal(False)
    if step > 1:
        rest = x % width
        off = (rest != number(0, wide)) & ~outside
        up = (rest >= width - rest).ifelse(width, number(0, wide))  # to the nearest, halves up
        code = _quotient(x - rest + up, step, wide)
    code = code.cast(_WIDE if column.cells > 2**63 else "int64")
    return _ruled(column, code, missing, outside, off)


def _quotient(multiple: Any, step: int, wide: bool) -> Any:
    """An exact multiple of the step divided by it: a guess in floats, corrected by what it leaves."""
    kind = _WIDE if wide else "int64"
    guess = (multiple.cast("float64") / _float(float(step))).round().cast(kind)
    left = multiple - guess * number(step, wide)
    return guess + (left.cast("float64") / _float(float(step))).round().cast(kind)


def _ruled(column: Number, code: Any, missing: Any, outside: Any, off: Any) -> OnGrid:
    return _judged(
        column,
        code,
        Misfit("missing", missing, "values must be present"),
        Misfit("out_of_range", outside & ~missing, f"values must lie in [{column.min}, {column.max}]"),
        Misfit("off_grid", off & ~missing, f"values must be min plus a multiple of step = {column.step}"),
    )


def _category(column: Category, texts: Any) -> OnGrid:
    missing = absent(texts)
    fallback = column.values.index(column.other) if column.other is not None else -1
    code = ibis.cases(
        *((texts == value, ibis.literal(i, "int64")) for i, value in enumerate(column.values)),
        else_=ibis.literal(fallback, "int64"),
    )
    unknown = (code == -1) & ~missing
    return _judged(
        column,
        (code == -1).ifelse(
            _int64(0), code
        ),  # never outside of the grid, whatever comes after the rules were held
        Misfit("missing", missing, "values must be present"),
        Misfit("unknown", unknown, "values must be among the declared categories"),
    )


def _boolean(column: Boolean, values: Any) -> OnGrid:
    missing = absent(values)
    true = values if values.type().is_boolean() else values == 1
    wrong = ibis.literal(False) if values.type().is_boolean() else (values != 0) & (values != 1)
    return _judged(
        column,
        true.fill_null(False).ifelse(_int64(1), _int64(0)),
        Misfit("missing", missing, "values must be present"),
        Misfit("unknown", (wrong & ~missing).fill_null(False), "values must be true or false"),
    )


def _judged(column: GridColumn, code: Any, *misfits: Misfit) -> OnGrid:
    """Rules that say error refuse the table; rules that say drop leave the row out."""
    dropped = [m.rows for m in misfits if getattr(column, m.rule) == "drop"]
    refused = [m for m in misfits if getattr(column, m.rule) == "error"]
    kept = ~reduce(operator.or_, dropped) if dropped else ibis.literal(True)
    return OnGrid(kept.ifelse(code, _zero(code)), kept, refused)


def _zero(code: Any) -> Any:
    return ibis.literal(0).cast(code.type())


def number(value: int, wide: bool) -> Any:
    """A whole number of the kind it is compared with; a wide one is written as a text, which none cuts."""
    return ibis.literal(str(value)).cast(_WIDE) if wide else ibis.literal(value, "int64")


def _float(value: float) -> Any:
    """A floating-point constant, to the last bit: as a text it is read as nearest, as decimals it may not."""
    return ibis.literal(repr(value)).cast("float64")


class Code:
    """A code as statistics know it: they add, multiply, subtract and compare it, and cut it by `//`."""

    def __init__(self, expression: Any, offset: int = 0, run: int = 1) -> None:
        self.expression, self.offset, self.run = expression, offset, run

    def __add__(self, other: Any) -> "Code":
        if isinstance(other, int):
            return Code(self.expression, self.offset + other, self.run)
        return Code(self.value + _plain(other))

    def __radd__(self, other: int) -> "Code":
        return self + other

    def __sub__(self, other: Any) -> "Code":
        return self + -other if isinstance(other, int) else Code(self.value - _plain(other))

    def __rsub__(self, other: int) -> "Code":
        return self * -1 + other

    def __mul__(self, other: Any) -> "Code":
        factor = _int64(other) if isinstance(other, int) else _plain(other)
        return Code(self.value * factor)

    __rmul__ = __mul__

    def __ge__(self, least: int) -> "Code":
        """1 where it is at least so much, and 0 elsewhere."""
        value = self.value
        return Code((value >= number(least, value.type().is_decimal())).ifelse(_int64(1), _int64(0)))

    def __mod__(self, run: int) -> "Code":
        """What is left of it in a run of so many; codes are never negative."""
        value = self.value
        return Code(value % number(run, value.type().is_decimal()))

    def __floordiv__(self, run: int) -> "Code":
        """Runs of so many codes, each known by its first: nothing is divided until the answer is here."""
        if self.offset or self.run != 1:
            raise TypeError("only a column's own code is cut into runs")
        e = self.expression
        if run == 1:
            return self
        return Code(e - e % number(run, e.type().is_decimal()), 0, run)

    @property
    def value(self) -> Any:
        """The expression, offset and all."""
        if self.run != 1:
            raise TypeError("a run of codes is a cell, not a number")
        if not self.offset:
            return self.expression
        return self.expression + number(self.offset, self.expression.type().is_decimal())


def _int64(value: int) -> Any:
    return ibis.literal(value, "int64")


def _plain(other: Any) -> Any:
    return other.value if isinstance(other, Code) else other
