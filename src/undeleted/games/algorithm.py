"""The interface of a curator, safe or not, that games and audits play against."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeAlias

from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output

Point: TypeAlias = Hashable
SideInfo: TypeAlias = Callable[[tuple[Point, ...]], Output]  # what the attacker knows about D beforehand


class Algorithm(Protocol):
    """A stateful curator; it deletes points by value, one copy for each point named."""

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        """Take the data and publish z0."""

    def delete(self, points: Sequence[Point]) -> Output:
        """Delete the points and publish the next output."""


def nothing(data: tuple[Point, ...]) -> None:
    """No side information."""
