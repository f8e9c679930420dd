"""Does the target forget?  After a deletion it should be as if it had started without the deleted rows.

The output after deletions is compared with the output of a fresh start on the rest, with the same seed.
It is enough if they are equal up to a millionth; if they differ and depend on the seed, the two are compared
in distribution.  Extreme values come first: a target that adds and subtracts them may drift.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from undeleted.auditing import confidence_bounds
from undeleted.auditing.columns import Row
from undeleted.auditing.distinguishers import alone, train
from undeleted.auditing.lab import Lab, apart, merged
from undeleted.auditing.pairs import Space
from undeleted.auditing.sequential_tests import PARTS, seeds_from
from undeleted.errors import TargetFailed
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Json, Output

DRIFT = 1e-6  # a difference up to this, relative to the larger of 1 and both values, counts as none
WORLDS = 12
RUNS = 400
SEEDS = 20
HUGE = 1e9


@dataclass(frozen=True)
class Forgetting:
    """`yes`, `no` or `unknown`, and why."""

    verdict: str
    why: str
    evidence: Json | None = None


def forgetting(
    lab: Lab, space: Space, coins: Coins, alpha: float, go_on: Callable[[], bool], *, extremes: bool
) -> Forgetting:
    """Compare deleting with a fresh start."""
    differs, compared = None, 0
    for records, leave in _worlds(space, coins, extremes):
        if not go_on():
            break
        [seed] = seeds_from(coins, 1)
        try:
            after, fresh_start = _both(lab, records, leave, [seed])
        except TargetFailed as failure:
            if not failure.reported:
                raise
            continue
        compared += 1
        if apart(after[0], fresh_start[0]) <= DRIFT:
            continue
        evidence = {
            "records": list(records),
            "deleted": list(leave),
            "seed": seed,
            "after_deletion": after[0],
            "from_scratch": fresh_start[0],
        }
        if always(lab, records, leave, seed, after[0], fresh_start[0], coins):
            why = f"after {len(leave)} deletions its output differs from a fresh start on the rest"
            return Forgetting("no", why, evidence)
        differs = differs or (records, leave, evidence)
    if not compared:
        return Forgetting("unknown", "no world could be compared within the budget")
    if differs is None:
        return Forgetting(
            "yes", f"equal to a fresh start on the rest in {compared} worlds, with the same seed"
        )
    return in_distribution(lab, *differs, coins, alpha * PARTS["forgets"], go_on)


def always(
    lab: Lab,
    records: Sequence[Row],
    leave: Sequence[str],
    seed: int,
    after: Output,
    fresh_start: Output,
    coins: Coins,
) -> bool:
    """Whether many independent seeds give exactly these two outputs."""
    rest = [r for r in records if r["id"] not in set(leave)]
    seeds, others = [seed, *seeds_from(coins, SEEDS)], [seed, *seeds_from(coins, SEEDS)]
    if any(t[-1] != after for t in lab.plays(records, [[name] for name in leave], seeds)):
        return False
    return all(t[0] == fresh_start for t in lab.plays(rest, [], others))


def _both(
    lab: Lab, records: Sequence[Row], leave: Sequence[str], seeds: Sequence[int]
) -> tuple[list[Output], list[Output]]:
    rest = [r for r in records if r["id"] not in set(leave)]
    after = [t[-1] for t in lab.plays(records, [[name] for name in leave], seeds)]
    fresh_start = [t[0] for t in lab.plays(rest, [], seeds)]
    return after, fresh_start


def in_distribution(
    lab: Lab,
    records: Sequence[Row],
    leave: Sequence[str],
    evidence: Json,
    coins: Coins,
    alpha: float,
    go_on: Callable[[], bool],
) -> Forgetting:
    runs = 0
    afters: list[Output] = []
    fresh_starts: list[Output] = []
    rest = [r for r in records if r["id"] not in set(leave)]
    try:
        while runs < RUNS and go_on():
            seeds, others = seeds_from(coins, 40), seeds_from(coins, 40)
            afters += [t[-1] for t in lab.plays(records, [[name] for name in leave], seeds)]
            fresh_starts += [t[0] for t in lab.plays(rest, [], others)]
            runs += 40
    except TargetFailed as failure:
        if not failure.reported:
            raise
        return Forgetting("unknown", "it reports errors under some seeds")
    if runs < RUNS // 2:
        return Forgetting("unknown", "too few runs within the budget to compare distributions")
    half = runs // 2
    outputs = [t[1] for t in merged([(0, z) for z in [*afters, *fresh_starts]], DRIFT)]
    deleted, started = alone(outputs[:runs]), alone(outputs[runs:])
    distinguisher = train(deleted[:half], started[:half])
    hits = int(np.sum(distinguisher.scores(deleted[half:]) > 0))
    false = int(np.sum(distinguisher.scores(started[half:]) > 0))
    least = confidence_bounds.advantage(hits, false, runs - half, alpha)
    if least > 0:
        why = f"distinguished from a fresh start on the rest, advantage ≥ {least:.2g} ({runs} runs of each)"
        return Forgetting("no", why, evidence | {"advantage_at_least": least, "runs": runs})
    return Forgetting(
        "yes", f"not distinguished, in distribution, from a fresh start on the rest ({runs} runs of each)"
    )


def _worlds(space: Space, coins: Coins, extremes: bool) -> list[tuple[list[Row], list[str]]]:
    """Worlds of random people, some of whom leave; with `extremes` one leaver may have a huge value."""
    made = []
    numeric = [c.name for c in space.columns if c.is_number and c.name != space.label]
    for i in range(WORLDS):
        size = space.size(coins)
        rows = space.draw(coins, size)
        leave = sorted(int(p) for p in coins.choose(size, max(1, size // 4)))
        if extremes and numeric and i % 2 == 0:
            for name in numeric:
                rows[leave[0]] = {**rows[leave[0]], name: HUGE}
        records = [{"id": f"r{j:02}", **row} for j, row in enumerate(rows)]
        made.append((records, [records[j]["id"] for j in leave]))
    return made
