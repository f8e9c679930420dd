"""The first runs: is the target a function of its records and seed, does the seed matter, how fast is it?

A target whose output changes without a deletion cannot be audited.  One that reports errors in some worlds
can; one that refuses small worlds gets larger ones.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from undeleted.audit.case import SMALL, Case
from undeleted.audit.lab import apart
from undeleted.audit.pairs import Pair, pairs
from undeleted.errors import TargetFailed

PROBES = 3
TRIES = 12  # of which so many worlds may be refused


def probe(case: Case) -> bool:
    """Whether the seed matters; refuses a target that is no function of its records and seed."""
    go_on, randomised = case.until(1.0, "the first runs"), False
    small = replace(case.space, most=SMALL)
    sources = [pairs(space, case.coins, ("redraw",)) for space in (small, case.space)]
    played: list[tuple[Pair, list[int]]] = []
    for tries in range(TRIES):
        go_on()
        large = tries >= TRIES // 2  # what refuses small worlds gets larger ones
        pair, seeds = next(sources[large]), [int(s) for s in case.coins.integers(0, 2**31, 4)]
        try:
            if not played:
                _step_by_step(case, pair, seeds[0])
            seeds = seeds[:2] if case.is_slow else seeds
            began, seconds = case.target.calls, case.clock.spent
            first = case.lab.plays(pair.one, pair.batches, [seeds[0], *seeds])
            case.paces.append((case.clock.spent - seconds) / (case.target.calls - began))
        except TargetFailed as failure:
            if not failure.reported or (tries == TRIES - 1 and not played):
                raise
            continue
        if first[0] != first[1] and not case.options.unseeded:
            _refuse(case, pair, first)
        randomised = randomised or len(set(first[1:])) > 1
        played.append((pair, seeds))
        if len(played) == PROBES or case.is_slow:
            break
    _look_twice(case, *played[-1], randomised)
    if case.is_slow and not large:
        case.space = small
    return randomised or case.options.unseeded


def _step_by_step(case: Case, pair: Pair, seed: int) -> None:
    """Call after call, so that one that fails can be named; and how long a call takes."""
    began = case.clock.spent
    case.lab.seen(case.target.start(pair.one, seed))
    for batch in pair.batches:
        case.lab.seen(case.target.delete(batch), batch)
    case.paces.append((case.clock.spent - began) / (1 + len(pair.batches)))


def _refuse(case: Case, pair: Pair, first: Sequence[Any]) -> None:
    at = next(i for i, (a, b) in enumerate(zip(first[0], first[1], strict=True)) if a != b)
    call = f"start with {len(pair.one)} records" if at == 0 else f"delete {pair.own[at - 1]}"
    reason = "the same records, deletions and seed gave another output: it changes without a deletion"
    raise TargetFailed(call, reason, "If it draws randomness of its own, say --unseeded.")


def _look_twice(case: Case, pair: Pair, seeds: Sequence[int], randomised: bool) -> None:
    """What is published stays as it is while nobody leaves; an accident of one seed is no reason."""
    looks = [("looking again", case.target.look)] if case.target.can_look else []
    if not randomised:
        looks.append(("delete nobody", lambda: case.target.delete([])))
    for call, again_by in looks:
        changed = 0
        for seed in seeds[:2]:
            first = case.lab.seen(case.target.start(pair.one, seed))
            try:
                changed += apart(first, case.lab.seen(again_by())) > case.options.tolerance
            except TargetFailed as failure:
                if not failure.reported:
                    raise
        if changed == 2:
            remedy = "`look` must return what was last published." if call == "looking again" else ""
            raise TargetFailed(call, "its output changed without a deletion", remedy)
