"""Watch two centres move on the line, and read off the values of people who stayed (P8, Appendix A).

    a far centre that does not move gives a size:   m₂ = (a − c₂')/(c₂ − c₂')   for the deleted a
    sizes and centres give the total, and so at every later step   m₁ = (c₂n − T)/(c₂ − c₁)
    centre × size is a prefix sum; minus the attacker's points, the sum of the u leftmost others
    two neighbouring u expose one person exactly

All sums are integers.  A result that is not an integer, or not between its two boundaries, is dropped: the
attack never guesses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from undeleted.errors import BadSetting
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import DiscreteGaussian, seeded
from undeleted.foundations.types import Json
from undeleted.games.attacks._event_search import event_search
from undeleted.games.attacks._two_means import TOP, TwoMeans
from undeleted.games.reconstruction.pictures import require_writable

FACTS = {
    "claim": "P8",
    "controls": "a share α of the points",
    "learns": "people near the boundary, exactly",
    "predicts": "single jumps expose one person each",
}
CLEAR = 1e-3  # a sum or a size with a larger error than this is not used
STILL = 1e-6  # a centre that moved less counts as unmoved: one point moves it by far more


@dataclass(frozen=True)
class TwoMeansState:
    """What was seen after a step: the centres, how many points are left, and the points just deleted."""

    centres: tuple[float, float]
    n: int
    deleted: tuple[int, ...]  # in this step


def kmeans_line(world: TwoMeans, margin: float = 1e-9) -> list[TwoMeansState]:
    """Delete own points in an order that moves the boundary little by little; return all that was seen."""
    states = [TwoMeansState(world.look(), world.n, ())]
    for value in order_of(world.own, states[0].centres, 3 * margin):
        world.delete(value)
        states.append(TwoMeansState(world.look(), world.n, (value,)))
    return states


def order_of(own: Array, centres: tuple[float, float], doubt: float) -> list[int]:
    """First the points near the boundary, whose side is uncertain; then small pushes left, then right.

    Deleting a point above its centre lowers the centre, and the boundary with it, by (a − c)/m.
    """
    c1, c2 = centres
    boundary = (c1 + c2) / 2
    near = [int(v) for v in own if abs(v - boundary) <= doubt * (c2 - c1)]
    rest = [int(v) for v in own if abs(v - boundary) > doubt * (c2 - c1)]
    push = {v: v - (c1 if v < boundary else c2) for v in rest}
    left = sorted((v for v in rest if push[v] > 0), key=lambda v: push[v])
    right = sorted((v for v in rest if push[v] <= 0), key=lambda v: -push[v])
    return [*near, *left, *right]


def read_off(states: Sequence[TwoMeansState], own: Array, margin: float, blur: float = 0.0) -> dict[int, int]:
    """The values of people by their rank among those who are not the attacker's: {rank: value}.

    `blur` is how far a centre may be from what was published, beyond floating-point rounding.
    """
    total = total_of(states, blur)
    if total is None:
        return {}
    left = sorted(int(v) for v in own)
    prefixes: dict[int, tuple[int, float] | None] = {}
    for state in states:
        for value in state.deleted:
            total -= value
            left.remove(value)
        prefix = prefix_of(state, total, np.array(left, dtype=np.int64), margin, blur)
        if prefix is None:
            continue
        rank, value, boundary = prefix
        known = prefixes.get(rank, (value, boundary))
        prefixes[rank] = None if known is None or known[0] != value else (value, boundary)
    return dict(_neighbours(prefixes, margin))


def total_of(states: Sequence[TwoMeansState], blur: float = 0.0) -> int | None:
    """The sum of all values at the first state, from the first step that determines a size."""
    gone = 0
    if blur * states[0].n > CLEAR:
        return None
    for before, after in pairwise(states):
        [a] = after.deleted
        for mine, far in ((1, 0), (0, 1)):
            if not _moved(before, after, far) and _moved(before, after, mine):
                size = (a - after.centres[mine]) / (before.centres[mine] - after.centres[mine])
                total = before.centres[mine] * round(size) + before.centres[far] * (before.n - round(size))
                if (
                    0 < round(size) < before.n
                    and abs(size - round(size)) < 1e-3
                    and _is_whole(total, before.n * blur)
                ):
                    return round(total) + gone
        gone += a
    return None


def prefix_of(
    state: TwoMeansState, total: int, own: Array, margin: float, blur: float = 0.0
) -> tuple[int, int, float] | None:
    """The number of others in the left cluster, their sum, and the boundary of the cluster."""
    c1, c2 = state.centres
    if c2 <= c1:
        return None
    size = (c2 * state.n - total) / (c2 - c1)
    m = round(size)
    boundary = (c1 + c2) / 2
    if not 0 < m < state.n or abs(size - m) > CLEAR or not _is_whole(c1 * m, m * blur):
        return None
    if np.any(np.abs(own - boundary) <= margin * (c2 - c1)):
        return None  # an own point so near the boundary may lie on either side
    mine = own[own < boundary]
    return m - mine.size, round(c1 * m) - int(mine.sum()), boundary


def _neighbours(prefixes: dict[int, tuple[int, float] | None], margin: float) -> Iterator[tuple[int, int]]:
    for rank, entry in sorted(prefixes.items()):
        following = prefixes.get(rank + 1)
        if entry is None or following is None:
            continue
        value = following[0] - entry[0]
        slack = 1 + margin * TOP
        if min(entry[1], following[1]) - slack <= value <= max(entry[1], following[1]) + slack:
            yield rank, value


def _moved(before: TwoMeansState, after: TwoMeansState, which: int) -> bool:
    return abs(before.centres[which] - after.centres[which]) > STILL


def _is_whole(x: float, blur: float) -> bool:
    """Whether a sum is an integer up to 1e-8, a few bits of floating-point rounding, or a stated blur."""
    return abs(x - round(x)) <= max(1e-8, 64 * abs(x) * 2.0**-52, blur)


def people(n: int, distribution: str, seed: int) -> Array:
    """Integer values: uniform, or around two centres."""
    coins = seeded(f"people {seed}")
    if distribution == "uniform":
        return coins.integers(0, TOP, n)
    middles = np.where(coins.bits(n) == 1, 7 * TOP // 10, 3 * TOP // 10)
    return np.clip(coins.noisy(DiscreteGaussian(TOP / 10), middles), 0, TOP - 1)


def run(
    *,
    n: Annotated[int, "how many people"] = 10_000,
    alpha: Annotated[float, "the share of them that the attacker controls"] = 0.1,
    distribution: Annotated[Literal["uniform", "bimodal"], "how their values are distributed"] = "uniform",
    against: Annotated[
        Literal["lloyd", "sklearn", "release-once", "undeleted"], "the curator under attack"
    ] = "lloyd",
    digits: Annotated[int, "round the centres to this many decimals first; −1 for no rounding"] = -1,
    picture: Annotated[str, "write a picture here (.png, .svg or .html)"] = "",
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Play the game of Appendix A and count the people whose values were read off exactly."""
    if not 0 < alpha < 1 or round(alpha * n) < 1 or n - round(alpha * n) < 4:
        problem = f"n = {n} with a share of {alpha} leaves too few points."
        raise BadSetting(problem, "Leave the attacker at least 1 point, and at least 4 others.")
    if picture:
        require_writable(picture, "altair")
    others, world, states, margin = play(n, alpha, distribution, against, seed)
    claims = read_off(_rounded(states, digits), world.own, margin, _blur(digits))
    right = right_of(claims, others)
    if picture:
        from undeleted.games.reconstruction.line_picture import line_picture

        line_picture(picture, others, states, right)
    return {
        "attack": "kmeans-line",
        "against": against,
        "n": n,
        "distribution": distribution,
        "controlled": int(world.own.size),
        "own_points": int(world.own.size),
        "deletions": world.deletions,
        "recovered_points": len(right),
        "false_positives": len(claims) - len(right),
        "undeleted": int(others.size),
        "events": _events(states),
        "fewest_digits": _least_digits(states, world.own, margin, others),
        "seed": seed,
    }


