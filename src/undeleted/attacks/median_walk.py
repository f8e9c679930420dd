"""Walk a retrained median across the people who stay, by deleting one's own points on one side (P2).

    n odd,  K own points above the median   ⌈K/2⌉ undeleted values exposed
    n even                                  ⌊K/2⌋

Every second deletion moves the median one record down, onto somebody who did not ask for anything.
Alternating sides would step back and forth and expose a single point.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from undeleted.baselines.retrain import Retrain, median
from undeleted.coins import seeded
from undeleted.errors import BadQuestion
from undeleted.games import Algorithm, ReleaseOnce, World, dynamic_game
from undeleted.mechanisms.frozen_median import FrozenMedian
from undeleted.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.privacy import NEIGHBOURS, Budget
from undeleted.schema import Number, Schema

DOMAIN = 2**20  # values are integers below this
BINS = 256


def median_walk(
    world: World, *, controlled: Sequence[int], read: Callable[[Any], Any] = lambda output: output
) -> frozenset[Any]:
    """Return the values that deletions exposed; `read` finds the median in an output.

    >>> from undeleted.coins import seeded
    >>> people = [10, 20, 30, 40, 50, 60, 70]
    >>> dynamic_game(Retrain(median), lambda w: median_walk(w, controlled=[4, 5, 6]), people, 3, seeded(7))
    ((4, 5, 6), (20, 30))
    """
    own = world.corrupt(*controlled)
    first = read(world.look())
    above = [i for i in controlled if own[i] > first]  # one side only
    seen = {read(world.delete(i)) for i in above}
    return frozenset(seen) - {first, *own.values()}


def run(
    *,
    n: Annotated[int, "how many people"] = 1001,
    controlled: Annotated[int, "how many of them are the attacker's, all above the median"] = 64,
    against: Annotated[
        Literal["retrain-median", "noisy-histogram", "frozen-median"], "the curator under attack"
    ] = "retrain-median",
    epsilon: Annotated[float, f"ε of the noisy histogram ({NEIGHBOURS})"] = 1.0,
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> dict[str, Any]:
    """Stage the walk on generated people and count the undeleted values that it exposes."""
    if n < 1 or n > DOMAIN:
        raise BadQuestion(f"n = {n} people cannot be generated.", f"Choose n from 1 to {DOMAIN:,}.")
    Budget(epsilon)  # refused here whoever is attacked
    if not 0 <= controlled <= n // 2:
        remedy = f"Choose from 0 to n // 2 = {n // 2}."
        raise BadQuestion(f"{controlled} of {n} points cannot all lie above the median.", remedy)
    people, curator, read = stage(n, against, epsilon, seed)
    own = range(n - controlled, n)
    (_, claims) = dynamic_game(
        curator, lambda w: median_walk(w, controlled=own, read=read), people, controlled, seeded(seed)
    )
    exposed = len(set(claims) & set(people[: n - controlled]))
    return {
        "attack": "median-walk",
        "against": against,
        "n": n,
        "controlled": controlled,
        "deletions": controlled,
        "claims": len(claims),
        "exposed": exposed,
        "wrong": len(claims) - exposed,
        "undeleted": n - controlled,
        "predicted": (controlled + n % 2) // 2 if against == "retrain-median" else 0,
        "seed": seed,
    }


def stage(
    n: int, against: str, epsilon: float, seed: int
) -> tuple[list[int], Algorithm, Callable[[Any], Any]]:
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
