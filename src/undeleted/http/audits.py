"""Verdicts that `undeleted audit` wrote into a folder.  One that holds real values is told in one word."""

import json
from pathlib import Path
from typing import Any

from undeleted.audit.witness import VERDICT
from undeleted.errors import UnknownName

MOST = 200
LARGEST = 1 << 20  # bytes of a verdict
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
        if private:
            return shown
        if told["delta_at_least"] is not None:
            shown["facts"].append(("δ", f"at least {told['delta_at_least']:.3g}"))
        shown["facts"] += [(label, str(told[key])) for key, label in _FACTS.items() if told.get(key)]
        shown["facts"] += [("assuming", text) for text in told["assumptions"]]
        shown["facts"].append(("forgets", f"{told['forgets']}: {told['forgets_why']}"))
        shown["facts"].append(("took", f"{told['seconds']:.1f} s, {told['calls']:,} calls"))
        shown["attacks"] = [(str(a["attack"]), str(a["result"])) for a in told["attacks"]]
        return shown
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # not ours, or being written
