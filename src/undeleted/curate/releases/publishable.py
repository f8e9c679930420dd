"""What a mechanism says of itself as a publication: its kind in a spec, answers, rows, predictions.

A mechanism's file holds what is peculiar to it; the spec, the pages and the exports ask, and know no kinds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from undeleted.errors import BadColumns, BadQuestion
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.intervals import Estimate
from undeleted.foundations.schema import Boolean, Category, Column, GridColumn, Number, Text

Answers = Iterator[tuple[str, Any]]  # labels, each with an Estimate, or with a text
Rows = list[dict[str, Any]]
COLUMN = "x"  # in `small`: the column of the small world
NUMBERS = (Number, Boolean)
CLASSES = (Category, Boolean)


@dataclass(frozen=True)
class Takes:
    """What a kind of publication is made of, as a spec says it.

    Several mechanisms may be of one kind: they are tried in the order of `priority`, lowest first, and the
    first that accepts the columns is used.
    """

    columns: str = "column"  # the key that names them: column, columns or features; "" for none
    of: tuple[type, ...] = (Number, Boolean, Category)
    called: str = "numbers, booleans or categories"
    target: tuple[type, ...] = ()
    target_called: str = "a category or boolean as its target"
    target_as: str = "by"  # the mechanism's parameter
    options: Mapping[str, bool | int] = field(default_factory=dict)  # each with its default
    noisy: bool = True  # it has a share of the budget
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


class Publishable:
    """A mechanism that a spec can name and that people can ask."""

    kinds: ClassVar[Mapping[str, tuple[Takes, ...]]] = {}
    questions: ClassVar[tuple[str, ...]] = ()  # that it answers, beside its usual output
    small: ClassVar[Mapping[str, Any]] = {}  # arguments in a small world, where the usual are large
    steady: ClassVar[bool] = False  # its intervals depend on the noise alone, not on who left

    @property
    def kind(self) -> str:
        """What a spec calls it."""
        return next(iter(self.kinds), type(self).__name__)

    @classmethod
    def from_spec(cls, takes: Takes, over: Sequence[Column], target: Column | None, **rest: Any) -> Any:
        """The mechanism that a spec asks for; `rest` is its noise, the rows of a person, its options."""
        named: dict[str, Any] = {}
        if takes.columns:
            named["column" if takes.columns == "column" else "over"] = (
                over[0] if takes.columns == "column" else tuple(over)
            )
        if target is not None:
            named[takes.target_as] = target
        return cls(**named, **rest)

    def answers(self, release: Any, asked: Mapping[str, Any], confidence: float) -> Answers:
        """A label and an estimate for each answer: to what is asked, or all that it says by itself."""
        yield "", self.estimate(release, confidence)

    def estimate(self, release: Any, confidence: float = 0.95) -> Estimate:
        """What is published as one number, with its interval."""
        name = type(self).__name__
        raise BadQuestion(f"{name} publishes more than one number.", "Ask its mechanism, as in its help.")

    def rows(self, release: Any) -> Rows:
        """The state as it stands, noise and all: a row a cell."""
        raise BadQuestion(f"{type(self).__name__} has no cells.", "Show it instead.")

    def predictions(self, release: Any, codes: Any) -> Rows:
        """A prediction for every row of codes, whose columns are in the order of `over`."""
        raise BadQuestion("--predict is a question for a model.", "Name a publication that predicts.")


# -- what models share


def classes_of(column: GridColumn | None) -> list[Any]:
    """The labels of a class."""
    if column is None:
        return []
    return list(column.values) if isinstance(column, Category) else [False, True]


def likeliest(by: GridColumn | None, joint: FloatArray) -> Rows:
    """The best class of every row, and its share, from log probabilities up to a constant a row."""
    classes = classes_of(by)
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    best = shares.argmax(axis=1)
    return [
        {"prediction": classes[k], "probability": float(row[k])} for k, row in zip(best, shares, strict=True)
    ]


def decoded(columns: Sequence[GridColumn], codes: Any) -> FloatArray:
    """Codes in the columns' own units, a row a record."""
    numbers: Any = columns
    return np.column_stack([c.decode(np.asarray(codes[:, j], dtype=float)) for j, c in enumerate(numbers)])
