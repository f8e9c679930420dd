"""Power sums of a centred number: the input of means and variances."""

from collections.abc import Mapping
from dataclasses import dataclass

from undeleted.curate.statistics._statistic import Block, Statistic
from undeleted.errors import BadSetting
from undeleted.foundations.schema import GridColumn
from undeleted.foundations.schema.centred_codes import centred, half, require_numbers
from undeleted.foundations.types import Code, Terms


@dataclass(frozen=True)
class Moments(Statistic):
    """Σ 1, Σ c, …, Σ c^degree of the centred code c, |c| ≤ h.

    >>> from undeleted.foundations.schema import Number
    >>> Moments(Number("age", min=0, max=100), degree=2).reaches
    (1, 50, 2500)
    """

    column: GridColumn
    degree: int = 2

    def __post_init__(self) -> None:
        require_numbers(self.column)
        if self.degree < 1:
            raise BadSetting(f"degree = {self.degree} is below 1.", "Choose a degree of at least 1.")

    @property
    def columns(self) -> tuple[GridColumn, ...]:
        return (self.column,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(Block(width=1, reach=half(self.column) ** power) for power in range(self.degree + 1))

    def terms(self, code: Mapping[str, Code]) -> Terms:
        c = centred(self.column, code[self.column.name])
        powers = [1, c]
        while len(powers) <= self.degree:
            powers.append(powers[-1] * c)
        return [(0, power) for power in powers]
