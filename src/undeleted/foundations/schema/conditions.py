"""Conditions on declared columns, such as `age >= 18 and (married or city in ["Rome", "Oslo"])`.

    condition    a and b, a or b, not a, (a); `and` binds more tightly than `or`
    comparison   number = != < <= > >= value, date >= "2020-01-31", number in [value, …],
                 category = != in, a boolean by its name
    names        as declared; in `backticks` if they are not plain words

A condition is evaluated on codes, with +, −, × and >= only, so that numbers, arrays and database columns can
all be inserted: every engine selects the same records.  A value that was clamped or rounded is compared as
it counts, and a record without one of the columns is not selected.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import cached_property
from typing import NoReturn, TypeAlias

from undeleted.errors import BadSetting
from undeleted.foundations.schema.columns import Boolean, Category, GridColumn, Number
from undeleted.foundations.schema.dates import Date, units_of
from undeleted.foundations.types import Code

Indicator: TypeAlias = Callable[[Mapping[str, Code]], Code]  # 1 for the records that fit, and 0 for others
TOKEN = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<text>'[^']*'|"[^"]*")|(?P<name>`[^`]+`|[^\W\d]\w*)"""
    r"""|(?P<sign><=|>=|!=|==|=|<|>|[()\[\],]))"""
)
DEEPEST = 20  # parentheses and nots inside each other
WORDS = {"and", "or", "not", "in", "true", "false"}
REMEDY = 'Write such as: age >= 18 and (married or city in ["Rome", "Oslo"]).'


@dataclass(frozen=True)
class Condition:
    """A condition as it was written, and the columns that it may name.

    >>> adults = Condition("age >= 18 and not married", (Number("age", min=0, max=120), Boolean("married")))
    >>> [adults.holds({"age": age, "married": 0}) for age in (17, 18)]
    [0, 1]
    """

    text: str
    declared: tuple[GridColumn, ...]

    def __post_init__(self) -> None:
        _ = self._parsed  # a condition that cannot be read is refused now

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        """The columns that the condition names, in their declared order."""
        return tuple(column for column in self.declared if column.name in self._parsed[1])

    def holds(self, code: Mapping[str, Code]) -> Code:
        """1 where the condition holds, and 0 elsewhere."""
        return self._parsed[0](code)

    @cached_property
    def _parsed(self) -> tuple[Indicator, frozenset[str]]:
        parser = _Parser(self.text, {column.name: column for column in self.declared})
        return parser.parse(), frozenset(parser.used)

    def __getstate__(self) -> dict[str, object]:
        return {"text": self.text, "declared": self.declared}


