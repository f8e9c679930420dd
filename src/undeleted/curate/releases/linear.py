"""Publish noisy totals once; forget a record by subtracting what it contributed.

    release   y = Σ s(x) + η      η drawn once, by blocks
    forget    y ← y − s(z)        for a deleted record z

The noise does not change: after any deletions y is the exact total of those who remain plus the original η.
Stored values are never clamped; post-processing works on copies.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter

import numpy as np

from undeleted.curate.engines import Totals
from undeleted.curate.releases.publishable import Rows
from undeleted.curate.releases.subtracting import Release, Shape, Subtracting
from undeleted.curate.statistics import Contribution, Statistic
from undeleted.errors import BadBudget
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins, Law
from undeleted.foundations.intervals import Estimate, estimate
from undeleted.foundations.privacy import Budget, Noise, Reach, Zcdp, as_noise, calibrate
from undeleted.foundations.schema import GridColumn, Leaving
from undeleted.foundations.types import Given

FEW = 4  # blocks of up to so many cells and one law are noised together


@dataclass(frozen=True, eq=False)
class Cells(Release):
    """The noisy cells of a statistic: all that was published, and all that is kept."""

    value: IntArray

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cells) and np.array_equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash(self.value.tobytes())


def require_rows(totals: Totals, rows_per_person: int) -> None:
    """Refuse a table that allows a person more rows than the noise was made for."""
    if totals.rows_per_person > rows_per_person:
        rule = f"at least the {totals.rows_per_person} rows per person that the table allows"
        raise BadBudget("rows_per_person", rows_per_person, rule)


def add_noise(statistic: Statistic, laws: Sequence[Law], exact: IntArray, coins: Coins) -> IntArray:
    """Add noise to every cell, block by block."""
    blocks = zip(statistic.starts, statistic.blocks, laws, strict=True)
    return np.concatenate([coins.noisy(law, exact[s : s + b.width]) for s, b, law in blocks])


class Linear(Subtracting):
    """A mechanism whose release is a noisy total.

    `budget` is an ε, a Budget or a Zcdp, from which the laws are calibrated; or a law, or a law per block.
    Undeleted-safety does not depend on the law.  ε does; a law for exact worlds claims no ε.
    """

    budget: Noise

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.statistic  # it refuses columns that do not fit

    @property
    @abstractmethod
    def statistic(self) -> Statistic:
        """The statistic that is summed."""

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """The noise of every block."""
        blocks = len(self.statistic.blocks)
        match budget := as_noise(self.budget):
            case Budget() | Zcdp():
                return calibrate([self.statistic.sensitivity], budget, rows=self.rows_that_count)[0]
            case tuple() if len(budget) != blocks:
                raise BadBudget("budget", budget, f"a law for each of {blocks} blocks")
            case tuple():
                return budget
            case _:
                return (budget,) * blocks

    @property
    def sensitivity(self) -> tuple[Reach, ...]:
        return self.statistic.sensitivity

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.statistic.columns

    def release(self, totals: Totals, coins: Coins) -> Cells:
        require_rows(totals, self.rows_per_person)
        exact = totals.total(self.statistic)
        noisy, start = [], 0
        for (law, _), group in groupby(self._groups(), key=itemgetter(0)):
            end = start + sum(width for _, width in group)
            noisy.append(coins.noisy(law, exact[start:end]))
            start = end
        return Cells(np.concatenate(noisy))

    def _groups(self) -> list[tuple[tuple[Law, int], int]]:
        """For every block a group and its width; small neighbours with one law share a call, to save time."""
        widths = [block.width for block in self.statistic.blocks]
        return [
            ((law, -1 if w <= FEW else i), w)
            for i, (law, w) in enumerate(zip(self.laws, widths, strict=True))
        ]

    def contribution(self, deleted: Leaving | IntArray) -> Contribution:
        return self.statistic.of(deleted)

    def shaped(self, shape: Shape, cells: IntArray) -> Cells:
        return Cells(cells)

    def noised_parts(self, shape: Shape) -> list[tuple[int, int]]:
        return [(block.width, number) for number, block in enumerate(self.statistic.blocks)]

    def with_laws(self, laws: tuple[Law, ...]) -> "Linear":
        """The same mechanism with these laws, to read a release that has their noise."""
        mechanism: Given = self
        changed: Linear = replace(mechanism, budget=laws)
        return changed

    def rows(self, release: Cells) -> Rows:
        starts = np.array(self.statistic.starts)
        blocks = np.searchsorted(starts, np.arange(release.value.size), side="right") - 1
        return [
            {"block": int(block), "cell": int(cell - starts[block]), "value": int(value)}
            for cell, (block, value) in enumerate(zip(blocks, release.value, strict=True))
        ]

    def cell(self, release: Cells, block: int, confidence: float, unit: float = 1.0) -> Estimate:
        """An estimate from the first cell of a block."""
        noisy = int(release.value[self.statistic.starts[block]])
        return estimate(noisy, self.laws[block], confidence=confidence, unit=unit)
