"""Mechanisms that are safe only with a stated leakage: (k, g)-undeleted-safe (D4).

They publish answers computed from a hidden state.  The next answer cannot be computed from the last answer
and the deleted records; it can be computed from the deleted records and g, a differentially private leakage.
The types show this: `release` returns the first answer *and* the leakage, and `forget` updates the leakage.
A simulator for them must be given g, drawn with the algorithm's own coins.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar

from undeleted.curate.engines import Totals
from undeleted.foundations import registry
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Table

if TYPE_CHECKING:
    from undeleted.games.leaky.exact_then_ranges import ExactThenRanges
    from undeleted.games.leaky.hidden_range_median import HiddenRangeMedian

__all__ = [
    "ExactThenRanges",
    "HiddenRangeMedian",
    "LeakyMechanism",
]

Z = TypeVar("Z", covariant=True)
G = TypeVar("G")
C = TypeVar("C")


class LeakyMechanism(Protocol[Z, G, C]):
    """A mechanism that is safe if the simulator receives the leakage, and not otherwise."""

    def release(self, totals: Totals, coins: Coins) -> tuple[Z, G]:
        """The first answer, and the leakage g that later answers need."""

    def contribution(self, deleted: Table) -> C:
        """The contribution of the deleted records, and of no others."""

    def forget(self, leakage: G, contribution: C) -> G:
        """The leakage without the deleted records; `forget` cannot read the data."""

    def answer(self, leakage: G) -> Z:
        """The answer that is published after a deletion."""


if not TYPE_CHECKING:
    __getattr__, __dir__ = registry.on_demand(__name__, __all__)
