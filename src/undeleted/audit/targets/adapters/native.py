"""An object with `start(records, seed)` and `delete(ids)`: the adapter that a user writes.

`columns = {"age": (0, 120), "sex": ["f", "m"]}` and `label = "sex"` on the object, if it has them, say what
its records look like.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from undeleted.audit.columns import Record, columns_from
from undeleted.audit.targets.fitted_view import FittedView
from undeleted.errors import BadQuestion


class Native:
    """Passed on as it is; of an output with keys, those that are named are seen."""

    def __init__(self, make: Callable[[int], Any], example: Any, view: FittedView) -> None:
        self._make, self._view = make, view
        self._curator = example
        self.columns = view.columns or columns_from(getattr(example, "columns", None) or {})
        self.label = view.label or getattr(example, "label", None)
        if hasattr(example, "look"):
            self.look = lambda: self._seen(self._curator.look())
        if hasattr(example, "log_density"):
            self.log_density = example.log_density

    @staticmethod
    def fits(thing: Any) -> bool:
        return hasattr(thing, "start") and hasattr(thing, "delete")

    def start(self, records: Sequence[Record], seed: int) -> Any:
        self._curator = self._make(seed)
        return self._seen(self._curator.start(records, seed))

    def delete(self, ids: Sequence[str]) -> Any:
        return self._seen(self._curator.delete(ids))

    def _seen(self, output: Any) -> Any:
        if not self._view.see:
            return output
        known = list(output) if isinstance(output, Mapping) else []
        for key in self._view.see:
            if key not in known:
                raise BadQuestion(
                    f"the output has no key {key!r} to see.",
                    f"It has: {', '.join(map(str, known)) or 'no keys'}.",
                )
        return {key: output[key] for key in self._view.see}
