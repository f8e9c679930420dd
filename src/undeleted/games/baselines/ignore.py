"""Publish once and ignore every deletion: the folklore use of differential privacy (M8).

    start    z = M(D)
    delete   z

Undeleted-safe, because nothing ever changes.  But the answer drifts away from those who remain, and only
group privacy hides the leavers.
"""

from collections.abc import Sequence

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import Mechanism
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Output
from undeleted.games.baselines._points import Point, Points, nonempty, started, without


class Ignore:
    """A curator that publishes the first release of a mechanism and never changes it.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.mechanisms.exact_sum import ExactSum
    >>> from undeleted.foundations.schema import Number
    >>> age = Number("age", min=0, max=120)
    >>> curator = Ignore(ExactSum(age), Schema([age]))
    >>> curator.start([41, 17], seeded(7)) == curator.delete([17])
    True
    """

    def __init__(self, mechanism: Mechanism[Output, Output], schema: Schema) -> None:
        self.mechanism, self.schema = mechanism, schema
        self._left: Points | None = None
        self._first: Output = None

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        self._left = nonempty(data, self)
        self._first = self.mechanism.release(Arrays(self.schema.table(self._left)), coins)
        return self._first

    def delete(self, points: Sequence[Point]) -> Output:
        self._left = without(started(self._left, self), points)
        return self._first
