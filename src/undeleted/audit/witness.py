"""A witness file: what an audit found, to be run again from scratch.

It holds worlds, deletions and outputs, never what to run: `replay` runs only what its caller names, and
says so if that is observed in another way than when the witness was made.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from undeleted import registry
from undeleted.audit.collisions import FEW_SEEDS
from undeleted.audit.columns import columns_from
from undeleted.audit.exposures import Stage
from undeleted.audit.forgetting import DRIFT, in_distribution
from undeleted.audit.lab import Lab, apart, exactly, far
from undeleted.audit.looks import LOOKS, PARTS, Candidate, FirstOutput, look, seeds_from
from undeleted.audit.pairs import Pair, deletions
from undeleted.audit.statistical import open_target
from undeleted.audit.targets import Named
from undeleted.audit.targets._program import BudgetOver, Clock
from undeleted.audit.verdict import Verdict
from undeleted.coins import seeded
from undeleted.errors import BadFile, BadQuestion, TargetFailed

FORMAT = "undeleted-witness"
VERSION = 1
REDACTED = ("one", "other", "worlds", "outputs", "records", "stage", "claims", "after_deletion", "afresh")
VERDICT = ".verdict.json"  # how the file of a verdict ends
MARK = "real values of people: keep this file to yourself"


def save(verdict: Verdict, path: str | Path, *, redact: bool = False) -> None:
    """Write what was found; readable by its owner only if it holds real values."""
    body: dict[str, Any] = {
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
    """Write a file, for its owner alone if it is private; whole, or not at all."""
    target = Path(path)
    scratch = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch.unlink(missing_ok=True)
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(scratch, target)
    except OSError as error:
        scratch.unlink(missing_ok=True) if scratch.parent.is_dir() else None
        raise BadFile(str(path), f"cannot be written ({error.strerror}).", "Choose another place.") from None


def _redacted(finding: Mapping[str, Any]) -> dict[str, Any]:
    return {k: "redacted" if k in REDACTED else v for k, v in finding.items()}


@dataclass(frozen=True)
class Replayed:
    """Whether a finding shows again."""

    kind: str
    holds: bool
    says: str

    @property
    def counts(self) -> bool:
        """Rounding is told, and counts only in an audit without tolerance."""
        return self.holds and self.kind != "rounding"

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "holds": self.holds, "counts": self.counts, "says": self.says}


def load(path: str | Path) -> dict[str, Any]:
    """A witness file, checked."""
    remedy = "Give a file written by `undeleted audit`."
    try:
        body = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(str(path), f"cannot be read ({error.strerror}).", "Check the path.") from None
    except ValueError:
        raise BadFile(str(path), "is not JSON.", remedy) from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise BadFile(str(path), "is not a witness.", remedy)
    if body.get("version") != VERSION:
        problem = f"has format version {body.get('version')!r}; this program reads version {VERSION}."
        raise BadFile(
            str(path), problem, "Read it with the version of undeleted that wrote it, or a newer one."
        )
    findings = body.get("findings")
    if not isinstance(findings, list) or not all(
        isinstance(f, dict) and f.get("kind") in KINDS for f in findings
    ):
        raise _altered(path)
    if body.get("holds") == "redacted":
        raise BadFile(str(path), "was redacted: it holds no worlds to run.", "Replay the one that was not.")
    if not findings:
        raise BadFile(str(path), "holds no finding.", "There is nothing to replay.")
    return body


def replay(
    path: str | Path, named: Named, *, digits: int | None = None, budget: float = 60.0, seed: int = 11
) -> list[Replayed]:
    """Run every finding again on a target that the caller names.

    What records look like and where predictions are asked for comes from the witness; what is run, and what
    is read off it, from the caller alone.
    """
    body = load(path)
    try:
        was = body["target"]
        seen, rounded = list(was["see"]), body["digits"]
        columns, at = columns_from(was["columns"]), tuple(tuple(map(float, p)) for p in was["at"])
        named = replace(named, columns=columns, at=at, label=was["label"], features=int(was["features"]))
    except (KeyError, TypeError, ValueError, BadQuestion):
        raise _altered(path) from None
    if list(named.see) != seen or (digits is not None and digits != rounded):
        flags = f" --see {','.join(map(str, seen))}" if seen else " no --see"
        flags += f" --digits {rounded}" if rounded is not None else " and no --digits"
        raise BadQuestion("the witness was seen by another observer.", f"Give{flags}.")
    clock = Clock(budget)
    with open_target(named, clock, hide="holds" in body) as target:
        lab = Lab(target, rounded)
        try:
            return [_checked(path, f)(lab, f, seed) for f in body["findings"]]
        except BudgetOver:
            raise TargetFailed("replaying", f"the budget of {budget:g} s was over", "Give it more.") from None
        except (KeyError, TypeError, AttributeError, ValueError):
            raise _altered(path) from None


def _altered(path: str | Path) -> BadFile:
    return BadFile(str(path), "lacks a part of a witness.", "It was altered; make it anew.")


def _checked(path: str | Path, f: Mapping[str, Any]) -> Callable[..., Replayed]:
    """How a finding is run again, once its parts are what they should be."""
    whole = isinstance(f.get("seed", 0), int) and isinstance(f.get("tolerance", 0.0), int | float)
    worlds = f.get("worlds", [f.get("one"), f.get("other")])
    if not whole or f.get("tolerance", 0.0) < 0 or worlds[:2] != [f.get("one"), f.get("other")]:
        raise _altered(path)
    return KINDS[f["kind"]]


def _collision(lab: Lab, f: Mapping[str, Any], seed: int) -> Replayed:
    _agree_on_the_controlled(f)
    worlds = f.get("worlds") or [f["one"], f["other"]]
    played = [lab.play(world, f["batches"], f["seed"]) for world in worlds]
    more = [] if f["kind"] == "rounding" else seeds_from(seeded(f"replay {seed}"), FEW_SEEDS)
    seeds = [f["seed"], *more]  # rounding is shown under one seed, of a randomised target too
    again = [lab.plays(world, f["batches"], seeds) for world in reversed(worlds)][::-1]
    if any(exactly(t) != exactly(first) for first, ts in zip(played, again, strict=True) for t in ts):
        return Replayed(
            f["kind"], False, "the target did another thing when it was run again, or with other seeds"
        )
    if len({exactly(t[0]) for t in played}) != 1:
        return Replayed(f["kind"], False, "the first outputs are not the same any more")
    apart_at = [far(a, b, f["tolerance"]) for i, a in enumerate(played) for b in played[:i]]
    if None in apart_at:
        return Replayed(f["kind"], False, "the worlds are not told apart any more")
    after = deletions(f["batches"])
    same = _lists([played[0], played[1]]) == _lists([f["outputs"]["one"], f["outputs"]["other"]])
    note = "" if same else "; other outputs than were written down"
    return Replayed(
        f["kind"], True, f"{len(worlds)} worlds, one first output, all different after {after}{note}"
    )


def _lists(value: Any) -> Any:
    return list(map(_lists, value)) if isinstance(value, list | tuple) else value


def _statistics(lab: Lab, f: Mapping[str, Any], seed: int) -> Replayed:
    _agree_on_the_controlled(f)
    pair = Pair(f["family"], tuple(f["one"]), tuple(f["other"]), tuple(n for b in f["batches"] for n in b))
    batches = tuple(map(tuple, f["batches"]))
    candidate = Candidate(pair, batches, 0.0, 0.0, 0.0)
    alpha = (1 - f["confidence"]) / len(LOOKS)  # one pair, at every stopping point
    assumed = FirstOutput(f["assumed"]["epsilon"], f["assumed"]["delta"])
    coins, said = seeded(f"replay {seed}"), "nothing was run"
    for runs in LOOKS:
        if runs < min(int(f["runs"]), LOOKS[-1]):
            continue
        try:
            found = look(lab, candidate, runs, coins, assumed, alpha, f["tolerance"])
        except BudgetOver:
            said += ", and time was up"
            break
        broken = f["shows"] == "broken"
        holds = found.delta > 0 if broken else found.p_value <= alpha * PARTS["imperfect"]
        said = f"δ ≥ {found.delta:.3g}" if broken else f"p = {found.p_value:.2g}"
        said += f" on {runs} fresh runs of each world"
        if holds:
            return Replayed(f["kind"], True, said)
    return Replayed(f["kind"], False, said)


def _forgets(lab: Lab, f: Mapping[str, Any], seed: int) -> Replayed:
    gone = set(f["deleted"])
    if "advantage_at_least" in f:
        return _forgets_in_distribution(lab, f, seed)
    after = lab.play(f["records"], [[name] for name in f["deleted"]], f["seed"])[-1]
    [afresh] = lab.play([r for r in f["records"] if r["id"] not in gone], [], f["seed"])
    distance = apart(after, afresh)
    return Replayed(
        f["kind"], distance > DRIFT, f"after the deletions {distance:.2g} away from a fresh start"
    )


def _forgets_in_distribution(lab: Lab, f: Mapping[str, Any], seed: int) -> Replayed:
    coins, alpha = seeded(f"replay {seed}"), (1 - f.get("confidence", 0.95)) * PARTS["forgets"]
    said = in_distribution(lab, f["records"], f["deleted"], {}, coins, alpha, lambda: True)
    return Replayed(f["kind"], said.verdict == "no", said.why)


def _exposure(lab: Lab, f: Mapping[str, Any], seed: int) -> Replayed:
    """Play the attack again on the same stage; it claims anew."""
    attack = registry.find("undeleted.audit.exposures", f["attack"])()
    found = attack.play(lab, Stage.from_json(f["stage"]), f["seed"])
    says = (
        "no value is exposed any more" if found is None else f"{found.exposed} of {found.of} values exposed"
    )
    return Replayed(f["kind"], found is not None, f"{f['attack']}: {says}")


def _agree_on_the_controlled(f: Mapping[str, Any]) -> None:
    """A witness whose worlds differ in a deleted row shows nothing: leavers may be learned."""
    gone = {name for batch in f["batches"] for name in batch}
    worlds: Sequence[Any] = f.get("worlds") or [f["one"], f["other"]]
    rows = [{r["id"]: r for r in world if r["id"] in gone} for world in worlds]
    names = [[r["id"] for r in world] for world in worlds]
    if any(r != rows[0] for r in rows) or any(n != names[0] for n in names) or gone - rows[0].keys():
        raise BadQuestion(
            "the worlds of this witness differ in what the attacker controls.",
            "It was altered; make it anew.",
        )


KINDS: dict[str, Callable[..., Replayed]] = {
    "collision": _collision,
    "rounding": _collision,
    "statistics": _statistics,
    "forgets": _forgets,
    "exposure": _exposure,
}
