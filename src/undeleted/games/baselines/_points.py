"""The data of a game: a tuple of points, deleted by value, one copy at a time."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeAlias

from undeleted.errors import NoRecords, NotStarted, RecordNotFound

Point: TypeAlias = Hashable
Points: TypeAlias = tuple[Point, ...]


def started(points: Points | None, what: object) -> Points:
    """The points that are left, or an error if the algorithm has none yet."""
    if points is None:
        raise NotStarted(type(what).__name__)
    return points


def nonempty(data: Sequence[Point], what: object) -> Points:
    """The initial data, checked not to be empty."""
    if len(data) == 0:
        raise NoRecords(type(what).__name__)
    return tuple(data)


def without(points: Points, deleted: Sequence[Point]) -> Points:
    """The points without one copy of each deleted one, in their order; an error changes nothing."""
    gone = Counter(deleted)
    lacking = gone - Counter(points)
    if lacking:
        raise RecordNotFound(lacking.total())
    left = []
    for point in points:
        if gone[point]:
            gone[point] -= 1
        else:
            left.append(point)
    return tuple(left)
