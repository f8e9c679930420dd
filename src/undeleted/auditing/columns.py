"""What a record of an audited system looks like: named columns, each a range of numbers or a few values.

Bounds that are integers give integers; others give a grid of 1,024 steps, dyadic where possible, so that we
add no rounding error to sums of few values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from undeleted.errors import BadColumns, BadSetting, WrongType
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Given, Json, Output

Row: TypeAlias = Json
STEPS = 1024
FEW_ROWS = 20  # with so few, every row may well have a different text


@dataclass(frozen=True)
class TargetColumn:
    """Numbers from `low` to `high`, or one of `values`."""

    name: str
    low: float = 0
    high: float = 100
    values: tuple[Output, ...] | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise BadSetting("a column has no name.", "Write age=0..120.")
        if self.name == "id":
            raise BadSetting("no column may be named id: every record has one.", "Choose another name.")
        if self.values is None and not self.low < self.high:
            problem = f"column {self.name!r} has no values from {self.low:g} to {self.high:g}."
            raise BadSetting(problem, "Give two numbers, the lower one first.")
        if self.values is not None and len(set(self.values)) < 2:
            raise BadSetting(f"column {self.name!r} has fewer than two values.", "Name two or more.")

    @property
    def is_number(self) -> bool:
        return self.values is None

    @property
    def is_intact(self) -> bool:
        """Whether the values are integers, as the bounds are; 0.0 and 1.0 give a grid between them."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def step(self) -> float:
        return 1 if self.is_intact else (self.high - self.low) / STEPS

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values) if self.values else round((self.high - self.low) / self.step) + 1

    def at(self, index: int) -> Output:
        """The value number `index`, counted from the lowest."""
        if self.values is not None:
            return self.values[index]
        value = self.low + index * self.step
        return int(value) if self.is_intact else value

    def holds(self, value: float) -> bool:
        """Whether a number is one of the column's values."""
        return self.low <= value <= self.high and float((value - self.low) / self.step).is_integer()

    def draw(self, coins: Coins, size: int) -> list[Output]:
        return [self.at(int(i)) for i in coins.integers(0, self.size, size)]

    def as_number(self, value: Output) -> float:
        """The value as a model reads it: a number, or its index among the values."""
        if self.values is not None and not all(isinstance(v, int | float) for v in self.values):
            return float(self.values.index(value))
        return float(value)

    def as_json(self) -> Json:
        return {"low": self.low, "high": self.high} if self.values is None else {"values": list(self.values)}


def columns_from(described: Mapping[str, Given]) -> tuple[TargetColumn, ...]:
    """Columns from `{"age": (0, 120), "sex": ["f", "m"]}`: a pair in round brackets is a range."""
    if not isinstance(described, Mapping):
        raise WrongType("the columns are not a mapping.", 'Write {"age": (0, 120), "sex": ["f", "m"]}.')
    made = []
    for name, about in described.items():
        match about:
            case TargetColumn():
                made.append(about)
            case {"low": low, "high": high}:
                made.append(TargetColumn(name, low, high))
            case {"values": values}:
                made.append(TargetColumn(name, values=tuple(values)))
            case (int() | float() as low, int() | float() as high) if isinstance(about, tuple):
                made.append(TargetColumn(name, low, high))
            case list() | tuple():
                made.append(TargetColumn(name, values=tuple(about)))
            case _:
                problem = f"column {name!r} is described by neither a range nor values."
                raise BadSetting(problem, 'Write {"age": (0, 120), "sex": ["f", "m"]}.')
    return tuple(made)


def parse_column(text: str) -> TargetColumn:
    """A column as the command line writes it: `age=0..120` or `sex=f,m`.

    >>> parse_column("age=0..120").size, parse_column("sex=f,m").values
    (121, ('f', 'm'))
    """
    name, equals, about = text.partition("=")
    low, dots, high = about.partition("..")
    try:
        if equals and dots:
            return TargetColumn(name, _number(low), _number(high))
    except ValueError:
        dots = ""
    if not equals or not name or not about or ".." in about:
        raise BadSetting(f"{text!r} is not a column.", "Write age=0..120 for a range, sex=f,m for values.")
    return TargetColumn(name, values=tuple(about.split(",")))


def _number(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() and "." not in text and "e" not in text.lower() else value


def columns_of(rows: Sequence[Row]) -> tuple[TargetColumn, ...]:
    """Infer columns from rows: the range of the numbers, or the values that occur."""
    made = []
    for name in rows[0]:
        if name == "id":
            continue
        values = [row[name] for row in rows]
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            low, high = min(values), max(values)
            made.append(TargetColumn(name, low, high) if low < high else TargetColumn(name, low, low + 1))
        else:
            known = sorted(set(values), key=str)
            if len(known) == len(rows) > FEW_ROWS:
                problem = "every row has a different text: it identifies people, or is not a category."
                raise BadColumns([name], problem, "Name the column of ids with --id; leave others out.")
            made.append(TargetColumn(name, values=tuple(known if len(known) > 1 else [*known, ""])))
    return tuple(made)
