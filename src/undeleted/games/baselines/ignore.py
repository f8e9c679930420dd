"""Publish once and ignore every deletion: the folklore use of differential privacy (M8).

    start    z = M(D)
    delete   z

Undeleted-safe, as nothing ever changes; the answer drifts away from those who remain, by group privacy
alone does it hide the leavers.
"""

from collections.abc import Sequence
from typing import Any

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import Mechanism
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.games.baselines._points import Point, Points, nonempty, started, without


class Ignore:
    """The first release of a mechanism, for ever.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.mechanisms.exact_sum import ExactSum
    >>> from undeleted.foundations.schema import Number
    >>> age = Number("age", min=0, max=120)
    >>> curator = Ignore(ExactSum(age), Schema([age]))
    >>> curator.start([41, 17], seeded(7)) == curator.delete([17])
    True
    """

    def __init__(self, mechanism: Mechanism[Any, Any], schema: Schema) -> None:
        self.mechanism, self.schema = mechanism, schema
        self._left: Points | None = None
        self._first: Any = None

    def start(self, data: Sequence[Point], coins: Coins) -> Any:
        self._left = nonempty(data, self)
        self._first = self.mechanism.release(Arrays(self.schema.table(self._left)), coins)
        return self._first

    def delete(self, points: Sequence[Point]) -> Any:
        self._left = without(started(self._left, self), points)
        return self._first
