"""Run a witness again, from scratch, on a target that the caller names.

The witness supplies worlds and deletions.  The caller supplies what a verdict rests on: the target, what is
seen of it, what is assumed about the first output, the confidence, what counts as rounding.  New seeds are
drawn, so that nobody can have chosen worlds in which a safe target looks broken under known seeds.  If a
witness has many findings, each must hold at a smaller rate of false alarms.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from undeleted.auditing.auditor import open_target
from undeleted.auditing.collisions import FEW_SEEDS
from undeleted.auditing.columns import columns_from
from undeleted.auditing.exposures import Stage
from undeleted.auditing.forgetting import DRIFT, always, in_distribution
from undeleted.auditing.lab import TOLERANCE, Lab, apart, exactly, leaves
from undeleted.auditing.pairs import Pair, Space, deletions
from undeleted.auditing.sequential_tests import (
    PARTS,
    STOPPING_POINTS,
    Candidate,
    FirstOutput,
    look,
    seeds_from,
)
from undeleted.auditing.targets import TargetSpec
from undeleted.auditing.targets.process import Clock
from undeleted.auditing.witness import load
from undeleted.errors import AuditTimeUp, BadFile, BadSetting, Misuse, TargetFailed, UndeletedError
from undeleted.foundations import registry
from undeleted.foundations.coins import Coins, seeded
from undeleted.foundations.types import Given, Json, Output

NEW_STAGES = 2  # newly drawn stages on which an attack must succeed too


@dataclass(frozen=True)
class ReplayTerms:
    """What the caller of a replay lets a verdict rest on."""

    digits: int | None = None
    first: FirstOutput = field(default_factory=FirstOutput)
    confidence: float = 0.95
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise BadSetting(f"confidence {self.confidence:g} is not allowed.", "Give 0.5 or more, below 1.")
        if not self.tolerance >= 0:
            raise BadSetting(f"a tolerance of {self.tolerance:g} is not allowed.", "Give 0 or more.")


@dataclass(frozen=True)
class Replayed:
    """Whether a finding was reproduced, and what that rests on."""

    kind: str
    holds: bool
    says: str
    rests_on: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it counts; rounding is reported, but counts only in an audit without tolerance."""
        return self.holds and self.kind != "rounding"

    def as_json(self) -> Json:
        body = {"kind": self.kind, "holds": self.holds, "counts": self.counts, "says": self.says}
        return body | {"rests_on": list(self.rests_on)}


def replay(
    path: str | Path,
    named: TargetSpec,
    terms: ReplayTerms | None = None,
    *,
    budget: float = 60.0,
    calls: int | None = None,
    seed: int | None = None,
) -> list[Replayed]:
    """Run every finding again on a target that the caller names.

    The witness says what records look like and at which points predictions are made.  Only the caller says
    what is run, what is seen of it and what a verdict rests on.  Without a seed, one is drawn.
    """
    body, terms = load(path), terms or ReplayTerms()
    try:
        was = body["target"]
        columns, at = columns_from(was["columns"]), tuple(tuple(map(float, p)) for p in was["at"])
    except (KeyError, TypeError, ValueError, Misuse):
        raise _altered(path) from None
    if list(named.see) != was["see"] or terms.digits != body["digits"]:
        flags = f" --see {','.join(was['see'])}" if was["see"] else " no --see"
        flags += f" --digits {body['digits']}" if body["digits"] is not None else " and no --digits"
        raise BadSetting("the witness was recorded for another observer.", f"Give{flags}.")
    named = replace(named, columns=columns, at=at, label=was["label"], features=was["features"])
    counted = sum(f["kind"] in ("statistics", "forgets") for f in body["findings"])
    coins = seeded(f"replay {secrets.randbits(128) if seed is None else seed}")
    clock = Clock(budget, calls=calls)
    with open_target(named, clock, hide="holds" in body) as target:
        run = _Run(Lab(target, terms.digits), terms, coins, (1 - terms.confidence) / max(1, counted))
        try:
            return [REPLAY_BY_KIND[f["kind"]](run, f) for f in body["findings"]]
        except AuditTimeUp:
            raise TargetFailed("replaying", f"the budget of {clock} ran out", "Give it more.") from None
        except UndeletedError:
            raise
        except (LookupError, TypeError, ValueError, OverflowError, StopIteration):
            raise _altered(path) from None


