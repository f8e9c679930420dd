"""What the observer sees of a fitted object: attributes, predictions on given points, hard labels.

    coef_,intercept_     these attributes
    fitted               every public fitted attribute that can be serialised
    predictions          `predict` of a regressor, `predict_proba` or `decision_function` of a classifier
    labels               `predict`

By default it is the centres of a clustering, the coefficients of a linear model, the labels of another
classifier, the predictions of another regressor, and else everything fitted.
"""

from collections.abc import Sequence

import numpy as np

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.errors import BadTarget
from undeleted.foundations.coins import seeded
from undeleted.foundations.types import Json, Output
from undeleted.games.transcript import plain

POINTS = 33  # for one feature; for more features, twice as many at random


class FittedView:
    """Turns records into X and y, and a fitted object into an output."""

    def __init__(
        self,
        see: tuple[str, ...],
        at: tuple[tuple[float, ...], ...],
        columns: tuple[TargetColumn, ...],
        label: str | None,
        features: int,
    ) -> None:
        self.see, self.at, self.columns, self.label, self.count = see, at, columns, label, features

    def supervise(self, kind: str | None) -> None:
        """Fill in the columns of a model that learns `numbers`, `classes` or no label."""
        if not self.columns:
            names = ["x"] if self.count == 1 else [f"x{i}" for i in range(self.count)]
            self.columns = tuple(TargetColumn(name, 0, 100) for name in names)
            if kind is not None:
                y = TargetColumn("y", -64, 64) if kind == "numbers" else TargetColumn("y", values=(0, 1))
                self.columns, self.label = (*self.columns, y), "y"
        if kind is not None and self.label is None:
            problem = "this target learns a label, but no column is the label."
            raise BadTarget(problem, "Name it with --label, together with --column.")

    @property
    def features(self) -> tuple[TargetColumn, ...]:
        return tuple(c for c in self.columns if c.name != self.label)

    def matrix(self, records: Sequence[Row]) -> Output:
        rows = [[c.as_number(record[c.name]) for c in self.features] for record in records]
        return np.array(rows, dtype=np.float64).reshape(len(records), len(self.features))

    def target(self, records: Sequence[Row]) -> Output:
        """The labels; None where there are none."""
        if self.label is None:
            return None
        column = next(c for c in self.columns if c.name == self.label)
        values = [column.as_number(record[self.label]) for record in records]
        return np.array(values, dtype=np.float64 if column.is_number else np.int64)

    def of(self, fitted: Output) -> Output:
        """What the observer sees of a fitted object."""
        if not self.see:
            return self._default(fitted)
        seen = [self._one(fitted, name) for name in self.see]
        return seen[0] if len(seen) == 1 else seen

    def _one(self, fitted: Output, name: str) -> Output:
        match name:
            case "fitted":
                return _fitted(fitted)
            case "labels":
                return fitted.predict(self.points())
            case "predictions":
                ways = ("predict_proba", "decision_function", "predict")
                return next(getattr(fitted, way) for way in ways if hasattr(fitted, way))(self.points())
        if not hasattr(fitted, name):
            shown = ", ".join(n for n in vars(fitted) if n.endswith("_") and not n.startswith("_"))
            raise BadTarget(f"the target has no {name} to see.", f"It has: {shown or 'nothing fitted'}.")
        value = getattr(fitted, name)
        return value() if callable(value) else value

    def _default(self, fitted: Output) -> Output:
        if hasattr(fitted, "cluster_centers_"):
            return fitted.cluster_centers_
        if hasattr(fitted, "coef_"):
            return [fitted.coef_, getattr(fitted, "intercept_", 0.0)]
        if self.label is not None and hasattr(fitted, "predict"):
            return fitted.predict(self.points())
        return _fitted(fitted)

    def points(self) -> Output:
        """The points at which predictions are made: as given, or spread over the ranges."""
        if self.at:
            return np.array(self.at, dtype=np.float64)
        if len(self.features) == 1:
            [only] = self.features
            spread = np.linspace(0, only.size - 1, min(POINTS, only.size)).round().astype(int)
            return np.array([[only.as_number(only.at(int(i)))] for i in spread])
        coins = seeded("where predictions are asked for")
        drawn = [[c.as_number(v) for v in c.draw(coins, 2 * POINTS)] for c in self.features]
        return np.array(drawn, dtype=np.float64).T


def _fitted(fitted: Output) -> Json:
    """Public attributes that end in an underscore and can be serialised."""
    attributes = {}
    for name, value in vars(fitted).items():
        if name.endswith("_") and not name.startswith("_"):
            try:
                attributes[name] = plain(value, nan=float("nan"))  # the auditor refuses NaN
            except TypeError:
                continue
    if not attributes:
        problem = "the target has no fitted attribute that can be serialised."
        raise BadTarget(problem, "Choose what to --see: labels, predictions, or attributes by name.")
    return attributes
