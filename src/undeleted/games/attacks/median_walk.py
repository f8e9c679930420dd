"""Walk a retrained median across the people who stay, by deleting the attacker's points on one side (P2).

    one-sided     n odd, K own points above the median: ⌈K/2⌉ undeleted values exposed; n even: ⌊K/2⌋
    two-sided     K/2 above, then K/2 below: half as far, and back
    alternating   one above, one below, …: back and forth over one point at most

After A deletions above and B below, the median is the record of rank ⌈(n − A − B)/2⌉ + B: this gives
the number of exposed people for any strategy.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np

from undeleted.curate.mechanisms.frozen_median import FrozenMedian
from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.errors import BadSetting
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import NEIGHBOURS, Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.foundations.types import Json, Output
from undeleted.games.algorithm import Algorithm
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import dynamic_game
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.worlds import World

FACTS = {
    "claim": "P2",
    "controls": "K records on one side of the median",
    "learns": "values of people who stayed",
    "predicts": "⌈K/2⌉ of them for n odd, ⌊K/2⌋ for n even",
}
DOMAIN = 2**20  # values are integers below this
BINS = 256


def median_walk(
    world: World,
    *,
    controlled: Sequence[int],
    read: Callable[[Output], Output] = lambda output: output,
    strategy: str = "one-sided",
) -> frozenset[Output]:
    """Return the values that deletions exposed; `read` extracts the median from an output.

    >>> from undeleted.foundations.coins import seeded
    >>> people = [10, 20, 30, 40, 50, 60, 70]
    >>> dynamic_game(Retrain(median), lambda w: median_walk(w, controlled=[4, 5, 6]), people, 3, seeded(7))
    ((4, 5, 6), (20, 30))
    """
    own = world.corrupt(*controlled)
    first = read(world.look())
    above = [i for i in controlled if own[i] > first]
    below = [i for i in controlled if own[i] < first]
    seen = {read(world.delete(i)) for i in in_order(above, below, strategy)}
    return frozenset(seen) - {first, *own.values()}


def in_order(above: list[int], below: list[int], strategy: str) -> list[int]:
    """The points to delete, in order."""
    if strategy == "one-sided":
        return above
    if strategy == "two-sided":
        return [*above, *below]
    pairs = zip(above, below, strict=False)
    return [i for pair in pairs for i in pair]


def exposed_by(n: int, above: int, below: int, strategy: str) -> int:
    """How many records become the median, besides the first."""
    sides = [s for s, _ in _sides(above, below, strategy)]
    gone_above = gone_below = 0
    ranks = {(n + 1) // 2}
    for side in sides:
        gone_above, gone_below = gone_above + (side == "above"), gone_below + (side == "below")
        ranks.add((n - gone_above - gone_below + 1) // 2 + gone_below)
    return len(ranks) - 1


def _sides(above: int, below: int, strategy: str) -> list[tuple[str, int]]:
    order = in_order(list(range(above)), list(range(above, above + below)), strategy)
    return [("above" if i < above else "below", i) for i in order]


def run(
    *,
    n: Annotated[int, "how many people"] = 1001,
    controlled: Annotated[int, "how many of them the attacker controls, at the ends of the line"] = 64,
    strategy: Annotated[
        Literal["one-sided", "two-sided", "alternating"], "all from above, above then below, or in turn"
    ] = "one-sided",
    against: Annotated[
        Literal["retrain-median", "noisy-histogram", "frozen-median"], "the curator under attack"
    ] = "retrain-median",
    epsilon: Annotated[float, f"ε of the noisy histogram ({NEIGHBOURS})"] = 1.0,
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Run the walk on generated people and count the undeleted values that it exposes."""
    if n < 1 or n > DOMAIN:
        raise BadSetting(f"n = {n} people cannot be generated.", f"Choose n from 1 to {DOMAIN:,}.")
    Budget(epsilon)  # checked here, whichever curator is attacked
    if not 0 <= controlled <= n // 2:
        remedy = f"Choose from 0 to n // 2 = {n // 2}."
        raise BadSetting(f"{controlled} of {n} points cannot all be above the median.", remedy)
    low = 0 if strategy == "one-sided" else controlled // 2
    people, curator, read = stage(n, against, epsilon, seed)
    own = [*range(n - controlled + low, n), *range(low)]

    def attacker(world: World) -> frozenset[Output]:
        return median_walk(world, controlled=own, read=read, strategy=strategy)

    _, claims = dynamic_game(curator, attacker, people, controlled, seeded(seed))
    exposed = len(set(claims) & set(people[low : n - controlled + low]))
    steps = len(_sides(controlled - low, low, strategy))
    return {
        "attack": "median-walk",
        "against": against,
        "n": n,
        "controlled": controlled,
        "deletions": steps,
        "strategy": strategy,
        "claims": len(claims),
        "exposed": exposed,
        "wrong": len(claims) - exposed,
        "undeleted": n - controlled,
        "predicted": exposed_by(n, controlled - low, low, strategy) if against == "retrain-median" else 0,
        "seed": seed,
    }


def stage(
    n: int, against: str, epsilon: float, seed: int
) -> tuple[list[int], Algorithm, Callable[[Output], Output]]:
    """Distinct values in ascending order, the curator, and how to read a median off its output."""
    people = sorted(int(v) for v in np.unique(seeded(f"people {seed}").choose(DOMAIN, n)))
    if against == "retrain-median":
        return people, Retrain(median), lambda output: output
    if against == "frozen-median":
        exact = Number("value", min=0, max=DOMAIN - 1)
        return people, ReleaseOnce(FrozenMedian(exact), Schema([exact])), lambda output: output.median
    binned = Number("value", min=0, max=DOMAIN, step=DOMAIN // BINS, off_grid="round")
    histogram = NoisyHistogram((binned,), Budget(epsilon))
    return people, ReleaseOnce(histogram, Schema([binned])), lambda output: int(histogram.median(output))
