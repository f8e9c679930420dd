"""Put database columns on the grid with expressions: the same integers as in numpy, row by row.

This is done only where expressions are exact on every backend: integers on a grid of integers, booleans, and
comparisons of texts.  All other values (floats, decimals, numbers written as texts) are encoded here, one by
one, by `foundations.schema`.  Ibis compiles `//` to a division of floats, so only exact multiples are
divided, and the quotient is corrected by its remainder; what does not fit in 64 bits is a decimal.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import ibis

from undeleted.errors import BadColumns
from undeleted.foundations.schema import Boolean, Category, Column, Date, GridColumn, Number
from undeleted.foundations.types import Expression

_NARROW = 2**62  # differences of integers below it fit in 64 bits
_WIDE = "decimal(38, 0)"
_WIDEST = 38  # digits; databases have integers that need more, and those are read as texts
_DECIMALS = 10**37  # the largest power of ten that a wide decimal holds


@dataclass(frozen=True)
class Misfit:
    """Rows that a rule refuses: the rule, the rows, and the rule's message."""

    rule: str
    rows: Expression
    text: str


@dataclass(frozen=True)
class OnGrid:
    """A column's code, whether it counts, and what its rules refuse."""

    code: Expression
    kept: Expression
    refused: Sequence[Misfit]


def on_grid(column: GridColumn, values: Expression) -> OnGrid | None:
    """The expressions of a column, or None if its values must be encoded one by one."""
    kind = values.type()
    match column:
        case Date():
            return None
        case Number() if kind.is_integer() or (kind.is_decimal() and kind.scale == 0):
            whole = column.min.denominator == column.step.denominator == 1
            near = max(abs(column.min), abs(column.max)) < _DECIMALS
            return _whole(column, values) if whole and near else None
        case Category() if kind.is_string() or kind.is_integer() or kind.is_boolean():
            return _category(column, values.cast("string"))
        case Boolean() if kind.is_boolean() or kind.is_integer():
            return _boolean(column, values)
    return None


@dataclass(frozen=True)
class Unchecked:
    """A column's code for values that fit, and what shows that all do: none missing, none off the grid."""

    code: Expression
    shown_by: Expression  # it must never be missing, and lie from `least` to `most`
    least: int
    most: int


def unchecked(column: GridColumn, values: Expression) -> Unchecked | None:
    """The code of a column without its rules; None if it is not simpler than with them."""
    kind = values.type()
    match column:
        case Date():
            return None
        case Number() if kind.is_integer() and column.min.denominator == 1 and column.step == 1:
            if max(abs(column.min), abs(column.max)) >= _NARROW or str(kind).lstrip("!") == "uint64":
                return None
            low, high = int(column.min), int(column.max)
            code = values.cast("int64")
            return Unchecked(code - number(low, False) if low else code, values, low, high)
        case Boolean() if kind.is_boolean():
            return Unchecked(values.cast("int64"), values.cast("int8"), 0, 1)
    return None


def plain(values: Expression, postgres: bool) -> Expression:
    """A column in a form that has the same meaning, and can be held, in the database and here.

    PostgreSQL pads char(n), and compares an enumeration only with itself; concatenated to an empty text, both
    become texts.  Its decimals may be NaN, which Arrow's decimals do not have.
    """
    kind = values.type()
    if kind.is_string():
        return ibis.literal("") + values if postgres else values
    if kind.is_decimal() and kind.scale == 0 and (kind.precision or _WIDEST) < _WIDEST:
        number = values.cast("float64")
        return number.isnan().ifelse(ibis.null(_WIDE), values.cast(_WIDE)) if postgres else values.cast(_WIDE)
    if kind.is_uuid() or kind.is_decimal() or kind.is_unknown():
        return values.cast("string")  # as it is written, not as a driver converts it
    return values


def as_id(values: Expression, kind: Expression, name: str) -> Expression:
    """A person's id as text, as a request to delete will write it.  `kind` is its type in the table."""
    whole = kind.is_integer() or (kind.is_decimal() and kind.scale == 0)
    if not (kind.is_string() or kind.is_uuid() or whole):
        problem = f"is {kind} in the table; an id is a text, a whole number or a UUID."
        raise BadColumns([name], problem, "Cast it to text in a view, as requests to delete will write it.")
    return values if values.type().is_string() else values.cast("string")


def wrong_type(column: Column, kind: Expression) -> BadColumns:
    """The error for a column that is declared as text, and has another type in the database."""
    problem = f"is {kind} in the table; a text column must be text there."
    return BadColumns([column.name], problem, "Cast it in a view, or declare its actual type.")


def absent(values: Expression) -> Expression:
    """Which rows have no value: NULL, an empty text or NaN."""
    kind = values.type()
    if kind.is_string():
        return values.isnull() | (values == "")
    return values.isnull() | values.isnan() if kind.is_floating() else values.isnull()


def _whole(column: Number, values: Expression) -> OnGrid:
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


def _quotient(multiple: Expression, step: int, wide: bool) -> Expression:
    """Divide an exact multiple of the step by the step: a guess in floats, corrected by its remainder."""
    kind = _WIDE if wide else "int64"
    guess = (multiple.cast("float64") / _float(float(step))).round().cast(kind)
    left = multiple - guess * number(step, wide)
    return guess + (left.cast("float64") / _float(float(step))).round().cast(kind)


