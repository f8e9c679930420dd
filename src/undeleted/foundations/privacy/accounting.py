"""The joint cost of several releases: the smallest of three valid bounds.

    basic   the ε's add up
    zcdp    Σρ, then to (ε, δ)                       Bun, Steinke (2016); OpenDP's conversion
    pld     convolve the privacy-loss distributions   Koskela, Jälkö, Honkela (2020); dp-accounting

An `Event` is one cell that a person can move by at most `shift`, published with a noise law; or several
cells with noise of one law, which a person moves by at most `shift` together: in L1 for Laplace noise, in
L2 for a Gaussian.  Laws here are log-concave, so a smaller shift is dominated by a larger one, and cells
compose.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from undeleted.errors import BadBudget
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace
from undeleted.foundations.privacy.budget import Budget, Privacy, Zcdp
from undeleted.foundations.types import Given

# From this σ on, a discrete Gaussian is compared with a rounded continuous one.  For |x| ≤ 20σ the density
# at an integer and its integral over the unit interval around it differ by a factor within
# exp(±_BEND/σ²), and the mass beyond 12σ is less than _TAIL.  So with γ = Σ _BEND/σ² over the wide cells,
# δ_discrete(ε) ≤ e^γ δ_continuous(ε − 2γ) + Σ _TAIL, for shifts up to 8σ.
SMOOTH_SIGMA = 1000.0
_BEND, _TAIL = 17.0, 1e-30
_LARGE_SHIFT = 100_000
_LEAST_DELTA = 1e-10  # below this the rounding of the convolutions is no longer small compared with δ
_ROUNDING = 5e-7  # share of δ that the rounding of one convolution may overspend; 1.2 % was seen at 10⁵


@dataclass(frozen=True)
class Event:
    """A noisy cell, or `cells` of them that move together, published `times` times with fresh noise.

    A person adds at most `shift` per row and has at most `rows` rows.
    """

    law: DiscreteLaplace | DiscreteGaussian
    shift: float  # whole numbers for Laplace noise
    rows: int = 1
    times: int = 1
    cells: int = 1

    def __post_init__(self) -> None:
        for name in ("shift", "rows", "times", "cells"):
            if getattr(self, name) < 1:
                raise BadBudget(name, getattr(self, name), "at least 1")

    @property
    def reach(self) -> float:
        return self.shift * self.rows

    @property
    def epsilon(self) -> float:
        """Pure ε of one publication; infinite for a Gaussian."""
        return self.reach / self.law.scale if isinstance(self.law, DiscreteLaplace) else math.inf

    @property
    def rho(self) -> float:
        """ρ of one publication."""
        if isinstance(self.law, DiscreteLaplace):
            return self.epsilon**2 / 2
        return (self.reach / self.law.sigma) ** 2 / 2


@dataclass(frozen=True)
class Spend:
    """The ε of a composition at a given δ, and the bound that gave it."""

    epsilon: float
    delta: float
    by: str


def account(events: Sequence[Event], delta: float) -> Spend:
    """The smallest of the three bounds on ε at this δ; infinite for Gaussian noise with δ = 0."""
    if not 0 <= delta < 1:
        raise BadBudget("delta", delta, "in [0, 1)")
    spends = [Spend(_basic(events, delta), delta, "basic")]
    if delta > 0 and events:
        spends.append(Spend(_zcdp(events, delta), delta, "zcdp"))
        useful = 0 < spends[-1].epsilon < math.inf and delta >= _LEAST_DELTA
        if useful and all(event.rows == 1 for event in events):
            spends.append(Spend(_pld(events, delta), delta, "pld"))
    return min(spends, key=lambda spend: spend.epsilon)


def filtered(events: Sequence[Event], delta: float) -> Spend:
    """What releases cost that were chosen one after another, each perhaps because of earlier answers.

    Sums of pure ε and sums of ρ stay valid as stopping rules (privacy filters: Rogers, Roth, Ullman, Vadhan
    2016; Whitehouse, Ramdas, Rogers, Wu 2023).  Whether all choices are pure, or ρ pays for all, may itself
    depend on answers: a path of pure choices within ε adds nothing to δ.  Two bounds are not valid here: a
    privacy-loss distribution, and a sum of ε for some choices beside an ε from ρ for the others, because the
    analyst could choose after a lucky answer which part pays.
    """
    if not 0 <= delta < 1:
        raise BadBudget("delta", delta, "in [0, 1)")
    pure = all(isinstance(event.law, DiscreteLaplace) for event in events)
    spends = [Spend(_basic(events, delta) if pure else math.inf, delta, "basic")]
    if delta > 0 and events:
        spends.append(Spend(_zcdp(events, delta), delta, "zcdp"))
    return min(spends, key=lambda spend: spend.epsilon)


def sequential(*costs: Privacy) -> Privacy:
    """Several releases about the same people: the costs add up."""
    if all(isinstance(cost, Zcdp) for cost in costs):
        return Zcdp(sum(cost.rho for cost in costs if isinstance(cost, Zcdp)))
    budgets = _budgets(costs)
    return Budget(sum(b.epsilon for b in budgets), sum(b.delta for b in budgets))


def parallel(*costs: Privacy) -> Privacy:
    """Releases about disjoint groups of people: each person pays for one, at most the most expensive."""
    if all(isinstance(cost, Zcdp) for cost in costs):
        return Zcdp(max(cost.rho for cost in costs if isinstance(cost, Zcdp)))
    budgets = _budgets(costs)
    return Budget(max(b.epsilon for b in budgets), max(b.delta for b in budgets))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The ε that ρ implies at this δ, by OpenDP; infinite where that overflows."""
    from opendp.mod import OpenDPException

    try:
        return float(_zcdp_converter().map(math.sqrt(2 * rho) * (1 + 1e-12)).epsilon(delta))
    except OpenDPException:
        return math.inf


