"""Sums, and sums of products, of several centred numbers: what correlations and regressions are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from undeleted.arrays import IntArray
from undeleted.schema import GridColumn
from undeleted.statistics._centred import as_columns, centred, half, require_numbers
from undeleted.statistics._statistic import Block, Statistic

_AT_ONCE = 1 << 17  # rows multiplied at a time


@dataclass(frozen=True)
class CrossProducts(Statistic):
    """Σ 1, then Σ cᵢ, then Σ cᵢcⱼ for i ≤ j, of the centred codes.

    >>> from undeleted.schema import Boolean, Number
    >>> CrossProducts((Number("age", min=0, max=100), Boolean("sick"))).reaches
    (1, 50, 1, 2500, 50, 1)
    """

    over: tuple[GridColumn, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_numbers(*self.over)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.over

    @property
    def blocks(self) -> tuple[Block, ...]:
        halves = [half(column) for column in self.over]
        products = [a * b for a, b in combinations_with_replacement(halves, 2)]
        return tuple(Block(width=1, reach=reach) for reach in [1, *halves, *products])

    def block_total(self, code: Mapping[str, Any], rows: int) -> IntArray:
        """All products at once by matrix multiplication, which is exact while sums stay below 2⁵³."""
        largest = max(self.reaches) * max(rows, 1)
        if rows == 0 or largest >= 2**53:
            return super().block_total(code, rows)
        products = np.zeros((1 + len(self.over), 1 + len(self.over)))
        for start in range(0, rows, _AT_ONCE):
            size = min(_AT_ONCE, rows - start)
            matrix = np.empty((1 + len(self.over), size))
            matrix[0] = 1
            for i, column in enumerate(self.over, start=1):
                matrix[i] = code[column.name][start : start + size]
                matrix[i] -= (column.cells - 1) // 2
            products += matrix @ matrix.T
        upper = products[1:, 1:][np.triu_indices(len(self.over))]
        return np.concatenate([products[0], upper]).astype(np.int64)

    def terms(self, code: Mapping[str, Any]) -> Sequence[tuple[Any, Any]]:
        c = [centred(column, code[column.name]) for column in self.over]
        products = [a * b for a, b in combinations_with_replacement(c, 2)]
        return [(0, value) for value in [1, *c, *products]]
