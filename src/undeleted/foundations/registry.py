"""A folder is a registry: the file `noisy_sum.py` is the entry `noisy-sum`, the class or function in it
has the same name, and nothing is imported before it is used.

    names("undeleted.curate.mechanisms")                  -> ["bulletin-board", "exact-sum", ...]
    summary("undeleted.curate.mechanisms", "exact-sum")   -> the first line of the file's docstring
    find("undeleted.curate.mechanisms", "exact-sum")      -> the class ExactSum
"""

import ast
import functools
import importlib
from collections.abc import Callable
from importlib import resources
from typing import Any

from undeleted.errors import UnknownName

HOMES = {
    "mechanisms": "undeleted.curate.mechanisms",
    "estimators": "undeleted.models",
    "leaky": "undeleted.games.leaky",
    "baselines": "undeleted.games.baselines",
    "attacks": "undeleted.games.attacks",
    "definitions": "undeleted.paper.definitions",
    "claims": "undeleted.paper.claims",
    "statistics": "undeleted.curate.statistics",
    "engines": "undeleted.curate.engines",
}  # the kinds of entries that `undeleted list` shows, and the folder of each


@functools.cache
def names(folder: str) -> tuple[str, ...]:
    """Every public name in a folder, from its file names alone."""
    files = (entry.name for entry in resources.files(folder).iterdir())
    return tuple(
        sorted(f[:-3].replace("_", "-") for f in files if f.endswith(".py") and not f.startswith("_"))
    )


def summary(folder: str, name: str) -> str:
    """The first paragraph of a file's docstring on one line, read without importing the file."""
    source = resources.files(folder).joinpath(_module(folder, name) + ".py").read_text(encoding="utf-8")
    return " ".join((ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0].split())


def constant(folder: str, name: str, variable: str) -> Any:
    """A literal that a file assigns to a name, read without importing the file; None if there is none."""
    source = resources.files(folder).joinpath(_module(folder, name) + ".py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [variable]:
            return ast.literal_eval(node.value)
    return None


def find(folder: str, name: str) -> Any:
    """The one public class or function of a file: `NoisySum` or `noisy_sum` in `noisy_sum.py`."""
    stem = _module(folder, name)
    module = importlib.import_module(f"{folder}.{stem}")
    for spelling in (spelled(folder, name), stem):
        if hasattr(module, spelling):
            return getattr(module, spelling)
    raise AttributeError(f"{folder}/{stem}.py defines neither {class_name(name)} nor {stem}")


@functools.cache
def spelled(folder: str, name: str) -> str:
    """The class of a file, as the file writes it: `GaussianNB`, `PCA`; read without importing it."""
    source = resources.files(folder).joinpath(_module(folder, name) + ".py").read_text(encoding="utf-8")
    classes = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return next((c for c in classes if c.lower() == class_name(name).lower()), class_name(name))


def class_name(name: str) -> str:
    """`noisy-sum` is the class `NoisySum`."""
    return "".join(part.capitalize() for part in name.split("-"))


def lookup(folder: str, attribute: str) -> Any:
    """What `from undeleted.curate.mechanisms import NoisySum` resolves to, imported on demand."""
    for name in names(folder):
        if attribute.lower() == class_name(name).lower() or attribute == name.replace("-", "_"):
            return find(folder, name)
    raise AttributeError(f"module {folder!r} has no attribute {attribute!r}")


def on_demand(folder: str, exported: list[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a folder: names are imported when somebody asks for them."""

    def __getattr__(name: str) -> Any:
        return lookup(folder, name)

    return __getattr__, lambda: exported


def directory(folder: str) -> list[str]:
    """The names that `dir()` and tab completion show for a folder."""
    return sorted(spelled(folder, name) for name in names(folder))


def _module(folder: str, name: str) -> str:
    if name not in names(folder):
        kinds = {home: kind for kind, home in HOMES.items()}
        raise UnknownName(kinds.get(folder, folder.rpartition(".")[2]), name, names(folder))
    return name.replace("-", "_")
