"""Verdicts that `undeleted audit` wrote into a folder.  If it holds real values, no details are shown."""

import json
import re
from pathlib import Path

from undeleted.auditing.witness import VERDICT
from undeleted.errors import UnknownName
from undeleted.foundations.types import Given, Json

MOST = 200
LARGEST = 1 << 20  # bytes of a verdict
_FOLDERS = re.compile(r"(?<=')/(?:[^/']+/)*|(?<![\w/.])~?/(?!/)(?:[^\s/'\"]+/)*")  # of the machine
_FACTS = {
    "argument": "because",
    "smallest_leak_that_would_have_been_seen": "detectable leak",
    "rounding": "rounding",
    "replay": "run it again",
}


def listed(folder: Path | None) -> list[Json]:
    """Return the latest verdicts, newest first."""
    if folder is None or not folder.is_dir():
        return []
    files = [path for path in folder.glob(f"*{VERDICT}") if path.is_file() and not path.is_symlink()]
    latest = sorted(files, key=lambda path: -path.stat().st_mtime)[:MOST]
    return [result for path in latest if (result := _read(path)) is not None]


def one(folder: Path | None, name: str) -> Json:
    """Return a verdict by name; the name is only compared, and never used as a path."""
    results = {verdict["name"]: verdict for verdict in listed(folder)}
    if name not in results:
        raise UnknownName("audits", name, tuple(results))
    return results[name]


def _read(path: Path) -> Json | None:
    try:
        if path.stat().st_size > LARGEST:
            return None
        saved = json.loads(path.read_text(encoding="utf-8"))
        broken = saved["undeleted"] in ("broken", "not perfectly safe")
        private = bool(saved["holds_real_values"])
        shown: Json = {
            "name": path.name.removesuffix(VERDICT),
            "target": str(saved["target"]),
            "undeleted": str(saved["undeleted"]),
            "broken": broken,
            "forgets": str(saved["forgets"]),
            "private": private,
            "facts": [],
            "attacks": [],
        }
        shown = {name: _without_folders(value) for name, value in shown.items()}
        if private:
            return shown
        if saved["delta_at_least"] is not None:
            shown["facts"].append(("δ", f"at least {saved['delta_at_least']:.3g}"))
        known = {key: _without_folders(saved[key]) for key in _FACTS if saved.get(key)}
        shown["facts"] += [(_FACTS[key], str(value)) for key, value in known.items()]
        shown["facts"] += [("assuming", _without_folders(text)) for text in saved["assumptions"]]
        why = _without_folders(f"{saved['forgets']}: {saved['forgets_why']}")
        shown["facts"].append(("forgets", why))
        shown["facts"].append(("took", f"{saved['seconds']:.1f} s, {saved['calls']:,} calls"))
        tried = [(str(a["attack"]), str(a["result"])) for a in saved["attacks"]]
        shown["attacks"] = [(attack, _without_folders(result)) for attack, result in tried]
        return shown
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # not a verdict, or still being written


def _without_folders(value: Given) -> Given:
    """Replace the folders of paths, which would reveal the machine's layout; keep the file names.

    >>> _without_folders("undeleted replay /srv/audit/forest.witness.json against python:/srv/a.py:Forest")
    'undeleted replay …/forest.witness.json against python:…/a.py:Forest'
    >>> _without_folders("http://localhost:8000/v1/a, and '/srv/our things/a.py'")
    "http://localhost:8000/v1/a, and '…/a.py'"
    """
    return _FOLDERS.sub("…/", value) if isinstance(value, str) else value
