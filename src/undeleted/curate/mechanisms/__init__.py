"""Release once; forget from the release and the deleted record alone.

`forget` has no parameter through which data could reach it: the signature is the security argument.
Whoever holds the release and the deleted records can compute the next release alone, so a deletion says
nothing new about the records that stay.  `forget` is its own simulator.
"""

from typing import Any, Protocol, TypeVar

from undeleted.curate.engines import Totals
from undeleted.foundations import registry
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Table

R = TypeVar("R")
C = TypeVar("C")


class Mechanism(Protocol[R, C]):
    """Safe by construction."""

    def release(self, totals: Totals, coins: Coins) -> R:
        """The only touch: asks `totals` for sums of statistics."""

    def contribution(self, deleted: Table) -> C:
        """What the deleted records, and they alone, added."""

    def forget(self, release: R, contribution: C) -> R:
        """The next release, from the last one and the deleted; it cannot touch the data."""


def __getattr__(name: str) -> Any:
    return registry.lookup(__name__, name)


def __dir__() -> list[str]:
    return registry.directory(__name__)
