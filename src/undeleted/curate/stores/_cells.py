"""A release as a vector of cells and a shape that never changes; a deletion as the few cells that it moves.

noisy totals    the cells; no shape
grown shapes    the cells of all levels, one after another; the shape is their prefixes
a board         no cells; its posts are rows of their own
"""

import io
from typing import Any

import numpy as np

from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.releases.linear import Cells, Linear
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import Column, Table

NOTHING = np.zeros(0, dtype=np.int64)


def to_cells(mechanism: Any, release: Any) -> tuple[IntArray, bytes]:
    """The cells and the shape of a release."""
    if isinstance(mechanism, Linear):
        return release.value, b""
    if _grows(mechanism):
        written = io.BytesIO()
        np.savez_compressed(written, *release.shape)
        return release.value, written.getvalue()
    return NOTHING, b""


class Keeper:
    """A mechanism with its shape: from cells to a release, from deleted records to the cells they move."""

    def __init__(self, mechanism: Any, shape: bytes) -> None:
        self.mechanism = mechanism
        self._shape: tuple[Any, ...] = ()
        if shape:
            with np.load(io.BytesIO(shape), allow_pickle=False) as arrays:
                self._shape = tuple(arrays[name] for name in arrays.files)
        self.board = isinstance(mechanism, BulletinBoard)
        if isinstance(mechanism, Linear):
            statistic = mechanism.statistic
            self._names, self._terms = statistic.names, statistic.terms
            self._places = statistic.places

    def release(self, cells: IntArray, posts: tuple[str, ...] = ()) -> Any:
        """The release that these cells are."""
        if self.board:
            return posts
        if isinstance(self.mechanism, Linear):
            return Cells(cells)
        return self.mechanism.shaped(self._shape, cells)

    def moved(self, table: Table) -> tuple[IntArray, IntArray]:
        """Cells and by how much they fall when these records are deleted."""
        if isinstance(self.mechanism, Linear):
            gone = self.mechanism.contribution(table)
            return gone.named(), gone.values
        if self.board or table.rows == 0:
            return NOTHING, NOTHING
        moved: tuple[IntArray, IntArray] = self.mechanism.moved(
            self._shape, self.mechanism.contribution(table)
        )
        return moved

    def moved_by_one(self, codes: dict[str, int], counts: set[str]) -> list[tuple[int, int]]:
        """The same for one record, in plain numbers."""
        if isinstance(self.mechanism, Linear):
            if not all(name in counts for name in self._names):
                return []
            return [(s + c, v) for s, (c, v) in zip(self._places, self._terms(codes), strict=True)]
        if self.board or not all(column.name in counts for column in columns_of(self.mechanism)):
            return []
        moved: list[tuple[int, int]] = self.mechanism.moved_by_one(self._shape, codes)
        return moved


def columns_of(mechanism: Any) -> tuple[Column, ...]:
    """The columns that a record must have for it to count."""
    if isinstance(mechanism, Linear):
        return mechanism.statistic.columns
    return mechanism.over if hasattr(mechanism, "over") else (mechanism.column,)


def _grows(mechanism: Any) -> bool:
    return hasattr(mechanism, "shaped")
