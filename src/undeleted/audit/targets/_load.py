"""From the name of a Python target to something that starts and deletes.

An object is met by the first adapter that knows its methods; `adapters/` holds one short file for each
kind.  What none of them knows needs an adapter of the user's own: a class with `start` and `delete`.
"""

import copy
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from undeleted.audit.columns import Record, TargetColumn, columns_from
from undeleted.audit.targets._ours import OURS, ours
from undeleted.audit.targets.fitted_view import FittedView
from undeleted.errors import BadQuestion
from undeleted.foundations import registry

ADAPTERS = "undeleted.audit.targets.adapters"
FIRST = (
    "native",
    "update-revert",
    "forget-values",
    "delete-rows",
    "retrained",
)  # an object that could be two is the first


class Loaded:
    """A curator with the columns of its records and all that the auditor asks about it."""

    def __init__(
        self, curator: Any, columns: Sequence[TargetColumn], label: str | None, about: Mapping[str, Any]
    ):
        self.curator, self.columns, self.label, self._about = curator, tuple(columns), label, about
        self.start, self.delete = curator.start, curator.delete
        self.look: Any = getattr(curator, "look", None)
        self.log_density: Any = getattr(curator, "log_density", None)

    def about(self) -> dict[str, Any]:
        return {
            "columns": {c.name: c.as_json() for c in self.columns},
            "label": self.label,
            "looks": self.look is not None,
            "density": self.log_density is not None,
            **self._about,
        }


def load(named: Mapping[str, Any]) -> Loaded:
    """The target that a message names."""
    name, settings = named["name"], named["settings"]
    columns, label = columns_from(named["columns"]), named["label"]
    kind, _, rest = name.partition(":")
    if kind == "retrain" and ":" in rest:
        module, _, attribute = rest.rpartition(":")
        function = _find(module, attribute, rest)
        again = RetrainedFunction(function, columns, settings)
        return Loaded(again, again.columns, None, {"adapter": "function", "versions": versions(function)})
    if kind in OURS:
        curator = ours(kind, rest, columns, settings)
        return Loaded(curator, curator.columns, curator.label, {"adapter": "ours", "versions": {}})
    thing = _find(kind, rest, name)
    make = maker(thing, settings)
    example = make(0)
    for adapter in (registry.find(ADAPTERS, known) for known in FIRST):
        if adapter.fits(example):
            break
    else:
        problem = f"{name} makes a {type(example).__name__}, which neither deletes nor can be fitted again."
        remedy = (
            "Write a class with start(records, seed) and delete(ids): docs/reference/auditor.md shows one."
        )
        raise BadQuestion(problem, remedy)
    view = FittedView(
        tuple(named["see"]), tuple(map(tuple, named["at"])), columns, label, named.get("features", 1)
    )
    curator = adapter(make, example, view)
    told = {
        "adapter": registry_name(adapter),
        "versions": versions(example),
        "free": not columns and adapter is not registry.find(ADAPTERS, "native"),
    }
    return Loaded(curator, curator.columns, curator.label, told)


class RetrainedFunction:
    """Any function of the values, computed again on what is left; of several columns it gets the rows."""

    def __init__(self, function: Any, columns: Sequence[TargetColumn], settings: Mapping[str, Any]) -> None:
        if not callable(function):
            raise BadQuestion(
                "what is to be computed again is no function.", "Name one: retrain:statistics:median."
            )
        self._function, self._settings = function, dict(settings)
        self.columns = tuple(columns) or (TargetColumn("x", 0, 1000),)
        self._left: dict[str, Any] = {}

    def start(self, records: Sequence[Record], seed: int) -> Any:
        names = [c.name for c in self.columns]
        values = [[r[n] for n in names] for r in records]
        rows = [v[0] for v in values] if len(names) == 1 else values
        self._left = dict(zip((r["id"] for r in records), rows, strict=True))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Any:
        for name in ids:
            del self._left[name]
        return self.look()

    def look(self) -> Any:
        return self._function(list(self._left.values()), **self._settings)


def registry_name(adapter: type) -> str:
    return adapter.__module__.rpartition(".")[2].replace("_", "-")


def maker(thing: Any, settings: Mapping[str, Any]) -> Callable[[int], Any]:
    """Builds a fresh object for a seed: a factory is called with the settings, an object is copied."""
    if not callable(thing):
        if settings:
            raise BadQuestion("an object takes no settings.", "Name the class or function that makes it.")
        return lambda seed: copy.deepcopy(thing)
    try:
        known = inspect.signature(thing).parameters
    except (TypeError, ValueError):  # some compiled classes have no signature
        return lambda seed: thing(**settings)
    names = set(known)
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    unknown = [s for s in settings if s not in names]
    if unknown and not open_ended:
        raise BadQuestion(
            f"the target takes no setting {unknown[0]!r}.", f"It takes: {', '.join(names) or 'none'}."
        )
    needed = [
        n
        for n, p in known.items()
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    lacking = [n for n in needed if n not in settings and n not in ("seed", "random_state")]
    if lacking:
        raise BadQuestion(f"the target needs a setting {lacking[0]!r}.", f"Give --set {lacking[0]}=….")
    seeds = [n for n in ("seed", "random_state") if n in names and n not in settings]
    return lambda seed: thing(**settings, **dict.fromkeys(seeds, seed % 2**32))


def _find(module: str, attribute: str, name: str) -> Any:
    """`package.module:thing`, or `file.py:thing`."""
    if not attribute:
        remedy = "Write mechanism:noisy-sum, package.module:factory, file.py:factory or exec:./program."
        raise BadQuestion(f"{name!r} names no target.", remedy)
    sys.path.insert(0, str(Path.cwd()))
    if module.endswith(".py"):
        path = Path(module)
        if not path.is_file():
            raise BadQuestion(f"there is no file {module}.", "Check the path.")
        sys.path.insert(0, str(path.parent.resolve()))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        found: Any = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = found
        spec.loader.exec_module(found)
    else:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            missing = error.name or module
            if not (module + ".").startswith(missing + "."):
                raise
            remedy = f"Install it in this environment, or check the name: {name}."
            raise BadQuestion(f"there is no module {missing}.", remedy) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise BadQuestion(f"{module} has no {part!r}.", "Check the name behind the colon.")
        found = getattr(found, part)
    return found


def versions(example: Any) -> dict[str, str]:
    """The versions of the distributions that the target, or the adapter around it, comes from."""
    made_by = example if inspect.isroutine(example) else type(example)
    home = sys.modules.get(str(made_by.__module__))
    used = (
        []
        if home is None or not (getattr(home, "__file__", None) or "").endswith(".py")
        else vars(home).values()
    )
    names = [str(made_by.__module__), *(v.__name__ for v in used if inspect.ismodule(v))]
    names += [str(getattr(v, "__module__", "")) for v in used if inspect.isclass(v) or callable(v)]
    known = importlib.metadata.packages_distributions()
    found = sorted({d for name in names for d in known.get(name.partition(".")[0], [])} - {"undeleted"})
    return {name: importlib.metadata.version(name) for name in found}
