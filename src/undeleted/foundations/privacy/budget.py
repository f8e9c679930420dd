"""The privacy budget per person: ε, (ε, δ), or ρ of zero-concentrated differential privacy.

>>> print(Budget(1.0))
ε = 1 (neighbours differ by one person added or removed)
>>> print(Budget(0.5, delta=1e-6))
ε = 0.5, δ = 1e-06 (neighbours differ by one person added or removed)
"""

import math
import numbers
from dataclasses import dataclass
from typing import TypeAlias

from undeleted.errors import BadBudget
from undeleted.foundations.coins import Law

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
Noise: TypeAlias = float | Privacy | Law | tuple[Law, ...]  # an ε, a budget, or the noise laws themselves


def as_noise(budget: Noise) -> Privacy | Law | tuple[Law, ...]:
    """Check a budget or noise laws and return them; a number is a pure ε.

    >>> as_noise(0.5)
    Budget(epsilon=0.5, delta=0.0)
    """
    if isinstance(budget, Budget | Zcdp | Law):
        return budget
    if isinstance(budget, tuple) and budget and all(isinstance(law, Law) for law in budget):
        return budget
    if isinstance(budget, bool | tuple) or not isinstance(budget, numbers.Real):
        rule = "a number (ε), a Budget such as Budget(1.0, 1e-6), a Zcdp, or a noise law"
        raise BadBudget("budget", budget, rule)
    return Budget(float(budget))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
