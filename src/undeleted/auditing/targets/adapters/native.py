"""An object with `start(records, seed)` and `delete(ids)`: the adapter that a user writes.

`columns = {"age": (0, 120), "sex": ["f", "m"]}` and `label = "sex"` on the object, if it has them, say what
its records look like.
"""

from collections.abc import Callable, Mapping, Sequence

from undeleted.auditing.columns import Row, columns_from
from undeleted.auditing.targets.fitted_view import FittedView
from undeleted.errors import BadTarget
from undeleted.foundations.types import Output


class Native:
    """Uses the object as it is; if keys of the output are named, only those are seen."""

    def __init__(self, make: Callable[[int], Output], example: Output, view: FittedView) -> None:
        self._make, self._view = make, view
        self._curator = example
        self.columns = view.columns or columns_from(getattr(example, "columns", None) or {})
        self.label = view.label or getattr(example, "label", None)
        if hasattr(example, "look"):
            self.look = lambda: self._seen(self._curator.look())
        if hasattr(example, "log_density"):
            self.log_density = example.log_density

    @staticmethod
    def fits(obj: Output) -> bool:
        return hasattr(obj, "start") and hasattr(obj, "delete")

    def start(self, records: Sequence[Row], seed: int) -> Output:
        self._curator = self._make(seed)
        return self._seen(self._curator.start(records, seed))

    def delete(self, ids: Sequence[str]) -> Output:
        return self._seen(self._curator.delete(ids))

    def _seen(self, output: Output) -> Output:
        if not self._view.see:
            return output
        known = list(output) if isinstance(output, Mapping) else []
        for key in self._view.see:
            if key not in known:
                raise BadTarget(
                    f"the output has no key {key!r} to see.",
                    f"It has: {', '.join(map(str, known)) or 'no keys'}.",
                )
        return {key: output[key] for key in self._view.see}
