"""Run a witness again, from scratch, on what the caller names.

The witness gives worlds and deletions.  What a verdict rests on is the caller's: the target, what is seen of
it, what is assumed of the first output, the confidence, what counts as rounding.  Seeds are drawn afresh, so
that nobody can have chosen worlds in which a safe target looks broken under known seeds; and a witness with
many findings has to show each of them at a smaller rate of false alarms.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from undeleted.audit.auditor import open_target
from undeleted.audit.collisions import FEW_SEEDS
from undeleted.audit.columns import columns_from
from undeleted.audit.exposures import Stage
from undeleted.audit.forgetting import DRIFT, always, in_distribution
from undeleted.audit.lab import TOLERANCE, Lab, apart, exactly, leaves
from undeleted.audit.pairs import Pair, Space, deletions
from undeleted.audit.sequential_tests import LOOKS, PARTS, Candidate, FirstOutput, look, seeds_from
from undeleted.audit.targets import Named
from undeleted.audit.targets.process import Clock
from undeleted.audit.witness import load
from undeleted.errors import BadFile, BadQuestion, BudgetOver, TargetFailed
from undeleted.foundations import registry
from undeleted.foundations.coins import Coins, seeded

AFRESH = 2  # stages of an attack's own making on which it must win too


@dataclass(frozen=True)
class Terms:
    """What whoever replays lets a verdict rest on."""

    digits: int | None = None
    first: FirstOutput = field(default_factory=FirstOutput)
    confidence: float = 0.95
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise BadQuestion(f"a confidence of {self.confidence:g} is none.", "Give 0.5 or more, below 1.")
        if not self.tolerance >= 0:
            raise BadQuestion(f"a tolerance of {self.tolerance:g} is none.", "Give 0 or more.")


@dataclass(frozen=True)
class Replayed:
    """Whether a finding shows again, and what that rests on."""

    kind: str
    holds: bool
    says: str
    rests_on: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Rounding is told, and counts only in an audit without tolerance."""
        return self.holds and self.kind != "rounding"

    def as_json(self) -> dict[str, Any]:
        told = {"kind": self.kind, "holds": self.holds, "counts": self.counts, "says": self.says}
        return told | {"rests_on": list(self.rests_on)}


def replay(
    path: str | Path,
    named: Named,
    terms: Terms | None = None,
    *,
    budget: float = 60.0,
    calls: int | None = None,
    seed: int | None = None,
) -> list[Replayed]:
    """Run every finding again on a target that the caller names.

    What records look like and where predictions are asked for comes from the witness; what is run, what is
    read off it and what a verdict rests on, from the caller alone.  Without a seed one is drawn.
    """
    body, terms = load(path), terms or Terms()
    try:
        was = body["target"]
        columns, at = columns_from(was["columns"]), tuple(tuple(map(float, p)) for p in was["at"])
    except (KeyError, TypeError, ValueError, BadQuestion):
        raise _altered(path) from None
    if list(named.see) != was["see"] or terms.digits != body["digits"]:
        flags = f" --see {','.join(was['see'])}" if was["see"] else " no --see"
        flags += f" --digits {body['digits']}" if body["digits"] is not None else " and no --digits"
        raise BadQuestion("the witness was seen by another observer.", f"Give{flags}.")
    named = replace(named, columns=columns, at=at, label=was["label"], features=was["features"])
    counted = sum(f["kind"] in ("statistics", "forgets") for f in body["findings"])
    coins = seeded(f"replay {secrets.randbits(128) if seed is None else seed}")
    clock = Clock(budget, calls=calls)
    with open_target(named, clock, hide="holds" in body) as target:
        run = _Run(Lab(target, terms.digits), terms, coins, (1 - terms.confidence) / max(1, counted))
        try:
            return [HOW[f["kind"]](run, f) for f in body["findings"]]
        except BudgetOver:
            raise TargetFailed("replaying", f"the budget of {clock} was over", "Give it more.") from None
        except (LookupError, TypeError, ValueError, OverflowError, StopIteration):
            raise _altered(path) from None


def _altered(path: str | Path) -> BadFile:
    return BadFile(str(path), "lacks a part of a witness.", "It was altered; make it anew.")


@dataclass(frozen=True)
class _Run:
    """A target that is played with, on the caller's terms."""

    lab: Lab
    terms: Terms
    coins: Coins
    alpha: float  # for every finding that is counted


def _collision(run: _Run, f: Mapping[str, Any]) -> Replayed:
    lab, worlds = run.lab, f.get("worlds") or [f["one"], f["other"]]
    played = [lab.play(world, f["batches"], f["seed"]) for world in worlds]
    more = [] if f["kind"] == "rounding" else seeds_from(run.coins, FEW_SEEDS)
    seeds = [f["seed"], *more]  # rounding is shown under one seed, of a randomised target too
    again = [lab.plays(world, f["batches"], seeds) for world in reversed(worlds)][::-1]
    if any(exactly(t) != exactly(first) for first, ts in zip(played, again, strict=True) for t in ts):
        return Replayed(
            f["kind"], False, "the target did another thing when it was run again, or with other seeds"
        )
    if len({exactly(t[0]) for t in played}) != 1:
        return Replayed(f["kind"], False, "the first outputs are not the same any more")
    tolerance = 0.0 if f["kind"] == "rounding" else run.terms.tolerance * _largest(worlds)
    if not all(_apart(a, b, tolerance) for i, a in enumerate(played) for b in played[:i]):
        return Replayed(f["kind"], False, "the worlds are not told apart any more, or by rounding alone")
    after = deletions(f["batches"])
    same = _lists([played[0], played[1]]) == _lists([f["outputs"]["one"], f["outputs"]["other"]])
    note = "" if same else "; other outputs than were written down"
    says = f"{len(worlds)} worlds, one first output, all different after {after}{note}"
    rests = (f"the target is deterministic: one transcript on {len(seeds)} seeds", *_as_seen(run.terms))
    return Replayed(f["kind"], True, says, rests)


