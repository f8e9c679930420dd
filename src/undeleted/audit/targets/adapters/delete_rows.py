"""A model with `fit(X, y)` and a deletion by row: `delete(i)`, or `forget`, `unlearn`, `remove`.

Rows are named by their place at the start, one call each.  A library that counts the rows that are left,
or takes values, wants an adapter of its own.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from undeleted.audit.columns import Record, TargetColumn
from undeleted.audit.targets.adapters.retrained import learns
from undeleted.audit.targets.fitted_view import FittedView

WAYS = ("delete", "forget", "unlearn", "remove")


class DeleteRows:
    """Fitted once; its own deletion is called for every row."""

    def __init__(self, make: Callable[[int], Any], example: Any, view: FittedView) -> None:
        needs_labels = "y" in inspect.signature(example.fit).parameters
        view.supervise(learns(example) or ("classes" if needs_labels else None))
        self._make, self._view = make, view
        self.columns: tuple[TargetColumn, ...] = view.columns
        self.label = view.label
        self._model: Any = example
        self._way = next(way for way in WAYS if hasattr(example, way))
        self._rows: dict[str, int] = {}

    @staticmethod
    def fits(thing: Any) -> bool:
        return hasattr(thing, "fit") and any(hasattr(thing, way) for way in WAYS)

    def start(self, records: Sequence[Record], seed: int) -> Any:
        self._model = self._make(seed)
        self._rows = {record["id"]: i for i, record in enumerate(records)}
        y = self._view.target(records)
        self._model.fit(self._view.matrix(records), *([] if y is None else [y]))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Any:
        for name in ids:
            place = self._rows.pop(name)
            try:
                getattr(self._model, self._way)(place)
            except (IndexError, KeyError) as error:
                told = f"{self._way}({place}) raised {type(error).__name__}: {error}"
                raise LookupError(f"{told}; rows are named by their place at the start") from None
        return self.look()

    def look(self) -> Any:
        return self._view.of(self._model)
