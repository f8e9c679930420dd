"""The only source of noise: one interface, three kinds.

    secure       OpenDP's exact samplers and the operating system; the only kind a curator may publish with
    seeded       a seeded generator, for lab runs and tests
    enumerated   visits every outcome with its exact probability, for the exact verifier

Coins are always passed as an argument, never global.  `noisy(law, exact)` adds noise to exact integers; a
law that clamps does so to the sum, never to the noise.
"""

from typing import Protocol

from undeleted.errors import CoinsRefused
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins.enumerated import Enumerated, exact_law, outcomes
from undeleted.foundations.coins.laws import (
    ClampedGeometric,
    DiscreteGaussian,
    DiscreteLaplace,
    FiniteLaw,
    Law,
    NoNoise,
    TruncatedGeometric,
)
from undeleted.foundations.coins.secure import Secure, secure
from undeleted.foundations.coins.seeded import Seeded, seeded

__all__ = [
    "ClampedGeometric",
    "Coins",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Enumerated",
    "FiniteLaw",
    "Law",
    "NoNoise",
    "Secure",
    "Seeded",
    "TruncatedGeometric",
    "exact_law",
    "outcomes",
    "require_secure",
    "secure",
    "seeded",
]


class Coins(Protocol):
    """The source of every random choice of a mechanism, a baseline or an attacker."""

    kind: str

    def bits(self, size: int) -> IntArray:
        """Fair bits."""

    def integers(self, low: int, high: int, size: int) -> IntArray:
        """Uniform integers in low, …, high − 1."""

    def choose(self, population: int, count: int) -> IntArray:
        """An ordered draw of `count` of the indices 0, …, population − 1, without replacement."""

    def noisy(self, law: Law, exact: IntArray) -> IntArray:
        """The exact integers with independent noise of the law added to each."""


def require_secure(coins: Coins, use: str) -> None:
    """Refuse coins that somebody could reproduce."""
    if not isinstance(coins, Secure):
        raise CoinsRefused(coins.kind, use)
