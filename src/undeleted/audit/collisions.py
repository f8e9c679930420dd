"""Look for two worlds with the same first output that a few deletions tell apart.

For a deterministic curator one such pair is a proof: a simulator is handed the same first output and the
same deleted rows in both worlds, and cannot be right in both.  Of m worlds that share them and all differ
later, it is right in one at most: δ ≥ 1 − 1/m.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from undeleted.audit.columns import Record
from undeleted.audit.lab import TOLERANCE, Lab, apart, exactly, far
from undeleted.audit.pairs import Pair, Space, crowd, deletions, pairs
from undeleted.errors import TargetFailed
from undeleted.foundations.coins import Coins

REFUSALS = 20  # so many worlds in a row that the target refuses, and it has failed
WORLDS = 32  # m is not driven further than this
SEEDS, FEW_SEEDS = 20, 4  # on which a curator must do the same to count as deterministic
NEAR = 1e-12
ROUNDS = 2  # of making a witness smaller
PATIENCE = 200  # pairs after a lesser find
BIRTHDAY, CROWD, MET = 16, 64, 4  # after so many pairs a crowd of so many worlds, of which so many pairs


@dataclass(frozen=True)
class Find:
    """Two worlds that share the first output under a seed, and differ after these deletions."""

    pair: Pair
    batches: tuple[tuple[str, ...], ...]
    seed: int


@dataclass
class Search:
    """What was looked at, and what was found."""

    tried: int = 0
    collided: int = 0
    near: int = 0
    refused: int = 0
    crowds: int = 0  # worlds that were drawn in crowds
    met: int = 0  # crowds in which some met
    firsts: set[str] = field(default_factory=set)  # that worlds shared
    found: list[Find] = field(default_factory=list)
    lesser: list[Find] = field(default_factory=list)
    rounding: tuple[Pair, int, int] | None = None  # a pair, a seed, and where rounding tells it apart
    families: dict[str, int] = field(default_factory=dict)

    @property
    def independent(self) -> int:
        """Pairs with the same first output that were drawn independently."""
        return self.collided - self.families.get("crowd", 0) + self.met

    def attacks(self, randomised: bool) -> list[dict[str, Any]]:
        """What was tried, as a report tells it: pairs that are made to collide, and crowds where some do."""
        made = {name: count for name, count in self.families.items() if name != "crowd"}
        by, told = None, ""
        if self.found:
            first = self.found[0]
            by = "crowds" if first.pair.family == "crowd" else "collisions"
            told = f"told apart after {deletions(first.batches)}"
            told += ", under one seed" if randomised else ""
        tried = [("collisions", sum(made.values()), {"by_family": made})]
        if self.crowds:
            tried.append(("crowds", self.families.get("crowd", 0), {"worlds": {"drawn": self.crowds}}))
        return [
            {
                "attack": attack,
                "kind": "structural",
                "result": told
                if by == attack
                else f"none of {met} pairs told apart"
                if met
                else "no pair met",
                **more,
            }
            for attack, met, more in tried
        ]


def search(
    lab: Lab,
    space: Space,
    coins: Coins,
    go_on: Callable[[Search], bool],
    tolerance: float = TOLERANCE,
    wanted: int = 1,
) -> Search:
    """Try pairs, both with the same seed, until enough are told apart or time is up."""
    done, refused, since = Search(), 0, 0
    for pair in _mixed(lab, space, coins, done):
        since += bool(done.lesser)
        if not go_on(done) or len(done.found) >= wanted or since > PATIENCE:
            break
        if pair.one == pair.other:
            continue
        seed = int(coins.integers(0, 2**31, 1)[0])
        try:
            where = _told_apart(lab, pair, seed, done, tolerance)
            refused = 0
        except TargetFailed as failure:
            done.refused, refused = done.refused + 1, refused + 1
            if not failure.reported or refused >= REFUSALS:
                raise
            continue
        if where is not None:
            # The same people in another order are a lesser find.
            kept = done.lesser if pair.family == "exchange" else done.found
            kept.append(Find(pair, pair.batches[:where], seed))
    if not done.found:
        done.found = done.lesser[:wanted]
    return done


def _mixed(lab: Lab, space: Space, coins: Coins, done: Search) -> Iterator[Pair]:
    """Pairs that are made to collide, and now and then pairs of a crowd that happen to."""
    for i, pair in enumerate(pairs(space, coins)):
        yield pair
        if i % BIRTHDAY == BIRTHDAY - 1:
            yield from _met(lab, space, coins, done)


def _met(lab: Lab, space: Space, coins: Coins, done: Search) -> Iterator[Pair]:
    """Worlds of a crowd with the same first output and other people: by chance, whatever it computes."""
    worlds, own = crowd(space, coins, CROWD)
    seed, by_first = int(coins.integers(0, 2**31, 1)[0]), dict[str, tuple[Record, ...]]()
    found = 0
    for world in worlds:
        try:
            [first] = lab.play(world, (), seed)
        except TargetFailed as failure:
            if not failure.reported:
                raise
            continue
        done.crowds += 1
        other = by_first.setdefault(exactly(first), world)
        if _people(other) != _people(world):
            done.met += found == 0  # the pairs of one crowd are not independent
            yield Pair("crowd", other, world, own)
            found += 1
            if found >= MET:
                return


def _people(world: tuple[Record, ...]) -> list[str]:
    """Who is there, whatever their names."""
    return sorted(repr({k: v for k, v in row.items() if k != "id"}) for row in world)


def _told_apart(lab: Lab, pair: Pair, seed: int, done: Search, tolerance: float) -> int | None:
    """After how many deletions two worlds with the same first output differ."""
    [one] = lab.play(pair.one, (), seed)
    [other] = lab.play(pair.other, (), seed)
    done.tried += 1
    if exactly(one) != exactly(other):
        done.near += apart(one, other) < NEAR
        return None
    done.collided += 1
    done.firsts.add(exactly(one))
    done.families[pair.family] = done.families.get(pair.family, 0) + 1
    batches = pair.batches
    ours, theirs = lab.play(pair.one, batches, seed), lab.play(pair.other, batches, seed)
    if exactly(ours[0]) != exactly(theirs[0]):
        return None  # not a function of its seed; the probe has said so already
    where = far(ours, theirs, tolerance)
    if where is None and ours != theirs and done.rounding is None:
        done.rounding = pair, seed, far(ours, theirs, 0.0) or 1
    return where


def holds(lab: Lab, pair: Pair, batches: Any, seed: int, tolerance: float = TOLERANCE) -> bool:
    """Whether two worlds share the first output and differ after some deletion."""
    ours, theirs = lab.play(pair.one, batches, seed), lab.play(pair.other, batches, seed)
    return exactly(ours[0]) == exactly(theirs[0]) and far(ours, theirs, tolerance) is not None


def shrink(
    lab: Lab, pair: Pair, batches: Any, seed: int, go_on: Callable[[], bool], tolerance: float = TOLERANCE
) -> tuple[Pair, tuple[tuple[str, ...], ...]]:
    """Fewer deletions and fewer people that show the same; a witness is read by people."""

    def still(p: Pair, b: Any) -> bool:
        try:
            return holds(lab, p, b, seed, tolerance)
        except TargetFailed as failure:
            if not failure.reported:
                raise
            return False

    for _ in range(ROUNDS):
        for batch in reversed(batches):  # the last first: the difference may be there before
            fewer = tuple(b for b in batches if b != batch)
            if fewer and go_on() and still(pair, fewer):
                batches = fewer
        needed = {name for batch in batches for name in batch} | set(pair.staying)
        for row in pair.one:
            smaller = pair if row["id"] in needed else _without(pair, row["id"])
            if smaller is not pair and go_on() and still(smaller, batches):
                pair = smaller
    return pair, tuple(batches)


def _without(pair: Pair, name: str) -> Pair:
    return replace(
        pair,
        one=tuple(r for r in pair.one if r["id"] != name),
        other=tuple(r for r in pair.other if r["id"] != name),
        own=tuple(n for n in pair.own if n != name),
    )


def is_deterministic(lab: Lab, pair: Pair, batches: Any, seed: int, coins: Coins, count: int = SEEDS) -> bool:
    """Whether many seeds give one transcript in each of the two worlds: that of the seed of the find."""
    seeds = [seed, *(int(s) for s in coins.integers(0, 2**31, count))]
    return all(_one_transcript(lab, world, batches, seeds) for world in (pair.one, pair.other))


def _one_transcript(lab: Lab, world: Sequence[Record], batches: Any, seeds: Sequence[int]) -> bool:
    try:
        return len(set(map(exactly, lab.plays(world, batches, seeds)))) == 1
    except TargetFailed as failure:
        if not failure.reported:
            raise
        return False


def more_worlds(
    lab: Lab,
    space: Space,
    pair: Pair,
    batches: Any,
    seed: int,
    coins: Coins,
    go_on: Callable[[], bool],
    tolerance: float = TOLERANCE,
    count: int = SEEDS,
) -> list[tuple[Record, ...]]:
    """Worlds that share the first output, all told apart later: the two, and whoever else is found."""
    found = [pair.one, pair.other]
    transcripts = [lab.play(world, batches, seed) for world in found]
    seeds = [int(s) for s in coins.integers(0, 2**31, count)]
    changed = {
        a["id"]: [k for k in a if a[k] != b[k]] for a, b in zip(pair.one, pair.other, strict=True) if a != b
    }
    for _ in range(20 * WORLDS):
        if len(found) >= WORLDS or not go_on():
            break
        drawn = iter(space.draw(coins, len(changed)))
        fresh = {name: {k: row[k] for k in changed[name]} for name, row in zip(changed, drawn, strict=True)}
        world = tuple({**row, **fresh.get(row["id"], {})} for row in pair.one)
        try:
            transcript = lab.play(world, batches, seed)
        except TargetFailed as failure:
            if not failure.reported:
                raise
            continue
        same_first = exactly(transcript[0]) == exactly(transcripts[0][0])
        if (
            same_first
            and all(far(transcript, t, tolerance) is not None for t in transcripts)
            and _one_transcript(lab, world, batches, [seed, *seeds])
        ):
            found.append(world)
            transcripts.append(transcript)
    return found
