"""Search for colliding worlds; for a deterministic target, turn them into a proof."""

from collections.abc import Callable, Sequence

from undeleted.auditing.collisions import (
    FEW_SEEDS,
    SEEDS,
    Find,
    Search,
    is_deterministic,
    more_worlds,
    search,
    shrink,
)
from undeleted.auditing.lab import Lab
from undeleted.auditing.pairs import Pair, deletions
from undeleted.auditing.state import AuditState, pair_json
from undeleted.foundations.types import Json, Output

ENOUGH = (1000, 400, 20)  # pairs tried, pairs collided, first outputs shared: then the search ends
COARSE = 2  # decimals
COUPLED = 10  # pairs that collide under a common seed, for testing a randomised target


def look_for_collisions(case: AuditState) -> None:
    """Search for a pair with the same first output; for a deterministic target it is a proof."""
    share = case.until(0.35 if case.randomised else 0.8, "looking for colliding worlds")
    tolerance = case.options.tolerance

    def go_on(done: Search) -> bool:
        counts = (done.tried, done.collided, len(done.firsts))
        return share() and any(have < enough for have, enough in zip(counts, ENOUGH, strict=True))

    wanted = COUPLED if case.randomised else 1
    result = case.search = search(case.lab, case.space, case.coins, go_on, tolerance, wanted)
    if result.rounding:
        pair, seed, where = result.rounding
        case.findings.append(_collision(case, "rounding", pair, pair.batches[:where], seed))
    if not result.collided and not case.randomised and case.options.digits is None:
        _as_seen_rounded(case)
    try:
        if result.found:
            _settle(case, result, case.until(0.45 if case.randomised else 0.9, "making the witness small"))
    finally:
        case.attacks += result.attacks(case.randomised)


def _as_seen_rounded(case: AuditState) -> None:
    """If no two worlds share the exact first output, search for an observer who sees fewer digits."""
    share = case.until(0.9, f"as seen with {COARSE} decimals")
    rounded = Lab(case.target, COARSE)
    result = search(rounded, case.space, case.coins, lambda done: share(), case.options.tolerance)
    if result.found:
        case.indications.append(
            f"an observer who sees {COARSE} decimals can distinguish two worlds with the same first output: "
            f"audit with --digits {COARSE}"
        )


def _settle(case: AuditState, found: Search, go_on: Callable[..., bool]) -> None:
    """Record a proof, then a smaller and a stronger one; results so far are kept if the budget ends."""
    pair, batches, seed = found.found[0].pair, found.found[0].batches, found.found[0].seed
    tolerance = case.options.tolerance
    seeds = FEW_SEEDS if case.is_slow else SEEDS
    if not is_deterministic(case.lab, pair, batches, seed, case.coins, FEW_SEEDS):
        case.randomised = True  # to be tested on many runs
        return
    _prove(case, pair, batches, seed, [pair.one, pair.other], FEW_SEEDS)
    pair, batches = shrink(case.lab, pair, batches, seed, go_on, tolerance)
    found.found[0] = Find(pair, batches, seed)
    if not is_deterministic(case.lab, pair, batches, seed, case.coins, seeds):
        case.verdict, case.delta, case.argument = "", None, ""
        case.assumptions.clear()
        case.findings = [f for f in case.findings if f["kind"] != "collision"]
        return
    _prove(case, pair, batches, seed, [pair.one, pair.other], seeds)
    worlds = more_worlds(case.lab, case.space, pair, batches, seed, case.coins, go_on, tolerance, seeds)
    _prove(case, pair, batches, seed, worlds, seeds)


def _prove(
    case: AuditState, pair: Pair, batches: Output, seed: int, worlds: Sequence[Output], seeds: int
) -> None:
    """Record worlds that share the first output and all differ later: no simulator is right in two."""
    case.verdict, case.delta = "broken", 1 - 1 / len(worlds)
    case.assumptions = [f"the target is deterministic: one transcript on {seeds + 1} seeds"]
    case.argument = (
        f"{len(worlds)} worlds share the first output and all differ after {deletions(batches)}: "
        f"δ ≥ 1 − 1/{len(worlds)}"
    )
    proof = _collision(case, "collision", pair, batches, seed) | {"worlds": [list(w) for w in worlds]}
    case.findings = [*(f for f in case.findings if f["kind"] != "collision"), proof]


def _collision(case: AuditState, kind: str, pair: Pair, batches: Output, seed: int) -> Json:
    outputs = [case.lab.play(world, batches, seed) for world in (pair.one, pair.other)]
    return {
        "kind": kind,
        **pair_json(pair, batches),
        "seed": seed,
        "tolerance": 0.0 if kind == "rounding" else case.options.tolerance,
        "outputs": {"one": list(outputs[0]), "other": list(outputs[1])},
    }