def _apart(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two transcripts differ by more than rounding; beside large values a sum loses small ones."""
    ours, theirs = leaves(one), leaves(other)
    if len(ours) != len(theirs):
        return True
    for a, b in zip(ours, theirs, strict=True):
        numbers = isinstance(a, int | float) and isinstance(b, int | float)
        if a != b and (not numbers or not abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))):
            return True
    return False


def _largest(worlds: Any) -> float:
    """The largest value: rounding is relative to it."""
    values = (v for world in worlds for record in world for v in record.values())
    return max([1.0, *(abs(float(v)) for v in values if not isinstance(v, str))])


def _lists(value: Any) -> Any:
    return list(map(_lists, value)) if isinstance(value, list | tuple) else value


def _as_seen(terms: Terms) -> tuple[str, ...]:
    rounding = f"differences below {terms.tolerance:g}, relative, are rounding"
    return (rounding,) if terms.digits is None else (rounding, f"the observer sees {terms.digits} decimals")


def _statistics(run: _Run, f: Mapping[str, Any]) -> Replayed:
    stated = FirstOutput(f["assumed"]["epsilon"], f["assumed"]["delta"])
    if stated.epsilon is not None and run.terms.first.epsilon is None:
        accept = f"give --first-epsilon {stated.epsilon:g} --first-delta {stated.delta:g} if you accept that"
        return Replayed(f["kind"], False, f"it rests on an assumption ({stated}): {accept}")
    pair = Pair(f["family"], tuple(f["one"]), tuple(f["other"]), tuple(n for b in f["batches"] for n in b))
    candidate = Candidate(pair, tuple(map(tuple, f["batches"])), 0.0, 0.0, 0.0)
    alpha = run.alpha / len(LOOKS)  # one pair, at every stopping point
    if run.terms.tolerance * _largest([f["one"], f["other"]]) >= 1:
        return Replayed(f["kind"], False, "its values are so large that others are lost in rounding")
    first, said = run.terms.first, "nothing was run"
    rests = (f"confidence {run.terms.confidence:g}", *((str(first),) if first.epsilon is not None else ()))
    for runs in LOOKS:
        if runs < min(f["runs"], LOOKS[-1]):
            continue
        try:
            found = look(run.lab, candidate, runs, run.coins, first, alpha, run.terms.tolerance)
        except BudgetOver:
            said += ", and time was up"
            break
        broken = f["shows"] == "broken"
        holds = found.delta > 0 if broken else found.p_value <= alpha * PARTS["imperfect"]
        said = f"δ ≥ {found.delta:.3g}" if broken else f"p = {found.p_value:.2g}"
        said += f" on {runs} fresh runs of each world"
        if holds:
            return Replayed(f["kind"], True, said, (*rests, *_as_seen(run.terms)))
    return Replayed(f["kind"], False, said)


def _forgets(run: _Run, f: Mapping[str, Any]) -> Replayed:
    """Exactly, where many seeds give the same two outputs; in distribution, where they do not."""
    lab, gone = run.lab, f["deleted"]
    after = lab.play(f["records"], [[name] for name in gone], f["seed"])[-1]
    [afresh] = lab.play([r for r in f["records"] if r["id"] not in set(gone)], [], f["seed"])
    distance = apart(after, afresh)
    if distance <= DRIFT:
        return Replayed(f["kind"], False, f"after the deletions {distance:.2g} away from a fresh start")
    if always(lab, f["records"], gone, f["seed"], after, afresh, run.coins):
        says = f"after the deletions {distance:.2g} away from a fresh start"
        return Replayed(f["kind"], True, says, ("the target is deterministic: many seeds, two outputs",))
    said = in_distribution(lab, f["records"], gone, {}, run.coins, run.alpha * PARTS["forgets"], lambda: True)
    return Replayed(f["kind"], said.verdict == "no", said.why, (f"confidence {run.terms.confidence:g}",))


def _exposure(run: _Run, f: Mapping[str, Any]) -> Replayed:
    """Play the attack again on the same stage, and on one that it sets up itself with fresh coins.

    A stage of somebody's making proves nothing: with one person left, a sum is that person's value.
    """
    attack, stage = registry.find("undeleted.audit.exposures", f["attack"])(), Stage.from_json(f["stage"])
    found = attack.play(run.lab, stage, f["seed"])
    if found is None:
        return Replayed(f["kind"], False, f"{f['attack']}: no value is exposed any more")
    says = f"{f['attack']}: {found.exposed} of {found.of} values exposed"
    for _ in range(AFRESH):
        drawn = attack.stages(Space(stage.columns, stage.label), run.coins)
        again = (
            attack.play(run.lab, fresh, seeds_from(run.coins, 1)[0])
            for fresh in drawn
            if fresh.column == stage.column
        )
        if not any(again):
            return Replayed(f["kind"], False, f"{says}, and none on a stage drawn afresh")
    return Replayed(f["kind"], True, f"{says}, and on {AFRESH} stages drawn afresh", _as_seen(run.terms))


HOW: dict[str, Callable[[_Run, Mapping[str, Any]], Replayed]] = {
    "collision": _collision,
    "rounding": _collision,
    "statistics": _statistics,
    "forgets": _forgets,
    "exposure": _exposure,
}
