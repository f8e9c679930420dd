"""A model with `fit` and no deletion: retrained on what is left, as scikit-learn's are."""

from collections.abc import Callable, Sequence
from typing import Any

from undeleted.audit.columns import Record, TargetColumn
from undeleted.audit.targets.fitted_view import FittedView


class Retrained:
    """A fresh model of the rows that are left, in their order, after every deletion."""

    def __init__(self, make: Callable[[int], Any], example: Any, view: FittedView) -> None:
        view.supervise(learns(example))
        self._make, self._view = make, view
        self.columns: tuple[TargetColumn, ...] = view.columns
        self.label = view.label
        self._left: dict[str, Record] = {}
        self._seed = 0
        self._model: Any = None

    @staticmethod
    def fits(thing: Any) -> bool:
        return hasattr(thing, "fit")

    def start(self, records: Sequence[Record], seed: int) -> Any:
        self._left, self._seed = {record["id"]: record for record in records}, seed
        return self._retrain()

    def delete(self, ids: Sequence[str]) -> Any:
        for name in ids:
            del self._left[name]
        return self._retrain()

    def look(self) -> Any:
        return self._view.of(self._model)

    def _retrain(self) -> Any:
        left = list(self._left.values())
        y = self._view.target(left)
        self._model = self._make(self._seed)
        self._model.fit(self._view.matrix(left), *([] if y is None else [y]))
        return self.look()


def learns(model: Any) -> str | None:
    """What a scikit-learn estimator says that it learns: `numbers`, `classes`, or nothing."""
    try:
        from sklearn.base import is_classifier, is_regressor

        return "numbers" if is_regressor(model) else "classes" if is_classifier(model) else None
    except (ImportError, AttributeError, TypeError):
        return None
