"""What the values of a file look like, for a draft; only when the operator asks for it.

A guess is a type and the reason for it.  It never contains a value, a bound, a category or a count.  Still it
was made from private values, so the draft says that it rests on them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from undeleted.curate.files import first_rows
from undeleted.foundations.schema.dates import units_of
from undeleted.foundations.schema.incoming import listed
from undeleted.foundations.schema.values import as_boolean, as_number, as_text, is_missing
from undeleted.foundations.types import Given

INSPECTED = 10_000  # rows, from the first
_MONEY = re.compile(
    r"\s*[-+]?\s*[$€£¥]\s*[-+]?[\d,]*\.?\d+\s*|[-+]?\d{1,3}(,\d{3})+(\.\d+)?|[-+]?[\d.,]+\s*[$€£¥]"
)
_MANY = 50  # different texts from which a column is rather text than a category
_LONG = 25  # characters of a text that is rather free


@dataclass(frozen=True)
class Guess:
    """The type of a column, why it is guessed, and whether no value occurs twice."""

    type: str  # number, decimal, date, time, month, boolean, category, text, money
    why: str
    unique: bool = False


def peek(source: str) -> dict[str, Guess]:
    """A guess for every column of a file, from its first rows."""
    return {name: guess(values) for name, values in first_rows(source, INSPECTED).items()}


def guess(values: Given) -> Guess:
    """What a column looks like.

    >>> guess(["yes", "no", "", "yes"])
    Guess(type='boolean', why='every value is a word for true or false', unique=False)
    >>> guess(["2020-01-31", "2021-03-04"]).type, guess(["$1,200", "$7"]).type, guess([3, 2.5]).type
    ('date', 'money', 'decimal')
    """
    there = [value for value in listed(values) if not is_missing(value)]
    if not there:
        return Guess("category", "no value was there to look at")
    distinct = set(map(as_text, there))
    unique = len(there) > 1 and len(distinct) == len(there)
    for kind, why, fits in _KINDS:
        if all(map(fits, there)):
            return Guess(kind, why, unique)
    long = sum(len(text) for text in distinct) / len(distinct) > _LONG
    if len(distinct) > _MANY and (long or len(distinct) > len(there) / 2):
        return Guess("text", "most values are different texts", unique)
    return Guess("category", "the same texts occur again and again", unique)


def _is_whole(value: Given) -> bool:
    number = as_number(value)
    return number is not None and number == number // 1


def _is_month(value: Given) -> bool:
    return isinstance(value, str) and len(value) == 7 and units_of(value, "month") is not None


def _is_date(value: Given) -> bool:
    units = units_of(value, "second")
    return units is not None and units % 86_400 == 0


_KINDS: tuple[tuple[str, str, Callable[[Given], bool]], ...] = (
    ("boolean", "every value is a word for true or false", lambda v: as_boolean(v) is not None),
    ("number", "every value is a whole number", _is_whole),
    ("decimal", "every value is a number, and some have a fraction", lambda v: as_number(v) is not None),
    ("month", "every value is a month such as 2020-01", _is_month),
    ("date", "every value is a date such as 2020-01-31", _is_date),
    ("time", "every value is a date with a time", lambda v: units_of(v, "second") is not None),
    ("money", "every value is an amount with a sign or thousands separators",
     lambda v: isinstance(v, str) and (_MONEY.fullmatch(v) is not None or as_number(v) is not None)),
)  # fmt: skip


def in_words(guesses: Mapping[str, Guess]) -> dict[str, str]:
    """The guesses for people, by column."""
    return {
        name: f"{g.type}: {g.why}" + ("; no value occurs twice, so it may be the id" if g.unique else "")
        for name, g in guesses.items()
    }
