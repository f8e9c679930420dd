"""Item-to-item recommendations: items that the same people have.

published    how many users have each item, and each pair of items whose noisy count exceeds a threshold
forgotten    subtract a user's items and pairs: a user leaves with all items
answered     similarities of items; the items that go best with a basket
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from undeleted.curate.mechanisms.noisy_pairs import NoisyPairs, Pairs
from undeleted.curate.releases.units import spread_of
from undeleted.curate.statistics import Contribution, ItemPairs, Statistic
from undeleted.errors import BadBounds, Misuse, UndeclaredValue
from undeleted.foundations.arrays import Array, FloatArray, IntArray
from undeleted.foundations.intervals import check_confidence, noise_interval
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Boolean
from undeleted.foundations.types import Given
from undeleted.models._base import ForgettingEstimator, fitted_attribute, restore_on_failure
from undeleted.models._grid import Labels
from undeleted.models._types import (
    Answers,
    Intervals,
    Labelled,
    Matrix,
    RandomState,
    RowLabels,
)

RULES = ("error", "drop")
Item: TypeAlias = str | int | float  # a name of the catalogue


@dataclass(frozen=True, eq=False)
class Baskets:
    """The items of each user, ready to be counted: users in order, and their items in order."""

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
        The public catalogue.  Items that are not in it are refused.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every user in the data; a number is a pure ε.
    items_per_user : int
        The most items of one user that count; noise grows with its square, or with a δ linearly.
    excess : "error" or "drop"
        What happens to a user with more: an error, or only the first ones in the catalogue's order count.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

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
        items: Labelled = None,
        *,
        budget: Noise = 1.0,
        items_per_user: int = 8,
        excess: str = "error",
        random_state: RandomState = None,
    ) -> None:
        self.items = items
        self.budget = budget
        self.items_per_user = items_per_user
        self.excess = excess
        self.random_state = random_state

    similarity_ = fitted_attribute("similarity_", "Similarities of items, 0 to 1: a sparse matrix.")

    @property
    def count_(self) -> float:
        """The noisy total of all users' items; it may be below 0."""
        self._require_fitted()
        return self._count()

    item_counts_ = fitted_attribute(
        "item_counts_", "The noisy count of users who have each item; never below 0."
    )

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels | None = None) -> "ItemItemRecommender":
        """Publish a noisy release of the data, once."""
        self._labels, self.items_ = self._catalogue()
        if self.excess not in RULES:
            raise ValueError(f'excess must be "error" or "drop", got {self.excess!r}.')
        columns = tuple(Boolean(f"item{i}") for i in range(len(self.items_)))
        try:
            mechanism = NoisyPairs(columns, self._budget(), at_most=self._most())
        except Misuse as error:
            raise ValueError(str(error).replace("at_most", "items_per_user")) from None
        self._mechanism = mechanism
        baskets = self._baskets(X)
        if not baskets.users:
            raise ValueError("Found array with 0 sample(s): a recommender needs at least one user.")
        self.n_features_in_ = len(self.items_)
        self._release(mechanism, baskets)
        return self

    def _catalogue(self) -> tuple[Labels, Array]:
        """The declared items: their codes, and their names in the order that was given."""
        if self.items is None:
            raise BadBounds("items", "there is no catalogue.", 'For example: items=["bread", "milk"].')
        plain = not isinstance(self.items, str | bytes | dict | set | frozenset)
        names = np.asarray(self.items) if plain else np.empty(0)
        if names.ndim != 1 or names.size < 2 or len(set(names.tolist())) < names.size:
            problem = (
                "they must be a list of at least two different items, in the order of a matrix's columns."
            )
            raise BadBounds("items", problem, 'For example: ["bread", "milk"].')
        return Labels(names, {value: i for i, value in enumerate(names.tolist())}), names

    def _most(self) -> int:
        """The cap; never more than there are items."""
        most = self.items_per_user
        if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 2:
            raise ValueError(f"items_per_user must be a whole number of at least 2, got {most!r}.")
        return min(int(most), len(self.items_))

    def _baskets(self, X: Given, capped: bool = True) -> Baskets:
        """Rows of users; every item once, in the catalogue's order."""
        users, people, items = self._matrix_of(X) if _is_matrix(X) else self._listed(X)
        pairs = np.unique(people * len(self.items_) + items)
        people, items = pairs // len(self.items_), pairs % len(self.items_)
        sizes = np.bincount(people, minlength=users)
        most = self._mechanism.statistic.cap
        over = int(np.sum(sizes > most)) if capped else 0
        if over and self.excess == "error":
            who = "1 user has" if over == 1 else f"{over} users have"
            raise ValueError(
                f'{who} more than {most} items. Raise items_per_user, which adds noise, or set excess="drop".'
            )
        return Baskets(users, people, items)

    def _matrix_of(self, X: Given) -> tuple[int, IntArray, IntArray]:
        X = self._in_order(X) if hasattr(X, "columns") else X
        matrix = sparse.csr_array(X if sparse.issparse(X) else _numbers(X))
        if matrix.ndim != 2:
            raise ValueError("X must be a matrix: one row per user, one column per item.")
        if matrix.shape[1] != len(self.items_):
            problem = f"X has {matrix.shape[1]} columns, but {len(self.items_)} items were declared."
            raise ValueError(problem)
        if matrix.dtype.kind not in "biu" and not np.isfinite(matrix.data).all():
            raise ValueError("Input X contains NaN or infinity.")
        people, items = matrix.nonzero()
        return int(matrix.shape[0]), people.astype(np.int64), items.astype(np.int64)

    def _in_order(self, frame: Given) -> Array:
        """A frame's columns in the catalogue's order, matched by name."""
        places = [self._labels._place(name) for name in frame.columns]
        unknown = places.count(-1)
        if unknown:
            raise UndeclaredValue("name", unknown, "Name the columns as the items, or give a plain array.")
        if sorted(places) != list(range(len(self.items_))):
            raise ValueError(f"X must have a column for each of the {len(self.items_)} items, each once.")
        return np.asarray(frame)[:, np.argsort(places)]

    def _listed(self, X: Given) -> tuple[int, IntArray, IntArray]:
        try:
            baskets = [list(basket) if not isinstance(basket, str | bytes) else None for basket in X]
        except TypeError:
            baskets = [None]
        if any(basket is None for basket in baskets):
            raise ValueError("X must be a matrix with one column per item, or a list of lists of items.")
        wide = bool(baskets) and all(len(b or ()) == len(self.items_) > 2 for b in baskets)
        if wide and all(value in (0, 1) for b in baskets for value in b or ()):
            raise ValueError("these look like rows of a matrix: give an array instead of lists.")
        flat = [self._labels._place(item) for basket in baskets for item in basket or ()]
        unknown = flat.count(-1)
        if unknown:
            raise UndeclaredValue("item", unknown, "Declare it when you fit, or correct the baskets.")
        people = np.repeat(np.arange(len(baskets)), [len(basket or ()) for basket in baskets])
        return len(baskets), people.astype(np.int64), np.array(flat, dtype=np.int64)

    _grows = False
    _has_rows = False

    def _codes(self, X: Given, y: Given) -> Given:
        return self._baskets(X)

    def _contribution(self, baskets: Baskets) -> Contribution:
        gone: Contribution = self._mechanism.contribution((baskets.people, baskets.items))
        return gone

    def _kept_of(self, release: Pairs) -> Pairs:
        """The release itself: a deletion may drop pairs, so it makes a new release."""
        return release

    def _published(self) -> Pairs:
        return self._state

    def _count(self) -> float:
        """The noisy total of all users' items."""
        return float(self._state.items.sum())

    def _noise_of_count(self) -> float:
        return float(np.sqrt(len(self.items_)) * spread_of(self._mechanism.laws[0]))

    def _answers(self, release: Pairs) -> Answers:
        return {
            "similarity_": self._mechanism.similarities(release),
            "item_counts_": np.maximum(release.items, 0).astype(float),
        }

    def intervals(self, confidence: float = 0.95) -> Intervals:
        """Intervals for how many users have each item, without noise."""
        check_confidence(confidence)
        self._require_fitted()
        low, high = noise_interval(self._mechanism.laws[0], confidence)
        noisy = self._state.items.astype(float)
        return {"item_counts_": (np.maximum(noisy - high, 0.0), np.maximum(noisy - low, 0.0))}

    def score_items(self, X: Matrix) -> FloatArray:
        """Score how well each item goes with each user's basket; items in the basket score −∞.

        Baskets that are only scored may be of any size.
        """
        similarity = self._cached_answers()["similarity_"]
        baskets = self._baskets(X, capped=False)
        own = sparse.csr_array(
            (np.ones(baskets.items.size), (baskets.people, baskets.items)),
            shape=(baskets.users, len(self.items_)),
        )
        scores = np.asarray((own @ similarity).todense(), dtype=float)
        scores[baskets.people, baskets.items] = -np.inf
        return scores

    def recommend(self, X: Matrix, n: int = 10) -> list[list[Item]]:
        """The best items for every user, best first; only items that go with the basket at all."""
        _check_number(n)
        self._require_fitted()
        names = self.items_.tolist()
        recommended = []
        for scores in self.score_items(X):
            best = np.argsort(-scores, kind="stable")[:n]
            recommended.append([names[i] for i in best if scores[i] > 0])
        return recommended

    def similar(self, item: Item, n: int = 10) -> list[tuple[Item, float]]:
        """The most similar items, with their similarities."""
        similarity = self._cached_answers()["similarity_"]
        at = self._labels._place(item)
        if at < 0:
            raise ValueError("this item is not in the catalogue.")
        _check_number(n)
        row = np.asarray(similarity[[at]].todense()).ravel()
        names = self.items_.tolist()
        return [(names[i], float(row[i])) for i in np.argsort(-row, kind="stable")[:n] if row[i] > 0]


def _check_number(n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number above 0, got {n!r}.")


def _is_matrix(X: Given) -> bool:
    return sparse.issparse(X) or hasattr(X, "dtype") or hasattr(X, "columns")


def _numbers(X: Given) -> Array:
    matrix = np.asarray(X)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError("X must be a matrix of numbers, one column per item, or a list of lists of items.")
    return matrix
