"""An online statistic with `update`, `revert` and `get`, such as River's."""

import inspect
from collections.abc import Callable, Sequence

from undeleted.auditing.columns import Row, TargetColumn
from undeleted.auditing.targets.fitted_view import FittedView
from undeleted.foundations.types import Output

EMPTY = inspect.Parameter.empty


class UpdateRevert:
    """Calls `update` for every record and `revert` for every deleted one; the observer sees `get`."""

    def __init__(self, make: Callable[[int], Output], example: Output, view: FittedView) -> None:
        self._make, self._view = make, view
        needed = [p.name for p in inspect.signature(example.update).parameters.values() if p.default is EMPTY]
        self.columns = view.columns or tuple(TargetColumn(name, 0, 1000) for name in needed)
        self.label = view.label
        self._statistic, self._left = example, dict[str, Row]()

    @staticmethod
    def fits(obj: Output) -> bool:
        return all(hasattr(obj, method) for method in ("update", "revert", "get"))

    def start(self, records: Sequence[Row], seed: int) -> Output:
        self._statistic = self._make(seed)
        self._left = {record["id"]: record for record in records}
        for record in records:
            self._statistic.update(*self._values(record))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Output:
        for name in ids:
            self._statistic.revert(*self._values(self._left.pop(name)))
        return self.look()

    def look(self) -> Output:
        return self._view.of(self._statistic) if self._view.see else self._statistic.get()

    def _values(self, record: Row) -> list[Output]:
        return [float(record[c.name]) if c.is_number else record[c.name] for c in self.columns]
