"""A witness file: what an audit found, to be run again from scratch (`undeleted.auditing.replaying`).

It holds worlds, deletions and outputs, and never decides what is run.  Nothing in it is trusted: every part
is validated before anything is run.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from undeleted.auditing.verdict import Verdict
from undeleted.curate.durable import atomic
from undeleted.errors import BadFile, BadSetting, Misuse
from undeleted.foundations import registry
from undeleted.foundations.types import Given, Json, Output

FORMAT = "undeleted-witness"
VERSION = 1
KINDS = ("collision", "rounding", "statistics", "forgets", "exposure")
REDACTED = (
    "one",
    "other",
    "worlds",
    "outputs",
    "records",
    "stage",
    "claims",
    "after_deletion",
    "from_scratch",
)
VERDICT = ".verdict.json"  # the suffix of a verdict file
MARK = "real values of people: keep this file private"


def save(verdict: Verdict, path: str | Path, *, redact: bool = False) -> None:
    """Write the findings; only its owner can read the file if the audit used real values."""
    body: Json = {
        "format": FORMAT,
        "version": VERSION,
        "target": verdict.target.as_json(),
        "digits": verdict.options.digits,
        "undeleted": verdict.undeleted,
        "forgets": verdict.forgets.verdict,
        "findings": [_redacted(f) if redact else f for f in verdict.findings],
    }
    if verdict.real_values and not redact:
        body["holds"] = MARK
    if redact:
        body["holds"] = "redacted"
        body["target"] |= {"columns": {}, "at": []}
    write(path, json.dumps(body, indent=1, ensure_ascii=False) + "\n", private=verdict.real_values)


def write(path: str | Path, text: str, *, private: bool) -> None:
    """Write a file atomically; only its owner can read it if it is private."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic(target, private=private) as file:
            file.write(text)
    except OSError as error:
        raise BadFile(str(path), f"cannot be written ({error.strerror}).", "Choose another path.") from None


def _redacted(finding: Mapping[str, Given]) -> Json:
    return {k: "redacted" if k in REDACTED else v for k, v in finding.items()}


def load(path: str | Path) -> Json:
    """Read a witness file and validate every part of it."""
    remedy = "Give a file written by `undeleted audit`."
    try:
        body = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(str(path), f"cannot be read ({error.strerror}).", "Check the path.") from None
    except (ValueError, RecursionError):
        raise BadFile(str(path), "is not JSON.", remedy) from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise BadFile(str(path), "is not a witness.", remedy)
    if body.get("version") != VERSION:
        problem = f"has a format version other than {VERSION}, the one that this program reads."
        raise BadFile(
            str(path), problem, "Read it with the version of undeleted that wrote it, or a newer one."
        )
    if body.get("holds") == "redacted":
        raise BadFile(str(path), "was redacted: it holds no worlds to run.", "Replay the original file.")
    if body.get("findings") == []:
        raise BadFile(str(path), "holds no finding.", "There is nothing to replay.")
    try:
        _require_target(body)
        for finding in _list(body["findings"]):
            _require_finding(finding)
        attacks = [f["attack"] for f in body["findings"] if f["kind"] == "exposure"]
        _require(len(set(attacks)) == len(attacks))  # an audit writes one per attack
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        RecursionError,
        Misuse,
    ) as error:
        if isinstance(error, BadSetting) and "controls" in error.what:
            raise
        raise BadFile(str(path), "lacks a part of a witness.", "It was altered; create it again.") from None
    return body


def _require(holds: object) -> None:
    if not holds:
        raise ValueError


def _list(value: Output) -> list[Output]:
    _require(type(value) is list)
    result: list[Output] = value
    return result


def _is_number(value: Output) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < 1e300


def _require_target(body: Mapping[str, Given]) -> None:
    was, digits = body["target"], body["digits"]
    _require(digits is None or (type(digits) is int and abs(digits) <= 300))
    _require(all(type(name) is str for name in _list(was["see"])))
    _require(all(_is_number(v) for point in _list(was["at"]) for v in _list(point)))
    _require(type(was["columns"]) is dict and all(type(about) is dict for about in was["columns"].values()))
    _require(was["label"] is None or type(was["label"]) is str)
    _require(type(was["features"]) is int and 1 <= was["features"] <= 10_000)


def _require_finding(f: Mapping[str, Given]) -> None:
    _require(type(f) is dict and type(f["kind"]) is str and f["kind"] in KINDS)
    _require(type(f.get("seed", 0)) is int and 0 <= f.get("seed", 0) < 2**63)
    _require(_is_number(f.get("tolerance", 0.0)) and f.get("tolerance", 0.0) >= 0)
    if f["kind"] == "forgets":
        people = _require_world(f["records"])
        _require_leavers([f["deleted"]], people)
        _require(type(f.get("seed")) is int)
    elif f["kind"] == "exposure":
        _require(type(f["attack"]) is str and f["attack"] in registry.names("undeleted.auditing.exposures"))
        _require_leavers([f["stage"]["own"]], _require_world(f["stage"]["records"]))
        _require(type(f["stage"]["columns"]) is dict)
        _require({type(f["stage"]["label"]), type(f["stage"]["column"])} <= {str, type(None)})
    else:
        _require_worlds(f)
    if f["kind"] == "statistics":
        assumed = f["assumed"]
        _require(assumed["epsilon"] is None or (_is_number(assumed["epsilon"]) and assumed["epsilon"] >= 0))
        _require(_is_number(assumed["delta"]) and 0 <= assumed["delta"] < 1)
        _require(type(f["runs"]) is int and f["runs"] > 0 and type(f["family"]) is str)
        _require(f["shows"] in ("broken", "not perfectly safe"))


def _require_world(records: Output) -> list[str]:
    """Require records of one shape with unique ids, and return the ids: some targets merge equal ids."""
    names = [record["id"] for record in _list(records)]
    _require(names and all(type(name) is str and name for name in names) and len(set(names)) == len(names))
    fields = set(records[0])
    for record in records:
        _require(type(record) is dict and set(record) == fields)
        _require(all(type(v) in (str, bool) or _is_number(v) for v in record.values()))
    return names


def _require_leavers(batches: Output, people: list[str]) -> None:
    gone = [name for batch in _list(batches) for name in _list(batch)]
    _require(gone and all(type(name) is str for name in gone) and all(_list(batches)))
    _require(len(set(gone)) == len(gone) and set(gone) <= set(people))


def _require_worlds(f: Mapping[str, Given]) -> None:
    """Require worlds of the same people that agree on the deleted rows: leavers may be learned."""
    worlds = _list(f.get("worlds", [f["one"], f["other"]]))
    _require(worlds[:2] == [f["one"], f["other"]])
    names = [_require_world(world) for world in worlds]
    _require(all(n == names[0] for n in names))
    _require(all(set(world[0]) == set(worlds[0][0]) for world in worlds))
    if "own" in f:
        _require(all(type(name) is str for name in _list(f["own"])))
    _require_leavers(f["batches"], names[0])
    gone = {name for batch in f["batches"] for name in batch}
    rows = [[r for r in world if r["id"] in gone] for world in worlds]
    if any(repr(r) != repr(rows[0]) for r in rows):
        raise BadSetting(
            "the worlds of this witness differ in what the attacker controls.",
            "It was altered; create it again.",
        )
