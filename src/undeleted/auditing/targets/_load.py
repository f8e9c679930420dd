"""Load a Python target by its name, as an object with `start` and `delete`.

An object is wrapped by the first adapter that knows its methods; `adapters/` holds one short file for each
kind.  If none fits, the user writes an adapter: a class with `start` and `delete`.
"""

import copy
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from undeleted.auditing.columns import Row, TargetColumn, columns_from
from undeleted.auditing.targets._ours import OURS, ours
from undeleted.auditing.targets.fitted_view import FittedView
from undeleted.errors import BadTarget
from undeleted.foundations import registry
from undeleted.foundations.types import Given, Json, Output

ADAPTERS = "undeleted.auditing.targets.adapters"
FIRST = (
    "native",
    "update-revert",
    "forget-values",
    "delete-rows",
    "retrained",
)  # the first that fits an object is used


class Loaded:
    """A curator with the columns of its records and everything the auditor needs to know about it."""

    def __init__(
        self, curator: Output, columns: Sequence[TargetColumn], label: str | None, about: Mapping[str, Given]
    ):
        self.curator, self.columns, self.label, self._about = curator, tuple(columns), label, about
        self.start, self.delete = curator.start, curator.delete
        self.look: Output = getattr(curator, "look", None)
        self.log_density: Output = getattr(curator, "log_density", None)

    def about(self) -> Json:
        return {
            "columns": {c.name: c.as_json() for c in self.columns},
            "label": self.label,
            "looks": self.look is not None,
            "density": self.log_density is not None,
            **self._about,
        }


def load(named: Mapping[str, Given]) -> Loaded:
    """Load the target that a message names."""
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
    obj = _find(kind, rest, name)
    make = maker(obj, settings)
    example = make(0)
    for adapter in (registry.find(ADAPTERS, known) for known in FIRST):
        if adapter.fits(example):
            break
    else:
        problem = f"{name} makes a {type(example).__name__}, which can neither delete nor be fitted."
        remedy = (
            "Write a class with start(records, seed) and delete(ids): docs/reference/auditor.md shows one."
        )
        raise BadTarget(problem, remedy)
    view = FittedView(
        tuple(named["see"]), tuple(map(tuple, named["at"])), columns, label, named.get("features", 1)
    )
    curator = adapter(make, example, view)
    about = {
        "adapter": registry_name(adapter),
        "versions": versions(example),
        "free": not columns and adapter is not registry.find(ADAPTERS, "native"),
    }
    return Loaded(curator, curator.columns, curator.label, about)


class RetrainedFunction:
    """Any function of the values, recomputed on what is left; with several columns it gets rows."""

    def __init__(
        self, function: Output, columns: Sequence[TargetColumn], settings: Mapping[str, Given]
    ) -> None:
        if not callable(function):
            raise BadTarget(
                "the target of retrain: is not a function.", "Name one: retrain:statistics:median."
            )
        self._function, self._settings = function, dict(settings)
        self.columns = tuple(columns) or (TargetColumn("x", 0, 1000),)
        self._left: Json = {}

    def start(self, records: Sequence[Row], seed: int) -> Output:
        names = [c.name for c in self.columns]
        values = [[r[n] for n in names] for r in records]
        rows = [v[0] for v in values] if len(names) == 1 else values
        self._left = dict(zip((r["id"] for r in records), rows, strict=True))
        return self.look()

    def delete(self, ids: Sequence[str]) -> Output:
        for name in ids:
            del self._left[name]
        return self.look()

    def look(self) -> Output:
        return self._function(list(self._left.values()), **self._settings)


def registry_name(adapter: type) -> str:
    return adapter.__module__.rpartition(".")[2].replace("_", "-")


def maker(obj: Output, settings: Mapping[str, Given]) -> Callable[[int], Output]:
    """Return a function that builds an object for a seed: it calls a factory, or copies an object."""
    if not callable(obj):
        if settings:
            raise BadTarget("an object takes no settings.", "Name the class or function that makes it.")
        return lambda seed: copy.deepcopy(obj)
    try:
        known = inspect.signature(obj).parameters
    except (TypeError, ValueError):  # some compiled classes have no signature
        return lambda seed: obj(**settings)
    names = set(known)
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    unknown = [s for s in settings if s not in names]
    if unknown and not open_ended:
        raise BadTarget(
            f"the target takes no setting {unknown[0]!r}.", f"It takes: {', '.join(names) or 'none'}."
        )
    needed = [
        n
        for n, p in known.items()
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    lacking = [n for n in needed if n not in settings and n not in ("seed", "random_state")]
    if lacking:
        raise BadTarget(f"the target needs a setting {lacking[0]!r}.", f"Give --set {lacking[0]}=….")
    seeds = [n for n in ("seed", "random_state") if n in names and n not in settings]
    return lambda seed: obj(**settings, **dict.fromkeys(seeds, seed % 2**32))


def _find(module: str, attribute: str, name: str) -> Output:
    """`package.module:obj`, or `file.py:obj`."""
    if not attribute:
        remedy = "Write mechanism:noisy-sum, package.module:factory, file.py:factory or exec:./program."
        raise BadTarget(f"{name!r} does not name a target.", remedy)
    sys.path.insert(0, str(Path.cwd()))
    if module.endswith(".py"):
        path = Path(module)
        if not path.is_file():
            raise BadTarget(f"there is no file {module}.", "Check the path.")
        sys.path.insert(0, str(path.parent.resolve()))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        result: Output = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = result
        spec.loader.exec_module(result)
    else:
        try:
            result = importlib.import_module(module)
        except ModuleNotFoundError as error:
            missing = error.name or module
            if not (module + ".").startswith(missing + "."):
                raise
            remedy = f"Install it in this environment, or check the name: {name}."
            raise BadTarget(f"there is no module {missing}.", remedy) from None
    for part in attribute.split("."):
        if not hasattr(result, part):
            raise BadTarget(f"{module} has no {part!r}.", "Check the name after the colon.")
        result = getattr(result, part)
    return result


def versions(example: Output) -> dict[str, str]:
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
    result = sorted({d for name in names for d in known.get(name.partition(".")[0], [])} - {"undeleted"})
    return {name: importlib.metadata.version(name) for name in result}
