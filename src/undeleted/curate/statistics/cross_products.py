"""Sums, and sums of products, of several centred numbers: the input of correlations and regressions."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import as_columns, centred, half, require_numbers
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class CrossProducts(Statistic):
    """Σ 1, then Σ cᵢ, then Σ cᵢcⱼ for i ≤ j, of the centred codes.

    >>> from undeleted.foundations.schema import Boolean, Number
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

    def block_total(self, code: Mapping[str, Code], rows: int) -> IntArray:
        """Multiply the codes as matrices, which is exact below 2⁵³, to get all products; then centre them.

        Σ (x − a)(y − b) = Σ xy − b Σ x − a Σ y + ab Σ 1,  in whole numbers
        """
        widest = max(column.cells for column in self.over)
        if rows == 0 or widest * widest * rows >= 2**53:
            return super().block_total(code, rows)
        matrix = np.empty((1 + len(self.over), rows))
        matrix[0] = 1
        for i, column in enumerate(self.over, start=1):
            matrix[i] = code[column.name]
        sums = (matrix @ matrix.T).astype(np.int64)
        middles = np.array([0, *((column.cells - 1) // 2 for column in self.over)])
        moved = np.outer(middles, sums[0])
        centred_sums = sums - moved - moved.T + np.outer(middles, middles) * sums[0, 0]
        return np.concatenate([centred_sums[0], centred_sums[1:, 1:][np.triu_indices(len(self.over))]])

    def terms(self, code: Mapping[str, Code]) -> Terms:
        c = [centred(column, code[column.name]) for column in self.over]
        products = [a * b for a, b in combinations_with_replacement(c, 2)]
        return [(0, value) for value in [1, *c, *products]]
