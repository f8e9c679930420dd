"""How much noise a budget requires.

    pure (ε)     discrete Laplace    b = Δ₁/ε     a block of reach r gets b = r/wε, with share w of the budget
    zCDP (ρ)     discrete Gaussian   σ = Δ₂/√2ρ   a block of reach r gets σ = r/√2wρ
    (ε, δ)       the narrower of the two, after tightening with the accountant

A statistic is a tuple of blocks.  A person moves each block by at most its reach (times the rows that one
person may have): in one cell, or in several whose joint move is bounded in L1 and in L2.  Every block has a
share of the budget; the shares are equal unless blocks have weights.  This keeps the noise in proportion to
the reach: a count does not get the noise of a sum of squares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from undeleted.errors import BadBudget
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace
from undeleted.foundations.privacy.accounting import Event, account, zcdp_epsilon
from undeleted.foundations.privacy.budget import Budget, Privacy, Zcdp


@dataclass(frozen=True)
class Reach:
    """The sensitivity of a block: how far a record moves its cells, in L1 and in L2; and its weight."""

    l1: int
    l2: float
    cells: int = 1
    weight: float = 1.0

    def of(self, law: DiscreteLaplace | DiscreteGaussian) -> float:
        """The norm that this law's privacy depends on."""
        return self.l1 if isinstance(law, DiscreteLaplace) else self.l2


Reaches: TypeAlias = Sequence[int | Reach]  # one per block of a statistic; a plain integer means one cell
Laws: TypeAlias = tuple[DiscreteLaplace | DiscreteGaussian, ...]  # a law per block

_ROUND = 1 + 1e-12  # scales are rounded up, so that floating point never overspends


def split(budget: Privacy, weights: Sequence[float]) -> list[Privacy]:
    """A budget divided by weight; the parts add up to the whole under basic composition."""
    shares = _shares(weights)
    if isinstance(budget, Zcdp):
        return [Zcdp(budget.rho * share) for share in shares]
    return [Budget(budget.epsilon * share, budget.delta * share) for share in shares]


def calibrate(
    statistics: Sequence[Reaches],
    budget: Privacy,
    *,
    weights: Sequence[float] | None = None,
    rows: int = 1,
    times: int = 1,
    only: Literal["gaussian"] | None = None,
) -> list[Laws]:
    """Noise for several statistics, each published `times` times, that together cost at most the budget."""
    for name, value in (("rows", rows), ("times", times), ("statistics", len(statistics))):
        if value < 1:
            raise BadBudget(name, value, "at least 1")
    if weights is not None and len(weights) != len(statistics):
        raise BadBudget("weights", list(weights), f"one for each of the {len(statistics)} statistics")
    whole = [share / times for share in _shares(weights if weights is not None else [1.0] * len(statistics))]
    blocks = [_reaches(reaches) for reaches in statistics]
    shares = [
        [share * part for part in _shares([r.weight for r in b])]
        for share, b in zip(whole, blocks, strict=True)
    ]
    if isinstance(budget, Zcdp):
        return _gaussians(blocks, shares, budget.rho, rows)
    laplaces = _laplaces(blocks, shares, budget.epsilon, rows)
    if budget.delta == 0:
        return laplaces
    gaussians = _gaussians(blocks, shares, rho_for(budget), rows)
    # Where Laplace noise needs advanced composition, it is twice as wide as a Gaussian: not a candidate.
    close = _spread(laplaces, statistics) < 4 * _spread(gaussians, statistics)
    candidates = [laplaces, gaussians] if close and only is None else [gaussians]
    tight = [_tighten(noises, statistics, budget, rows, times) for noises in candidates]
    return min(tight, key=lambda noises: _spread(noises, statistics))


def events_of(reaches: Reaches, noise: Laws, *, rows: int = 1, times: int = 1) -> list[Event]:
    """The events of one statistic, for the accountant."""
    return [
        Event(law, reach.of(law), rows, times, reach.cells)
        for reach, law in zip(_reaches(reaches), noise, strict=True)
    ]


def _reaches(reaches: Reaches) -> list[Reach]:
    return [r if isinstance(r, Reach) else Reach(r, r) for r in reaches]


def _laplaces(blocks: list[list[Reach]], shares: list[list[float]], epsilon: float, rows: int) -> list[Laws]:
    return [
        tuple(DiscreteLaplace(_ROUND * rows * r.l1 / (epsilon * w)) for r, w in zip(*each, strict=True))
        for each in zip(blocks, shares, strict=True)
    ]


def _gaussians(blocks: list[list[Reach]], shares: list[list[float]], rho: float, rows: int) -> list[Laws]:
    return [
        tuple(
            DiscreteGaussian(_ROUND * rows * r.l2 / math.sqrt(2 * rho * w))
            for r, w in zip(*each, strict=True)
        )
        for each in zip(blocks, shares, strict=True)
    ]


def _tighten(
    noises: list[Laws], statistics: Sequence[Reaches], budget: Budget, rows: int, times: int
) -> list[Laws]:
    """Shrink all scales together as far as the accountant allows (to a part in a thousand)."""

    def fits(factor: float) -> bool:
        events = [
            event
            for reaches, noise in zip(statistics, _scaled(noises, factor), strict=True)
            for event in events_of(reaches, noise, rows=rows, times=times)
        ]
        return account(events, budget.delta).epsilon <= budget.epsilon

    low, high = 0.05, 1.0
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return _scaled(noises, high)


def _scaled(noises: list[Laws], factor: float) -> list[Laws]:
    return [
        tuple(
            DiscreteLaplace(law.scale * factor)
            if isinstance(law, DiscreteLaplace)
            else DiscreteGaussian(law.sigma * factor)
            for law in noise
        )
        for noise in noises
    ]


def _spread(noises: list[Laws], statistics: Sequence[Reaches]) -> float:
    """The mean variance of the noise, in units of each block's reach."""
    variances = [
        (2 * law.scale**2 if isinstance(law, DiscreteLaplace) else law.sigma**2) / reach.l1**2
        for reaches, noise in zip(statistics, noises, strict=True)
        for reach, law in zip(_reaches(reaches), noise, strict=True)
    ]
    return math.fsum(variances) / len(variances)


def rho_for(budget: Budget) -> float:
    """The largest ρ that implies the budget."""
    low, high = 0.0, budget.epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, budget.delta) <= budget.epsilon else (low, middle)
    return low


def _shares(weights: Sequence[float]) -> list[float]:
    for weight in weights:
        if not (math.isfinite(weight) and weight > 0):
            raise BadBudget("weight", weight, "positive and finite")
    whole = math.fsum(weights)
    return [weight / whole for weight in weights]
