"""Read one value on its own: its meaning never depends on its neighbours, its column's type or its file.

    missing     None, NaN, pandas' NA and NaT, the empty text
    a number    an integer or a decimal as it is; a float is the shortest decimal that its own type prints,
                so that 0.1 is one tenth in a CSV, a data frame and Parquet; a text that is written as one
    a text      as it is written; a number in plain decimals, 7.0 as 7; true and false; a date as in ISO 8601
    a boolean   true and false, the numbers 1 and 0, and the words for them

Booleans are not numbers, and a value that holds several values is none of these.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, TypeVar
from uuid import UUID

import numpy as np

from undeleted.foundations.types import Given

Real: TypeAlias = Fraction | float  # a float is infinite, or not a number
Result = TypeVar("Result")


class Written(str):
    """A number with its digits as a file writes them, such as in JSON; the digits are kept unchanged."""


WORDS = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}
_NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?[ \t]*", re.ASCII)
_ENDLESS = re.compile(r"[ \t]*([+-]?)(inf|infinity|nan)[ \t]*", re.IGNORECASE | re.ASCII)
_CACHED = (str, Written, int, float)
_MOST_DIGITS = 4000  # digits that Python can print
_LONGEST = 1000  # characters of a number; longer texts are not numbers
_FAR = 1000  # powers of ten beyond which a number is outside every grid, or almost 0


def is_missing(value: Given) -> bool:
    """Whether a value is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas has its own missing values
        return True
    if isinstance(value, str):
        return value == ""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, Decimal) and value.is_nan()


def as_number(value: Given) -> Real | None:
    """The exact number that a value represents; None if it is not a number.

    >>> as_number(0.1), as_number("1e2"), as_number("ten"), as_number(True)
    (Fraction(1, 10), Fraction(100, 1), None, None)
    """
    if isinstance(value, bool | np.bool_ | np.timedelta64):  # numpy treats time spans as integers
        return None
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        return _of_float(value)
    if isinstance(value, Decimal):
        return _of_decimal(value)
    return _of_text(value) if isinstance(value, str) else None


def _of_float(value: Given) -> Real:
    if not math.isfinite(value):
        return float(value)
    written = float.__repr__(value) if isinstance(value, float) else str(value)  # float32 prints fewer digits
    return Fraction(written)


def _of_decimal(value: Decimal) -> Real:
    if not value.is_finite():
        return float("nan") if value.is_nan() else float(value)
    if value and abs(value.adjusted()) > _FAR:  # written out, it would fill the memory
        sign = -1 if value < 0 else 1
        return sign * math.inf if value.adjusted() > 0 else Fraction(sign, 10**_FAR)
    return Fraction(value)


def _of_text(text: str) -> Real | None:
    if len(text) > _LONGEST:
        return None
    if _NUMBER.fullmatch(text):
        return _of_decimal(Decimal(text.strip(" \t")))
    endless = _ENDLESS.fullmatch(text)
    return float(endless[1] + endless[2]) if endless else None


def as_text(value: Given) -> str:
    """A label, a post or an id as text.

    >>> as_text(7.0), as_text(0.1), as_text(True), as_text("007")
    ('7', '0.1', 'true', '007')
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return _digits(int(value))
    if isinstance(value, float | np.floating | Decimal | Fraction):
        number = as_number(value)
        return _decimals(number) if isinstance(number, Fraction) else str(number)
    return _time(value) if isinstance(value, np.datetime64 | datetime) else str(value)


def _time(value: Given) -> str:
    """A time to the microsecond; one with a time zone is given in UTC, on any machine."""
    try:
        if isinstance(value, np.datetime64):
            whole_days = np.datetime_data(value)[0] in ("Y", "M", "W", "D")
            moment = value.astype("datetime64[D]" if whole_days else "datetime64[us]").item()
        else:  # pandas keeps nanoseconds, which Arrow and numpy leave out here
            moment = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
        if isinstance(moment, datetime):
            return (moment.astimezone(UTC) if moment.tzinfo is not None else moment).isoformat(sep=" ")
        return moment.isoformat() if isinstance(moment, date) else str(value)
    except (OverflowError, ValueError):  # a year that Python cannot represent
        return str(value)


def _digits(number: int) -> str:
    """A whole number in decimal, or in hexadecimal if it has more digits than Python can print."""
    try:
        return str(number)
    except ValueError:
        return hex(number)


def as_label(value: Given) -> str:
    """A category as text: a number in plain decimals, also one that a file wrote in another way.

    >>> as_label(Written("7.0")), as_label(7.0), as_label("7.0")
    ('7', '7', '7.0')
    """
    number = as_number(value) if isinstance(value, Written) else None
    return _decimals(number) if isinstance(number, Fraction) else as_text(value)


def each(values: Sequence[Given], evaluate: Callable[[Given], Result]) -> Iterator[Result]:
    """Evaluate every value on its own; equal plain values are evaluated once.

    Results are cached only for types whose equal values are written the same way: two times in different
    zones may be equal.
    """
    known: dict[tuple[type, Given], Result] = {}
    for value in values:
        if type(value) not in _CACHED:
            yield evaluate(value)
            continue
        key = (type(value), value)
        if key not in known:
            known[key] = evaluate(value)
        yield known[key]


def _decimals(number: Fraction) -> str:
    """A number written out if it has finitely many decimals, else as a fraction."""
    if number.denominator == 1:
        return _digits(number.numerator)
    twos, fives = _power(number.denominator, 2), _power(number.denominator, 5)
    places = max(twos, fives)
    if number.denominator != 2**twos * 5**fives or places > _MOST_DIGITS:
        return f"{_digits(number.numerator)}/{_digits(number.denominator)}"
    digits = _digits(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _power(number: int, base: int) -> int:
    """How many times a number can be divided by another."""
    times = 0
    while number % base == 0:
        number, times = number // base, times + 1
    return times


def is_plain(value: Given) -> bool:
    """Whether a value is a single value: a text, a number, a boolean or a date."""
    single = str | bool | int | float | Decimal | Fraction | np.generic | date | time | UUID
    return isinstance(value, single) and not isinstance(value, np.bytes_ | np.void | np.timedelta64)


def as_boolean(value: Given) -> bool | None:
    """True or false, or None if the value is neither.

    >>> as_boolean("Yes"), as_boolean(0.0), as_boolean(2)
    (True, False, None)
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    number = as_number(value)
    return bool(number) if number in (0, 1) else None
