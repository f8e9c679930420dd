"""Any curator, safe or not: what games and audits play against."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeAlias

from undeleted.foundations.coins import Coins

Point: TypeAlias = Hashable
SideInfo: TypeAlias = Callable[[tuple[Point, ...]], Any]  # what the attacker knows of D beforehand


class Algorithm(Protocol):
    """Stateful; deletes points by value, one copy for each point named."""

    def start(self, data: Sequence[Point], coins: Coins) -> Any:
        """Take the data and publish z0."""

    def delete(self, points: Sequence[Point]) -> Any:
        """Delete the points and publish the next output."""


def nothing(data: tuple[Point, ...]) -> None:
    """No side information."""