def _basic(events: Sequence[Event], delta: float) -> float:
    """The sum of the pure costs, plus the joint cost of all Gaussians."""
    pure = math.fsum(e.times * e.epsilon for e in events if isinstance(e.law, DiscreteLaplace))
    gaussians = [e for e in events if isinstance(e.law, DiscreteGaussian)]
    if not gaussians:
        return pure
    return pure + _zcdp(gaussians, delta) if delta > 0 else math.inf


def _zcdp(events: Sequence[Event], delta: float) -> float:
    return zcdp_epsilon(math.fsum(event.times * event.rho for event in events), delta)


def _pld(events: Sequence[Event], delta: float) -> float:
    """Compose loss distributions, rounded pessimistically; wide Gaussians as continuous ones plus a slack."""
    resolution = _resolution(_zcdp(events, delta), sum(e.times for e in events))
    wide = [e for e in events if isinstance(e.law, DiscreteGaussian) and e.law.sigma >= SMOOTH_SIGMA]
    slack = math.fsum(
        e.times * e.cells * _BEND / e.law.sigma**2 for e in wide if isinstance(e.law, DiscreteGaussian)
    )
    tails = sum(e.times * e.cells for e in wide) * _TAIL
    if delta <= 2 * tails or any(e.rho > 32 for e in wide):
        return math.inf
    narrow = Counter(e for e in events if e not in wide)
    if any(e.rho > 1000 for e in narrow):
        return math.inf  # too little privacy to be worth a convolution
    if any(e.cells > 1 and isinstance(e.law, DiscreteGaussian) for e in narrow):
        return math.inf  # we have no such bound for several coarse cells that move together
    parts = [
        _distribution(e.law, e.shift, e.cells, resolution).self_compose(e.times * c)
        for e, c in narrow.items()
    ]
    if wide:
        parts.append(_continuous(math.sqrt(2 * math.fsum(e.times * e.rho for e in wide)), resolution))
    composed = functools.reduce(lambda a, b: a.compose(b), parts)
    rounding = _ROUNDING * sum(e.times for e in events)
    if rounding >= 0.5:
        return math.inf
    left = (delta - tails) * math.exp(-slack) * (1 - rounding)
    return float(composed.get_epsilon_for_delta(left)) + 2 * slack


def _resolution(epsilon: float, count: int) -> float:
    """The step of the loss distributions: `count` roundings must not matter, nor the memory overflow.

    A fixed base times a power of two, so that distributions are reused from one call to the next.
    """
    step = max(min(epsilon / (400 * count), 1e-4), epsilon * 1e-5)
    return 1e-4 * 2.0 ** math.floor(math.log2(step / 1e-4))


@functools.lru_cache(maxsize=512)
def _distribution(
    law: DiscreteLaplace | DiscreteGaussian, shift: float, cells: int, resolution: float
) -> Given:
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(law, DiscreteGaussian):
        return pld.from_discrete_gaussian_mechanism(
            law.sigma, math.ceil(shift), value_discretization_interval=resolution
        )
    if shift > _LARGE_SHIFT or cells > 1:  # any ε-DP release is dominated by randomised response
        pure = common.DifferentialPrivacyParameters(shift / law.scale)
        return pld.from_privacy_parameters(pure, value_discretization_interval=resolution)
    return pld.from_discrete_laplace_mechanism(
        1 / law.scale, math.ceil(shift), value_discretization_interval=resolution
    )


@functools.lru_cache(maxsize=512)
def _continuous(ratio: float, resolution: float) -> Given:
    from dp_accounting.pld import privacy_loss_distribution as pld

    return pld.from_gaussian_mechanism(1 / ratio, value_discretization_interval=resolution)


@functools.cache
def _zcdp_converter() -> Given:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=1.0))


def _budgets(costs: Iterable[Privacy]) -> list[Budget]:
    budgets = [cost for cost in costs if isinstance(cost, Budget)]
    if not budgets or len(budgets) < len(list(costs)):
        raise BadBudget("budgets", math.nan, "all in ε or all in ρ (convert ρ at a δ of your choice first)")
    return budgets
