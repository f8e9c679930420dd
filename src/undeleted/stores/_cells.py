"""A release as a vector of cells and a shape that never changes; a deletion as the few cells that it moves.

noisy totals    the cells; no shape
grown trees     the counts of all levels, one after another; the shape is their prefixes
a board         no cells; its posts are rows of their own
"""

import io
from typing import Any

import numpy as np

from undeleted.arrays import IntArray
from undeleted.mechanisms._linear import Cells, Linear
from undeleted.mechanisms.bulletin_board import BulletinBoard
from undeleted.mechanisms.grown_range_counts import Grown, GrownRangeCounts
from undeleted.schema import Table

NOTHING = np.zeros(0, dtype=np.int64)


def to_cells(mechanism: Any, release: Any) -> tuple[IntArray, bytes]:
    """The cells and the shape of a release."""
    if isinstance(mechanism, Linear):
        return release.value, b""
    if isinstance(mechanism, GrownRangeCounts):
        written = io.BytesIO()
        np.savez_compressed(written, *release.prefixes)
        return np.concatenate(release.counts), written.getvalue()
    return NOTHING, b""


class Keeper:
    """A mechanism with its shape: from cells to a release, from deleted records to the cells they move."""

    def __init__(self, mechanism: Any, shape: bytes) -> None:
        self.mechanism = mechanism
        self._prefixes: tuple[Any, ...] = ()
        if shape:
            with np.load(io.BytesIO(shape), allow_pickle=False) as arrays:
                self._prefixes = tuple(arrays[name] for name in arrays.files)
        self._starts = np.cumsum([0, *(p.size for p in self._prefixes)]).tolist()
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
        ends = zip(self._starts, self._starts[1:], strict=False)
        return Grown(self._prefixes, tuple(cells[a:b] for a, b in ends))

    def moved(self, table: Table) -> tuple[IntArray, IntArray]:
        """Cells and by how much they fall when these records are deleted."""
        if isinstance(self.mechanism, Linear):
            gone = self.mechanism.contribution(table)
            return gone.named(), gone.values
        if self.board or table.rows == 0:
            return NOTHING, NOTHING
        codes, found = self.mechanism.contribution(table), []
        for level, (prefixes, start) in enumerate(zip(self._prefixes, self._starts, strict=False)):
            nodes = codes // np.uint64(self.mechanism._span(level))
            at = np.minimum(np.searchsorted(prefixes, nodes), prefixes.size - 1)
            present = prefixes[at] == nodes
            found.append(start + at[present])
            codes = codes[present]
        cells, counts = np.unique(np.concatenate(found), return_counts=True)
        return cells.astype(np.int64), counts.astype(np.int64)

    def moved_by_one(self, codes: dict[str, int], counts: set[str]) -> list[tuple[int, int]]:
        """The same for one record, in plain numbers."""
        if isinstance(self.mechanism, Linear):
            if not all(name in counts for name in self._names):
                return []
            return [(s + c, v) for s, (c, v) in zip(self._places, self._terms(codes), strict=True)]
        if self.board or self.mechanism.column.name not in counts:
            return []
        code, found = codes[self.mechanism.column.name], []
        for level, (prefixes, start) in enumerate(zip(self._prefixes, self._starts, strict=False)):
            node = code // self.mechanism._span(level)
            at = int(np.searchsorted(prefixes, np.uint64(node)))
            if at >= prefixes.size or int(prefixes[at]) != node:
                break
            found.append((start + at, 1))
        return found
