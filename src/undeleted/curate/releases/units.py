"""From centred codes to the columns' own units: a number is centre + half · u, with u from −1 to 1."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from undeleted.errors import BadColumns
from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.coins import FiniteLaw, Law
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.schema import Category, GridColumn
from undeleted.foundations.schema.centred_codes import half


@dataclass(frozen=True, eq=False)
class Units:
    """For several columns, the value at u = 0 and its distance from the value at u = 1."""

    centre: FloatArray
    half: FloatArray

    def __getitem__(self, columns: slice) -> "Units":
        return Units(self.centre[columns], self.half[columns])

    def to(self, values: FloatArray) -> FloatArray:
        """Values as u, clamped to the bounds."""
        return np.asarray(np.clip((values - self.centre) / self.half, -1.0, 1.0))


def units_of(columns: Sequence[GridColumn]) -> Units:
    numbers = [column for column in columns if not isinstance(column, Category)]
    if len(numbers) < len(columns):
        raise BadColumns([c.name for c in columns], "not all of them are numbers.", "Leave categories out.")
    return Units(
        np.array([column.decode(column.middle) for column in numbers]),
        np.array([float(column.step) * half(column) for column in numbers]),
    )


def spread_of(law: Law) -> float:
    """The standard deviation of noise; 0 for a law for exact worlds."""
    return 0.0 if isinstance(law, FiniteLaw) else standard_deviation(law)
