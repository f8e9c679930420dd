"""Sums, squares and products of several numbers, with a target or classes: the input of linear models.

    counts and spreads    Σ 1 and Σ 2hᵢcᵢ, by class where there are classes; Σ (hᵢ² − cᵢ²)
    target products       Σ cᵢ·c_t, if there is a target
    products              Σ cᵢcⱼ for i < j, unless they are left out

The groups that are present share the budget equally, and so do the blocks within a group, so that d sums keep
their share of the budget beside d²/2 products.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from undeleted.curate.kernels import kernel
from undeleted.curate.statistics._spread import spread, spread_block
from undeleted.curate.statistics._statistic import ALL, Block, Contribution, Statistic
from undeleted.errors import BadColumns
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import (
    as_columns,
    centred,
    half,
    halves_of,
    middles_of,
    require_columns,
    require_numbers,
)
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class SecondMoments(Statistic):
    """Moments of the centred codes up to the second.

    >>> from undeleted.foundations.schema import Boolean, Number
    >>> age, pay = Number("age", min=0, max=100), Number("pay", min=0, max=20)
    >>> [block.reach for block in SecondMoments((age, pay)).blocks]
    [1, 5000, 200, 500]
    """

    over: tuple[GridColumn, ...]
    by: GridColumn | None = None
    target: GridColumn | None = None
    products: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "over", as_columns(self.over))
        require_numbers(*self.numbers)
        if self.by is not None:
            require_columns(self.by)
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise BadColumns(names, "named twice.", "Use different columns for features, target and classes.")

    @property
    def numbers(self) -> tuple[GridColumn, ...]:
        """The features, and the target after them."""
        return self.over if self.target is None else (*self.over, self.target)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return self.numbers if self.by is None else (*self.numbers, self.by)

    @cached_property
    def classes(self) -> int:
        return 1 if self.by is None else self.by.cells

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Which numbers are multiplied: the target's products first."""
        d = len(self.over)
        with_target = [(i, d) for i in range(d)] if self.target is not None else []
        return *with_target, *(combinations(range(d), 2) if self.products else ())

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        d, k = len(self.over), self.classes
        sizes = [1 + len(self.numbers), d if self.target is not None else 0]
        sizes.append(len(self.pairs) - sizes[1])
        spreads, targets, products = (1 / size if size else 0.0 for size in sizes)
        halves = [half(column) for column in self.numbers]
        return (
            Block(width=k, reach=1, weight=spreads),
            *(spread_block(column, k, 1, spreads) for column in self.numbers),
            *(
                Block(width=1, reach=halves[i] * halves[j], weight=targets if j == d else products)
                for i, j in self.pairs
            ),
        )

    def terms(self, code: Mapping[str, Code]) -> Terms:
        label = 0 if self.by is None else code[self.by.name]
        result = [(label, 1)]
        for column in self.numbers:
            total, squares = spread(column, code[column.name])
            result += [(label, total), (self.classes, squares)]
        c = [centred(column, code[column.name]) for column in self.numbers]
        return [*result, *((0, c[i] * c[j]) for i, j in self.pairs)]

    def block_total(self, code: Mapping[str, Code], rows: int) -> IntArray:
        """Compute all products at once by matrix multiplication, which is exact below 2⁵³."""
        halves = halves_of(self.numbers)
        if rows == 0 or int(halves.max(initial=1)) ** 2 * rows >= 2**53:
            return super().block_total(code, rows)
        matrix = np.empty((len(self.numbers), rows))
        for i, column in enumerate(self.numbers):
            matrix[i] = centred(column, code[column.name])
        labels = np.zeros(rows, np.int64) if self.by is None else np.asarray(code[self.by.name])
        counts = np.bincount(labels, minlength=self.classes)
        inside = (labels == np.arange(self.classes)[:, None]).astype(float)
        sums = (matrix @ inside.T).astype(np.int64) * 2 * halves[:, None]
        gram = (matrix @ matrix.T).astype(np.int64)
        squares = halves**2 * rows - np.diag(gram)
        first, second = self._plan[2:]
        spreads = np.column_stack([sums, squares]).ravel()
        return np.concatenate([counts, spreads, gram[first, second]])

    def of_matrix(self, codes: IntArray) -> Contribution:
        if len(codes) != 1:
            self.check_no_overflow(len(codes))
            total = self.block_total(dict(zip(self.names, codes.T, strict=True)), len(codes))
            return Contribution(ALL, total)
        middles, halves, first, second = self._plan
        row, k = codes[0], self.classes
        label = 0 if self.by is None else int(row[-1])
        total = np.zeros(self.size, dtype=np.int64)
        compiled = kernel("second")
        if compiled is not None:
            compiled(row, label, k, middles, halves, first, second, total)
            return Contribution(ALL, total)
        c = row[: len(middles)] - middles
        width, end = k + 1, k + (k + 1) * len(c)
        total[label] = 1
        total[k + label : end : width] = 2 * halves * c
        total[k + k : end : width] = halves * halves - c * c
        total[end:] = c.take(first) * c.take(second)
        return Contribution(ALL, total)

    @cached_property
    def size(self) -> int:
        return super().size

    @cached_property
    def _plan(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The grid's middles and halves, and the pairs."""
        first, second = np.array(self.pairs, dtype=np.int64).reshape(-1, 2).T.copy()
        return middles_of(self.numbers), halves_of(self.numbers), first, second
