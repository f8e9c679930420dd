"""One query per index, selected by deleting stars: 3kn controlled points reconstruct everybody (P5).

release   q_i(D) + Laplace noise, for an index i from ⌊(Star − k)/3k⌉ to ⌊(Star + k)/3k⌉
"""

import math
from typing import Annotated

from undeleted.errors import BadSetting
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import DiscreteLaplace, seeded
from undeleted.foundations.privacy import NEIGHBOURS, Budget
from undeleted.foundations.types import Json
from undeleted.games.reconstruction.block_attackers import settle, single
from undeleted.games.reconstruction.fourier_queries import Report, check_size, exact_answers, hidden_half
from undeleted.games.reconstruction.tasks import Against, BatchQueries

FACTS = {
    "claim": "P5",
    "controls": "3kn stars",
    "learns": "almost everybody",
    "predicts": "as fourier, with α = 8/ε²",
}
BETA = 0.05  # the chance that any release answers a wrong query, for the condition on k


def star(world: BatchQueries) -> Array:
    """Answers to all n queries, one after each 3k deletions.

    >>> import numpy as np
    >>> exact = exact_answers(np.array([0, 1, 1, 0], dtype=np.uint8))
    >>> quiet = (DiscreteLaplace(1e-9), DiscreteLaplace(1e-9))
    >>> star(BatchQueries(exact, k=1, t=1, laws=quiet, coins=seeded(7), frozen=False))
    array([2., 1., 1., 0.])
    """
    return settle(single(world), world)


def run(
    *,
    n: Annotated[int, "how many possible members, a power of two"] = 2**14,
    k: Annotated[int, "how far a release's count of the stars may be off"] = 32,
    epsilon: Annotated[float, f"ε of every release ({NEIGHBOURS})"] = 0.5,
    against: Against = "retrain",
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Play against a curator that answers one query with differential privacy after every deletion."""
    Budget(epsilon)
    check_size(n, 64)
    if k < 1:
        raise BadSetting(f"k = {k} gives indices without stars.", "Choose k ≥ 1.")
    report = Report("star", against, n)
    members = hidden_half(n, seeded(f"members {seed}"))
    exact = exact_answers(members)
    law = DiscreteLaplace(2 / epsilon)
    world = BatchQueries(exact, k, 1, (law, law), seeded(seed), frozen=against == "release-once")
    answers = star(world)
    return report.finish(
        members,
        answers,
        exact,
        2 * (2 / epsilon) ** 2,
        controlled=world.controlled,
        deletions=world.deletions,
        releases=world.releases,
        missed_indices=world.missed,
        epsilon=epsilon,
        delta=0.0,
        within_theorem=epsilon <= 1 and k >= 2 / epsilon * math.log(2 * n / BETA),
        k=k,
        seed=seed,
    )
