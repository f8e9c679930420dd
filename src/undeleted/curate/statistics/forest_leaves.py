"""The leaves of trees whose questions do not depend on the data: the input of a forest.

A tree asks every record the same `depth` questions, each "is this column's code at least h?"; the answers are
the bits of the record's leaf.  For any one record the questions are as random as in a tree that asks
different ones in every branch.  The questions depend only on the columns and a public seed.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from undeleted.curate.kernels import kernel
from undeleted.curate.statistics._statistic import MOST_CELLS, Block, Contribution, Statistic
from undeleted.errors import BadSetting, TooLarge
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_columns
from undeleted.foundations.types import Code, Terms

_ROWS = 1 << 12  # rows of a matrix that are sorted into leaves at a time
_WIDEST = 2**53  # codes that a random float can choose from evenly
MOST_TREES, MOST_DEPTH = 10_000, 20


@dataclass(frozen=True)
class ForestLeaves(Statistic):
    """For every tree and leaf: Σ 1 by class, or Σ (h − y) and Σ y of a number y from 0 to h.

    A record always adds h to the two sums of a number in total: a leaf's count costs no more than its sum.

    >>> from undeleted.foundations.schema import Boolean, Number
    >>> leaves = ForestLeaves((Number("age", min=0, max=100),), by=Boolean("sick"), trees=3, depth=2)
    >>> leaves.size, leaves.l1
    (24, 3)
    """

    over: tuple[GridColumn, ...]
    by: GridColumn | None = None
    target: GridColumn | None = None
    trees: int = 10
    depth: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        if (self.by is None) == (self.target is None):
            raise BadSetting("a forest needs classes or a target, not both.", "Give `by` or `target`.")
        require_columns(*self.columns)
        if not self.over:
            raise BadSetting("a forest needs a feature.", "Name at least one.")
        if all(column.cells == 1 for column in self.over):
            problem = "the forest has nothing to ask: every feature has a single value."
            raise BadSetting(problem, "Choose features with several values.")
        for name, value, most in (("trees", self.trees, MOST_TREES), ("depth", self.depth, MOST_DEPTH)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise BadSetting(f"a forest cannot have {name} = {value!r}.", f"Choose from 1 to {most:,}.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise BadSetting("the seed of a forest's questions must be a whole number.", "Omit it to use 0.")
        widest = max(self.over, key=lambda column: column.cells)
        if widest.cells > _WIDEST:
            remedy = "Choose a coarser step, or narrower bounds."
            raise TooLarge(f"the grid of {widest.name!r} in a forest", widest.cells, _WIDEST, remedy)
        if self.size > MOST_CELLS:
            remedy = "Choose fewer trees, or a smaller depth."
            raise TooLarge("the cells of the forest", self.size, MOST_CELLS, remedy)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return *self.over, self.last

    @property
    def last(self) -> GridColumn:
        """The column that the forest predicts."""
        result = self.by if self.by is not None else self.target
        assert result is not None
        return result

    @cached_property
    def kinds(self) -> int:
        """The number of cells per leaf: one per class, or two for the ends of the target."""
        return 2 if self.by is None else self.by.cells

    @cached_property
    def asked(self) -> int:
        """Questions per tree: `depth`, or the number of different questions if that is smaller."""
        return min(self.depth, sum(column.cells - 1 for column in self.over))

    @property
    def leaves(self) -> int:
        """The number of leaves per tree."""
        return int(2**self.asked)

    @property
    def size(self) -> int:
        return self.trees * self.leaves * self.kinds

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        width = self.leaves * self.kinds
        if self.by is not None:
            return (Block(width, reach=1),) * self.trees
        top = self.last.cells - 1
        return (Block(width, reach=top, moves=2, l2=top),) * self.trees

    @cached_property
    def questions(self) -> tuple[IntArray, IntArray]:
        """One row per tree: the columns of its questions, and the codes that they are compared with."""
        rng = random.Random(self.seed)  # its `random()` is the same in every version of Python
        trees = [
            _questions([column.cells for column in self.over], self.asked, rng) for _ in range(self.trees)
        ]
        columns, least = np.array(trees, dtype=np.int64).transpose(2, 0, 1)
        return np.ascontiguousarray(columns), np.ascontiguousarray(least)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        y, result = code[self.last.name], []
        for leaf in self._leaves_of(code):
            if self.by is not None:
                result.append((leaf * self.kinds + y, 1))
            else:
                result += [(leaf * 2, self.last.cells - 1 - y), (leaf * 2 + 1, y)]
        return result

    def _leaves_of(self, code: Mapping[str, Code]) -> list[Code]:
        """The record's leaf in every tree; the first answer is the highest bit."""
        names = [column.name for column in self.over]
        result = []
        for columns, least in zip(*(part.tolist() for part in self.questions), strict=True):
            leaf: Code = 0
            for bit, (column, h) in enumerate(zip(reversed(columns), reversed(least), strict=True)):
                leaf = leaf + (code[names[column]] >= h) * (1 << bit)
            result.append(leaf)
        return result

    def of_matrix(self, codes: IntArray) -> Contribution:
        if len(codes) > 1:
            self.check_no_overflow(len(codes))
        compiled = kernel("forest")
        if compiled is None:
            total = np.zeros(self.size, dtype=np.int64)
            for start in range(0, len(codes), _ROWS):
                cells, values = self._moves(codes[start : start + _ROWS])
                if len(codes) == 1:
                    return Contribution(cells[0], values[0])
                np.add.at(total, cells, values)
        elif len(codes) == 1:
            cells, values = np.empty((2, self.trees * (1 if self.by is not None else 2)), dtype=np.int64)
            compiled(codes, *self.questions, self.kinds, self._top, cells, values, False)
            return Contribution(cells, values)
        else:
            total = np.zeros(self.size, dtype=np.int64)
            compiled(codes, *self.questions, self.kinds, self._top, total, total, True)
        moved = np.flatnonzero(total)
        return Contribution(moved, total[moved])

    @property
    def _top(self) -> int:
        """The highest code of a target; 0 for classes."""
        return 0 if self.by is not None else self.last.cells - 1

    def _moves(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The cells that every row moves, and by how much."""
        leaves, y = self.leaves_of_matrix(codes), codes[:, -1:]
        first = (np.arange(self.trees) * self.leaves + leaves) * self.kinds
        if self.by is not None:
            return first + y, np.ones_like(first)
        both = np.stack([first, first + 1], axis=2).reshape(len(codes), -1)
        return both, np.tile(np.concatenate([self._top - y, y], axis=1), (1, self.trees))

    def leaves_of_matrix(self, codes: IntArray) -> IntArray:
        """The leaf of every row in every tree; only the features are read."""
        columns, least = self.questions
        result = np.zeros((len(codes), self.trees), dtype=np.int64)
        for i in range(self.asked):
            result *= 2
            result += codes[:, columns[:, i]] >= least[:, i]
        return result


def _questions(cells: Sequence[int], count: int, rng: random.Random) -> list[tuple[int, int]]:
    """Different questions, spread evenly over the columns (in random order) and over the codes of each."""
    dealt: list[int] = []
    while len(dealt) < count:
        open_ = [j for j in range(len(cells)) if dealt.count(j) < cells[j] - 1]
        _shuffle(open_, rng)
        dealt += open_[: count - len(dealt)]
    least = {}
    for j in set(dealt):
        m, steps = dealt.count(j), cells[j] - 1
        cuts = [1 + r * steps // m for r in range(m + 1)]
        codes = [a + int(rng.random() * (b - a)) for a, b in pairwise(cuts)]
        _shuffle(codes, rng)
        least[j] = codes
    return [(j, least[j].pop()) for j in dealt]


def _shuffle(items: list[int], rng: random.Random) -> None:
    """Shuffle in place, using only `random()`."""
    for i in range(len(items) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        items[i], items[j] = items[j], items[i]
