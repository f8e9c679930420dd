"""What may be spent on a person: ε, (ε, δ), or ρ of zero-concentrated differential privacy.

>>> print(Budget(1.0))
ε = 1 (neighbours differ by one person added or removed)
>>> print(Budget(0.5, delta=1e-6))
ε = 0.5, δ = 1e-06 (neighbours differ by one person added or removed)
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

from undeleted.errors import BadBudget

NEIGHBOURS = "neighbours differ by one person added or removed"


@dataclass(frozen=True)
class Budget:
    """(ε, δ)-differential privacy; δ = 0 is pure."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not (_is_number(self.epsilon) and math.isfinite(self.epsilon) and self.epsilon > 0):
            raise BadBudget("epsilon", self.epsilon, "positive and finite")
        if not (_is_number(self.delta) and 0 <= self.delta < 1):
            raise BadBudget("delta", self.delta, "in [0, 1)")

    def __str__(self) -> str:
        delta = f", δ = {self.delta:g}" if self.delta else ""
        return f"ε = {self.epsilon:g}{delta} ({NEIGHBOURS})"


@dataclass(frozen=True)
class Zcdp:
    """ρ-zero-concentrated differential privacy (Bun, Steinke 2016)."""

    rho: float

    def __post_init__(self) -> None:
        if not (_is_number(self.rho) and math.isfinite(self.rho) and self.rho > 0):
            raise BadBudget("rho", self.rho, "positive and finite")

    def __str__(self) -> str:
        return f"ρ = {self.rho:g} ({NEIGHBOURS})"


Privacy: TypeAlias = Budget | Zcdp


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
