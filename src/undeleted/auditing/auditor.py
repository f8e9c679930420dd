"""Audit a black box: does honouring deletions expose the people who stay, and does the target forget?

    probing      is it a function of its records and seed; does the seed matter
    proving      worlds with the same first output that deletions distinguish: a proof if deterministic
    forgetting   compares deleting with a fresh start
    exposures    values of people who stay, recovered by structural attacks
    judging      for randomised targets: bounds at a stated rate of false alarms

It ends within its budget, with `broken`, `not perfectly safe` or `not broken by these attacks`; never with
"secure".
"""

from collections.abc import Callable
from dataclasses import replace

from undeleted.auditing.columns import TargetColumn
from undeleted.auditing.exposures import Attack
from undeleted.auditing.forgetting import forgetting
from undeleted.auditing.judging import judge
from undeleted.auditing.probing import probe
from undeleted.auditing.proving import look_for_collisions
from undeleted.auditing.state import AuditState
from undeleted.auditing.targets import Target, TargetSpec
from undeleted.auditing.targets.process import Clock
from undeleted.auditing.verdict import Options, Verdict
from undeleted.errors import AuditTimeUp, TargetFailed
from undeleted.foundations import registry

__all__ = ["Options", "Verdict", "audit"]

EXPOSURES = "undeleted.auditing.exposures"
WIDE = TargetColumn("x", 0, 10**6)  # for a target that takes any number


