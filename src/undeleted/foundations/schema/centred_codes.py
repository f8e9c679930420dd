"""Centred codes: halving the largest |code| halves the noise that products need."""

from collections.abc import Sequence

import numpy as np

from undeleted.errors import BadColumns
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import Category, GridColumn
from undeleted.foundations.types import Given


def centred(column: GridColumn, code: Given) -> Given:
    """The code minus the middle of the grid; its absolute value is at most `half`."""
    return code - (column.cells - 1) // 2


def half(column: GridColumn) -> int:
    """The largest centred code."""
    return column.cells // 2


def middles_of(columns: Sequence[GridColumn]) -> IntArray:
    """What is subtracted from the codes of several columns to centre them."""
    return np.array([(column.cells - 1) // 2 for column in columns], dtype=np.int64)


def halves_of(columns: Sequence[GridColumn]) -> IntArray:
    """The largest centred codes."""
    return np.array([half(column) for column in columns], dtype=np.int64)


def require_numbers(*columns: GridColumn) -> None:
    """Refuse arithmetic on categories."""
    require_columns(*columns)
    wrong = [column.name for column in columns if isinstance(column, Category)]
    if wrong:
        raise BadColumns(wrong, "categories cannot be added or multiplied.", "Use a histogram over them.")


def require_columns(*columns: object) -> None:
    """Refuse anything that is not a declared column with a grid."""
    wrong = [str(column) for column in columns if not isinstance(column, GridColumn)]
    if wrong:
        raise BadColumns(wrong, "not a column with a grid.", "Give Number, Category or Boolean columns.")


def as_columns(over: Given) -> tuple[GridColumn, ...]:
    """One column, or several, as a tuple."""
    return tuple(over) if isinstance(over, Sequence) and not isinstance(over, str) else (over,)