class _Parser:
    """A recursive-descent parser; every method returns the indicator of what it has read."""

    def __init__(self, text: str, columns: Mapping[str, GridColumn]) -> None:
        self._text, self._columns = text, columns
        self._tokens = list(self._split())
        self._at = self._depth = 0
        self.used: set[str] = set()

    def parse(self) -> Indicator:
        if not self._tokens:
            self._fail("it is empty")
        condition = self._either()
        if self._at < len(self._tokens):
            self._fail(f"{self._word!r} is not expected there")
        return condition

    def _split(self) -> Iterator[tuple[str, str]]:
        at, text = 0, self._text.rstrip()
        while at < len(text):
            token = TOKEN.match(text, at)
            if token is None:
                self._fail(f"{text[at:].strip()[:10]!r} cannot be read")
            assert token.lastgroup is not None
            yield token.lastgroup, token[token.lastgroup]
            at = token.end()

    @property
    def _word(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *words: str) -> bool:
        """Whether one of these words comes next; then it is read."""
        kind = self._tokens[self._at][0] if self._at < len(self._tokens) else ""
        if kind in ("sign", "name") and self._word.lower() in words:
            self._at += 1
            return True
        return False

    def _either(self) -> Indicator:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return _combined(parts, _or)

    def _both(self) -> Indicator:
        parts = [self._single()]
        while self._take("and"):
            parts.append(self._single())
        return _combined(parts, _and)

    def _single(self) -> Indicator:
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"it is nested more than {DEEPEST} deep")
        if self._take("not"):
            inside = _not(self._single())
        elif self._take("("):
            inside = self._either()
            if not self._take(")"):
                self._fail("a ) is missing")
        else:
            inside = self._comparison()
        self._depth -= 1
        return inside

    def _comparison(self) -> Indicator:
        column = self._column()
        for sign in ("<=", ">=", "!=", "==", "=", "<", ">"):
            if self._take(sign):
                return self._compare(column, sign, self._value())
        if self._take("in"):
            return self._among(column)
        if not isinstance(column, Boolean):
            self._fail(f"{column.name!r} is compared with nothing")
        return _at_least(column.name, 1)

    def _among(self, column: GridColumn) -> Indicator:
        """Whether a code is in a list: a sum over the runs of codes that the list makes."""
        if not self._take("[", "("):
            self._fail("`in` needs a list")
        spans = [self._span(column, "=", self._value())]
        while self._take(","):
            spans.append(self._span(column, "=", self._value()))
        if not self._take("]", ")"):
            self._fail("a ] is missing")
        codes = sorted({code for first, after in spans for code in range(first, after)})
        firsts = [code for code in codes if code - 1 not in set(codes)]
        afters = [code + 1 for code in codes if code + 1 not in set(codes)]
        runs = [_between(column.name, first, after) for first, after in zip(firsts, afters, strict=True)]
        return _combined(runs, _plus) if runs else _not(_at_least(column.name, 0))

    def _column(self) -> GridColumn:
        if self._at >= len(self._tokens):
            self._fail("it ends too early")
        kind, word = self._tokens[self._at]
        name = word.strip("`")
        if kind != "name" or (word == name and word.lower() in WORDS):
            self._fail(f"{word!r} stands where a column is expected")
        if name not in self._columns:
            known = ", ".join(self._columns) or "none"
            quoted = (
                " Put a name with spaces into `backticks`." if any(" " in c for c in self._columns) else ""
            )
            near = get_close_matches(name, self._columns, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            problem = f"the condition {self._text!r} names {name!r}, which is not a column."
            raise BadSetting(problem, f"{hint}The columns are: {known}.{quoted}")
        self._at += 1
        self.used.add(name)
        return self._columns[name]

    def _value(self) -> tuple[str, str]:
        """A value: what kind of value it is, and how it was written."""
        if self._at >= len(self._tokens):
            self._fail("it ends too early")
        kind, word = self._tokens[self._at]
        self._at += 1
        if kind == "text":
            return kind, word[1:-1]
        if kind == "number" or word.lower() in ("true", "false"):
            return kind, word
        self._fail(f"{word!r} stands where a value is expected; text goes into quotes")

    def _compare(self, column: GridColumn, sign: str, value: tuple[str, str]) -> Indicator:
        first, after = self._span(column, sign, value)
        match sign:
            case ">=":
                return _at_least(column.name, first)
            case ">":
                return _at_least(column.name, after)
            case "<":
                return _not(_at_least(column.name, first))
            case "<=":
                return _not(_at_least(column.name, after))
        equal = _between(column.name, first, after)
        return equal if sign in ("=", "==") else _not(equal)

    def _span(self, column: GridColumn, sign: str, value: tuple[str, str]) -> tuple[int, int]:
        """The codes with this value: from the first up to, and without, the second; none beyond the grid."""
        kind, word = value
        wrong = f"{column.name!r} cannot be compared with {word!r} by {sign}"
        if isinstance(column, Date):
            units = units_of(word, column.grain) if kind == "text" else None
            if column.finer_than_its_grain(word):
                self._fail(f'{column.name!r} is in months; write "2020-01"')
            if units is None:
                self._fail(f'{wrong}; write dates in quotes, as "2020-01-31"')
            return self._on_grid(column, units)
        if isinstance(column, Number):
            if kind != "number":
                self._fail(wrong)
            return self._on_grid(column, Decimal(word))
        if sign not in ("=", "==", "!="):
            self._fail(wrong)
        if isinstance(column, Boolean):
            if kind != "name":
                self._fail(wrong)
            code = int(word.lower() == "true")
            return code, code + 1
        assert isinstance(column, Category)
        if word not in column.values:
            raise BadSetting(
                f"the condition {self._text!r} names a category that {column.name!r} does not declare.",
                f"Its categories are: {', '.join(column.values)}.",
            )
        return column.values.index(word), column.values.index(word) + 1

    def _on_grid(self, column: Number, number: Decimal | int) -> tuple[int, int]:
        first, after = column.first_at(number), column.last_at(number) + 1
        return min(max(first, 0), column.cells), min(max(after, 0), column.cells)

    def _fail(self, problem: str) -> NoReturn:
        raise BadSetting(f"the condition {self._text!r} cannot be read: {problem}.", REMEDY)


def _at_least(name: str, least: int) -> Indicator:
    return lambda code: 1 * (code[name] >= least)


def _between(name: str, first: int, after: int) -> Indicator:
    return lambda code: 1 * (code[name] >= first) - 1 * (code[name] >= after)


def _not(one: Indicator) -> Indicator:
    return lambda code: 1 - one(code)


def _and(one: Indicator, other: Indicator) -> Indicator:
    return lambda code: one(code) * other(code)


def _or(one: Indicator, other: Indicator) -> Indicator:
    return _not(_and(_not(one), _not(other)))


def _plus(one: Indicator, other: Indicator) -> Indicator:
    """Either of two that exclude each other."""
    return lambda code: one(code) + other(code)


def _combined(parts: list[Indicator], joined: Callable[[Indicator, Indicator], Indicator]) -> Indicator:
    """Many parts as a balanced tree: evaluating them never nests deeply, in Python or in a database."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return joined(_combined(parts[:middle], joined), _combined(parts[middle:], joined))
