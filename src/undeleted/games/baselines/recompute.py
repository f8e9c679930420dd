"""Differential privacy recomputed after every deletion, with fresh noise (M11).

    start    z = M(D; fresh coins)
    delete   D ← D ∖ {y};  z = M(D; fresh coins)

With a fixed ε each time, k deletions cost the people who stay (k + 1)·ε, and averaging the releases
gradually removes the noise.  With a budget split over a planned number of releases the cost stays within the
budget, and the error grows with that number: `split_over` calibrates this.
"""

from collections.abc import Callable, Sequence

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.releases.linear import Linear
from undeleted.errors import BadBudget, BudgetSpent
from undeleted.foundations.coins import Coins
from undeleted.foundations.privacy import Privacy, calibrate
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Output
from undeleted.games.baselines._points import Point, Points, nonempty, started, without


class Recompute:
    """A mechanism released again after every deletion; at most `releases` times, if that is given.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.mechanisms.noisy_count import NoisyCount
    >>> from undeleted.foundations.privacy import Budget
    >>> from undeleted.foundations.schema import Number
    >>> people = Schema([Number("age", min=0, max=120)])
    >>> curator = Recompute(NoisyCount(Budget(1.0)), people)
    >>> z0, z1 = curator.start([41, 17], seeded(7)), curator.delete([17])
    >>> (z1.value - z0.value).shape
    (1,)
    """

    def __init__(self, mechanism: Linear, schema: Schema, *, releases: int | None = None) -> None:
        self.mechanism, self.schema, self.releases = mechanism, schema, releases
        self._left: Points | None = None
        self._coins: Coins | None = None
        self._made = 0

    @classmethod
    def split_over(
        cls, releases: int, make: Callable[[Output], Linear], budget: Privacy, schema: Schema
    ) -> "Recompute":
        """Share a budget among a planned number of releases; `make(noise)` builds the mechanism."""
        if releases < 1:
            raise BadBudget("releases", releases, "at least 1")
        whole = make(budget)
        [noise] = calibrate([whole.statistic.sensitivity], budget, rows=whole.rows_per_person, times=releases)
        return cls(make(noise), schema, releases=releases)

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        self._left, self._coins, self._made = nonempty(data, self), coins, 0
        return self._release(self._left)

    def delete(self, points: Sequence[Point]) -> Output:
        left = without(started(self._left, self), points)
        released = self._release(left)
        self._left = left
        return released

    def _release(self, left: Points) -> Output:
        if self.releases is not None and self._made >= self.releases:
            raise BudgetSpent(f"release {self._made + 1}", 1 / self.releases, 0.0, 1.0)
        assert self._coins is not None
        released = self.mechanism.release(Arrays(self.schema.table(left)), self._coins)
        self._made += 1
        return released
