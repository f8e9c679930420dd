"""The adapter that makes any release-once mechanism an algorithm.

After `start` it keeps only the release; a deletion does not need the data, which are no longer there.
"""

from collections.abc import Sequence

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import Mechanism
from undeleted.errors import BadColumns, NoRecords, NotStarted
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Output
from undeleted.games.algorithm import Point


class ReleaseOnce:
    """A mechanism as an algorithm in a game.

    >>> from undeleted.foundations.coins import seeded
    >>> from undeleted.curate.mechanisms.exact_sum import ExactSum
    >>> from undeleted.foundations.schema import Number
    >>> age = Number("age", min=0, max=120)
    >>> curator = ReleaseOnce(ExactSum(age), Schema([age]))
    >>> curator.start([41, 17], seeded(7)).value, curator.delete([17]).value
    (array([58]), array([41]))
    """

    def __init__(self, mechanism: Mechanism[Output, Output], schema: Schema) -> None:
        if schema.id is not None:
            remedy = "Leave the id out of the schema; use a curator for people with several rows."
            raise BadColumns([schema.id], "in a game every point is a person.", remedy)
        self.mechanism, self.schema = mechanism, schema
        self._release: Output = None

    def start(self, data: Sequence[Point], coins: Coins) -> Output:
        if len(data) == 0:
            raise NoRecords(type(self.mechanism).__name__)
        self._release = self.mechanism.release(Arrays(self.schema.table(list(data))), coins)
        return self._release

    def delete(self, points: Sequence[Point]) -> Output:
        if self._release is None:
            raise NotStarted(type(self.mechanism).__name__)
        self._release = self.forget(self._release, points)
        return self._release

    def forget(self, release: Output, points: Sequence[Point]) -> Output:
        """The next release, from a release and the deleted points; a simulator computes it the same way."""
        return self.mechanism.forget(release, self.mechanism.contribution(self.schema.table(list(points))))
