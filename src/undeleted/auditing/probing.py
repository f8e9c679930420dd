"""The first runs: is the target a function of its records and seed, does the seed matter, how fast is it?

A target whose output changes without a deletion cannot be audited.  One that reports errors in some worlds
can; one that refuses small worlds gets larger ones.
"""

from collections.abc import Sequence
from dataclasses import replace

from undeleted.auditing.lab import apart
from undeleted.auditing.pairs import Pair, pairs
from undeleted.auditing.state import SMALL, AuditState
from undeleted.errors import TargetFailed
from undeleted.foundations.types import Output

PROBES = 3
TRIES = 12  # worlds that are tried, because some may be refused


def probe(case: AuditState) -> bool:
    """Whether the seed matters; refuses a target that is not a function of its records and seed."""
    go_on, randomised = case.until(1.0, "the first runs"), False
    small = replace(case.space, most=SMALL)
    sources = [pairs(space, case.coins, ("redraw",)) for space in (small, case.space)]
    played: list[tuple[Pair, list[int]]] = []
    for tries in range(TRIES):
        go_on()
        large = tries >= TRIES // 2  # for targets that refuse small worlds
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


def _step_by_step(case: AuditState, pair: Pair, seed: int) -> None:
    """Make single calls, so that one that fails can be named, and measure the time per call."""
    began = case.clock.spent
    case.lab.seen(case.target.start(pair.one, seed))
    for batch in pair.batches:
        case.lab.seen(case.target.delete(batch), batch)
    case.paces.append((case.clock.spent - began) / (1 + len(pair.batches)))


def _refuse(case: AuditState, pair: Pair, first: Sequence[Output]) -> None:
    at = next(i for i, (a, b) in enumerate(zip(first[0], first[1], strict=True)) if a != b)
    call = f"start with {len(pair.one)} records" if at == 0 else f"delete {pair.own[at - 1]}"
    reason = "the same records, deletions and seed gave a different output: it changes without a deletion"
    raise TargetFailed(call, reason, "If it draws its own randomness, give --unseeded.")


def _look_twice(case: AuditState, pair: Pair, seeds: Sequence[int], randomised: bool) -> None:
    """Refuse a target whose output changes while nobody leaves, with two seeds: one may be an accident."""
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
