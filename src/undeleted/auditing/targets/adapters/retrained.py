"""A model with `fit` and no deletion, such as scikit-learn's: retrained on what is left."""

from collections.abc import Callable, Sequence

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.auditing.targets.fitted_view import FittedView
from undeleted.foundations.types import Output


class Retrained:
    """Fits a new model to the rows that are left, in their order, after every deletion."""

    def __init__(self, make: Callable[[int], Output], example: Output, view: FittedView) -> None:
        view.supervise(learns(example))
        self._make, self._view = make, view
        self.columns: tuple[TargetColumn, ...] = view.columns
        self.label = view.label
        self._left: dict[str, Row] = {}
        self._seed = 0
        self._model: Output = None

    @staticmethod
    def fits(obj: Output) -> bool:
        return hasattr(obj, "fit")

    def start(self, records: Sequence[Row], seed: int) -> Output:
        self._left, self._seed = {record["id"]: record for record in records}, seed
        return self._retrain()

    def delete(self, ids: Sequence[str]) -> Output:
        for name in ids:
            del self._left[name]
        return self._retrain()

    def look(self) -> Output:
        return self._view.of(self._model)

    def _retrain(self) -> Output:
        left = list(self._left.values())
        y = self._view.target(left)
        self._model = self._make(self._seed)
        self._model.fit(self._view.matrix(left), *([] if y is None else [y]))
        return self.look()


def learns(model: Output) -> str | None:
    """What a scikit-learn estimator learns: `numbers`, `classes`, or None if it does not say."""
    try:
        from sklearn.base import is_classifier, is_regressor

        return "numbers" if is_regressor(model) else "classes" if is_classifier(model) else None
    except (ImportError, AttributeError, TypeError):
        return None
