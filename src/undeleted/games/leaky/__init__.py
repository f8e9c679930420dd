"""Safe only with stated leakage: (k, g)-undeleted-safe (D4).

These publish answers from something that stays hidden.  Their updates cannot be computed from the last
answer and the deleted records; they can be from g, a differentially private leakage, and the deleted
records.  The type says so: `release` returns the first answer *and* the leakage, and `forget` updates the
leakage.  A simulator for them must be given g, drawn with the algorithm's own coins.
"""

from typing import Any, Protocol, TypeVar

from undeleted.curate.engines import Totals
from undeleted.foundations import registry
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Table

Z = TypeVar("Z", covariant=True)
G = TypeVar("G")
C = TypeVar("C")


class LeakyMechanism(Protocol[Z, G, C]):
    """Safe for a simulator that is told the leakage, and not without."""

    def release(self, totals: Totals, coins: Coins) -> tuple[Z, G]:
        """The first answer, and the leakage g that later ones need."""

    def contribution(self, deleted: Table) -> C:
        """What the deleted records, and they alone, added."""

    def forget(self, leakage: G, contribution: C) -> G:
        """The leakage without the deleted; it cannot touch the data."""

    def answer(self, leakage: G) -> Z:
        """What is published after a deletion."""


def __getattr__(name: str) -> Any:
    return registry.lookup(__name__, name)


def __dir__() -> list[str]:
    return registry.directory(__name__)
