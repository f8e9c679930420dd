"""How many people have each item and each pair of items, with a cap on the items of one person.

If a person has more items than the cap, only the first ones count, in the order of the columns.  The rule is
the same at release and at deletion.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.statistics._statistic import MOST_CELLS, Block, Contribution, Statistic
from undeleted.errors import BadColumns, BadSetting, TooLarge
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import Boolean
from undeleted.foundations.schema.centred_codes import as_columns, require_columns
from undeleted.foundations.types import Code, Terms

ITEMS = 0.25  # budget weight of the counts of single items; that of the pairs is 1


@dataclass(frozen=True)
class ItemPairs(Statistic):
    """A cell for every item, then one for every pair of them: (0, 1), (0, 2), …, (1, 2), …

    >>> pairs = ItemPairs(tuple(Boolean(name) for name in ("bread", "milk", "tea", "salt")), at_most=3)
    >>> pairs.size, pairs.reaches
    (10, (3, 3))
    """

    over: tuple[Boolean, ...]
    at_most: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_columns(*self.over)
        wrong = [column.name for column in self.over if not isinstance(column, Boolean)]
        if wrong:
            raise BadColumns(wrong, "not booleans.", "Name booleans; each says who has one item.")
        if len(self.over) < 2:
            raise BadSetting("pairs need at least two items.", "Name at least two columns.")
        most = self.at_most
        if isinstance(most, bool) or not isinstance(most, int) or most < 2:
            problem = f"at_most = {most!r} is not a valid cap on the items of one person."
            raise BadSetting(problem, "Choose a whole number of at least 2.")
        if self.size > MOST_CELLS:
            raise TooLarge("the cells of all items and pairs", self.size, MOST_CELLS, "Choose fewer items.")

    @property
    def columns(self) -> tuple[Boolean, ...]:
        return self.over

    @property
    def items(self) -> int:
        return len(self.over)

    @property
    def cap(self) -> int:
        """The most items of one person that count; at most the number of items."""
        return min(self.at_most, self.items)

    @property
    def pairs(self) -> int:
        return math.comb(self.items, 2)

    @property
    def size(self) -> int:
        return self.items + self.pairs

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        m, together = self.cells_of_a_person
        return (
            Block(self.items, reach=m, moves=self.items, l2=math.sqrt(m), weight=ITEMS),
            Block(self.pairs, reach=together, moves=self.pairs, l2=math.sqrt(together)),
        )

    @property
    def cells_of_a_person(self) -> tuple[int, int]:
        """How many cells of each block one person can move."""
        return self.cap, math.comb(self.cap, 2)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        has, before = [], code[self.over[0].name] * 0
        for column in self.over:
            mine = code[column.name]
            has.append(mine * (1 - (before >= self.cap) * 1))
            before = before + mine
        result = [(i, has[i]) for i in range(self.items)]
        at = 0
        for i in range(self.items):
            for j in range(i + 1, self.items):
                result.append((at, has[i] * has[j]))
                at += 1
        return result

    def block_total(self, code: Mapping[str, Code], rows: int) -> IntArray:
        matrix = np.column_stack([code[column.name] for column in self.over])
        return self.total_of(*_places(matrix))

    def of_matrix(self, codes: IntArray) -> Contribution:
        return self.of_baskets(*_places(codes))

    def of_codes(self, code: Mapping[str, Code], rows: int) -> Contribution:
        if rows == 0:
            return Contribution(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        return self.of_matrix(np.column_stack([code[column.name] for column in self.over]))

    def of_one(self, code: Mapping[str, int]) -> Contribution:
        return self.of_matrix(np.array([[code[column.name] for column in self.over]]))

    def total_of(self, people: IntArray, items: IntArray) -> IntArray:
        """The totals from baskets: one (person, item) per entry, sorted by person and then by item."""
        gone = self.of_baskets(people, items)
        total = np.zeros(self.size, dtype=np.int64)
        total[gone.cells] = gone.values
        return total

    def of_baskets(self, people: IntArray, items: IntArray) -> Contribution:
        """Return what such baskets add, as a sparse vector."""
        within_cap = np.arange(people.size) - np.searchsorted(people, people) < self.cap
        people, items = people[within_cap], items[within_cap]
        cells = [items]
        for apart in range(1, self.cap):  # pairs of items that are `apart` places apart in a basket
            if people.size <= apart:
                break
            same = people[apart:] == people[:-apart]
            cells.append(self.items + self.pair(items[:-apart][same], items[apart:][same]))
        unique, values = np.unique(np.concatenate(cells), return_counts=True)
        return Contribution(unique.astype(np.int64), values.astype(np.int64))

    def pair(self, i: Code, j: Code) -> Code:
        """The index of the pair of items i and j, where i < j."""
        return i * (2 * self.items - i - 1) // 2 + (j - i - 1)

    def items_of(self, pairs: IntArray) -> tuple[IntArray, IntArray]:
        """The two items of every pair."""
        starts = self.pair(np.arange(self.items), np.arange(self.items) + 1)
        i = np.searchsorted(starts, pairs, side="right") - 1
        i = np.minimum(i, self.items - 2)
        return i, pairs - starts[i] + i + 1


def _places(matrix: Code) -> tuple[IntArray, IntArray]:
    """The people and items of all entries of a matrix that are not 0, in order."""
    people, items = np.nonzero(matrix)
    return people.astype(np.int64), items.astype(np.int64)
