"""The recipe: sufficient statistics, released together under one budget, forgotten together (M6, M7).

    release   y_s = Σ s(x) + η_s      for every statistic s; the budget is shared by weight
    forget    y_s ← y_s − s(z)

Anything that can be computed from sums over the records (the statistical-query framework of Cao and Yang,
2015) is post-processing of such a release.  A noisy sum (M3) and complete range counts (M5) are recipes
with one statistic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from undeleted.curate.engines import Totals
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.curate.statistics import Contribution, Statistic
from undeleted.foundations.coins import Coins
from undeleted.foundations.privacy import Budget, Event, Noise, Zcdp, as_noise, calibrate
from undeleted.foundations.schema import Table


@dataclass(frozen=True)
class Total(Linear):
    """One statistic of a recipe, with its noise."""

    summed: Statistic
    budget: Noise
    rows_per_person: int = 1

    @cached_property
    def statistic(self) -> Statistic:
        return self.summed


@dataclass(frozen=True)
class Recipe:
    """Several statistics under one budget.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.engines.arrays import Arrays
    >>> from undeleted.foundations.schema import Number, Schema
    >>> from undeleted.curate.statistics import Count, Moments
    >>> age = Number("age", min=0, max=120)
    >>> people, recipe = Schema([age]), Recipe((Count(), Moments(age, 2)), Budget(1.0))
    >>> before = recipe.release(Arrays(people.table([41, 17])), seeded(7))
    >>> after = recipe.forget(before, recipe.contribution(people.table([17])))
    >>> [(a.value - b.value).tolist() for a, b in zip(after, before)]
    [[-1], [-1, 43, -1849]]
    """

    statistics: Sequence[Statistic]
    budget: Noise
    weights: Sequence[float] | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", as_noise(self.budget))
        object.__setattr__(self, "statistics", tuple(self.statistics))
        object.__setattr__(self, "weights", None if self.weights is None else tuple(self.weights))

    @cached_property
    def parts(self) -> tuple[Total, ...]:
        """One mechanism per statistic, with its share of the budget or the given noise."""
        noises: Sequence[Noise] = [self.budget] * len(self.statistics)
        if isinstance(self.budget, Budget | Zcdp):
            reaches = [statistic.sensitivity for statistic in self.statistics]
            noises = calibrate(reaches, self.budget, weights=self.weights, rows=self.rows_per_person)
        return tuple(
            Total(statistic, noise, self.rows_per_person)
            for statistic, noise in zip(self.statistics, noises, strict=True)
        )

    @cached_property
    def events(self) -> list[Event] | None:
        """What the release costs; None if it makes no promise of differential privacy."""
        by_part = [part.events for part in self.parts]
        return None if None in by_part else [event for events in by_part for event in events or ()]

    def release(self, totals: Totals, coins: Coins) -> tuple[Cells, ...]:
        return tuple(part.release(totals, coins) for part in self.parts)

    def contribution(self, deleted: Table) -> tuple[Contribution, ...]:
        return tuple(part.contribution(deleted) for part in self.parts)

    def forget(self, release: tuple[Cells, ...], contribution: tuple[Contribution, ...]) -> tuple[Cells, ...]:
        return tuple(
            part.forget(cells, gone)
            for part, cells, gone in zip(self.parts, release, contribution, strict=True)
        )
