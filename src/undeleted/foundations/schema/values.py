"""One value, read alone: what it means never depends on its neighbours, its column's type or its file.

    missing     None, NaN, pandas' NA and NaT, the empty text
    a number    an integer or a decimal as it is; a float is the shortest decimal that its own type prints,
                so that 0.1 is one tenth in a CSV, a data frame and Parquet; a text if it is written as one
    a text      as it is written; a number in plain decimals, 7.0 as 7; true and false; a date as in ISO 8601
    a truth     true and false, the numbers 1 and 0, and the words for them

Booleans are no numbers, and nothing that holds several values is any of these.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

import numpy as np

Real: TypeAlias = Fraction | float  # a float is infinite, or not a number
Result = TypeVar("Result")


class Written(str):
    """A number that a file holds with its digits, such as JSON's: they are kept as they are written."""


WORDS = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}
_NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?[ \t]*", re.ASCII)
_ENDLESS = re.compile(r"[ \t]*([+-]?)(inf|infinity|nan)[ \t]*", re.IGNORECASE | re.ASCII)
_REMEMBERED = (str, Written, int, float)
_MOST_DIGITS = 4000  # that Python writes
_LONGEST = 1000  # characters of a number; longer texts are none
_FAR = 1000  # powers of ten beyond which a number lies outside of every grid, or next to 0


def is_missing(value: Any) -> bool:
    """Whether there is no value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # pandas has its own nothings
        return True
    if isinstance(value, str):
        return value == ""
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, Decimal) and value.is_nan()


def as_number(value: Any) -> Real | None:
    """The number that a value is, exactly; None if it is none.

    >>> as_number(0.1), as_number("1e2"), as_number("ten"), as_number(True)
    (Fraction(1, 10), Fraction(100, 1), None, None)
    """
    if isinstance(value, bool | np.bool_ | np.timedelta64):  # numpy takes spans of time for integers
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


def _of_float(value: Any) -> Real:
    if not math.isfinite(value):
        return float(value)
    written = float.__repr__(value) if isinstance(value, float) else str(value)  # float32 prints fewer digits
    return Fraction(written)


def _of_decimal(value: Decimal) -> Real:
    if not value.is_finite():
        return float("nan") if value.is_nan() else float(value)
    if value and abs(value.adjusted()) > _FAR:  # written out it would fill the memory
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


def as_text(value: Any) -> str:
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


def _time(value: Any) -> str:
    """A moment to the microsecond; one that has a zone in UTC, wherever the zone or the machine is."""
    try:
        if isinstance(value, np.datetime64):
            whole_days = np.datetime_data(value)[0] in ("Y", "M", "W", "D")
            found = value.astype("datetime64[D]" if whole_days else "datetime64[us]").item()
        else:  # pandas keeps nanoseconds, which Arrow and numpy leave out here
            found = value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value
        if isinstance(found, datetime):
            return (found.astimezone(UTC) if found.tzinfo is not None else found).isoformat(sep=" ")
        return found.isoformat() if isinstance(found, date) else str(value)
    except (OverflowError, ValueError):  # a year that Python does not have
        return str(value)


def _digits(number: int) -> str:
    """A whole number in decimals; in hexadecimals if it has more digits than Python writes."""
    try:
        return str(number)
    except ValueError:
        return hex(number)


def as_label(value: Any) -> str:
    """A category as text: a number in plain decimals, also one that a file holds with its digits.

    >>> as_label(Written("7.0")), as_label(7.0), as_label("7.0")
    ('7', '7', '7.0')
    """
    number = as_number(value) if isinstance(value, Written) else None
    return _decimals(number) if isinstance(number, Fraction) else as_text(value)


def each(values: Sequence[Any], judge: Callable[[Any], Result]) -> Iterator[Result]:
    """What is said of every value, judged alone; equal plain values are judged once.

    Only types whose equal values are written alike are remembered: two times of different zones may be equal.
    """
    known: dict[tuple[type, Any], Result] = {}
    for value in values:
        if type(value) not in _REMEMBERED:
            yield judge(value)
            continue
        key = (type(value), value)
        if key not in known:
            known[key] = judge(value)
        yield known[key]


def _decimals(number: Fraction) -> str:
    """A number written out, as far as it has finitely many decimals; else as a fraction."""
    if number.denominator == 1:
        return _digits(number.numerator)
    twos, fives = _power(number.denominator, 2), _power(number.denominator, 5)
    places = max(twos, fives)
    if number.denominator != 2**twos * 5**fives or places > _MOST_DIGITS:
        return f"{_digits(number.numerator)}/{_digits(number.denominator)}"
    digits = _digits(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _power(number: int, base: int) -> int:
    """How often a number can be divided by another."""
    times = 0
    while number % base == 0:
        number, times = number // base, times + 1
    return times


def is_plain(value: Any) -> bool:
    """Whether a value is one value: a text, a number, a truth or a date."""
    single = str | bool | int | float | Decimal | Fraction | np.generic | date | time | UUID
    return isinstance(value, single) and not isinstance(value, np.bytes_ | np.void | np.timedelta64)


def as_truth(value: Any) -> bool | None:
    """True or false, or None for what is neither.

    >>> as_truth("Yes"), as_truth(0.0), as_truth(2)
    (True, False, None)
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    number = as_number(value)
    return bool(number) if number in (0, 1) else None
