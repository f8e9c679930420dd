"""Search for two worlds with the same first output that a few deletions distinguish.

For a deterministic curator one such pair is a proof: a simulator gets the same first output and the same
deleted rows in both worlds, and cannot be right in both.  Of m worlds that share them and all differ
later, it is right in at most one: δ ≥ 1 − 1/m.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from undeleted.auditing.columns import Row
from undeleted.auditing.lab import TOLERANCE, Lab, apart, exactly, far
from undeleted.auditing.pairs import Pair, Space, crowd, deletions, pairs
from undeleted.errors import TargetFailed
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Json, Output

REFUSALS = 20  # after this many refused worlds in a row the target has failed
WORLDS = 32  # the largest m that is tried
SEEDS, FEW_SEEDS = 20, 4  # that must give the same transcript for a curator to count as deterministic
NEAR = 1e-12
ROUNDS = 2  # of shrinking a witness
MORE_PAIRS = 200  # pairs that are still tried after a lesser find
BIRTHDAY, CROWD, MET = 16, 64, 4  # pairs between two crowds, worlds in a crowd, pairs used of it at most


@dataclass(frozen=True)
class Find:
    """Two worlds that share the first output under a seed, and differ after these deletions."""

    pair: Pair
    batches: tuple[tuple[str, ...], ...]
    seed: int


@dataclass
class Search:
    """What a search tried, and its results."""

    tried: int = 0
    collided: int = 0
    near: int = 0
    refused: int = 0
    crowds: int = 0  # worlds that were drawn in crowds
    met: int = 0  # crowds in which two worlds had the same first output
    firsts: set[str] = field(default_factory=set)  # first outputs that two worlds shared
    found: list[Find] = field(default_factory=list)
    lesser: list[Find] = field(default_factory=list)
    rounding: tuple[Pair, int, int] | None = None  # a pair, a seed, and where its worlds differ by rounding
    families: dict[str, int] = field(default_factory=dict)

    @property
    def independent(self) -> int:
        """Pairs with the same first output that were drawn independently."""
        return self.collided - self.families.get("crowd", 0) + self.met

    def attacks(self, randomised: bool) -> list[Json]:
        """What was tried, for a report: pairs that are built to collide, and crowds where some do."""
        made = {name: count for name, count in self.families.items() if name != "crowd"}
        by, result = None, ""
        if self.found:
            first = self.found[0]
            by = "crowds" if first.pair.family == "crowd" else "collisions"
            result = f"distinguished after {deletions(first.batches)}"
            result += ", under one seed" if randomised else ""
        tried = [("collisions", sum(made.values()), {"by_family": made})]
        if self.crowds:
            tried.append(("crowds", self.families.get("crowd", 0), {"worlds": {"drawn": self.crowds}}))
        return [
            {
                "attack": attack,
                "kind": "structural",
                "result": result
                if by == attack
                else f"none of {met} pairs distinguished"
                if met
                else "no pair shared a first output",
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
    """Try pairs, both worlds with the same seed, until enough are distinguished or the budget ends."""
    done, refused, since = Search(), 0, 0
    for pair in _mixed(lab, space, coins, done):
        since += bool(done.lesser)
        if not go_on(done) or len(done.found) >= wanted or since > MORE_PAIRS:
            break
        if pair.one == pair.other:
            continue
        seed = int(coins.integers(0, 2**31, 1)[0])
        try:
            where = _differ_after(lab, pair, seed, done, tolerance)
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
    """Pairs that are built to collide, and at intervals pairs of a crowd that collide by chance."""
    for i, pair in enumerate(pairs(space, coins)):
        yield pair
        if i % BIRTHDAY == BIRTHDAY - 1:
            yield from _met(lab, space, coins, done)


def _met(lab: Lab, space: Space, coins: Coins, done: Search) -> Iterator[Pair]:
    """Pairs of a crowd with the same first output by chance and different people, for any target."""
    worlds, own = crowd(space, coins, CROWD)
    seed, by_first = int(coins.integers(0, 2**31, 1)[0]), dict[str, tuple[Row, ...]]()
    count = 0
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
            done.met += count == 0  # the pairs of one crowd are not independent
            yield Pair("crowd", other, world, own)
            count += 1
            if count >= MET:
                return


def _people(world: tuple[Row, ...]) -> list[str]:
    """The people of a world without their ids, sorted."""
    return sorted(repr({k: v for k, v in row.items() if k != "id"}) for row in world)


def _differ_after(lab: Lab, pair: Pair, seed: int, done: Search, tolerance: float) -> int | None:
    """Return after how many deletions two worlds with the same first output differ, if they do."""
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
        return None  # not a function of its seed; the probe has already reported that
    where = far(ours, theirs, tolerance)
    if where is None and ours != theirs and done.rounding is None:
        done.rounding = pair, seed, far(ours, theirs, 0.0) or 1
    return where


def holds(lab: Lab, pair: Pair, batches: Output, seed: int, tolerance: float = TOLERANCE) -> bool:
    """Whether two worlds share the first output and differ after some deletion."""
    ours, theirs = lab.play(pair.one, batches, seed), lab.play(pair.other, batches, seed)
    return exactly(ours[0]) == exactly(theirs[0]) and far(ours, theirs, tolerance) is not None


def shrink(
    lab: Lab, pair: Pair, batches: Output, seed: int, go_on: Callable[[], bool], tolerance: float = TOLERANCE
) -> tuple[Pair, tuple[tuple[str, ...], ...]]:
    """Return fewer deletions and fewer people that show the same, so that the witness is easy to read."""

    def still(p: Pair, b: Output) -> bool:
        try:
            return holds(lab, p, b, seed, tolerance)
        except TargetFailed as failure:
            if not failure.reported:
                raise
            return False

    for _ in range(ROUNDS):
        for batch in reversed(batches):  # the last one first: the difference may show before it
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


def is_deterministic(
    lab: Lab, pair: Pair, batches: Output, seed: int, coins: Coins, count: int = SEEDS
) -> bool:
    """Whether many seeds give the same transcript as the find's seed, in each of the two worlds."""
    seeds = [seed, *(int(s) for s in coins.integers(0, 2**31, count))]
    return all(_one_transcript(lab, world, batches, seeds) for world in (pair.one, pair.other))


def _one_transcript(lab: Lab, world: Sequence[Row], batches: Output, seeds: Sequence[int]) -> bool:
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
    batches: Output,
    seed: int,
    coins: Coins,
    go_on: Callable[[], bool],
    tolerance: float = TOLERANCE,
    count: int = SEEDS,
) -> list[tuple[Row, ...]]:
    """Worlds that share the first output and all differ later: the pair, and others that are drawn."""
    worlds = [pair.one, pair.other]
    transcripts = [lab.play(world, batches, seed) for world in worlds]
    seeds = [int(s) for s in coins.integers(0, 2**31, count)]
    changed = {
        a["id"]: [k for k in a if a[k] != b[k]] for a, b in zip(pair.one, pair.other, strict=True) if a != b
    }
    for _ in range(20 * WORLDS):
        if len(worlds) >= WORLDS or not go_on():
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
            worlds.append(world)
            transcripts.append(transcript)
    return worlds
