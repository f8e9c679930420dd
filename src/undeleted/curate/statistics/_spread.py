"""A number's sum and sum of squares in one block, at the privacy cost of the sum alone.

    a record adds 2hc to one cell and h² − c² to another        c the centred code, |c| ≤ h

When the first value is large, the second is small: |2hc| + (h² − c²) grows with |c| up to 2h² at the bounds,
and √((2hc)² + (h² − c²)²) = h² + c² grows up to the same 2h².  So the sum costs as much as it would alone.
The squares cost nothing more, but have twice the noise that they would have alone.
"""

from undeleted.curate.statistics._statistic import Block
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import centred, half
from undeleted.foundations.types import Code


def spread_block(column: GridColumn, sums: int, squares: int, weight: float) -> Block:
    """A block of `sums` + `squares` cells; a record changes one cell of each kind."""
    reach = 2 * half(column) ** 2
    return Block(width=sums + squares, reach=reach, moves=2, l2=reach, weight=weight)


def spread(column: GridColumn, code: Code) -> tuple[Code, Code]:
    """The values that a record adds to its sum and to its squares."""
    c, h = centred(column, code), half(column)
    return 2 * h * c, h * h - c * c
