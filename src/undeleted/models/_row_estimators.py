"""Faces of several estimators: rows with classes, rows with a target, rows alone."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.models._base import ForgettingEstimator, checked
from undeleted.models._grid import Grid, Labels, bounds_for, declared


class OfRows(ForgettingEstimator):
    """Numbers between public bounds; there is nothing to predict."""

    _grid: Grid

    def _fitted_rows(self, X: Any) -> IntArray:
        X = checked(self, X, dtype=np.float64)
        low, high = bounds_for(self.bounds, X, type(self).__name__)
        self._grid = Grid.between(low, high, self.steps, "x")
        return self._grid.codes(X)

    def _codes(self, X: Any, y: Any) -> IntArray:
        return self._grid.codes(self._matrix(X))


class OfClasses(ClassifierMixin, OfRows):  # type: ignore[misc]
    """Rows of numbers, each with one of the declared classes."""

    _labels: Labels

    def _fitted_classes(self, X: Any, y: Any) -> IntArray:
        X, y = checked(self, X, y, dtype=np.float64)
        low, high = bounds_for(self.bounds, X, type(self).__name__)
        self._grid = Grid.between(low, high, self.steps, "x")
        codes = self._grid.codes(X, more=1)
        codes[:, -1] = self._label(y)
        return codes

    def _label(self, y: Any) -> Any:
        if isinstance(self.classes, str):  # labels read off the data may be no labels at all
            check_classification_targets(y)
        self._labels = declared(self.classes, y, type(self).__name__, "classes", "classes=[0, 1]")
        self.classes_ = self._labels.values
        return self._labels.codes(y, "label")

    def _codes(self, X: Any, y: Any) -> IntArray:
        codes = self._grid.codes(self._matrix(X), more=1)
        codes[:, -1] = self._label_codes(y, len(codes))
        return codes

    def _label_codes(self, y: Any, rows: int) -> Any:
        if y is None:
            raise ValueError(f"{type(self).__name__}.forget requires y: the labels of the rows that leave.")
        y = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
        if len(y) != rows:
            check_consistent_length(np.empty((rows, 0)), y)
        return self._labels.codes(y, "label")

    @abstractmethod
    def _log_joint(self, X: Any) -> FloatArray:
        """log P(class, row), up to a constant a row."""

    def predict(self, X: Any) -> Any:
        """The likeliest class of every row."""
        self._told()
        return self.classes_[self._log_joint(X).argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> FloatArray:
        """log P(class | row), a column a class."""
        self._told()
        joint = self._log_joint(X)
        most = joint.max(axis=1, keepdims=True)
        return np.asarray(joint - most - np.log(np.exp(joint - most).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | row), a column a class."""
        return np.asarray(np.exp(self.predict_log_proba(X)))


class OfTarget(RegressorMixin, OfRows):  # type: ignore[misc]
    """Rows of numbers, each with a number to predict."""

    _target: Grid
    _both: Grid

    def _fitted_target(self, X: Any, y: Any) -> IntArray:
        X, y = checked(self, X, y, dtype=np.float64)
        low, high = bounds_for(self.bounds, X, type(self).__name__)
        y = _numbers(y)[:, None]
        least, most = bounds_for(self.bounds_y, y, type(self).__name__, "bounds_y")
        self._grid = Grid.between(low, high, self.steps, "x")
        self._target = Grid.between(least, most, self.steps, "y")
        self._both = Grid((*self._grid.columns, *self._target.columns))
        return np.concatenate([self._grid.codes(X), self._target.codes(y, "y")], axis=1)

    def _codes(self, X: Any, y: Any) -> IntArray:
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
            assert_all_finite(y, input_name="y")  # whose fault it is
            raise

    def predict(self, X: Any) -> FloatArray:
        """The linear answer; it is not moved to `bounds_y`."""
        told = self._told()
        X = checked(self, X, reset=False, dtype=np.float64)
        return np.asarray(X @ told["coef_"] + told["intercept_"])


def _numbers(y: Any) -> FloatArray:
    """A target as numbers, without a value in the message when it is none."""
    try:
        with np.errstate(all="ignore"):
            if np.asarray(y).dtype.kind != "c":
                return np.asarray(y, dtype=np.float64)
    except (ValueError, TypeError):
        pass
    raise ValueError("y must be one number a row") from None
