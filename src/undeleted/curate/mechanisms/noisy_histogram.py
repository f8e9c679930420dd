"""Publish noisy counts by value once; forget a record by subtracting one from its cell.

    release   y_v = #{x = v} + η_v      for every declared v, present or not; a record touches one cell
    forget    y_z ← y_z − 1

Sums of cells are linear and carry exact intervals; medians are read off a clamped copy.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from undeleted.curate.releases.linear import Cells, Linear, Noise
from undeleted.curate.releases.publishable import Answers, Takes
from undeleted.curate.statistics.histogram import Histogram
from undeleted.errors import BadQuestion
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.intervals import Estimate, estimate
from undeleted.foundations.schema import Boolean, Category, GridColumn, Number
from undeleted.foundations.schema.centred_codes import as_columns

MOST_SHOWN = 1000  # cells of a histogram that is shown whole
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class NoisyHistogram(Linear):
    """Noisy counts over one or several columns.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Boolean, Schema
    >>> sick = Boolean("sick")
    >>> people, mechanism = Schema([sick]), NoisyHistogram((sick,), Budget(1.0))
    >>> before = mechanism.release(Arrays(people.table([True, False, True])), seeded(7))
    >>> after = mechanism.forget(before, mechanism.contribution(people.table([True])))
    >>> mechanism.counts(after) - mechanism.counts(before)
    array([ 0, -1])
    """

    kinds: ClassVar = {"histogram": (Takes("columns"),)}
    questions: ClassVar = ("where",)
    steady: ClassVar = True

    over: tuple[GridColumn, ...]
    noise: Noise
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))

    @cached_property
    def statistic(self) -> Histogram:
        return Histogram(self.over)

    def counts(self, release: Cells) -> IntArray:
        """The noisy counts, one axis per column; they may be negative."""
        return release.value.reshape(self.statistic.shape)

    def count(self, release: Cells, confidence: float = 0.95, **where: Any) -> Estimate:
        """How many records fit: `count(release, age=(18, 65), sex="f")`.

        A number takes a value or a (low, high) pair, both ends included; a category a value or several; a
        column that is not named is not asked about.
        """
        unknown = set(where) - {column.name for column in self.over}
        if unknown:
            known = ", ".join(column.name for column in self.over)
            raise BadQuestion(f"the histogram has no {', '.join(sorted(unknown))}.", f"Its columns: {known}.")
        chosen = [_cells(column, where.get(column.name)) for column in self.over]
        box = self.counts(release)[np.ix_(*chosen)]
        return estimate(int(box.sum()), self.laws[0], confidence=confidence, draws=box.size)

    def answers(self, release: Cells, asked: Mapping[str, Any], confidence: float) -> Answers:
        """Every cell, or each column alone where there are too many; or the box that is asked about."""
        if "where" in asked:
            conditions = [self._condition(text) for text in asked["where"]]
            box = dict(conditions)
            if len(box) < len(conditions):
                raise BadQuestion("a column is asked about twice.", "Ask once, or with a range low..high.")
            yield ", ".join(asked["where"]), self.count(release, confidence, **box)
            return
        names = [column.name for column in self.over]
        if math.prod(column.cells for column in self.over) <= MOST_SHOWN:
            for values in product(*map(_values, self.over)):
                cell = dict(zip(names, values, strict=True))
                label = ", ".join(f"{name} = {value}" for name, value in cell.items())
                yield label, self.count(release, confidence, **cell)
            return
        longest = max(self.over, key=lambda column: column.cells)
        if longest.cells > MOST_SHOWN:
            problem = f"the histogram has {longest.cells:,} cells along {longest.name!r}."
            raise BadQuestion(problem, "Ask with --where, or export it.")
        for column in self.over:  # too many cells to be shown: each column alone
            others = "".join(f", any {name}" for name in names if name != column.name)
            for value in _values(column):
                count = self.count(release, confidence, **{column.name: value})
                yield f"{column.name} = {value}{others}", count

    def _condition(self, text: str) -> tuple[str, Any]:
        """column=value, or column=low..high for a number."""
        name, equals, value = text.partition("=")
        column = next((c for c in self.over if c.name == name), None)
        if not equals or column is None:
            known = ", ".join(c.name for c in self.over)
            problem = f"{text!r} asks for no column of the histogram."
            raise BadQuestion(problem, f"Ask column=value of: {known}.")
        if isinstance(column, Category):
            return name, value
        if isinstance(column, Boolean):
            if value.lower() not in _WORDS:
                problem = f"{value!r} is neither true nor false."
                raise BadQuestion(problem, f"Ask {name}=true or {name}=false.")
            return name, _WORDS[value.lower()]
        low, dots, high = value.partition("..")
        try:
            return name, (float(low), float(high)) if dots else float(value)
        except ValueError:
            problem = f"{value!r} is no number and no range."
            raise BadQuestion(problem, "Ask column=18, or column=18..65.") from None

    def median(self, release: Cells) -> float:
        """The (lower) median of a single number, from counts clamped at zero on a copy."""
        [column] = self.over if len(self.over) == 1 else [None]
        if not isinstance(column, Number):
            raise BadQuestion("a median needs a histogram over one number.", "Publish one for this column.")
        below = np.cumsum(np.maximum(release.value, 0))
        cell = np.searchsorted(below, max(1, (int(below[-1]) + 1) // 2)).clip(0, below.size - 1)
        return column.decode(int(cell))


def _values(column: GridColumn) -> Sequence[Any]:
    """The values of a column, cell by cell."""
    if isinstance(column, Category):
        return column.values
    return [column.value(c) if isinstance(column, Number) else bool(c) for c in range(column.cells)]


def _cells(column: GridColumn, wanted: Any) -> list[int]:
    """The cells of a column that a question names; all, if it names none."""
    if wanted is None:
        return list(range(column.cells))
    match column:
        case Number():
            low, high = wanted if isinstance(wanted, tuple) else (wanted, wanted)
            if not low <= high:
                raise BadQuestion(
                    f"the range ({low}, {high}) of {column.name!r} is inverted.", "Lower end first."
                )
            inside = max(0, column.first_at(low)), min(column.cells - 1, column.last_at(high))
            cells = list(range(inside[0], inside[1] + 1))
            if not isinstance(wanted, tuple) and not cells:
                problem = f"{wanted!r} is not a value of {column.name!r}."
                raise BadQuestion(
                    problem, f"It lies on a grid of step {column.step} in its bounds; or ask a range."
                )
            return cells
        case Boolean():
            return [int(bool(wanted))]
        case Category():
            names = wanted if isinstance(wanted, tuple | list | set) else (wanted,)
            unknown = [str(name) for name in names if str(name) not in column.values]
            if unknown:
                problem = f"{column.name!r} has no category {', '.join(unknown)}."
                raise BadQuestion(problem, f"The declared ones: {', '.join(column.values)}.")
            return sorted(column.values.index(str(name)) for name in names)
