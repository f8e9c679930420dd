"""A model with `fit(X, y)` and a deletion by row: `delete(i)`, or `forget`, `unlearn`, `remove`.

Rows are given by their index at the start, one call each.  A library that renumbers the rows that are left,
or takes values, needs an adapter of its own.
"""

import inspect
from collections.abc import Callable, Sequence

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.auditing.targets.adapters.retrained import learns
from undeleted.auditing.targets.fitted_view import FittedView
from undeleted.foundations.types import Output

WAYS = ("delete", "forget", "unlearn", "remove")


class DeleteRows:
    """Fitted once; its own deletion is called for every row."""

    def __init__(self, make: Callable[[int], Output], example: Output, view: FittedView) -> None:
        needs_labels = "y" in inspect.signature(example.fit).parameters
        view.supervise(learns(example) or ("classes" if needs_labels else None))
        self._make, self._view = make, view
        self.columns: tuple[TargetColumn, ...] = view.columns
        self.label = view.label
        self._model: Output = example
        self._way = next(way for way in WAYS if hasattr(example, way))
        self._rows: dict[str, int] = {}

    @staticmethod
    def fits(obj: Output) -> bool:
        return hasattr(obj, "fit") and any(hasattr(obj, way) for way in WAYS)

    def start(self, records: Sequence[Row], seed: int) -> Output:
        self._model = self._make(seed)
        self._rows = {record["id"]: i for i, record in enumerate(records)}
        y = self._view.target(records)
        self._model.fit(self._view.matrix(records), *([] if y is None else [y]))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Output:
        for name in ids:
            place = self._rows.pop(name)
            try:
                getattr(self._model, self._way)(place)
            except (IndexError, KeyError) as error:
                what = f"{self._way}({place}) raised {type(error).__name__}: {error}"
                raise LookupError(f"{what}; rows are given by their index at the start") from None
        return self.look()

    def look(self) -> Output:
        return self._view.of(self._model)
