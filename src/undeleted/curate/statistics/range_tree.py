"""Counts at every level of a complete tree over a column: the input of ranges, medians and quantiles."""

from collections.abc import Mapping
from dataclasses import dataclass

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.errors import BadSetting, TooLarge
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.types import Code, Terms

MOST_LEAVES = 2**20
MOST_BRANCHES = 4096


@dataclass(frozen=True)
class RangeTree(Statistic):
    """Levels 1, …, L of a tree with `branching` children a node; level l has branchingˡ nodes.

    A record is counted once on every level: L1 = L and L2 = √L.

    >>> from undeleted.foundations.schema import Number
    >>> tree = RangeTree(Number("age", min=0, max=120), branching=4)
    >>> [block.width for block in tree.blocks], tree.l1, tree.l2
    ([4, 16, 64, 256], 4, 2.0)
    """

    column: GridColumn
    branching: int

    def __post_init__(self) -> None:
        require_branching(self.branching)
        if self.column.cells > MOST_LEAVES:
            remedy = "Choose a coarser step, or grown range counts, which take any domain."
            raise TooLarge(
                f"a complete tree over {self.column.name!r}", self.column.cells, MOST_LEAVES, remedy
            )
        padded = self.branching**self.levels
        if padded > 16 * MOST_LEAVES:
            raise TooLarge("the tree's padded leaves", padded, 16 * MOST_LEAVES, "Choose another branching.")

    @property
    def levels(self) -> int:
        return levels_for(self.column.cells, self.branching)

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return (self.column,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(Block(width=self.branching**level, reach=1) for level in range(1, self.levels + 1))

    def terms(self, code: Mapping[str, Code]) -> Terms:
        c = code[self.column.name]
        return [(c // self.branching ** (self.levels - level), 1) for level in range(1, self.levels + 1)]


def require_branching(branching: object) -> None:
    if not isinstance(branching, int) or not 2 <= branching <= MOST_BRANCHES:
        raise BadSetting(f"branching = {branching!r} is not possible.", f"Choose from 2 to {MOST_BRANCHES}.")


def levels_for(cells: int, branching: int) -> int:
    """The least L with branching^L ≥ cells, in whole numbers."""
    levels = 1
    while branching**levels < cells:
        levels += 1
    return levels
