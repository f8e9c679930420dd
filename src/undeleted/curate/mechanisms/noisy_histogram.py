"""Publish noisy counts by value once; forget a record by subtracting one from its cell.

    release   y_v = #{x = v} + η_v      for every declared v, present or not; a record touches one cell
    forget    y_z ← y_z − 1

Sums of cells are linear and carry exact intervals; medians are computed from a clamped copy.  Tables show
counts that are possible (`possible_counts`), so that cells and margins agree and none is below 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.possible_counts import possible_counts
from undeleted.curate.releases.publishable import Answers, Foreseen, Takes, values_of
from undeleted.curate.statistics.histogram import Histogram
from undeleted.errors import BadQuestion, NotFound
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.intervals import Estimate, estimate, half_interval
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Boolean, Category, Date, GridColumn, Number
from undeleted.foundations.schema.dates import units_of
from undeleted.foundations.types import Given

MOST_SHOWN = 1000  # largest number of cells that is shown completely
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
    questions: ClassVar = ("where", "by")
    steady: ClassVar = True

    over: tuple[GridColumn, ...]
    budget: Noise
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> Histogram:
        return Histogram(self.over)

    def counts(self, release: Cells) -> IntArray:
        """The noisy counts, one axis per column; they may be negative."""
        return release.value.reshape(self.statistic.shape)

    def count(self, release: Cells, confidence: float = 0.95, **where: Given) -> Estimate:
        """How many records match: `count(release, age=(18, 65), sex="f")`.

        A number takes a value or a (low, high) pair, both ends included; a category a value or several; a
        column that is not named matches every value.
        """
        unknown = set(where) - {column.name for column in self.over}
        if unknown:
            known = ", ".join(column.name for column in self.over)
            raise NotFound(f"the histogram has no {', '.join(sorted(unknown))}.", f"Its columns: {known}.")
        chosen = [_cells(column, where.get(column.name)) for column in self.over]
        box = self.counts(release)[np.ix_(*chosen)]
        noisy = estimate(int(box.sum()), self.laws[0], confidence=confidence, draws=box.size)
        return noisy.within(0, math.inf)

    def foreseen(self, rows: float) -> Foreseen:
        cell, half = rows / self.statistic.size, half_interval(self.laws[0])
        about = f"{cell:,.0f}" if cell >= 100 else f"{cell:.3g}"
        return Foreseen(half, f"a cell of about {about}", half >= cell)

    def answers(self, release: Cells, asked: Mapping[str, Given], confidence: float) -> Answers:
        """Every cell, or each column alone if there are too many cells; or the box that `where` selects."""
        box: dict[str, Given] = {}
        if "where" in asked:
            conditions = [self._condition(text) for text in asked["where"]]
            box = dict(conditions)
            if len(box) < len(conditions):
                raise BadQuestion("a column is asked about twice.", "Ask once, or with a range low..high.")
        chosen = [_cells(column, box.get(column.name)) for column in self.over]
        if box and "by" not in asked:
            [(_, answer)] = self._table(release, (), chosen, confidence)
            yield ", ".join(asked["where"]), answer
            return
        for columns in self._shown_columns(asked.get("by")):
            yield from self._table(release, columns, chosen, confidence)

    def _shown_columns(self, by: Sequence[str] | str | None) -> list[tuple[GridColumn, ...]]:
        """The tables to show: by the columns that are asked for, of all cells, or of each column alone."""
        if by is not None:
            known = {column.name: column for column in self.over}
            several = [by] if isinstance(by, str) else list(by)
            names = [n for text in several for n in ([text] if text in known else text.split(","))]
            unknown = [name for name in names if name not in known]
            if unknown:
                problem = f"the histogram has no {', '.join(unknown)}."
                raise NotFound(problem, f"Its columns: {', '.join(known)}.")
            tables = [tuple(known[name] for name in dict.fromkeys(names))]
        elif math.prod(column.cells for column in self.over) <= MOST_SHOWN:
            tables = [self.over]
        else:  # too many cells to show: each column alone
            tables = [(column,) for column in self.over]
        for columns in tables:
            cells = math.prod(column.cells for column in columns)
            if cells > MOST_SHOWN:
                along = " × ".join(repr(column.name) for column in columns)
                problem = f"the histogram has {cells:,} cells along {along}."
                raise BadQuestion(problem, "Ask with --where, or export it.")
        return tables

    def _table(
        self, release: Cells, columns: Sequence[GridColumn], chosen: Sequence[list[int]], confidence: float
    ) -> Answers:
        """Counts by some columns, added up over the chosen cells of the others.

        Margins and cells come from one set of possible counts, so they agree.  An interval is that of the
        noisy sum, extended where it does not hold what is shown.
        """
        axes, box = [self.over.index(column) for column in columns], np.ix_(*chosen)
        noisy = _margin(self.counts(release)[box], axes)
        counts = _margin(possible_counts(self.counts(release))[box], axes)
        draws = math.prod(map(len, chosen)) // noisy.size
        values = [[values_of(self.over[axis])[i] for i in chosen[axis]] for axis in axes]
        for cell in product(*(range(len(several)) for several in values)):
            labels = {c.name: several[i] for c, several, i in zip(columns, values, cell, strict=True)}
            linear = estimate(int(noisy[cell]), self.laws[0], confidence=confidence, draws=draws)
            shown = int(counts[cell])
            ends = max(0, min(linear.low, shown)), max(linear.high, shown)
            yield labels, replace(linear, value=shown, low=ends[0], high=ends[1])

    def _condition(self, text: str) -> tuple[str, Given]:
        """Parse column=value, or column=low..high for a number."""
        name, equals, value = text.partition("=")
        column = next((c for c in self.over if c.name == name), None)
        if not equals or column is None:
            known = ", ".join(c.name for c in self.over)
            problem = f"{text!r} names no column of the histogram."
            raise BadQuestion(problem, f"Write column=value; the columns are: {known}.")
        if isinstance(column, Category):
            return name, value
        if isinstance(column, Boolean):
            if value.lower() not in _WORDS:
                problem = f"{value!r} is neither true nor false."
                raise BadQuestion(problem, f"Write {name}=true or {name}=false.")
            return name, _WORDS[value.lower()]
        low, dots, high = value.partition("..")
        if isinstance(column, Date):
            ends = (low, high) if dots else (low,)
            if any(column.finer_than_its_grain(end) for end in ends):
                raise BadQuestion(
                    f"{name!r} is in months, and {value!r} names days.", f"Write {name}=2020-01."
                )
            if any(units_of(end, column.grain) is None for end in ends):
                raise BadQuestion(f"{value!r} is neither a date nor a range.", f"Write {name}=2020-01-31.")
            return name, (low, high) if dots else low
        try:
            return name, (float(low), float(high)) if dots else float(value)
        except ValueError:
            problem = f"{value!r} is neither a number nor a range."
            raise BadQuestion(problem, "Write column=18, or column=18..65.") from None

    def median(self, release: Cells) -> float:
        """The (lower) median of a single number, from counts clamped at zero on a copy."""
        [column] = self.over if len(self.over) == 1 else [None]
        if not isinstance(column, Number):
            raise BadQuestion("a median needs a histogram over one number.", "Publish one for this column.")
        below = np.cumsum(np.maximum(release.value, 0))
        cell = np.searchsorted(below, max(1, (int(below[-1]) + 1) // 2)).clip(0, below.size - 1)
        return column.decode(int(cell))


def _end(value: float | str) -> str:
    """An end of a range, as it was given."""
    return value if isinstance(value, str) else f"{value:g}"


def _margin(counts: IntArray, axes: Sequence[int]) -> IntArray:
    """The sums over all other axes, with these in the order in which they are named."""
    others = tuple(i for i in range(counts.ndim) if i not in axes)
    return np.asarray(counts.sum(axis=others)).transpose(np.argsort(np.argsort(axes)))


def _cells(column: GridColumn, wanted: Given) -> list[int]:
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
            if isinstance(wanted, tuple) and not cells:
                problem = f"no value of {column.name!r} lies between {_end(low)} and {_end(high)}."
                bounds = f"{column.value(0)} to {column.value(column.cells - 1)}"
                raise BadQuestion(problem, f"It goes from {bounds} in steps of {float(column.step):g}.")
            if not isinstance(wanted, tuple) and not cells:
                problem = f"{wanted!r} is not a value of {column.name!r}."
                raise BadQuestion(
                    problem, f"Give a value in its bounds, on its grid of step {column.step}, or a range."
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
