"""A model with `fit(X, y)` and `forget(X, y)`: rows leave by their values, as ours do."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from undeleted.audit.columns import Record, TargetColumn
from undeleted.audit.targets.adapters.retrained import learns
from undeleted.audit.targets.fitted_view import FittedView


class ForgetValues:
    """Fitted once; the rows that leave are handed over again."""

    def __init__(self, make: Callable[[int], Any], example: Any, view: FittedView) -> None:
        view.supervise(learns(example))
        self._make, self._view = make, view
        self.columns: tuple[TargetColumn, ...] = view.columns
        self.label = view.label
        self._model: Any = example
        self._left: dict[str, Record] = {}

    @staticmethod
    def fits(thing: Any) -> bool:
        takes = inspect.signature(thing.forget).parameters if hasattr(thing, "forget") else {}
        return hasattr(thing, "fit") and "X" in takes

    def start(self, records: Sequence[Record], seed: int) -> Any:
        self._model = self._make(seed)
        self._left = {record["id"]: record for record in records}
        self._model.fit(*self._rows(records))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Any:
        self._model.forget(*self._rows([self._left.pop(name) for name in ids]))
        return self.look()

    def look(self) -> Any:
        return self._view.of(self._model)

    def _rows(self, records: Sequence[Record]) -> tuple[Any, ...]:
        y = self._view.target(records)
        X = self._view.matrix(records)
        return (X,) if y is None else (X, y)
