"""Two means on the line, retrained after every deletion by our exact Lloyd or scikit-learn, or released once.

Values are integers.  Lloyd's sums are exact, and a centre is one correctly rounded division; scikit-learn
is used unchanged.  The release-once counterparts publish a noisy histogram, from which centres are computed,
or boxes that grow where people are, as the estimator `KMeans` does.
"""

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.grown_boxes import GrownBoxes
from undeleted.errors import MissingExtra, RecordNotFound
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import DiscreteLaplace, Seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

BINS = 256
TOP = 10**6  # values are integers below this


def lloyd(ordered: Array, start: tuple[float, float], weights: Array | None = None) -> tuple[float, float]:
    """Centres of two clusters of sorted values, from two initial centres to a fixed point.

    >>> lloyd(np.array([0, 1, 2, 10, 12]), (0.0, 1.0))
    (1.0, 11.0)
    """
    weights = np.ones(ordered.size, dtype=np.int64) if weights is None else weights
    count = np.concatenate([[0], np.cumsum(weights)])
    total = np.concatenate([[0], np.cumsum(weights * ordered)])
    centres, cut = start, -1
    while True:
        at = int(np.searchsorted(ordered, (centres[0] + centres[1]) / 2, side="right"))
        if at == cut or count[at] == 0 or count[at] == count[-1]:
            return centres
        cut = at
        left, right = count[at], count[-1] - count[at]
        centres = (float(int(total[at]) / int(left)), float(int(total[-1] - total[at]) / int(right)))


def sklearn_centres(ordered: Array, seed: int) -> tuple[float, float]:
    """scikit-learn's KMeans, unchanged."""
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        raise _needs_sklearn() from None
    fitted = KMeans(n_clusters=2, random_state=seed).fit(ordered[:, None].astype(np.float64))
    low, high = sorted(float(c) for c in fitted.cluster_centers_[:, 0])
    return low, high


def _needs_sklearn() -> MissingExtra:
    return MissingExtra("this curator", "scikit-learn", "models")


class GrownTwoMeans:
    """The clusters of grown boxes, with ε = 1: what the estimator `KMeans` publishes for these values."""

    def __init__(self, values: Array, coins: Seeded) -> None:
        value = Number("value", min=0, max=TOP - 1)
        self._people = Schema([value])
        self._mechanism = GrownBoxes((value,), Budget(1.0), clusters=2, expected_rows=int(values.size))
        self._release = self._mechanism.release(Arrays(self._people.table(values)), coins)

    def forget(self, value: int) -> None:
        gone = self._mechanism.contribution(self._people.table([value]))
        self._release = self._mechanism.forget(self._release, gone)

    def centres(self) -> tuple[float, float]:
        try:
            from undeleted.curate.releases.clusters import clusters

            low, high = clusters(self._mechanism, self._release, 2).centres[:, 0]
        except ImportError:
            raise _needs_sklearn() from None
        return float(low), float(high)


class TwoMeans:
    """The curator: all values, and the centres after every deletion.  `own` are the attacker's values."""

    def __init__(self, values: Array, own: Array, fit: str, coins: Seeded, *, seed: int = 0) -> None:
        self.n, self.own = int(values.size), np.sort(own)
        self.deletions = 0
        self._ordered, self._fit, self._seed, self._coins = np.sort(values), fit, seed, coins
        if fit == "release-once":
            self._edges = np.linspace(0, TOP, BINS + 1)  # public
            exact = np.bincount(self._bin(self._ordered), minlength=BINS)
            self._noisy = coins.noisy(DiscreteLaplace(1.0), exact)
        if fit == "undeleted":
            self._grown = GrownTwoMeans(self._ordered, coins)

    def look(self) -> tuple[float, float]:
        if self._fit == "lloyd":
            return lloyd(self._ordered, self._two_of_them())
        if self._fit == "sklearn":
            return sklearn_centres(self._ordered, self._seed)
        if self._fit == "undeleted":
            return self._grown.centres()
        middles = (self._edges[:-1] + self._edges[1:]) / 2
        return lloyd(middles.astype(np.int64), (middles[0], middles[-1]), np.maximum(self._noisy, 0))

    def _two_of_them(self) -> tuple[float, float]:
        """The initial centres: two different values, drawn again each time (Forgy's method)."""
        while True:
            first, second = sorted(float(self._ordered[i]) for i in self._coins.choose(self.n, 2))
            if first < second:
                return first, second

    def delete(self, value: int) -> None:
        at = int(np.searchsorted(self._ordered, value))
        if at >= self._ordered.size or self._ordered[at] != value:
            raise RecordNotFound(1)
        self._ordered = np.delete(self._ordered, at)
        self.n -= 1
        self.deletions += 1
        if self._fit == "release-once":
            self._noisy[self._bin(np.array([value]))[0]] -= 1
        if self._fit == "undeleted":
            self._grown.forget(value)

    def _bin(self, values: Array) -> Array:
        return np.clip(np.searchsorted(self._edges, values, side="right") - 1, 0, BINS - 1)
