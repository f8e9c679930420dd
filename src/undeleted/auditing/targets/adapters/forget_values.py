"""A model with `fit(X, y)` and `forget(X, y)`, such as ours: rows are deleted by their values."""

import inspect
from collections.abc import Callable, Sequence

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.auditing.targets.adapters.retrained import learns
from undeleted.auditing.targets.fitted_view import FittedView
from undeleted.foundations.types import Output


class ForgetValues:
    """Fitted once; the deleted rows are passed to `forget`."""

    def __init__(self, make: Callable[[int], Output], example: Output, view: FittedView) -> None:
        view.supervise(learns(example))
        self._make, self._view = make, view
        self.columns: tuple[TargetColumn, ...] = view.columns
        self.label = view.label
        self._model: Output = example
        self._left: dict[str, Row] = {}

    @staticmethod
    def fits(obj: Output) -> bool:
        takes = inspect.signature(obj.forget).parameters if hasattr(obj, "forget") else {}
        return hasattr(obj, "fit") and "X" in takes

    def start(self, records: Sequence[Row], seed: int) -> Output:
        self._model = self._make(seed)
        self._left = {record["id"]: record for record in records}
        self._model.fit(*self._rows(records))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Output:
        self._model.forget(*self._rows([self._left.pop(name) for name in ids]))
        return self.look()

    def look(self) -> Output:
        return self._view.of(self._model)

    def _rows(self, records: Sequence[Row]) -> tuple[Output, ...]:
        y = self._view.target(records)
        X = self._view.matrix(records)
        return (X,) if y is None else (X, y)
