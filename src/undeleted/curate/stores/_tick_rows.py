"""How the rows of all ticks lie in chunks: a tile of a chunk holds 8 neighbouring cells at 60 ticks.

A tick writes one tile for every 8 cells, and a deletion one tile for every 60 ticks of a cell: neither
touches everything.  The cells of all publications lie side by side.  Every 60 ticks a block is added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from undeleted.curate.releases.arrivals import Withdrawal
from undeleted.foundations.arrays import IntArray

CELLS, TICKS = 8, 60
TILE = CELLS * TICKS


@dataclass(frozen=True)
class TickRows:
    """The layout of publications with so many cells each."""

    widths: tuple[int, ...]

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each publication begins in a row of all cells; the last is the length of the row."""
        return tuple(accumulate(self.widths, initial=0))

    @property
    def width(self) -> int:
        return self.offsets[-1]

    @cached_property
    def tiles(self) -> int:
        """How many chunks a block has."""
        return -(-self.width // CELLS)

    @property
    def block(self) -> int:
        """How many cells a block has."""
        return self.tiles * TILE

    def blocks(self, ticks: int) -> int:
        """How many blocks hold so many ticks."""
        return -(-ticks // TICKS)

    def row_added(self, tick: int, row: IntArray) -> dict[int, IntArray]:
        """What to subtract from the zeros of a new row, by chunk."""
        first, at = self.tiles * (tick // TICKS), tick % TICKS
        padded = np.zeros(self.tiles * CELLS, dtype=np.int64)
        padded[: self.width] = -row
        tiles = np.zeros((self.tiles, CELLS, TICKS), dtype=np.int64)
        tiles[:, :, at] = padded.reshape(self.tiles, CELLS)
        return {first + number: tile.reshape(-1) for number, tile in enumerate(tiles)}

    def chunks_of(self, publication: int, block: int) -> range:
        """The chunks of a block with a publication's cells."""
        start, end = self.offsets[publication], self.offsets[publication + 1]
        first = self.tiles * block
        return range(first + start // CELLS, first + -(-end // CELLS))

    def rows_in(self, publication: int, data: IntArray) -> IntArray:
        """A publication's rows at the ticks of a block, from its chunks."""
        start, end = self.offsets[publication], self.offsets[publication + 1]
        cells = data.reshape(-1, TICKS)[start % CELLS :][: end - start]
        return cells.T

    def all_rows(self, data: IntArray) -> IntArray:
        """The rows of all publications at the ticks of a block."""
        return data.reshape(-1, TICKS)[: self.width].T

    def moved(self, by_publication: Mapping[int, Sequence[Withdrawal]]) -> dict[int, IntArray]:
        """What deletions subtract, by chunk."""
        series: dict[int, IntArray] = {}
        for publication, several in by_publication.items():
            for each in several:
                if each.series.size:
                    self._add(series, publication, each)
        chunks: dict[int, IntArray] = {}
        for cell, moved in series.items():
            first, inside = divmod(cell, CELLS)
            for block in range(self.blocks(moved.size)):
                part = moved[block * TICKS : (block + 1) * TICKS]
                if part.any():
                    tile = chunks.setdefault(self.tiles * block + first, np.zeros(TILE, dtype=np.int64))
                    tile[inside * TICKS : inside * TICKS + part.size] += part
        return chunks

    def _add(self, series: dict[int, IntArray], publication: int, each: Withdrawal) -> None:
        """Add to the series of every cell that moves, from tick 0 on."""
        ticks = each.first + each.series.size
        for cell, value in each.contribution.pairs():
            place = self.offsets[publication] + cell
            there = series.setdefault(place, np.zeros(ticks, dtype=np.int64))
            there[each.first : ticks] += value * each.series