def audit(
    target: TargetSpec | str,
    options: Options | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Verdict:
    """Audit a target within its budget.

    >>> found = audit("retrain:median", Options(budget=20))
    >>> found.undeleted, found.delta >= 0.5, found.forgets.verdict
    ('broken', True, 'yes')
    """
    options = options or Options()
    named = TargetSpec(target) if isinstance(target, str) else target
    clock = Clock(options.budget, options.timeout, calls=options.calls)
    with open_target(named, clock, hide=bool(options.rows)) as running:
        return _run(AuditState(named, running, options, clock, progress or (lambda share, text: None)))


def open_target(named: TargetSpec, clock: Clock, *, hide: bool) -> Target:
    """Return a running target; one that uses up the budget while it is loaded has failed."""
    try:
        return Target(named, clock, hide=hide)
    except AuditTimeUp:
        reason = f"the budget of {clock} ran out before it was loaded"
        raise TargetFailed("loading the target", reason, "Give it a larger --budget.") from None


def _run(case: AuditState) -> Verdict:
    """Run the stages in order; when the budget ends, the results so far are kept."""
    try:
        case.randomised = probe(case)
    except AuditTimeUp:
        reason = f"the budget of {case.clock} ran out before the first deletions were done"
        raise TargetFailed("the first runs", reason, "Give it a larger --budget.") from None
    try:
        look_for_collisions(case)
        _judge_forgetting(case)
        _look_for_exposures(case)
        if not case.verdict and case.randomised:
            judge(case)
    except AuditTimeUp:
        pass
    return _conclude(case)


def _judge_forgetting(case: AuditState) -> None:
    go_on = case.until(max(0.2, case.clock.spent / case.clock.budget + 0.1), "does it forget?")
    free = bool(case.target.about.get("free")) and not case.options.rows
    case.forgets = forgetting(case.lab, case.space, case.coins, case.alpha, go_on, extremes=free)
    if case.forgets.verdict == "no" and case.forgets.evidence:
        case.findings.append(
            {"kind": "forgets", **case.forgets.evidence, "confidence": case.options.confidence}
        )


def _look_for_exposures(case: AuditState) -> None:
    go_on = case.until(0.6, "recovering values")
    free = case.target.about.get("free") and len(case.space.columns) == 1 and not case.options.rows
    wide = (replace(WIDE, name=case.space.columns[0].name),)
    space = replace(case.space, columns=wide) if free else case.space
    for name in registry.names(EXPOSURES):
        attack: Attack = registry.find(EXPOSURES, name)()
        exposure, staged = None, False
        for stage in attack.stages(space, case.coins):
            if not go_on():
                return
            if 2 * case.pace * len(stage.own) > 0.2 * case.clock.budget:
                continue  # it would take too long
            staged, seed = True, int(case.coins.integers(0, 2**31, 1)[0])
            try:
                exposure = attack.play(case.lab, stage, seed)
            except TargetFailed as failure:
                if not failure.reported:
                    raise
            if exposure is not None:
                case.exposures.append(exposure)
                case.findings.append(
                    {"kind": "exposure", **exposure.as_json(), "stage": stage.as_json(), "seed": seed}
                    | {"claims": exposure.claims}
                )
                break
        if staged:
            result = "nothing" if exposure is None else f"{exposure.exposed} of {exposure.of} values exposed"
            case.attacks.append({"attack": name, "kind": "structural", "result": result})


def _conclude(case: AuditState) -> Verdict:
    if not case.verdict and case.search.near and not case.search.collided:
        case.indications.append(
            f"{case.search.near} pairs had first outputs that agree to 12 digits but not exactly; "
            "the result may differ for an observer who sees fewer digits (--digits 9)"
        )
    if not case.verdict and case.randomised and case.search.found:
        case.indications.append(
            f"with its seed fixed to {case.search.found[0].seed}, two worlds with the same first output "
            "can be distinguished (no evidence if its coins depend on the records, strong evidence if not)"
        )
    if not case.verdict and case.is_slow:
        case.indications.append("the target is slow for this budget: worlds were small and checks were few")
    if not case.verdict and case.exposures:
        case.indications.append("values of people who stay were recovered, but without a bound on δ")
    tried = len({a["attack"] for a in case.attacks})
    confidence = f"{case.options.confidence:.0%}"
    attacks = "this attack" if tried == 1 else f"these {tried} attacks"
    verdict = case.verdict or f"not broken by {attacks} ({confidence})"
    return Verdict(
        target=case.named,
        undeleted=verdict,
        forgets=case.forgets,
        delta=case.delta,
        argument=case.argument,
        assumptions=tuple(case.assumptions),
        attacks=tuple(case.attacks),
        exposures=tuple(case.exposures),
        smallest=_smallest(case),
        indications=tuple(case.indications),
        rounding=_rounding(case),
        findings=tuple(case.findings),
        columns=case.space.columns,
        randomised=case.randomised,
        real_values=bool(case.options.rows),
        versions=dict(case.target.about.get("versions", {})),
        options=case.options,
        calls=case.target.calls,
        seconds=case.clock.seconds,
    )


def _smallest(case: AuditState) -> str:
    """The smallest leak that this audit would have detected, as text."""
    said = []
    if case.verdict:
        return "does not apply: a leak was detected"
    if case.search.independent and not case.search.found:
        share = 1 - (1 - case.options.confidence) ** (1 / case.search.independent)
        said.append(
            f"one that shows in {share:.2g} of the pairs of worlds with the same first output, as this "
            f"audit draws them ({case.search.independent} pairs were drawn)"
        )
    bounded = [j for j in case.judged if j.first_at_most < 1]
    if bounded:
        best = min(bounded, key=lambda j: j.first_at_most + j.advantage_needed)
        said.append(
            f"an advantage of {best.advantage_needed + best.first_at_most:.2g} or more, for attackers of "
            f"these kinds, on the worlds that were tested ({best.runs} runs of each)"
        )
    return "; ".join(said) or "none: no two worlds shared a first output, and no bound could be computed"


def _rounding(case: AuditState) -> str | None:
    if case.search.rounding is None:
        return None
    return (
        "worlds with the same first output differ later in the last digits: rounding alone reveals something "
        f"about those who stay (by less than {case.options.tolerance:g}; --tolerance 0 counts it as a break)"
    )
