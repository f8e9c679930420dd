"""An online statistic with `update`, `revert` and `get`, as River's are."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from undeleted.audit.columns import Record, TargetColumn
from undeleted.audit.targets.fitted_view import FittedView

EMPTY = inspect.Parameter.empty


class UpdateRevert:
    """Updated with every record, reverted by the deleted one; `get` is what is seen."""

    def __init__(self, make: Callable[[int], Any], example: Any, view: FittedView) -> None:
        self._make, self._view = make, view
        asked = [p.name for p in inspect.signature(example.update).parameters.values() if p.default is EMPTY]
        self.columns = view.columns or tuple(TargetColumn(name, 0, 1000) for name in asked)
        self.label = view.label
        self._statistic, self._left = example, dict[str, Record]()

    @staticmethod
    def fits(thing: Any) -> bool:
        return all(hasattr(thing, method) for method in ("update", "revert", "get"))

    def start(self, records: Sequence[Record], seed: int) -> Any:
        self._statistic = self._make(seed)
        self._left = {record["id"]: record for record in records}
        for record in records:
            self._statistic.update(*self._values(record))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Any:
        for name in ids:
            self._statistic.revert(*self._values(self._left.pop(name)))
        return self.look()

    def look(self) -> Any:
        return self._view.of(self._statistic) if self._view.see else self._statistic.get()

    def _values(self, record: Record) -> list[Any]:
        return [float(record[c.name]) if c.is_number else record[c.name] for c in self.columns]