def _altered(path: str | Path) -> BadFile:
    return BadFile(str(path), "lacks a part of a witness.", "It was altered; create it again.")


@dataclass(frozen=True)
class _Run:
    """A target under replay, on the caller's terms."""

    lab: Lab
    terms: ReplayTerms
    coins: Coins
    alpha: float  # for each finding that shares the rate of false alarms


def _collision(run: _Run, f: Mapping[str, Given]) -> Replayed:
    lab, worlds = run.lab, f.get("worlds") or [f["one"], f["other"]]
    played = [lab.play(world, f["batches"], f["seed"]) for world in worlds]
    more = [] if f["kind"] == "rounding" else seeds_from(run.coins, FEW_SEEDS)
    seeds = [f["seed"], *more]  # rounding is shown with one seed, also for a randomised target
    again = [lab.plays(world, f["batches"], seeds) for world in reversed(worlds)][::-1]
    if any(exactly(t) != exactly(first) for first, ts in zip(played, again, strict=True) for t in ts):
        return Replayed(
            f["kind"], False, "the target gave a different output when it was run again, or with other seeds"
        )
    if len({exactly(t[0]) for t in played}) != 1:
        return Replayed(f["kind"], False, "the first outputs are no longer the same")
    tolerance = 0.0 if f["kind"] == "rounding" else run.terms.tolerance * _largest(worlds)
    if not all(_apart(a, b, tolerance) for i, a in enumerate(played) for b in played[:i]):
        return Replayed(f["kind"], False, "the worlds no longer differ, or only by rounding")
    after = deletions(f["batches"])
    same = _lists([played[0], played[1]]) == _lists([f["outputs"]["one"], f["outputs"]["other"]])
    note = "" if same else "; the outputs differ from the recorded ones"
    says = f"{len(worlds)} worlds, one first output, all different after {after}{note}"
    rests = (f"the target is deterministic: one transcript on {len(seeds)} seeds", *_as_seen(run.terms))
    return Replayed(f["kind"], True, says, rests)


def _apart(one: Output, other: Output, tolerance: float) -> bool:
    """Whether two transcripts differ by more than rounding; in a sum, large values absorb small ones."""
    ours, theirs = leaves(one), leaves(other)
    if len(ours) != len(theirs):
        return True
    for a, b in zip(ours, theirs, strict=True):
        numbers = isinstance(a, int | float) and isinstance(b, int | float)
        if a != b and (not numbers or not abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))):
            return True
    return False


def _largest(worlds: Output) -> float:
    """The largest value: rounding is relative to it."""
    values = (v for world in worlds for record in world for v in record.values())
    return max([1.0, *(abs(float(v)) for v in values if not isinstance(v, str))])


def _lists(value: Output) -> Output:
    return list(map(_lists, value)) if isinstance(value, list | tuple) else value


def _as_seen(terms: ReplayTerms) -> tuple[str, ...]:
    rounding = f"differences below {terms.tolerance:g}, relative, are rounding"
    return (rounding,) if terms.digits is None else (rounding, f"the observer sees {terms.digits} decimals")


