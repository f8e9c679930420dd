"""The paper's search (Appendix A): sizes of the clusters from one event in which both centres moved.

    (n − m − d + p) c₂' = (n − m) c₂ + m c₁ − (m − p) c₁' − A        d points of sum A were deleted

gives p for every m; both must be integers, and so must all four sums.
"""

from collections.abc import Sequence

import numpy as np

from undeleted.foundations.arrays import Array
from undeleted.foundations.types import Given

WHOLE = 1e-8  # how far from an integer, relative to its size, a number may be to count as one


def event_search(
    old: tuple[float, float], new: tuple[float, float], n: int, deleted: Sequence[int] | Array
) -> list[tuple[int, int]]:
    """All (m, p): the left cluster had m points, and p of them moved to the right one.

    >>> event_search((1.0, 7.5), (0.0, 5.0), 6, [10])    # 0 1 2 | 5 6 9 10 … does not fit whole numbers
    []
    """
    (c1, c2), (d1, d2) = old, new
    m = np.arange(1, n, dtype=np.float64)
    gone = len(deleted)
    total = float(np.sum(deleted))
    if d2 == d1:
        return []
    p = (m * (c1 - d1 - c2 + d2) + n * (c2 - d2) + gone * d2 - total) / (d2 - d1)
    fits = _whole(p, 1 + np.abs(p)) & (p > -m) & (p < m)
    p = np.rint(p)
    for size, centre in ((m, c1), (n - m, c2), (m - p, d1), (n - m - gone + p, d2)):
        fits &= (size > 0) & _whole(size * centre, size * max(abs(centre), 1.0))
    return [(int(a), int(b)) for a, b in zip(m[fits], p[fits], strict=True)]


def _whole(x: Array, scale: Array) -> Given:
    return np.abs(x - np.rint(x)) <= np.maximum(WHOLE, WHOLE * np.minimum(scale, 1e4))