def _ruled(
    column: Number, code: Expression, missing: Expression, outside: Expression, off: Expression
) -> OnGrid:
    return _apply_rules(
        column,
        code,
        Misfit("missing", missing, "values must be present"),
        Misfit("out_of_range", outside & ~missing, f"values must lie in [{column.min}, {column.max}]"),
        Misfit("off_grid", off & ~missing, f"values must be min plus a multiple of step = {column.step}"),
    )


def _category(column: Category, texts: Expression) -> OnGrid:
    missing = absent(texts)
    fallback = column.values.index(column.other) if column.other is not None else -1
    code = ibis.cases(
        *((texts == value, ibis.literal(i, "int64")) for i, value in enumerate(column.values)),
        else_=ibis.literal(fallback, "int64"),
    )
    unknown = (code == -1) & ~missing
    return _apply_rules(
        column,
        (code == -1).ifelse(
            _int64(0), code
        ),  # never outside the grid, even for rows that arrive after the rules were checked
        Misfit("missing", missing, "values must be present"),
        Misfit("unknown", unknown, "values must be among the declared categories"),
    )


def _boolean(column: Boolean, values: Expression) -> OnGrid:
    missing = absent(values)
    true = values if values.type().is_boolean() else values == 1
    wrong = ibis.literal(False) if values.type().is_boolean() else (values != 0) & (values != 1)
    return _apply_rules(
        column,
        true.fill_null(False).ifelse(_int64(1), _int64(0)),
        Misfit("missing", missing, "values must be present"),
        Misfit("unknown", (wrong & ~missing).fill_null(False), "values must be true or false"),
    )


def _apply_rules(column: GridColumn, code: Expression, *misfits: Misfit) -> OnGrid:
    """Apply the rules: `error` refuses the table, `drop` leaves the row out."""
    dropped = [m.rows for m in misfits if getattr(column, m.rule) == "drop"]
    refused = [m for m in misfits if getattr(column, m.rule) == "error"]
    kept = ~reduce(operator.or_, dropped) if dropped else ibis.literal(True)
    return OnGrid(kept.ifelse(code, _zero(code)), kept, refused)


def _zero(code: Expression) -> Expression:
    return ibis.literal(0).cast(code.type())


def number(value: int, wide: bool) -> Expression:
    """An integer of the type it is compared with; a wide one is cast from text, which nothing truncates."""
    return ibis.literal(str(value)).cast(_WIDE) if wide else ibis.literal(value, "int64")


def _float(value: float) -> Expression:
    """A float constant, exact to the last bit: text is rounded to the nearest float, decimals may not be."""
    return ibis.literal(repr(value)).cast("float64")


class GridCode:
    """A code as statistics use it: they add, multiply, subtract and compare it, and split it by `//`."""

    def __init__(self, expression: Expression, offset: int = 0, run: int = 1) -> None:
        self.expression, self.offset, self.run = expression, offset, run

    def __add__(self, other: Expression) -> "GridCode":
        if isinstance(other, int):
            return GridCode(self.expression, self.offset + other, self.run)
        if isinstance(other, GridCode) and other.run != 1:
            return other + self
        if self.run != 1:  # cells of a group: whole runs further on
            further = _plain(other) * number(self.run, self.expression.type().is_decimal())
            return GridCode(self.expression + further, self.offset, self.run)
        return GridCode(self.value + _plain(other))

    def __radd__(self, other: int) -> "GridCode":
        return self + other

    def __sub__(self, other: Expression) -> "GridCode":
        return self + -other if isinstance(other, int) else GridCode(self.value - _plain(other))

    def __rsub__(self, other: int) -> "GridCode":
        return self * -1 + other

    def __mul__(self, other: Expression) -> "GridCode":
        if isinstance(other, int):
            return self if other == 1 else GridCode(self.value * _int64(other))
        return GridCode(self.value * _plain(other))

    __rmul__ = __mul__

    def __ge__(self, least: int) -> "GridCode":
        """1 where the code is at least `least`, and 0 elsewhere."""
        value = self.value
        return GridCode((value >= number(least, value.type().is_decimal())).ifelse(_int64(1), _int64(0)))

    def __mod__(self, run: int) -> "GridCode":
        """The remainder in a run of `run` codes; codes are never negative."""
        value = self.value
        return GridCode(value % number(run, value.type().is_decimal()))

    def __floordiv__(self, run: int) -> "GridCode":
        """Group codes into runs of `run`, each named by its first; the query's answer is divided later."""
        if self.offset or self.run != 1:
            raise TypeError("only a column's own code can be split into runs")
        e = self.expression
        if run == 1:
            return self
        return GridCode(e - e % number(run, e.type().is_decimal()), 0, run)

    @property
    def value(self) -> Expression:
        """The expression including its offset."""
        if self.run != 1:
            raise TypeError("a run of codes is a cell, not a number")
        if not self.offset:
            return self.expression
        return self.expression + number(self.offset, self.expression.type().is_decimal())


def _int64(value: int) -> Expression:
    return ibis.literal(value, "int64")


def _plain(other: Expression) -> Expression:
    return other.value if isinstance(other, GridCode) else other
