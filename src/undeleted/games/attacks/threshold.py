"""One deletion reveals all the others: a retrained function that outputs nothing while |D| ≥ n (P3).

f(D) = ∅ if |D| ≥ n, else D
"""

from typing import Annotated, Literal

from undeleted.curate.mechanisms.noisy_count import NoisyCount
from undeleted.errors import BadSetting
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import NEIGHBOURS, Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.foundations.types import Json, Output
from undeleted.games.algorithm import Algorithm
from undeleted.games.baselines.threshold import Threshold
from undeleted.games.dynamic import dynamic_game
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.worlds import World

FACTS = {
    "claim": "P3",
    "controls": "one record",
    "learns": "all the others",
    "predicts": "everybody who stays, after one deletion",
}


def threshold(world: World) -> tuple[Output, ...]:
    """Delete the attacker's record and return the data that are then published.

    >>> dynamic_game(Threshold(), threshold, [5, 9, 1], 1, seeded(7))
    ((0,), (1, 9))
    """
    world.corrupt(0)
    opened = world.delete(0)
    return opened if isinstance(opened, tuple) else ()


def run(
    *,
    n: Annotated[int, "how many people"] = 1000,
    against: Annotated[Literal["threshold", "noisy-count"], "the curator under attack"] = "threshold",
    epsilon: Annotated[float, f"ε of the noisy count ({NEIGHBOURS})"] = 1.0,
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Delete one record, and count the people it exposes."""
    budget = Budget(epsilon)
    if not 2 <= n <= 10**7:
        raise BadSetting(f"n = {n} is out of range.", "Choose n from 2 to 10,000,000.")
    people = [int(v) for v in seeded(f"people {seed}").integers(0, 2**20, n)]
    column = Number("value", min=0, max=2**20 - 1)
    safe = ReleaseOnce(NoisyCount(budget), Schema([column]))
    curator: Algorithm = Threshold() if against == "threshold" else safe
    _, opened = dynamic_game(curator, threshold, people, 1, seeded(seed))
    return {
        "attack": "threshold",
        "against": against,
        "n": n,
        "controlled": 1,
        "deletions": 1,
        "exposed": len(opened) if sorted(opened) == sorted(people[1:]) else 0,
        "predicted": n - 1 if against == "threshold" else 0,
        "undeleted": n - 1,
        "seed": seed,
    }
