"""Naive Bayes on categories from noisy counts by class and category.

published    for every feature a count per class and declared category, present or not
forgotten    subtract 1 from one cell per feature
predicted    from class shares and smoothed shares of the categories
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from undeleted.curate.mechanisms.noisy_class_histograms import NoisyClassHistograms
from undeleted.errors import BadBounds, MissingBounds
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.privacy import Noise
from undeleted.foundations.schema import Category
from undeleted.foundations.types import Given
from undeleted.models._base import as_number, checked, fitted_attribute, restore_on_failure
from undeleted.models._grid import FEW, Labels, declared
from undeleted.models._row_estimators import RowClassifier
from undeleted.models._types import Answers, Labelled, Matrix, RandomState, RowLabels


class CategoricalNB(RowClassifier):
    """Naive Bayes on categories that forgets.

    Parameters
    ----------
    categories : list of lists
        All possible categories of every feature.  "data" takes, and leaks, the data's own.
    classes : list
        All possible labels.  "data" takes, and leaks, the data's own.
    budget : float, Budget or Zcdp
        The privacy budget of the release, for every person in the data; a number is a pure ε.
    alpha : float
        Added to every count.
    rows_per_person : int
        The maximum number of rows per person; noise grows with it.
    random_state : optional
        For experiments only: noise that can be reproduced protects nobody.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([["red"], ["blue"]], 300, axis=0)
    >>> y = np.repeat([1, 0], 300)
    >>> model = CategoricalNB(categories=[["red", "green", "blue"]], classes=[0, 1]).fit(X, y)
    >>> model.predict([["blue"], ["red"]]).tolist()
    [0, 1]
    >>> before = model.release_
    >>> int((before.value - model.forget(X[:2], y[:2]).release_.value).sum())    # two people fewer
    2
    """

    def __init__(
        self,
        *,
        categories: Sequence[ArrayLike] | str | None = None,
        classes: Labelled = None,
        budget: Noise = 1.0,
        alpha: float = 1.0,
        rows_per_person: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.categories = categories
        self.classes = classes
        self.budget = budget
        self.alpha = alpha
        self.rows_per_person = rows_per_person
        self.random_state = random_state

    class_count_ = fitted_attribute(
        "class_count_", "The published noisy count of the rows that are left, by class."
    )
    class_log_prior_ = fitted_attribute("class_log_prior_", "Logarithms of the class shares.")
    feature_log_prob_ = fitted_attribute("feature_log_prob_", "For every feature log P(category | class).")
    _numbers = ("class_count_", "class_log_prior_")
    _solved_with = ("alpha",)

    @restore_on_failure
    def fit(self, X: Matrix, y: RowLabels) -> "CategoricalNB":
        """Publish a noisy release of the data, once."""
        X, y = checked(self, _as_objects(X), y, dtype=None)
        labels = self._label(y)
        self._features = self._declared(X)
        self.categories_ = [feature.values for feature in self._features]
        columns: tuple[Category, ...] = tuple(f.column(f"x{i}") for i, f in enumerate(self._features))
        label = self._labels.column("class")
        as_number(self.alpha, "alpha")
        mechanism = NoisyClassHistograms(columns, label, self._budget(), self.rows_per_person)
        self._publish(mechanism, np.column_stack([self._category_codes(X), labels]))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _declared(self, X: Given) -> list[Labels]:
        name, width = type(self).__name__, X.shape[1]
        if self.categories is None:
            raise MissingBounds(name, "categories", 'categories=[["a", "b"], [0, 1, 2]]')
        if isinstance(self.categories, str):
            return [declared(self.categories, X[:, i], name, "categories", "") for i in range(width)]
        lists = not isinstance(self.categories, dict) and all(
            not isinstance(given, str | bytes | dict) and np.ndim(given) == 1 for given in self.categories
        )
        if not lists:
            raise BadBounds("categories", "they must be lists.", 'For example: [["a", "b"], [0, 1, 2]].')
        if len(self.categories) != width:
            problem = f"{len(self.categories)} lists were given for {width} features."
            raise BadBounds("categories", problem, "Give a list of categories for every feature.")
        return [declared(c, None, name, "categories", '["a", "b"]') for c in self.categories]

    def _category_codes(self, X: Given) -> IntArray:
        return np.column_stack([f.codes(X[:, i], "category") for i, f in enumerate(self._features)])

    def _codes(self, X: Given, y: Given) -> IntArray:
        quick = self._quick_codes(X, y)
        if quick is not None:
            return quick
        X = checked(self, _as_objects(X), reset=False, dtype=None)
        return np.column_stack([self._category_codes(X), self._label_codes(y, len(X))])

    def _quick_codes(self, X: Given, y: Given) -> IntArray | None:
        """Encode a few rows of plain arrays one by one; return None if anything is unusual."""
        plain = type(X) is np.ndarray and type(y) is np.ndarray and "feature_names_in_" not in self.__dict__
        if not plain or X.ndim != 2 or X.shape != (len(y), self.n_features_in_) or not 0 < len(y) <= FEW:
            return None
        if X.dtype.kind not in "biufUO" or y.dtype.kind not in "biufUO":
            return None
        places, labels = [feature.places for feature in self._features], self._labels.places
        try:
            rows = [
                [*(place[value] for place, value in zip(places, row, strict=True)), labels[label]]
                for row, label in zip(X.tolist(), y.tolist(), strict=True)
            ]
        except (KeyError, TypeError):
            return None
        return np.array(rows, dtype=np.int64)

    def _answers(self, values: FloatArray) -> Answers:
        shares, tables = self._mechanism.log_shares(values, as_number(self.alpha, "alpha"))
        return {
            "class_count_": self._mechanism.counts_of(values),
            "class_log_prior_": shares,
            "feature_log_prob_": tables,
        }

    def _log_joint(self, X: Given) -> FloatArray:
        X = checked(self, _as_objects(X), reset=False, dtype=None)
        answers = self._cached_answers()
        codes = self._category_codes(X)
        joint = np.repeat(answers["class_log_prior_"][None], len(X), axis=0)
        for i, table in enumerate(answers["feature_log_prob_"]):
            joint += table[:, codes[:, i]].T
        return np.asarray(joint)

    def _count(self) -> float:
        return float(self._state.value[: self._mechanism.statistic.blocks[0].width].sum())

    def _noise_of_count(self) -> float:
        """The noise of the sum of the first feature's cells."""
        cells = self._mechanism.statistic.blocks[0].width
        return super()._noise_of_count() * float(np.sqrt(cells))


def _as_objects(X: Given) -> Given:
    """Convert lists to object arrays, so that numbers do not become texts."""
    return np.array(X, dtype=object) if isinstance(X, list | tuple) else X
