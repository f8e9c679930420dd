"""The interface of a mechanism as a publication: its kind in a spec, answers, rows, predictions.

A mechanism's file holds what is specific to it.  The spec, the pages and the exports call this interface, and
have no code for particular kinds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, TypeAlias, get_args, get_origin

import numpy as np

from undeleted.errors import BadBudget, BadColumns, BadQuestion, NotAColumn
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.intervals import Estimate
from undeleted.foundations.privacy import as_noise
from undeleted.foundations.schema import Boolean, Category, Column, GridColumn, Number, Text
from undeleted.foundations.schema.centred_codes import as_columns
from undeleted.foundations.types import Given, Json

Label: TypeAlias = str | Mapping[str, Given]  # a text, or a value for every column of a table
Answers: TypeAlias = Iterator[tuple[Label, Given]]  # each label with an Estimate, or with a text
Rows = list[Json]
COLUMN = "x"  # in `small`: the column of the small world
NUMBERS = (Number, Boolean)
CLASSES = (Category, Boolean)


@dataclass(frozen=True)
class Takes:
    """The inputs of a kind of publication, as a spec declares them.

    Several mechanisms may be of one kind: they are tried in the order of `priority`, lowest first, and the
    first that accepts the columns is used.
    """

    columns: str = "column"  # the key that names them: column, columns or features; "" for none
    of: tuple[type, ...] = (Number, Boolean, Category)
    called: str = "numbers, booleans or categories"
    target: tuple[type, ...] = ()
    target_called: str = "a category or boolean as its target"
    target_as: str = "by"  # the mechanism's parameter
    options: Mapping[str, Given] = field(default_factory=dict)  # each with its default
    noisy: bool = True  # whether it takes a share of the budget
    most_cells: int | None = None
    priority: int = 0

    def require(self, kind: str, over: Sequence[Column], target: Column | None) -> None:
        """Refuse columns that do not fit."""
        if target is not None and target in over:
            raise BadColumns([target.name], "both a feature and the target.", "Leave it out of the features.")
        if target is not None and not isinstance(target, self.target):
            raise BadColumns([target.name], f"{kind} takes {self.target_called}.", "Choose another column.")
        wrong = [column.name for column in over if not isinstance(column, self.of)]
        if wrong:
            raise BadColumns(wrong, f"{kind} takes {self.called}.", "Choose other columns.")
        grids = [column for column in over if not isinstance(column, Text)]
        many = [c.name for c in grids if self.most_cells is not None and c.cells > self.most_cells]
        if many:
            raise BadColumns(many, f"more than {self.most_cells} values.", "Choose a coarser step.")


@dataclass(frozen=True)
class Foreseen:
    """What an interval will be like, before anything is published."""

    width: float | None  # half of an interval at 95%, in the publication's own unit; None if it is not known
    of: str  # what the width is of
    noise: bool = False  # whether the noise is as large as what it is added to


class Publishable:
    """A mechanism that a spec can name and that answers questions."""

    kinds: ClassVar[Mapping[str, tuple[Takes, ...]]] = {}
    questions: ClassVar[tuple[str, ...]] = ()  # what it can be asked, besides its usual output
    small: ClassVar[Mapping[str, Given]] = {}  # arguments for a small world, if the defaults are too large
    in_groups: ClassVar[bool] = True  # whether it can be published by group, or with a condition
    steady: ClassVar[bool] = False  # its intervals depend on the noise alone, not on who left

    def __post_init__(self) -> None:
        """Check the arguments when the mechanism is built: its columns, its budget and rows per person."""
        for name, (kinds, several) in _columns_of(self).items():
            value = getattr(self, name)
            if several:
                object.__setattr__(self, name, value := as_columns(value))
            for column in value if several else (value,):
                if not isinstance(column, kinds):
                    raise NotAColumn(type(self).__name__, column, kinds)
        if "budget" in vars(self):
            object.__setattr__(self, "budget", as_noise(vars(self)["budget"]))
        rows = getattr(self, "rows_per_person", 1)
        if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
            raise BadBudget("rows_per_person", rows, "a whole number above 0")

    @property
    def kind(self) -> str:
        """Its name in a spec."""
        return next(iter(self.kinds), type(self).__name__)

    @classmethod
    def from_spec(cls, takes: Takes, over: Sequence[Column], target: Column | None, **rest: Given) -> Given:
        """The mechanism that a spec requests; `rest` is its noise, rows per person and options."""
        named: Json = {}
        if takes.columns:
            named["column" if takes.columns == "column" else "over"] = (
                over[0] if takes.columns == "column" else tuple(over)
            )
        if target is not None:
            named[takes.target_as] = target
        return cls(**named, **rest)

    def answers(self, release: Given, asked: Mapping[str, Given], confidence: float) -> Answers:
        """A label and an estimate for each answer: to what is requested, or its usual output."""
        yield "", self.estimate(release, confidence)

    def estimate(self, release: Given, confidence: float = 0.95) -> Estimate:
        """The published number, with its interval."""
        name = type(self).__name__
        raise BadQuestion(f"{name} publishes more than one number.", "Call its own methods; see its help.")

    def foreseen(self, rows: float) -> Foreseen:
        """The interval to expect for about so many rows."""
        return Foreseen(None, "several numbers: publish and see")

    def rows(self, release: Given) -> Rows:
        """The current state, including the noise: one row per cell."""
        raise BadQuestion(f"{type(self).__name__} has no cells.", "Show it instead.")

    def predictions(self, release: Given, codes: Given) -> Rows:
        """A prediction for every row of codes, whose columns are in the order of `over`."""
        raise BadQuestion("--predict needs a model.", "Name a publication that predicts.")


def _columns_of(mechanism: Given) -> Mapping[str, tuple[tuple[type, ...], bool]]:
    """The fields that are columns: the kinds of column that each may be, and whether it may be several."""
    declared = {field.name: field.type for field in fields(mechanism)}
    return {
        name: (_flat(kind), get_origin(kind) is tuple)
        for name, kind in declared.items()
        if set(_flat(kind)) & set(get_args(Column))
    }


def _flat(annotation: Given) -> tuple[type, ...]:
    """The classes of a union or of a tuple's items."""
    parts = [part for part in get_args(annotation) if part is not ...]
    return tuple(kind for part in parts for kind in _flat(part)) if parts else (annotation,)


# -- what models share


def classes_of(column: GridColumn | None) -> list[Given]:
    """The labels of the classes in a column."""
    if column is None:
        return []
    return list(column.values) if isinstance(column, Category) else [False, True]


def values_of(column: GridColumn) -> list[Given]:
    """The values of a column, cell by cell."""
    if isinstance(column, Number):
        return [column.value(code) for code in range(column.cells)]
    return classes_of(column)


def likeliest(by: GridColumn | None, joint: FloatArray) -> Rows:
    """Each row's likeliest class and its probability, from log probabilities up to a constant per row."""
    classes = classes_of(by)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = shares.argmax(axis=1)
    return [
        {"prediction": classes[k], "probability": float(row[k])} for k, row in zip(best, shares, strict=True)
    ]


def decoded(columns: Sequence[GridColumn], codes: Given) -> FloatArray:
    """Codes in the columns' own units, one row per record."""
    numbers: Given = columns
    return np.column_stack([c.decode(np.asarray(codes[:, j], dtype=float)) for j, c in enumerate(numbers)])
