"""The paper's tasks as curators: retrained after every deletion, with differential privacy each time.

`frozen` makes the release-once counterpart: it repeats its first release, whatever is deleted afterwards.
"""

from typing import Annotated, Literal, TypeAlias

import numpy as np

from undeleted.errors import RuleBroken
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import Coins, Law
from undeleted.foundations.intervals import standard_deviation
from undeleted.games.worlds import AT_MOST_K

Against: TypeAlias = Annotated[
    Literal["retrain", "release-once"], "a curator that retrains, or one that releases once"
]


class CountMod:
    """Counts the i with a count of 2 modulo 3; the attacker owns 3n copies of every i, never materialised."""

    def __init__(self, members: Array, law: Law, coins: Coins, *, frozen: bool) -> None:
        self.n = members.size
        self.controlled = 3 * self.n * self.n
        self.deletions = self.releases = 0
        self._left = np.full(self.n, 3 * self.n, dtype=np.int64)
        self._mod = (members % 3).astype(np.uint8)
        self._law, self._coins, self._frozen = law, coins, frozen
        self._first: int | None = None

    def delete(self, chosen: Array, copies: int) -> None:
        """Delete this many copies of every chosen i."""
        left = self._left - copies * chosen
        if left.min() < 0:
            raise RuleBroken(AT_MOST_K, "a deletion of more copies than are controlled was requested")
        self._left = left
        self.deletions += copies * int(chosen.sum())
        self._mod = (self._mod + (3 - copies % 3) * chosen) % 3

    def look(self) -> int:
        self.releases += 1
        if self._frozen and self._first is not None:
            return self._first
        value = int(self._coins.noisy(self._law, np.array([np.count_nonzero(self._mod == 2)]))[0])
        self._first = value if self._first is None else self._first
        return value


class BatchQueries:
    """Answers a block of t queries; a noisy count of the stars selects the block.

    Valid blocks are those from ⌊(Star − k)/3k⌉ to ⌊(Star + k)/3k⌉, clamped to 1, …, n/t (round to nearest:
    the interval of the appendix can be empty).  `answered` records the block that was answered.
    """

    def __init__(
        self, exact: Array, k: int, t: int, laws: tuple[Law, Law], coins: Coins, *, frozen: bool
    ) -> None:
        self.n, self.k, self.t, self.blocks = exact.size, k, t, exact.size // t
        self.stars = self.controlled = 3 * k * self.blocks
        self.deletions = self.releases = self.missed = 0
        self.answered = 0
        self._exact, self._laws, self._coins, self._frozen = exact, laws, coins, frozen
        self._first: Array | None = None
        self.spread = standard_deviation(laws[1])  # the noise is public

    def delete(self, stars: int) -> None:
        if stars > self.stars:
            move = f"a deletion of {stars} stars was requested ({self.stars} are left)"
            raise RuleBroken(AT_MOST_K, move)
        self.stars -= stars
        self.deletions += stars

    def valid(self) -> tuple[int, int]:
        """The first and the last valid block."""
        low, high = (
            round_half_up(self.stars - self.k, 3 * self.k),
            round_half_up(self.stars + self.k, 3 * self.k),
        )
        return min(max(low, 1), self.blocks), min(max(high, 1), self.blocks)

    def look(self) -> Array:
        self.releases += 1
        if self._frozen and self._first is not None:
            return self._first
        noisy = int(self._coins.noisy(self._laws[0], np.array([self.stars]))[0])
        block = min(max(round_half_up(noisy, 3 * self.k), 1), self.blocks)
        low, high = self.valid()
        self.missed += not low <= block <= high
        self.answered = block
        exact = self._exact[(block - 1) * self.t : block * self.t]
        whole = np.floor(exact).astype(np.int64)
        answers = self._coins.noisy(self._laws[1], whole) + (exact - whole)
        self._first = answers if self._first is None else self._first
        return answers


def round_half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
