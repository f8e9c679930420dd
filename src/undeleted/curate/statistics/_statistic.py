"""The shape that all statistics share: blocks of cells, a contribution, and a sensitivity."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate, islice
from typing import Any

import numpy as np

from undeleted.errors import TooLarge
from undeleted.foundations.arrays import IntArray, wide
from undeleted.foundations.privacy import Reach
from undeleted.foundations.schema import Deleted, GridColumn, Record

MOST_CELLS = 2**27
ALL = slice(None)
_MOST = 2**62  # totals and their noise stay inside 64 bits


@dataclass(frozen=True)
class Block:
    """`width` cells, of which a record moves one, by at most `reach`.

    Or `moves` of them: by at most `reach` together in L1, and `l2` in L2.  `weight` is the block's part of
    a statistic's budget.
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
    """A sparse integer vector: what some records add.  Each cell is named once, or all by a slice."""

    cells: IntArray | list[int] | slice
    values: IntArray | list[int]

    def pairs(self) -> Iterable[tuple[int, int]]:
        """Cells and values one by one, in plain numbers."""
        if isinstance(self.cells, slice):
            return enumerate(_plain(self.values))
        return zip(_plain(self.cells), _plain(self.values), strict=True)

    def add_to(self, total: IntArray) -> None:
        """Add it to a vector."""
        total[self.cells] += self.values


def _plain(numbers: IntArray | list[int]) -> list[int]:
    return numbers if isinstance(numbers, list) else numbers.tolist()


NOTHING = Contribution(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


class Declared:
    """Pickled as it was declared: what was worked out since would tell what it was asked."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


class Statistic(Declared, ABC):
    """Sum over records of `terms`, a block at a time."""

    @property
    @abstractmethod
    def columns(self) -> tuple[GridColumn, ...]:
        """The columns that a record must have for it to count."""

    @property
    @abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, in the order of their cells."""

    @abstractmethod
    def terms(self, code: Mapping[str, Any]) -> Sequence[tuple[Any, Any]]:
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
        """How far a record moves every block, in L1 and in L2: what noise is made for."""
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

    def block_total(self, code: Mapping[str, Any], rows: int) -> IntArray:
        """The sum over a block of complete rows, whose codes are given."""
        total = np.zeros(self.size, dtype=np.int64)
        terms = iter(self.terms(code))
        for start, block in zip(self.starts, self.blocks, strict=True):
            for cell, value in islice(terms, block.moves):
                total[start : start + block.width] += _add_up(cell, value, block.width, rows)
        return total

    def of(self, deleted: Deleted) -> Contribution:
        """What a record, or the rows of a table, add, as a sparse vector."""
        if isinstance(deleted, Record):
            return self.of_one(deleted.codes) if deleted.kept.issuperset(self.names) else NOTHING
        rows = np.flatnonzero(deleted.complete(self.columns))
        return self.of_codes({name: wide(deleted.codes[name][rows]) for name in self.names}, rows.size)

    def of_one(self, code: Mapping[str, int]) -> Contribution:
        """What one complete record adds, in plain numbers."""
        terms = self.terms(code)
        cells = [start + cell for start, (cell, _) in zip(self.places, terms, strict=True)]
        return Contribution(cells, [value for _, value in terms])

    def of_codes(self, code: Mapping[str, Any], rows: int) -> Contribution:
        """The same of complete rows, whose codes are given."""
        self.check_no_overflow(rows)
        cells, values = [], []
        for start, (cell, value) in zip(self.places, self.terms(code), strict=True):
            cells.append(np.broadcast_to(np.asarray(start + cell, dtype=np.int64), rows))
            values.append(np.broadcast_to(np.asarray(value, dtype=np.int64), rows))
        return merged(np.concatenate(cells), np.concatenate(values))

    def of_matrix(self, codes: IntArray) -> Contribution:
        """The same of complete rows in a matrix, whose columns are in the order of `columns`.

        Statistics of many columns overrule it for speed: a single row then costs a few microseconds.
        """
        return self.of_codes(dict(zip(self.names, codes.T, strict=True)), len(codes))

    def check_no_overflow(self, rows: int) -> None:
        """Refuse a table whose sums might leave 64-bit integers."""
        largest = max(self.reaches) * max(rows, 1)
        if largest > _MOST:
            remedy = "Choose narrower bounds or a coarser step for these columns."
            raise TooLarge(f"the sum over {', '.join(self.names) or 'the records'}", None, _MOST, remedy)


def merged(cells: IntArray, values: IntArray) -> Contribution:
    """A sparse vector from moves of which several may be of one cell."""
    unique, where = np.unique(cells, return_inverse=True)
    sums = np.zeros(unique.size, dtype=np.int64)
    np.add.at(sums, where, values)
    return Contribution(unique, sums)


def gathered(cells: IntArray, values: IntArray, size: int) -> Contribution:
    """Rows of moves as one contribution; a single row moves every cell once."""
    if len(cells) == 1:
        return Contribution(cells[0], values[0])
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, cells, values)
    moved = np.flatnonzero(total)
    return Contribution(moved, total[moved])


def _add_up(cell: Any, value: Any, width: int, rows: int) -> Any:
    """Sum a block's values into its cells; scalars stand for every row."""
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
    """The number of cells over several columns, checked."""
    cells = math.prod(column.cells for column in columns)
    if cells > MOST_CELLS:
        names = " × ".join(column.name for column in columns)
        raise TooLarge(
            f"a histogram over {names}", cells, MOST_CELLS, "Choose a coarser step or fewer columns."
        )
    return cells
