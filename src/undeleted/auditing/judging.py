"""Test randomised targets, from promising worlds to valid bounds; tests share the rate of false alarms."""

from collections.abc import Callable
from itertools import chain

from undeleted.auditing.pairs import pairs
from undeleted.auditing.sequential_tests import (
    CANDIDATES,
    PARTS,
    STOPPING_POINTS,
    Candidate,
    Judgement,
    look,
    pilot,
)
from undeleted.auditing.state import AuditState, pair_json
from undeleted.errors import TargetFailed

CLEAR = 0.1  # a bound on δ from which on no other pair is tested


def judge(case: AuditState) -> None:
    """Compute bounds for a randomised target; all tests share the rate of false alarms."""
    alpha = case.alpha / (CANDIDATES * len(STOPPING_POINTS))
    try:
        candidates = _candidates(case)
        for i, candidate in enumerate(candidates):
            share = 0.6 + 0.37 * (i + 1) / len(candidates)
            _judge(case, candidate, case.until(share, "testing on fresh runs"), share, alpha)
            if (case.delta or 0.0) >= CLEAR:
                break
    finally:  # also if the budget ended
        _indicate(case)


def _judge(
    case: AuditState, candidate: Candidate, go_on: Callable[..., bool], share: float, alpha: float
) -> None:
    """Test a candidate at one stopping point after another, while the budget lasts."""
    pace, before = 0.0, len(case.judged)
    for runs in STOPPING_POINTS:
        began = case.clock.spent
        if not go_on() or began + pace * runs / 2 > share * case.clock.budget:
            break
        try:
            judgement = look(
                case.lab, candidate, runs, case.coins, case.options.first, alpha, case.options.tolerance
            )
        except TargetFailed as failure:
            if not failure.reported:
                raise
            break  # errors with some seeds: dropping those runs would cause a bias
        pace = (case.clock.spent - began) / runs
        case.judged.append(judgement)
        _record(case, judgement, alpha)
        if judgement.delta > max(0.05, 0.35 * candidate.promise):
            break  # more runs would hardly improve the bound
    if len(case.judged) > before:
        last = case.judged[-1]
        case.attacks.append(last.as_json() | {"attack": "learned", "kind": "learned", "result": _text(last)})


def _candidates(case: AuditState) -> list[Candidate]:
    """The most promising pairs; those that collide under a common seed are tried first."""
    go_on, made = case.until(0.6, "looking for promising worlds"), case.piloted
    first = case.options.first
    known = [(f.pair, f.batches) for f in case.search.found]
    for pair, batches in chain(known, ((p, p.batches) for p in pairs(case.space, case.coins))):
        enough = len(made) >= max(len(known), 1) and made[0].promise > 0.6
        if not go_on() or enough or len(made) >= 60:
            break
        if pair.one == pair.other:
            continue
        try:
            made.append(pilot(case.lab, pair, batches, case.coins, first, case.options.tolerance))
        except TargetFailed as failure:
            if not failure.reported:
                raise
        made.sort(key=lambda c: -c.promise)
    return made[:CANDIDATES]


def _record(case: AuditState, judgement: Judgement, alpha: float) -> None:
    """Record what a judgement proves, if anything; the larger bound is kept."""
    if judgement.delta > max(0.0, case.delta or 0.0):
        case.verdict, case.delta = "broken", judgement.delta
        case.assumptions = _assumed(case, judgement)
        case.argument = (
            f"advantage at least {judgement.advantage_at_least:.3g} with the updates, first outputs "
            f"at most {judgement.first_at_most:.3g} apart (by {judgement.first_by})"
        )
        _replace_finding(case, judgement)
    elif not case.verdict and judgement.p_value <= alpha * PARTS["imperfect"]:
        case.verdict = "not perfectly safe"
        case.argument = (
            f"given the first output, the updates tell two worlds apart (p = {judgement.p_value:.1g}, "
            f"{judgement.compared} runs compared)"
        )
        _replace_finding(case, judgement)


def _assumed(case: AuditState, judgement: Judgement) -> list[str]:
    """The stated assumptions that the bound on the first outputs rests on."""
    match judgement.first_by:
        case "privacy":
            return [str(case.options.first)]
        case "density":
            return ["the density that the target states for its first output, in exact arithmetic"]
    return []


def _replace_finding(case: AuditState, judgement: Judgement) -> None:
    case.findings = [f for f in case.findings if f["kind"] != "statistics"]
    case.findings.append(
        {
            "kind": "statistics",
            **pair_json(judgement.pair, judgement.batches),
            "runs": judgement.runs,
            "assumed": {"epsilon": case.options.first.epsilon, "delta": case.options.first.delta},
            "confidence": case.options.confidence,
            "tolerance": case.options.tolerance,
            "shows": case.verdict,
            "was": judgement.as_json(),
        }
    )


def _indicate(case: AuditState) -> None:
    """Report a large difference of two learned advantages as an indication; it is not a bound."""
    best = max(case.piloted, key=lambda c: c.advantage - c.first_advantage, default=None)
    if case.verdict or best is None or best.advantage - best.first_advantage <= 0.25:
        return
    case.indications.append(
        f"learned from few runs, updates distinguish two worlds with advantage {best.advantage:.2f}, "
        f"the first output alone with {best.first_advantage:.2f}: an indication, not a bound"
    )
    if best.unbounded:
        case.indications.append(
            "nothing bounds the distance between those first outputs, so nothing could be certified: state "
            "their privacy (--first-epsilon) or density (log_density), or what the observer sees (--digits)"
        )


def _text(judgement: Judgement) -> str:
    by = f"by {judgement.distinguisher}, {judgement.runs} runs of each world"
    if judgement.delta > 0:
        return f"δ ≥ {judgement.delta:.3g} ({by})"
    apart = f"first outputs up to {judgement.first_at_most:.2g} apart"
    return f"advantage {judgement.advantage:.2g}, {apart} ({by})"
