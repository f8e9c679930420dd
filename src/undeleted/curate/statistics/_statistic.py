"""The shape that all statistics share: blocks of cells, a contribution, and a sensitivity."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate, islice

import numpy as np

from undeleted.errors import TooLarge
from undeleted.foundations.arrays import IntArray, wide
from undeleted.foundations.privacy import Reach
from undeleted.foundations.schema import GridColumn, Leaving, Record
from undeleted.foundations.types import Code, Json, Terms

MOST_CELLS = 2**27
ALL = slice(None)
_MOST = 2**62  # totals and their noise stay inside 64 bits


@dataclass(frozen=True)
class Block:
    """`width` cells; a record changes one of them by at most `reach`.

    Or it changes `moves` of them, by at most `reach` in L1 and `l2` in L2, in total.  `weight` is the block's
    share of the statistic's budget.
    """

    width: int
    reach: int
    moves: int = 1
    l2: float | None = None
    weight: float = 1.0

    @property
    def sensitivity(self) -> Reach:
        return Reach(self.reach, self.reach if self.l2 is None else self.l2, self.moves, self.weight)


@dataclass(frozen=True, eq=False)
class Contribution:
    """A sparse integer vector: what some records add.  Each cell is listed once; a slice means all cells."""

    cells: IntArray | list[int] | slice
    values: IntArray | list[int]

    def pairs(self) -> Iterable[tuple[int, int]]:
        """Return (cell, value) pairs of plain integers."""
        if isinstance(self.cells, slice):
            return enumerate(_plain(self.values))
        return zip(_plain(self.cells), _plain(self.values), strict=True)

    def add_to(self, total: IntArray) -> None:
        """Add this contribution to a vector, in place."""
        total[self.cells] += self.values


def _plain(numbers: IntArray | list[int]) -> list[int]:
    return numbers if isinstance(numbers, list) else numbers.tolist()


NOTHING = Contribution(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Declared:
    """Pickles the declared fields only: cached values would reveal which questions were asked."""

    def __getstate__(self) -> Json:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


class Statistic(Declared, ABC):
    """The sum of `terms` over records, block by block."""

    @property
    @abstractmethod
    def columns(self) -> tuple[GridColumn, ...]:
        """The columns that a record must have for it to count."""

    @property
    @abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, in the order of their cells."""

    @abstractmethod
    def terms(self, code: Mapping[str, Code]) -> Terms:
        """For every block: the cell (or the several cells) that a record moves, and by how much."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def size(self) -> int:
        return sum(block.width for block in self.blocks)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each block begins among the cells."""
        return tuple(accumulate((block.width for block in self.blocks), initial=0))[:-1]

    @property
    def reaches(self) -> tuple[int, ...]:
        return tuple(block.reach for block in self.blocks)

    @property
    def sensitivity(self) -> tuple[Reach, ...]:
        """How far a record moves every block, in L1 and in L2; the noise is calibrated to it."""
        return tuple(block.sensitivity for block in self.blocks)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Where the block of each term begins."""
        return tuple(s for s, block in zip(self.starts, self.blocks, strict=True) for _ in range(block.moves))

    @property
    def l1(self) -> int:
        """The most that adding or removing one record moves the total, in L1."""
        return sum(self.reaches)

    @property
    def l2(self) -> float:
        """The same in L2."""
        return math.sqrt(sum(reach.l2**2 for reach in self.sensitivity))

    def block_total(self, code: Mapping[str, Code], rows: int) -> IntArray:
        """The sum over a batch of complete rows, given their codes."""
        total = np.zeros(self.size, dtype=np.int64)
        terms = iter(self.terms(code))
        for start, block in zip(self.starts, self.blocks, strict=True):
            for cell, value in islice(terms, block.moves):
                total[start : start + block.width] += _add_up(cell, value, block.width, rows)
        return total

    def of(self, deleted: Leaving | IntArray) -> Contribution:
        """Return what a record, the rows of a table, or a matrix of codes adds, as a sparse vector."""
        if isinstance(deleted, np.ndarray):
            return self.of_matrix(deleted)
        if isinstance(deleted, Record):
            return self.of_one(deleted.codes) if deleted.kept.issuperset(self.names) else NOTHING
        rows = np.flatnonzero(deleted.complete(self.columns))
        return self.of_codes({name: wide(deleted.codes[name][rows]) for name in self.names}, rows.size)

    def of_one(self, code: Mapping[str, int]) -> Contribution:
        """Return what one complete record adds, as plain integers."""
        terms = self.terms(code)
        cells = [start + cell for start, (cell, _) in zip(self.places, terms, strict=True)]
        return Contribution(cells, [value for _, value in terms])

    def of_codes(self, code: Mapping[str, Code], rows: int) -> Contribution:
        """Return what complete rows add, given their codes."""
        self.check_no_overflow(rows)
        cells, values = [], []
        for start, (cell, value) in zip(self.places, self.terms(code), strict=True):
            cells.append(np.broadcast_to(np.asarray(start + cell, dtype=np.int64), rows))
            values.append(np.broadcast_to(np.asarray(value, dtype=np.int64), rows))
        return merged(np.concatenate(cells), np.concatenate(values))

    def of_matrix(self, codes: IntArray) -> Contribution:
        """Return what complete rows add, given a matrix with its columns in the order of `columns`.

        Statistics of many columns override it for speed: a single row then costs a few microseconds.
        """
        return self.of_codes(dict(zip(self.names, codes.T, strict=True)), len(codes))

    def check_no_overflow(self, rows: int) -> None:
        """Refuse a table whose sums might overflow 64-bit integers."""
        largest = max(self.reaches) * max(rows, 1)
        if largest > _MOST:
            remedy = "Choose narrower bounds or a coarser step for these columns."
            raise TooLarge(f"the sum over {', '.join(self.names) or 'the records'}", None, _MOST, remedy)


def merged(cells: IntArray, values: IntArray) -> Contribution:
    """Merge moves into a sparse vector; several moves may change the same cell."""
    unique, where = np.unique(cells, return_inverse=True)
    sums = np.zeros(unique.size, dtype=np.int64)
    np.add.at(sums, where, values)
    return Contribution(unique, sums)


def gathered(cells: IntArray, values: IntArray, size: int) -> Contribution:
    """Merge rows of moves into one contribution; a single row lists each cell once."""
    if len(cells) == 1:
        return Contribution(cells[0], values[0])
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, cells, values)
    moved = np.flatnonzero(total)
    return Contribution(moved, total[moved])


def _add_up(cell: Code, value: Code, width: int, rows: int) -> Code:
    """Sum a block's values into its cells; scalars apply to every row."""
    if np.ndim(cell) == 0:
        sums = np.zeros(width, dtype=np.int64)
        sums[cell] = value * rows if np.ndim(value) == 0 else value.sum()
        return sums
    if np.ndim(value) == 0:
        return np.bincount(cell, minlength=width) * value
    sums = np.zeros(width, dtype=np.int64)
    np.add.at(sums, cell, value)
    return sums


def product_of_cells(columns: Sequence[GridColumn]) -> int:
    """The number of cells over several columns; too many are refused."""
    cells = math.prod(column.cells for column in columns)
    if cells > MOST_CELLS:
        names = " × ".join(column.name for column in columns)
        raise TooLarge(
            f"a histogram over {names}", cells, MOST_CELLS, "Choose a coarser step or fewer columns."
        )
    return cells
