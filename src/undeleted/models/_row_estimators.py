"""Base classes of estimators: rows with classes, rows with a target, rows only."""

from abc import abstractmethod

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from undeleted.foundations.arrays import Array, FloatArray, IntArray
from undeleted.foundations.types import Given
from undeleted.models._base import ForgettingEstimator, checked
from undeleted.models._grid import Grid, Labels, bounds_for, declared
from undeleted.models._types import Matrix


class RowEstimator(ForgettingEstimator):
    """Rows of numbers between public bounds, with nothing to predict."""

    _grid: Grid

    def _fitted_rows(self, X: Given) -> IntArray:
        X = checked(self, X, dtype=np.float64)
        low, high = bounds_for(self.bounds, X, type(self).__name__)
        self._grid = Grid.between(low, high, self.steps, "x")
        return self._grid.codes(X)

    def _codes(self, X: Given, y: Given) -> IntArray:
        return self._grid.codes(self._matrix(X))


class RowClassifier(ClassifierMixin, RowEstimator):  # type: ignore[misc]
    """Rows of numbers, each with one of the declared classes."""

    _labels: Labels

    def _fitted_classes(self, X: Given, y: Given) -> IntArray:
        X, y = checked(self, X, y, dtype=np.float64)
        low, high = bounds_for(self.bounds, X, type(self).__name__)
        self._grid = Grid.between(low, high, self.steps, "x")
        codes = self._grid.codes(X, more=1)
        codes[:, -1] = self._label(y)
        return codes

    def _label(self, y: Given) -> IntArray | list[int]:
        if isinstance(self.classes, str):  # labels read from the data may not be class labels
            check_classification_targets(y)
        self._labels = declared(self.classes, y, type(self).__name__, "classes", "classes=[0, 1]")
        self.classes_ = self._labels.values
        return self._labels.codes(y, "label")

    def _codes(self, X: Given, y: Given) -> IntArray:
        codes = self._grid.codes(self._matrix(X), more=1)
        codes[:, -1] = self._label_codes(y, len(codes))
        return codes

    def _label_codes(self, y: Given, rows: int) -> IntArray | list[int]:
        if y is None:
            raise ValueError(f"{type(self).__name__}.forget requires y: the labels of the rows that leave.")
        y = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
        if len(y) != rows:
            check_consistent_length(np.empty((rows, 0)), y)
        return self._labels.codes(y, "label")

    @abstractmethod
    def _log_joint(self, X: Given) -> FloatArray:
        """log P(class, row), up to a constant per row."""

    def predict(self, X: Matrix) -> Array:
        """The likeliest class of every row."""
        self._cached_answers()
        return np.asarray(self.classes_[self._log_joint(X).argmax(axis=1)])

    def predict_log_proba(self, X: Matrix) -> FloatArray:
        """log P(class | row), one column per class."""
        self._cached_answers()
        joint = self._log_joint(X)
        most = joint.max(axis=1, keepdims=True)
        return np.asarray(joint - most - np.log(np.exp(joint - most).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Matrix) -> FloatArray:
        """P(class | row), one column per class."""
        return np.asarray(np.exp(self.predict_log_proba(X)))


class RowRegressor(RegressorMixin, RowEstimator):  # type: ignore[misc]
    """Rows of numbers, each with a number to predict."""

    _target: Grid
    _both: Grid

    def _fitted_target(self, X: Given, y: Given) -> IntArray:
        X, y = checked(self, X, y, dtype=np.float64)
        low, high = bounds_for(self.bounds, X, type(self).__name__)
        y = _numbers(y)[:, None]
        least, most = bounds_for(self.bounds_y, y, type(self).__name__, "bounds_y")
        self._grid = Grid.between(low, high, self.steps, "x")
        self._target = Grid.between(least, most, self.steps, "y")
        self._both = Grid((*self._grid.columns, *self._target.columns))
        return np.concatenate([self._grid.codes(X), self._target.codes(y, "y")], axis=1)

    def _codes(self, X: Given, y: Given) -> IntArray:
        X = self._matrix(X)
        if y is None:
            raise ValueError(f"{type(self).__name__}.forget requires y: the targets of the rows that leave.")
        if not (type(y) is np.ndarray and y.dtype == np.float64 and y.ndim == 1):
            y = _numbers(column_or_1d(y, warn=True))
        if len(y) != len(X):
            check_consistent_length(X, y)
        try:
            return self._both.codes(np.concatenate([X, y[:, None]], axis=1))
        except ValueError:
            assert_all_finite(y, input_name="y")  # the error is in y
            raise

    def predict(self, X: Matrix) -> FloatArray:
        """The linear prediction; it is not clipped to `bounds_y`."""
        answers = self._cached_answers()
        X = checked(self, X, reset=False, dtype=np.float64)
        return np.asarray(X @ answers["coef_"] + answers["intercept_"])


def _numbers(y: Given) -> FloatArray:
    """Convert a target to numbers; an error message never contains a value."""
    try:
        with np.errstate(all="ignore"):
            if np.asarray(y).dtype.kind != "c":
                return np.asarray(y, dtype=np.float64)
    except (ValueError, TypeError):
        pass
    raise ValueError("y must have one number per row") from None