def _statistics(run: _Run, f: Mapping[str, Given]) -> Replayed:
    stated = FirstOutput(f["assumed"]["epsilon"], f["assumed"]["delta"])
    if stated.epsilon is not None and run.terms.first.epsilon is None:
        accept = f"give --first-epsilon {stated.epsilon:g} --first-delta {stated.delta:g} if you accept that"
        return Replayed(f["kind"], False, f"it rests on an assumption ({stated}): {accept}")
    pair = Pair(f["family"], tuple(f["one"]), tuple(f["other"]), tuple(n for b in f["batches"] for n in b))
    candidate = Candidate(pair, tuple(map(tuple, f["batches"])), 0.0, 0.0, 0.0)
    alpha = run.alpha / len(STOPPING_POINTS)  # one pair, at every stopping point
    if run.terms.tolerance * _largest([f["one"], f["other"]]) >= 1:
        return Replayed(f["kind"], False, "its values are so large that smaller ones are lost in rounding")
    first, said = run.terms.first, "nothing was run"
    rests = (f"confidence {run.terms.confidence:g}", *((str(first),) if first.epsilon is not None else ()))
    for runs in STOPPING_POINTS:
        if runs < min(f["runs"], STOPPING_POINTS[-1]):
            continue
        try:
            result = look(run.lab, candidate, runs, run.coins, first, alpha, run.terms.tolerance)
        except AuditTimeUp:
            said += ", and the budget ended"
            break
        broken = f["shows"] == "broken"
        holds = result.delta > 0 if broken else result.p_value <= alpha * PARTS["imperfect"]
        said = f"δ ≥ {result.delta:.3g}" if broken else f"p = {result.p_value:.2g}"
        said += f" on {runs} fresh runs of each world"
        if holds:
            return Replayed(f["kind"], True, said, (*rests, *_as_seen(run.terms)))
    return Replayed(f["kind"], False, said)


def _forgets(run: _Run, f: Mapping[str, Given]) -> Replayed:
    """Compare exactly if many seeds give the same two outputs, and in distribution if they do not."""
    lab, gone = run.lab, f["deleted"]
    after = lab.play(f["records"], [[name] for name in gone], f["seed"])[-1]
    [fresh_start] = lab.play([r for r in f["records"] if r["id"] not in set(gone)], [], f["seed"])
    distance = apart(after, fresh_start)
    if distance <= DRIFT:
        return Replayed(f["kind"], False, f"after deletions it differs from a fresh start by {distance:.2g}")
    if always(lab, f["records"], gone, f["seed"], after, fresh_start, run.coins):
        says = f"after deletions it differs from a fresh start by {distance:.2g}"
        return Replayed(f["kind"], True, says, ("the target is deterministic: many seeds, two outputs",))
    said = in_distribution(lab, f["records"], gone, {}, run.coins, run.alpha * PARTS["forgets"], lambda: True)
    return Replayed(f["kind"], said.verdict == "no", said.why, (f"confidence {run.terms.confidence:g}",))


def _exposure(run: _Run, f: Mapping[str, Given]) -> Replayed:
    """Run the attack again on the same stage, and on ones that it sets up itself with fresh coins.

    A stage that somebody chose proves nothing: with one person left, a sum is that person's value.
    """
    attack, stage = registry.find("undeleted.auditing.exposures", f["attack"])(), Stage.from_json(f["stage"])
    result = attack.play(run.lab, stage, f["seed"])
    if result is None:
        return Replayed(f["kind"], False, f"{f['attack']}: no value is exposed now")
    says = f"{f['attack']}: {result.exposed} of {result.of} values exposed"
    for _ in range(NEW_STAGES):
        drawn = attack.stages(Space(stage.columns, stage.label), run.coins)
        again = (
            attack.play(run.lab, fresh, seeds_from(run.coins, 1)[0])
            for fresh in drawn
            if fresh.column == stage.column
        )
        if not any(again):
            return Replayed(f["kind"], False, f"{says}, but none on a newly drawn stage")
    return Replayed(f["kind"], True, f"{says}, and on {NEW_STAGES} newly drawn stages", _as_seen(run.terms))


REPLAY_BY_KIND: dict[str, Callable[[_Run, Mapping[str, Given]], Replayed]] = {
    "collision": _collision,
    "rounding": _collision,
    "statistics": _statistics,
    "forgets": _forgets,
    "exposure": _exposure,
}
