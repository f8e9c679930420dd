"""Verdicts that `undeleted audit` wrote into a folder.  One that holds real values is told in one word."""

import json
import re
from pathlib import Path
from typing import Any

from undeleted.audit.witness import VERDICT
from undeleted.errors import UnknownName

MOST = 200
LARGEST = 1 << 20  # bytes of a verdict
_FOLDERS = re.compile(r"(?<=')/(?:[^/']+/)*|(?<![\w/.])~?/(?!/)(?:[^\s/'\"]+/)*")  # of the machine
_FACTS = {
    "argument": "because",
    "smallest_leak_that_would_have_been_seen": "would have seen",
    "rounding": "rounding",
    "replay": "run it again",
}


def listed(folder: Path | None) -> list[dict[str, Any]]:
    """Every verdict, the latest first."""
    if folder is None or not folder.is_dir():
        return []
    files = [path for path in folder.glob(f"*{VERDICT}") if path.is_file() and not path.is_symlink()]
    latest = sorted(files, key=lambda path: -path.stat().st_mtime)[:MOST]
    return [found for path in latest if (found := _read(path)) is not None]


def one(folder: Path | None, name: str) -> dict[str, Any]:
    """A verdict by its name; names are compared, and never used as a path."""
    found = {verdict["name"]: verdict for verdict in listed(folder)}
    if name not in found:
        raise UnknownName("audits", name, tuple(found))
    return found[name]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > LARGEST:
            return None
        told = json.loads(path.read_text(encoding="utf-8"))
        broken = told["undeleted"] in ("broken", "not perfectly safe")
        private = bool(told["holds_real_values"])
        shown: dict[str, Any] = {
            "name": path.name.removesuffix(VERDICT),
            "target": str(told["target"]),
            "undeleted": str(told["undeleted"]),
            "broken": broken,
            "forgets": str(told["forgets"]),
            "private": private,
            "facts": [],
            "attacks": [],
        }
        shown = {name: _without_folders(value) for name, value in shown.items()}
        if private:
            return shown
        if told["delta_at_least"] is not None:
            shown["facts"].append(("δ", f"at least {told['delta_at_least']:.3g}"))
        known = {key: _without_folders(told[key]) for key in _FACTS if told.get(key)}
        shown["facts"] += [(_FACTS[key], str(value)) for key, value in known.items()]
        shown["facts"] += [("assuming", _without_folders(text)) for text in told["assumptions"]]
        why = _without_folders(f"{told['forgets']}: {told['forgets_why']}")
        shown["facts"].append(("forgets", why))
        shown["facts"].append(("took", f"{told['seconds']:.1f} s, {told['calls']:,} calls"))
        tried = [(str(a["attack"]), str(a["result"])) for a in told["attacks"]]
        shown["attacks"] = [(attack, _without_folders(result)) for attack, result in tried]
        return shown
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # not ours, or being written


def _without_folders(value: Any) -> Any:
    """Where things lie on the machine is nobody's business; what they are called is.

    >>> _without_folders("undeleted replay /srv/audit/forest.witness.json against python:/srv/a.py:Forest")
    'undeleted replay …/forest.witness.json against python:…/a.py:Forest'
    >>> _without_folders("http://localhost:8000/v1/a, and '/srv/our things/a.py'")
    "http://localhost:8000/v1/a, and '…/a.py'"
    """
    return _FOLDERS.sub("…/", value) if isinstance(value, str) else value
