"""The shape that all statistics share: blocks of cells, a contribution, and a sensitivity."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from undeleted.arrays import IntArray, wide
from undeleted.errors import TooLarge
from undeleted.schema import GridColumn, Table

MOST_CELLS = 2**27
_MOST = 2**62  # totals and their noise stay inside 64 bits


@dataclass(frozen=True)
class Block:
    """`width` cells, of which a record moves one, by at most `reach`."""

    width: int
    reach: int


@dataclass(frozen=True, eq=False)
class Contribution:
    """A sparse integer vector: what some records add to a total."""

    cells: IntArray
    values: IntArray


class Statistic(ABC):
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
        """For every block: the cell that a record moves, and by how much."""

    @property
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
    def l1(self) -> int:
        """The most that adding or removing one record moves the total, in L1."""
        return sum(self.reaches)

    @property
    def l2(self) -> float:
        """The same in L2."""
        return math.sqrt(sum(reach**2 for reach in self.reaches))

    def block_total(self, code: Mapping[str, Any], rows: int) -> IntArray:
        """The sum over a block of complete rows, whose codes are given."""
        total = np.zeros(self.size, dtype=np.int64)
        for start, block, (cell, value) in zip(self.starts, self.blocks, self.terms(code), strict=True):
            total[start : start + block.width] = _add_up(cell, value, block.width, rows)
        return total

    def of(self, table: Table) -> Contribution:
        """What the rows of a table add, as a sparse vector."""
        self.check_no_overflow(table.rows)
        rows = np.flatnonzero(table.complete(self.columns))
        code = {name: wide(table.codes[name][rows]) for name in self.names}
        cells, values = [], []
        for start, (cell, value) in zip(self.starts, self.terms(code), strict=True):
            cells.append(np.broadcast_to(np.asarray(start + cell, dtype=np.int64), rows.shape))
            values.append(np.broadcast_to(np.asarray(value, dtype=np.int64), rows.shape))
        unique, where = np.unique(np.concatenate(cells), return_inverse=True)
        sums = np.zeros(unique.size, dtype=np.int64)
        np.add.at(sums, where, np.concatenate(values))
        return Contribution(unique, sums)

    def check_no_overflow(self, rows: int) -> None:
        """Refuse a table whose sums might leave 64-bit integers."""
        largest = max(self.reaches) * max(rows, 1)
        if largest > _MOST:
            remedy = "Choose narrower bounds or a coarser step for these columns."
            raise TooLarge(f"the sum over {', '.join(self.names) or 'the records'}", None, _MOST, remedy)


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
