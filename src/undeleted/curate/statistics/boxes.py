"""Boxes of a space that is halved column by column; a grown partition counts records in them.

    level 1 cuts the first column in the middle, level 2 the second, …, then the first again, in quarters
    a record's path has one bit per cut, which says in which half the record is
    its offset from the middle of its box is from −1 to 1 in each column, whatever the size of the box

A grid whose size is not a power of two is padded equally on both sides: the first cut is in its middle.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.errors import BadSetting, TooLarge
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_numbers
from undeleted.foundations.types import Code, Terms

_WIDEST = 2**48  # codes, so that sums over some ten thousand records fit 64 bits
DEEPEST = 48  # cuts, so that a path and a column fit 64 bits


@dataclass(frozen=True)
class Boxes(Statistic):
    """Σ 1 for every box after `depth` cuts; with `offsets`, Σ of the offset in every column instead.

    There may be 2⁴⁸ boxes: request only some of them from an engine (`total_at`).

    >>> from undeleted.foundations.schema import Number
    >>> Boxes((Number("age", min=0, max=99), Number("pay", min=0, max=9)), depth=3).size
    8
    """

    over: tuple[GridColumn, ...]
    depth: int
    offsets: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_numbers(*self.over)
        if not self.over:
            raise BadSetting("boxes need a column.", "Name at least one.")
        widest = max(self.over, key=lambda column: column.cells)
        if widest.cells > _WIDEST:
            remedy = "Choose a coarser step, or narrower bounds."
            raise TooLarge(f"the grid of {widest.name!r} in boxes", widest.cells, _WIDEST, remedy)
        if (
            isinstance(self.depth, bool)
            or not isinstance(self.depth, int)
            or not 1 <= self.depth <= self.most
        ):
            raise BadSetting(f"boxes cannot have {self.depth!r} cuts.", f"Choose from 1 to {self.most}.")

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """How many times each column can be cut."""
        return tuple((column.cells - 1).bit_length() for column in self.over)

    @property
    def most(self) -> int:
        """The largest possible number of cuts."""
        return min(DEEPEST, sum(self.bits))

    @cached_property
    def cuts(self) -> tuple[tuple[int, int], ...]:
        """For every cut: its column, and how many codes each half has in that column."""
        left, result = list(self.bits), list[tuple[int, int]]()
        while len(result) < self.depth:
            for column in range(len(left)):
                if left[column]:
                    left[column] -= 1
                    result.append((column, 1 << left[column]))
        return tuple(result[: self.depth])

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """How many codes a box has in every column."""
        halvings = [sum(column == j for column, _ in self.cuts) for j in range(len(self.over))]
        return tuple(1 << (b - h) for b, h in zip(self.bits, halvings, strict=True))

    @cached_property
    def pads(self) -> tuple[int, ...]:
        """How many padding codes precede the codes of each column."""
        return tuple(((1 << b) - c.cells) // 2 for b, c in zip(self.bits, self.over, strict=True))

    @cached_property
    def unit(self) -> int:
        """The integer for half the width of a box; it is the same for boxes of all sizes."""
        return int(1 << max(self.bits))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        boxes, d = 1 << self.depth, len(self.over)
        if not self.offsets:
            return (Block(width=boxes, reach=1),)
        reaches = [self._most_offset(j) for j in range(d)]
        l2 = math.sqrt(max(1, sum(r * r for r in reaches)))
        return (Block(boxes * d, max(1, sum(reaches)), moves=d, l2=l2),)

    def _most_offset(self, j: int) -> int:
        """The largest offset of any code of the grid; padding codes do not count."""
        cells, span, pad = self.over[j].cells, self.spans[j], self.pads[j]
        first = -pad % span  # start of the first box that begins at or after the first code
        ends = (0, first - 1, first, first + span - 1, cells - 1)
        return max(int(abs(self._offset(code + pad, j))) for code in ends if 0 <= code < cells)

    def _offset(self, code: Code, j: int) -> Code:
        """The offset of a padded code from the middle of its box."""
        span = self.spans[j]
        return ((code % span) * 2 - (span - 1)) * (self.unit // span)

    def terms(self, code: Mapping[str, Code]) -> Terms:
        padded = [code[column.name] + pad for column, pad in zip(self.over, self.pads, strict=True)]
        path: Code = 0
        for bit, (column, half) in enumerate(reversed(self.cuts)):
            path = path + ((padded[column] % (2 * half)) >= half) * (1 << bit)
        if not self.offsets:
            return [(path, 1)]
        d = len(self.over)
        return [(path * d + j, self._offset(x, j)) for j, x in enumerate(padded)]

    @property
    def holding(self) -> int:
        """How many boxes contain a code of the grid; the others are padding."""
        result = 1
        for column, span, pad in zip(self.over, self.spans, self.pads, strict=True):
            result *= (pad + column.cells - 1) // span - pad // span + 1
        return result

    def hold(self, paths: Code) -> Code:
        """Which of these boxes contain a code of the grid."""
        first, pads = self._firsts(paths), np.array(self.pads)
        cells = np.array([column.cells for column in self.over])
        return ((first + np.array(self.spans) > pads) & (first < pads + cells)).all(axis=1)

    def middles(self, paths: Code) -> FloatArray:
        """The middle of every box, as codes: one row per box."""
        return np.asarray(self._firsts(paths) - np.array(self.pads) + (np.array(self.spans) - 1) / 2)

    def _firsts(self, paths: Code) -> Code:
        """The first codes of every box, padding included."""
        first = np.zeros((len(paths), len(self.over)), dtype=np.int64)
        for bit, (column, half) in enumerate(reversed(self.cuts)):
            first[:, column] += half * ((paths >> np.uint64(bit)) & np.uint64(1)).astype(np.int64)
        return first
