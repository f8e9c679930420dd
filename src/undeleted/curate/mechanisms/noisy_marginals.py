"""Publish noisy counts over many pairs of columns once; forget a record by subtracting one from each.

    release   y_S = #{x_S = v} + η      for every chosen set S of columns and every combination v of bins
    forget    y_S ← y_S − 1             in one cell of every marginal

Synthetic rows, and whatever model is trained on them, are computed from these counts alone: which marginals a
model uses, its fit and its rows are post-processing (`curate/synthetic`).  So after a deletion they are what
they would be if that person had never come.  The release holds every marginal that anything is computed from.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import Answers, Foreseen, Rows, Takes, values_of
from undeleted.curate.releases.selecting import cells_of, condition_of
from undeleted.curate.statistics.marginals import Marginals
from undeleted.errors import BadColumns, BadQuestion, BadSetting, NotFound, TooLarge
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.intervals import estimate, half_interval
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Column, GridColumn, Number
from undeleted.foundations.types import Given

MOST_CELLS = 100_000
MOST_SHOWN = 1000
Edges = tuple[tuple[str, tuple[Given, ...]], ...]


@dataclass(frozen=True)
class NoisyMarginals(Linear):
    """Noisy marginals, for synthetic rows.

    `marginals` names the columns of each; without it there is one for every pair of columns.  `edges` are the
    public values at which bins of numbers and dates begin, by column: {"age": [18, 40, 65]}.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Boolean, Schema
    >>> age, sick, new = Number("age", min=0, max=99), Boolean("sick"), Boolean("new")
    >>> mechanism = NoisyMarginals((age, sick, new), Budget(1.0), edges={"age": [18, 65]})
    >>> people = Schema([age, sick, new])
    >>> before = mechanism.release(Arrays(people.table([(70, True, False), (20, True, True)])), seeded(7))
    >>> after = mechanism.forget(before, mechanism.contribution(people.table([(70, True, False)])))
    >>> mechanism.statistic.sets, (after.value - before.value).sum()
    (((0, 1), (0, 2), (1, 2)), np.int64(-3))
    """

    kinds: ClassVar = {
        "synthetic": (Takes("columns", options={"marginals": [], "edges": {}, "most_cells": MOST_CELLS}),)
    }
    questions: ClassVar = ("where", "by")
    steady: ClassVar = True
    in_groups: ClassVar = False

    over: tuple[GridColumn, ...]
    budget: Noise
    marginals: tuple[tuple[str, ...], ...] = ()
    edges: Edges = ()
    most_cells: int = MOST_CELLS
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        edges: Given = self.edges
        listed = edges.items() if isinstance(edges, Mapping) else edges
        try:
            kept = tuple((str(name), tuple(map(_as_text, ends))) for name, ends in listed)
        except (TypeError, ValueError):
            remedy = 'Give a list of values for each column: {"age": [18, 40, 65]}.'
            raise BadSetting("`edges` does not list the edges of columns.", remedy) from None
        object.__setattr__(self, "edges", kept)
        object.__setattr__(self, "marginals", _as_names(self.marginals))
        if isinstance(self.most_cells, bool) or not isinstance(self.most_cells, int):
            raise BadSetting(f"most_cells = {self.most_cells!r} is not a number.", "Give an integer.")
        super().__post_init__()

    @cached_property
    def statistic(self) -> Marginals:
        places = {column.name: i for i, column in enumerate(self.over)}
        sets = [self._places(names, places) for names in self.marginals]
        if not sets:
            sets = [(0,)] if len(self.over) == 1 else list(combinations(range(len(self.over)), 2))
        if len(set(map(frozenset, sets))) < len(sets):
            raise BadSetting("a marginal is named twice.", "Name each set of columns once.")
        if lacking := [name for name, i in places.items() if not any(i in columns for columns in sets)]:
            remedy = "Name them in a marginal, or leave them out of the columns."
            raise BadColumns(lacking, "in no marginal.", remedy)
        statistic = Marginals(self.over, tuple(sets), self._codes(places))
        self._require_room(statistic)
        return statistic

    @staticmethod
    def _places(names: Sequence[str], places: Mapping[str, int]) -> tuple[int, ...]:
        if unknown := [str(name) for name in names if name not in places]:
            raise BadColumns(unknown, "not among the columns.", f"The columns: {', '.join(places)}.")
        if len(set(names)) < len(names):
            problem = f"a marginal names a column twice: {', '.join(names)}."
            raise BadSetting(problem, "Name each once.")
        return tuple(places[name] for name in names)

    def _codes(self, places: Mapping[str, int]) -> tuple[tuple[int, ...], ...]:
        """The edges as codes, for every column."""
        given = dict(self.edges)
        if unknown := [name for name in given if name not in places]:
            raise BadColumns(unknown, "not among the columns.", f"The columns: {', '.join(places)}.")
        codes: list[tuple[int, ...]] = []
        for column in self.over:
            ends = given.get(column.name, ())
            if ends and not isinstance(column, Number):
                problem = "not numbers or dates: their values are not divided into bins."
                raise BadColumns([column.name], problem, "Leave it out of the edges.")
            try:
                codes.append(
                    tuple(column.first_at(end) for end in ends) if isinstance(column, Number) else ()
                )
            except (ArithmeticError, TypeError, ValueError):
                problem = f"the edges of {column.name!r} are not all values of that column."
                raise BadSetting(problem, "Give numbers, or dates such as 2020-01-31.") from None
        return tuple(codes)

    def _require_room(self, statistic: Marginals) -> None:
        """Refuse more cells than are allowed, and say what makes them many."""
        if statistic.size <= self.most_cells:
            return
        by_size = sorted(zip(statistic.bins, self.over, strict=True), key=lambda each: -each[0])
        largest = ", ".join(f"{column.name} has {bins:,} bins" for bins, column in by_size[:3])
        remedy = f"{largest}: give edges for numbers, drop a column, or name fewer `marginals`."
        raise TooLarge("all marginals together", statistic.size, self.most_cells, remedy)

    @classmethod
    def from_spec(cls, takes: Takes, over: Sequence[Column], target: Column | None, **rest: Given) -> Given:
        return cls(over=over, **rest)  # type: ignore[arg-type]

    # -- the release as marginals

    def tables(self, release: Cells) -> list[IntArray]:
        """The noisy counts of every marginal, with an axis for each of its columns; they may be negative."""
        parts = np.split(release.value, self.statistic.starts[1:])
        return [part.reshape(shape) for part, shape in zip(parts, self.statistic.shapes, strict=True)]

    def labels(self, column: int) -> list[Given]:
        """The bins of a column, as people read them."""
        if not self.statistic.edges[column]:
            return values_of(self.over[column])
        number: Given = self.over[column]
        ends = [self.statistic.codes_in(column, i) for i in range(self.statistic.bins[column])]
        return [f"{number.value(codes[0])}..{number.value(codes[-1])}" for codes in ends]

    # -- answers

    def foreseen(self, rows: float) -> Foreseen:
        widest = max(math.prod(shape) for shape in self.statistic.shapes)
        half, cell = half_interval(self.laws[0]), rows / widest
        about = f"{cell:,.0f}" if cell >= 100 else f"{cell:.3g}"
        return Foreseen(
            half, f"a cell of about {about}, of the largest of {len(self.laws):,} marginals", half >= cell
        )

    def answers(self, release: Cells, asked: Mapping[str, Given], confidence: float) -> Answers:
        """Counts, where a published marginal has the columns that are asked about; each column by default."""
        chosen = self._chosen(asked.get("where", ()))
        if asked.get("by") is not None:
            yield from self._counts(release, self._named(asked["by"]), chosen, confidence)
        elif chosen:
            yield from self._counts(release, (), chosen, confidence, "records that match")
        else:
            for column in range(len(self.over)):
                if self.statistic.bins[column] <= MOST_SHOWN:
                    yield from self._counts(release, (column,), {}, confidence)

    def _counts(
        self,
        release: Cells,
        by: tuple[int, ...],
        chosen: Mapping[int, list[int]],
        confidence: float,
        called: str = "",
    ) -> Answers:
        """A count for every combination of bins of `by`, of the records in the chosen bins."""
        number = self._measured({*by, *chosen})
        columns, table = self.statistic.sets[number], self.tables(release)[number]
        for bins in product(*(chosen.get(i, range(self.statistic.bins[i])) for i in by)):
            box = {**chosen, **{i: [bin] for i, bin in zip(by, bins, strict=True)}}
            cells = table[np.ix_(*(box.get(i, range(self.statistic.bins[i])) for i in columns))]
            labels = {self.over[i].name: self.labels(i)[bin] for i, bin in zip(by, bins, strict=True)}
            noisy = estimate(int(cells.sum()), self.laws[number], confidence=confidence, draws=cells.size)
            yield labels or called, noisy.within(0, math.inf)

    def _measured(self, columns: set[int]) -> int:
        """The marginal that has these columns, with the fewest cells to add up."""
        fits = [n for n, of in enumerate(self.statistic.sets) if columns <= set(of)]
        if not fits:
            names = ", ".join(self.over[i].name for i in sorted(columns))
            problem = f"no published marginal has all of these columns: {names}."
            remedy = "Estimate it from rows of `undeleted sample`; such an estimate has no interval."
            raise BadQuestion(problem, remedy)
        return min(fits, key=lambda n: self.statistic.blocks[n].width)

    def _chosen(self, where: Sequence[str]) -> dict[int, list[int]]:
        """The bins that conditions select, by column."""
        places = {column.name: i for i, column in enumerate(self.over)}
        chosen: dict[int, list[int]] = {}
        for text in where:
            name, wanted = condition_of(self.over, text)
            if places[name] in chosen:
                raise BadQuestion("a column is asked about twice.", "Ask once, or with a range low..high.")
            chosen[places[name]] = self._whole_bins(places[name], cells_of(self.over[places[name]], wanted))
        return chosen

    def _whole_bins(self, column: int, codes: list[int]) -> list[int]:
        """The bins that these codes fill."""
        inside = set(codes)
        every = [self.statistic.codes_in(column, bin) for bin in range(self.statistic.bins[column])]
        bins = [bin for bin, of in enumerate(every) if inside.issuperset(of)]
        if sum(len(every[bin]) for bin in bins) != len(inside):
            labels = ", ".join(map(str, self.labels(column)[:20]))
            problem = f"the range of {self.over[column].name!r} cuts a bin."
            raise BadQuestion(problem, f"Its bins: {labels}.")
        return bins

    def _named(self, by: Sequence[str] | str) -> tuple[int, ...]:
        places = {column.name: i for i, column in enumerate(self.over)}
        several = [by] if isinstance(by, str) else list(by)
        names = [n for text in several for n in ([text] if text in places else text.split(","))]
        if unknown := [name for name in names if name not in places]:
            raise NotFound(f"there is no column {', '.join(unknown)}.", f"The columns: {', '.join(places)}.")
        return tuple(places[name] for name in dict.fromkeys(names))

    def rows(self, release: Cells) -> Rows:
        """Every cell of every marginal."""
        return list(self._rows(release))

    def _rows(self, release: Cells) -> Iterator[dict[str, Given]]:
        for columns, table in zip(self.statistic.sets, self.tables(release), strict=True):
            names, labels = [self.over[i].name for i in columns], [self.labels(i) for i in columns]
            for bins in product(*map(range, table.shape)):
                named = {name: of[bin] for name, of, bin in zip(names, labels, bins, strict=True)}
                yield {"marginal": " × ".join(names), **named, "count": int(table[bins])}


def _as_names(marginals: Given) -> tuple[tuple[str, ...], ...]:
    """Lists of names of columns, as they are kept."""
    several = marginals if isinstance(marginals, list | tuple) else [marginals]
    for names in several:
        listed = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
        if not (listed and names):
            raise BadSetting(f"{names!r} is not a list of columns.", 'Write [["age", "sex"]], for example.')
    return tuple(map(tuple, several))


def _as_text(edge: Given) -> Given:
    """An edge as a store keeps it: a date as its text."""
    return edge.isoformat() if hasattr(edge, "isoformat") else edge
