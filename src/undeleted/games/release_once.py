"""The adapter: any release-once mechanism is an algorithm.

After `start` it keeps the release and nothing else, so deleting needs no access to data that are gone.
"""

from collections.abc import Sequence
from typing import Any

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import Mechanism
from undeleted.errors import BadColumns, NoRecords, NotStarted
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.games.algorithm import Point


class ReleaseOnce:
    """A mechanism, playing.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.mechanisms.exact_sum import ExactSum
    >>> from undeleted.foundations.schema import Number
    >>> age = Number("age", min=0, max=120)
    >>> curator = ReleaseOnce(ExactSum(age), Schema([age]))
    >>> curator.start([41, 17], seeded(7)).value, curator.delete([17]).value
    (array([58]), array([41]))
    """

    def __init__(self, mechanism: Mechanism[Any, Any], schema: Schema) -> None:
        if schema.id is not None:
            remedy = "Leave the id out of the schema; a curator is for people with several rows."
            raise BadColumns([schema.id], "in a game every point is a person.", remedy)
        self.mechanism, self.schema = mechanism, schema
        self._release: Any = None

    def start(self, data: Sequence[Point], coins: Coins) -> Any:
        if len(data) == 0:
            raise NoRecords(type(self.mechanism).__name__)
        self._release = self.mechanism.release(Arrays(self.schema.table(list(data))), coins)
        return self._release

    def delete(self, points: Sequence[Point]) -> Any:
        if self._release is None:
            raise NotStarted(type(self.mechanism).__name__)
        self._release = self.forget(self._release, points)
        return self._release

    def forget(self, release: Any, points: Sequence[Point]) -> Any:
        """The next release, from a release and the deleted points: what a simulator computes too."""
        return self.mechanism.forget(release, self.mechanism.contribution(self.schema.table(list(points))))