def play(
    n: int, alpha: float, distribution: str, against: str, seed: int
) -> tuple[Array, TwoMeans, list[TwoMeansState], float]:
    """Those who stay, the world, everything seen in it, and how far the boundary may be from the middle."""
    values = people(n, distribution, seed)
    chosen = seeded(f"own {seed}").choose(n, round(alpha * n))
    world = TwoMeans(values, values[chosen], against, seeded(seed), seed=seed % 2**31)
    margin = 1e-2 if against == "sklearn" else 1e-9
    return np.sort(np.delete(values, chosen)), world, kmeans_line(world, margin), margin


def _rounded(states: Sequence[TwoMeansState], digits: int) -> Sequence[TwoMeansState]:
    if digits < 0:
        return states
    return [
        TwoMeansState((round(s.centres[0], digits), round(s.centres[1], digits)), s.n, s.deleted)
        for s in states
    ]


def _events(states: Sequence[TwoMeansState]) -> dict[str, int]:
    """The paper's own search: events in which both centres moved, and those it solves uniquely."""
    moved = solved = 0
    for before, after in pairwise(states):
        if _moved(before, after, 0) and _moved(before, after, 1):
            moved += 1
            solved += len(event_search(before.centres, after.centres, before.n, list(after.deleted))) == 1
    return {"both_moved": moved, "unique": solved}


def _least_digits(states: Sequence[TwoMeansState], own: Array, margin: float, others: Array) -> int | None:
    """The fewest decimals of the centres, up to 12, that still expose somebody; None if there are none."""
    for digits in range(13):
        claims = read_off(_rounded(states, digits), own, margin, _blur(digits))
        if right_of(claims, others):
            return digits
    return None


def _blur(digits: int) -> float:
    return 0.5 * 10.0**-digits if digits >= 0 else 0.0


def right_of(claims: dict[int, int], others: Array) -> dict[int, int]:
    """The claims that are true."""
    return {rank: v for rank, v in claims.items() if 0 <= rank < others.size and others[rank] == v}
