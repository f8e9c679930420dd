"""What goes with what: items that the same people have.

published    how many have an item, and how many have two together, for the pairs that noise lets be seen
forgotten    subtract a user's items and pairs: a user leaves whole
answered     similarities of items; the best that go with a basket
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from undeleted.curate.mechanisms.noisy_pairs import NoisyPairs, Pairs
from undeleted.curate.releases.units import spread_of
from undeleted.curate.statistics import Contribution, ItemPairs, Statistic
from undeleted.errors import BadBounds, BadQuestion, UndeclaredValue
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.intervals import check_confidence, noise_interval
from undeleted.foundations.schema import Boolean
from undeleted.models._base import ForgettingEstimator, told, whole
from undeleted.models._grid import Labels

RULES = ("error", "drop")


@dataclass(frozen=True, eq=False)
class Baskets:
    """Who has what, ready to be counted: people in order, and their items in order."""

    users: int
    people: IntArray
    items: IntArray
    rows_per_person: int = 1

    def total(self, statistic: Statistic) -> IntArray:
        assert isinstance(statistic, ItemPairs)
        return np.asarray(statistic.total_of(self.people, self.items))


class ItemItemRecommender(ForgettingEstimator):
    """Item-to-item recommendations that forget.

    Parameters
    ----------
    items : list
        The public catalogue.  What is not in it is refused.
    budget : float, Budget or Zcdp
        What the release may cost every user in the data; a number is a pure ε.
    items_per_user : int
        The most items of one user that count; noise grows with its square, or with a δ in proportion.
    excess : "error" or "drop"
        What happens to a user with more: refused, or only the first so many in the catalogue's order count.
    random_state : optional
        For laboratories: noise that can be repeated protects nobody.

    Users are rows: a matrix, dense or sparse, whose columns are the catalogue, or a list of baskets.

    Examples
    --------
    >>> baskets = [["bread", "butter"]] * 400 + [["tea", "milk"]] * 300 + [["tea"]] * 50
    >>> model = ItemItemRecommender(["bread", "butter", "milk", "tea"], budget=20.0, items_per_user=2)
    >>> model.fit(baskets).recommend([["butter"], ["tea"]], 1)
    [['bread'], ['milk']]
    >>> bool(model.forget(baskets[:100]).similarity_[0, 1] > 0.5)
    True
    """

    _mechanism: NoisyPairs
    _state: Pairs

    def __init__(
        self,
        items: Any = None,
        *,
        budget: Any = 1.0,
        items_per_user: int = 8,
        excess: str = "error",
        random_state: Any = None,
    ) -> None:
        self.items = items
        self.budget = budget
        self.items_per_user = items_per_user
        self.excess = excess
        self.random_state = random_state

    similarity_ = told("similarity_", "How alike items are, 0 to 1: a sparse matrix.")

    @property
    def count_(self) -> float:
        """About how many items all users have together; it may be off by the noise, and below 0."""
        self._require_fitted()
        return self._count()

    item_counts_ = told("item_counts_", "About how many users have each item; never below 0.")

    @whole
    def fit(self, X: Any, y: Any = None) -> "ItemItemRecommender":
        """Publish, once."""
        self._labels, self.items_ = self._catalogue()
        if self.excess not in RULES:
            raise ValueError(f'excess must be "error" or "drop", got {self.excess!r}.')
        columns = tuple(Boolean(f"item{i}") for i in range(len(self.items_)))
        try:
            mechanism = NoisyPairs(columns, self._budget(), at_most=self._most())
        except BadQuestion as error:
            raise ValueError(str(error).replace("at_most", "items_per_user")) from None
        self._mechanism = mechanism
        baskets = self._baskets(X)
        if not baskets.users:
            raise ValueError("Found array with 0 sample(s): a recommender needs at least one user.")
        self.n_features_in_ = len(self.items_)
        self._release(mechanism, baskets)
        return self

    def _catalogue(self) -> tuple[Labels, Any]:
        """The declared items: their codes, and their names in the order that was given."""
        if self.items is None:
            raise BadBounds("items", "there is no catalogue.", 'Give such as items=["bread", "milk"].')
        plain = not isinstance(self.items, str | bytes | dict | set | frozenset)
        names = np.asarray(self.items) if plain else np.empty(0)
        if names.ndim != 1 or names.size < 2 or len(set(names.tolist())) < names.size:
            problem = (
                "they must be a list of at least two different items, in the order of a matrix's columns."
            )
            raise BadBounds("items", problem, 'Give such as ["bread", "milk"].')
        return Labels(names, {value: i for i, value in enumerate(names.tolist())}), names

    def _most(self) -> int:
        """The cap; never more than there are items."""
        most = self.items_per_user
        if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 2:
            raise ValueError(f"items_per_user must be a whole number of at least 2, got {most!r}.")
        return min(int(most), len(self.items_))

    def _baskets(self, X: Any, capped: bool = True) -> Baskets:
        """Rows of users; every item once, in the catalogue's order."""
        users, people, items = self._matrix_of(X) if _is_matrix(X) else self._listed(X)
        found = np.unique(people * len(self.items_) + items)
        people, items = found // len(self.items_), found % len(self.items_)
        sizes = np.bincount(people, minlength=users)
        most = self._mechanism.statistic.cap
        over = int(np.sum(sizes > most)) if capped else 0
        if over and self.excess == "error":
            who = "1 user has" if over == 1 else f"{over} users have"
            raise ValueError(
                f"{who} more than {most} items. Raise items_per_user, with which noise "
                'grows, or say excess="drop".'
            )
        return Baskets(users, people, items)

    def _matrix_of(self, X: Any) -> tuple[int, IntArray, IntArray]:
        X = self._in_order(X) if hasattr(X, "columns") else X
        matrix = sparse.csr_array(X if sparse.issparse(X) else _numbers(X))
        if matrix.ndim != 2:
            raise ValueError("X must be a matrix: a row a user, a column an item.")
        if matrix.shape[1] != len(self.items_):
            problem = f"X has {matrix.shape[1]} columns, but {len(self.items_)} items were declared."
            raise ValueError(problem)
        if matrix.dtype.kind not in "biu" and not np.isfinite(matrix.data).all():
            raise ValueError("Input X contains NaN or infinity.")
        people, items = matrix.nonzero()
        return int(matrix.shape[0]), people.astype(np.int64), items.astype(np.int64)

    def _in_order(self, frame: Any) -> Any:
        """A frame's columns in the catalogue's order; they go by their names."""
        places = [self._labels._place(name) for name in frame.columns]
        unknown = places.count(-1)
        if unknown:
            raise UndeclaredValue("name", unknown, "Name the columns as the items, or give a plain array.")
        if sorted(places) != list(range(len(self.items_))):
            raise ValueError(f"X must have a column for each of the {len(self.items_)} items, each once.")
        return np.asarray(frame)[:, np.argsort(places)]

    def _listed(self, X: Any) -> tuple[int, IntArray, IntArray]:
        try:
            baskets = [list(basket) if not isinstance(basket, str | bytes) else None for basket in X]
        except TypeError:
            baskets = [None]
        if any(basket is None for basket in baskets):
            raise ValueError("X must be a matrix with a column an item, or a list of lists of items.")
        wide = bool(baskets) and all(len(b or ()) == len(self.items_) > 2 for b in baskets)
        if wide and all(value in (0, 1) for b in baskets for value in b or ()):
            raise ValueError("these look like rows of a matrix: give an array instead of lists.")
        flat = [self._labels._place(item) for basket in baskets for item in basket or ()]
        unknown = flat.count(-1)
        if unknown:
            raise UndeclaredValue("item", unknown, "Declare it when you fit, or correct the baskets.")
        people = np.repeat(np.arange(len(baskets)), [len(basket or ()) for basket in baskets])
        return len(baskets), people.astype(np.int64), np.array(flat, dtype=np.int64)

    def _codes(self, X: Any, y: Any) -> Any:
        return self._baskets(X)

    def _contribution(self, baskets: Any) -> Contribution:
        return self._mechanism.statistic.of_baskets(baskets.people, baskets.items)

    def _kept_of(self, release: Pairs) -> Pairs:
        """Pairs may be dropped, so the next release is another one."""
        return release

    def _published(self) -> Pairs:
        return self._state

    def _count(self) -> float:
        """About how many items all users have together."""
        return float(self._state.items.sum())

    def _noise_of_count(self) -> float:
        return float(np.sqrt(len(self.items_)) * spread_of(self._mechanism.laws[0]))

    def _answers(self, release: Any) -> dict[str, Any]:
        return {
            "similarity_": self._mechanism.similarities(release),
            "item_counts_": np.maximum(release.items, 0).astype(float),
        }

    def intervals(self, confidence: float = 0.95) -> dict[str, Any]:
        """How many users have each item, at least and at most, as far as noise lets it be known."""
        check_confidence(confidence)
        self._require_fitted()
        low, high = noise_interval(self._mechanism.laws[0], confidence)
        noisy = self._state.items.astype(float)
        return {"item_counts_": (np.maximum(noisy - high, 0.0), np.maximum(noisy - low, 0.0))}

    def score_items(self, X: Any) -> FloatArray:
        """For every user and item how well it goes with the basket; the basket's own items count as −∞.

        Baskets that are only asked about may be of any size.
        """
        alike = self._told()["similarity_"]
        baskets = self._baskets(X, capped=False)
        own = sparse.csr_array(
            (np.ones(baskets.items.size), (baskets.people, baskets.items)),
            shape=(baskets.users, len(self.items_)),
        )
        scores = np.asarray((own @ alike).todense(), dtype=float)
        scores[baskets.people, baskets.items] = -np.inf
        return scores

    def recommend(self, X: Any, n: int = 10) -> list[list[Any]]:
        """The best items for every user, the best first; only such as go with the basket at all."""
        _check_number(n)
        self._require_fitted()
        names = self.items_.tolist()
        found = []
        for scores in self.score_items(X):
            best = np.argsort(-scores, kind="stable")[:n]
            found.append([names[i] for i in best if scores[i] > 0])
        return found

    def similar(self, item: Any, n: int = 10) -> list[tuple[Any, float]]:
        """The items that are most alike, with how alike they are."""
        alike = self._told()["similarity_"]
        at = self._labels._place(item)
        if at < 0:
            raise ValueError("this item is not in the catalogue.")
        _check_number(n)
        row = np.asarray(alike[[at]].todense()).ravel()
        names = self.items_.tolist()
        return [(names[i], float(row[i])) for i in np.argsort(-row, kind="stable")[:n] if row[i] > 0]


def _check_number(n: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number above 0, got {n!r}.")


def _is_matrix(X: Any) -> bool:
    return sparse.issparse(X) or hasattr(X, "dtype") or hasattr(X, "columns")


def _numbers(X: Any) -> Any:
    matrix = np.asarray(X)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError("X must be a matrix of numbers with a column an item, or a list of lists of items.")
    return matrix
