"""Boxes of a space that is cut in halves, column after column: what a grown partition counts.

    level 1 cuts the first column in the middle, level 2 the second, …, then the first again, in quarters
    a record's path is a bit for every cut: which half it is in
    its offset from the middle of its box is from −1 to 1 in each column, whatever the size of the box

A grid whose size is no power of two is padded alike on both sides, so that the first cut is in its middle.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.errors import BadQuestion, TooLarge
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, require_numbers

_WIDEST = 2**48  # codes, so that sums over some ten thousand records fit 64 bits
DEEPEST = 48  # cuts, so that a path and a column fit 64 bits


@dataclass(frozen=True)
class Boxes(Statistic):
    """Σ 1 of every box after `depth` cuts; or, with `offsets`, Σ of the offset in every column.

    There may be 2⁴⁸ boxes: ask an engine for some (`total_at`).

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
            raise BadQuestion("boxes need a column.", "Name at least one.")
        widest = max(self.over, key=lambda column: column.cells)
        if widest.cells > _WIDEST:
            remedy = "Choose a coarser step, or narrower bounds."
            raise TooLarge(f"the grid of {widest.name!r} in boxes", widest.cells, _WIDEST, remedy)
        if (
            isinstance(self.depth, bool)
            or not isinstance(self.depth, int)
            or not 1 <= self.depth <= self.most
        ):
            raise BadQuestion(f"{self.depth!r} cuts make no boxes.", f"Choose from 1 to {self.most}.")

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """How often every column can be cut."""
        return tuple((column.cells - 1).bit_length() for column in self.over)

    @property
    def most(self) -> int:
        """How many cuts there can be."""
        return min(DEEPEST, sum(self.bits))

    @cached_property
    def cuts(self) -> tuple[tuple[int, int], ...]:
        """For every cut: its column, and how many codes half of a box then has."""
        left, found = list(self.bits), list[tuple[int, int]]()
        while len(found) < self.depth:
            for column in range(len(left)):
                if left[column]:
                    left[column] -= 1
                    found.append((column, 1 << left[column]))
        return tuple(found[: self.depth])

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """How many codes a box has in every column."""
        halvings = [sum(column == j for column, _ in self.cuts) for j in range(len(self.over))]
        return tuple(1 << (b - h) for b, h in zip(self.bits, halvings, strict=True))

    @cached_property
    def pads(self) -> tuple[int, ...]:
        """How many codes come before those of every column."""
        return tuple(((1 << b) - c.cells) // 2 for b, c in zip(self.bits, self.over, strict=True))

    @cached_property
    def unit(self) -> int:
        """What half of a box counts as: the same for boxes of all sizes."""
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
        """The largest offset of any code there is: the padding has none."""
        cells, span, pad = self.over[j].cells, self.spans[j], self.pads[j]
        first = -pad % span  # where the first box begins that does not begin before the grid
        ends = (0, first - 1, first, first + span - 1, cells - 1)
        return max(int(abs(self._offset(code + pad, j))) for code in ends if 0 <= code < cells)

    def _offset(self, code: Any, j: int) -> Any:
        """From the middle of its box, of a code that is padded."""
        span = self.spans[j]
        return ((code % span) * 2 - (span - 1)) * (self.unit // span)

    def terms(self, code: Mapping[str, Any]) -> Sequence[tuple[Any, Any]]:
        padded = [code[column.name] + pad for column, pad in zip(self.over, self.pads, strict=True)]
        path: Any = 0
        for bit, (column, half) in enumerate(reversed(self.cuts)):
            path = path + ((padded[column] % (2 * half)) >= half) * (1 << bit)
        if not self.offsets:
            return [(path, 1)]
        d = len(self.over)
        return [(path * d + j, self._offset(x, j)) for j, x in enumerate(padded)]

    @property
    def holding(self) -> int:
        """How many boxes have a code of the grid in them; the others are padding."""
        found = 1
        for column, span, pad in zip(self.over, self.spans, self.pads, strict=True):
            found *= (pad + column.cells - 1) // span - pad // span + 1
        return found

    def hold(self, paths: Any) -> Any:
        """Which of these boxes have a code of the grid in them."""
        first, pads = self._firsts(paths), np.array(self.pads)
        cells = np.array([column.cells for column in self.over])
        return ((first + np.array(self.spans) > pads) & (first < pads + cells)).all(axis=1)

    def middles(self, paths: Any) -> FloatArray:
        """The middle of every box, as codes: a row a box."""
        return np.asarray(self._firsts(paths) - np.array(self.pads) + (np.array(self.spans) - 1) / 2)

    def _firsts(self, paths: Any) -> Any:
        """The first codes of every box, padding included."""
        first = np.zeros((len(paths), len(self.over)), dtype=np.int64)
        for bit, (column, half) in enumerate(reversed(self.cuts)):
            first[:, column] += half * ((paths >> np.uint64(bit)) & np.uint64(1)).astype(np.int64)
        return first
