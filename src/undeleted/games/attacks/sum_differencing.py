"""Two consecutive sums reveal the deleted value (P1): the definition accepts this; leavers should know it.

    z0 − z1 = y

Exact, retrained and subtracted sums all reveal it.  Fresh noise hides it a little and erodes the privacy of
those who stay; a tree over the deletions hides it within its budget.
"""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from undeleted.curate.mechanisms.exact_sum import ExactSum
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.curate.statistics.clipped_sum import ClippedSum
from undeleted.errors import BadSetting
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import NEIGHBOURS, Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.foundations.types import Json, Output
from undeleted.games.algorithm import Algorithm
from undeleted.games.baselines.recompute import Recompute
from undeleted.games.baselines.retrain import Retrain, total
from undeleted.games.baselines.tree_counter import TreeCounter
from undeleted.games.dynamic import dynamic_game
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.worlds import World

FACTS = {
    "claim": "P1",
    "controls": "nothing: it watches others leave",
    "learns": "the deleted values, and nobody else's",
    "predicts": "every deleted value, exactly",
}
X = Number("value", min=0, max=1000)


def sum_differencing(world: World, *, leavers: int, read: Callable[[Output], float] = float) -> list[float]:
    """The difference between the sums before and after each deletion.

    >>> dynamic_game(Retrain(total), lambda w: sum_differencing(w, leavers=2), [5, 9, 1], 2, seeded(7))
    ((0, 1), (5.0, 9.0))
    """
    differences = []
    for person in range(leavers):
        before = read(world.look())
        world.corrupt(person)  # somebody leaves; the attacker does not use what it would learn by corrupting
        differences.append(before - read(world.delete(person)))
    return differences


def run(
    *,
    n: Annotated[int, "how many people"] = 1000,
    leavers: Annotated[int, "how many of them leave"] = 50,
    against: Annotated[
        Literal["retrain-sum", "exact-sum", "noisy-sum", "recompute", "tree-counter"],
        "the curator under attack",
    ] = "retrain-sum",
    epsilon: Annotated[float, f"ε of the noisy curators ({NEIGHBOURS})"] = 1.0,
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Let people leave and count whose values the differences reveal."""
    budget = Budget(epsilon)
    if n < 1 or not 0 <= leavers <= n:
        raise BadSetting(f"{leavers} of {n} people cannot leave.", "Choose 0 ≤ leavers ≤ n.")
    people = [int(v) for v in seeded(f"people {seed}").integers(0, 1001, n)]
    schema = Schema([X])
    curators: dict[str, Callable[[], Algorithm]] = {
        "retrain-sum": lambda: Retrain(total),
        "exact-sum": lambda: ReleaseOnce(ExactSum(X), schema),
        "noisy-sum": lambda: ReleaseOnce(NoisySum(X, budget), schema),
        "recompute": lambda: Recompute(NoisySum(X, budget), schema),
        "tree-counter": lambda: TreeCounter(ClippedSum(X), schema, budget, max(1, leavers)),
    }
    read = float if against == "retrain-sum" else lambda cells: float(cells.value[0])
    _, claims = dynamic_game(
        curators[against](),
        lambda w: sum_differencing(w, leavers=leavers, read=read),
        people,
        leavers,
        seeded(seed),
    )
    right = int(np.count_nonzero(np.array(claims) == np.array(people[:leavers], dtype=float)))
    return {
        "attack": "sum-differencing",
        "against": against,
        "n": n,
        "controlled": 0,
        "deletions": leavers,
        "deleted_values_learned": right,
        "predicted": leavers if against in ("retrain-sum", "exact-sum", "noisy-sum") else None,
        "undeleted": n - leavers,
        "seed": seed,
    }
