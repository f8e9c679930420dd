"""A number's sum and sum of squares in one block, for the price of the sum.

    a record adds 2hc to one cell and h² − c² to another        c the centred code, |c| ≤ h

What makes the first move large makes the second small: |2hc| + (h² − c²) grows with |c| up to 2h² at the
bounds, and √((2hc)² + (h² − c²)²) = h² + c² up to the same 2h².  So the sum costs what it costs alone, and
the squares come free, with twice the noise that they would have alone.
"""

from typing import Any

from undeleted.curate.statistics._statistic import Block
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import centred, half


def spread_block(column: GridColumn, sums: int, squares: int, weight: float) -> Block:
    """A block with so many cells for sums and for squares, of which a record moves one each."""
    reach = 2 * half(column) ** 2
    return Block(width=sums + squares, reach=reach, moves=2, l2=reach, weight=weight)


def spread(column: GridColumn, code: Any) -> tuple[Any, Any]:
    """What a record adds to its sum and to its squares."""
    c, h = centred(column, code), half(column)
    return 2 * h * c, h * h - c * c
