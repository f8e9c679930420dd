"""Publish a statistic of every group once; forget a record by subtracting it from its own group.

release   y_g = Σ_{x in g} s(x) + η_g      for every declared group g, present or not
forget    y_g ← y_g − s(z)                  for the group g of a deleted record z that fits the condition

A record is in one group, so the groups share one budget without dividing it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np

from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.releases.publishable import Answers, Foreseen, Rows, values_of
from undeleted.curate.statistics.grouped_cells import GroupedCells
from undeleted.errors import BadSetting, WrongType
from undeleted.foundations.coins import Law
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.conditions import Condition
from undeleted.foundations.schema.first_row import FIRST
from undeleted.foundations.types import Given

NOT_IN_SMALL_WORLDS = True  # it groups any mechanism; the mechanism alone is verified


@dataclass(frozen=True)
class Grouped(Linear):
    """A mechanism by group, and of the records that fit a condition.

    >>> from undeleted.curate.mechanisms import NoisyMean
    >>> from undeleted.foundations.schema import Boolean, Number
    >>> income, sick = Number("income", min=0, max=100), Boolean("sick")
    >>> mechanism = Grouped(NoisyMean(income, budget=1.0), by=(sick,))
    >>> [label for label, _ in mechanism.answers(Cells(np.array([10, 20, 50, -30])), {}, 0.95)]
    [{'sick': False}, {'sick': True}]
    """

    inner: Linear
    by: tuple[GridColumn, ...] = ()
    where: Condition | None = None
    budget: Noise = field(init=False, repr=False)  # those of the mechanism that is grouped
    rows_per_person: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Linear) or isinstance(self.inner, Grouped):
            name = type(self.inner).__name__
            remedy = "Group counts, sums, means, variances or quantiles."
            raise WrongType(f"{name} cannot be published by group.", remedy)
        if not self.inner.in_groups:
            remedy = "Name the columns of the groups among its own; and select from the rows."
            raise BadSetting(f"{self.inner.kind!r} is not published by group or with a condition.", remedy)
        if FIRST in self.inner.columns:
            problem = "people cannot be counted by group: one person may have rows in several."
            raise BadSetting(problem, 'Count rows by group, with kind = "count".')
        if self.where is not None and not isinstance(self.where, Condition):
            raise WrongType("`where` is not a Condition.", "Give Condition(text, columns).")
        object.__setattr__(self, "budget", self.inner.budget)
        object.__setattr__(self, "rows_per_person", self.inner.rows_per_person)
        super().__post_init__()

    @property
    def kind(self) -> str:
        return self.inner.kind

    @property
    def questions(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.inner.questions

    @cached_property
    def statistic(self) -> GroupedCells:
        return GroupedCells(self.inner.statistic, self.by, self.where)

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        return self.inner.laws

    def with_laws(self, laws: tuple[Law, ...]) -> "Grouped":
        return replace(self, inner=self.inner.with_laws(laws))

    def groups(self) -> Iterator[dict[str, Given]]:
        """The labels of every group, in the order of the cells."""
        for values in product(*map(values_of, self.by)):
            yield dict(zip((column.name for column in self.by), values, strict=True))

    def foreseen(self, rows: float) -> Foreseen:
        """What the mechanism alone would have in one group of even size."""
        groups = self.statistic.groups
        one = self.inner.foreseen(rows / groups)
        of = f"{one.of}, in each of {groups:,} groups of {rows / groups:,.0f}" if groups > 1 else one.of
        return replace(one, of=of + (", if all rows fit its condition" if self.where is not None else ""))

    def release_of(self, release: Cells, group: int) -> Cells:
        """The cells of one group, as a release of the mechanism that is grouped."""
        starts, inner = self.statistic.starts, self.inner.statistic
        parts = [
            release.value[start + group * block.width : start + (group + 1) * block.width]
            for start, block in zip(starts, inner.blocks, strict=True)
        ]
        return Cells(np.concatenate(parts))

    def answers(self, release: Cells, asked: Mapping[str, Given], confidence: float) -> Answers:
        """The answers of every group."""
        for number, labels in enumerate(self.groups()):
            for label, answer in self.inner.answers(self.release_of(release, number), asked, confidence):
                more = ({"of": label} if label else {}) if isinstance(label, str) else label
                yield {**labels, **more}, answer

    def rows(self, release: Cells) -> Rows:
        return [
            labels | row
            for number, labels in enumerate(self.groups())
            for row in self.inner.rows(self.release_of(release, number))
        ]
