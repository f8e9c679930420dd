"""Ask any counting query by deleting copies modulo 3, and reconstruct everybody (P4).

    for a query q: delete 2 copies of every i with q(i) = 1; the release is now noisy q(D); delete a third

CountMod changes by at most 1 when a record comes or goes, so each release alone is ε-DP.
"""

from typing import Annotated

import numpy as np

from undeleted.errors import BadSetting, TooLarge
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import DiscreteLaplace, seeded
from undeleted.foundations.privacy import NEIGHBOURS, Budget
from undeleted.foundations.types import Json
from undeleted.games.reconstruction.fourier_queries import Report, check_size, exact_answers, hidden_half
from undeleted.games.reconstruction.tasks import Against, CountMod

FACTS = {
    "claim": "P4",
    "controls": "3n² copies",
    "learns": "almost everybody",
    "predicts": "as fourier, with α = 2/ε²",
}
LARGEST = 2**17  # n queries over n counts: the work is n²


def count_mod(world: CountMod) -> Array:
    """Answers to all n Fourier queries, by deletions alone.

    >>> members = np.array([0, 1, 1, 0], dtype=np.uint8)
    >>> count_mod(CountMod(members, DiscreteLaplace(1e-9), seeded(7), frozen=False))
    array([2., 1., 1., 0.])
    """
    indices = np.arange(world.n, dtype=np.uint64)
    answers = np.empty(world.n)
    for s in range(world.n):
        chosen = (np.bitwise_count(indices & np.uint64(s)) & 1 == 0).astype(np.uint8)
        world.delete(chosen, 2)
        answers[s] = world.look()
        world.delete(chosen, 1)
    return answers


def run(
    *,
    n: Annotated[int, "how many possible members, a power of two"] = 2**14,
    epsilon: Annotated[float, f"ε of every release ({NEIGHBOURS})"] = 0.1,
    against: Against = "retrain",
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Play against a curator that solves CountMod with differential privacy after every deletion."""
    Budget(epsilon)
    check_size(n, 64)
    if n < 2:
        raise BadSetting("n = 1 leaves nobody to reconstruct.", "Choose n ≥ 2.")
    if n > LARGEST:
        raise TooLarge(
            "n queries over n counts", n, LARGEST, "Choose a smaller n, or the batch-queries attack."
        )
    report = Report("count-mod", against, n)
    members = hidden_half(n, seeded(f"members {seed}"))
    law = DiscreteLaplace(1 / epsilon)
    world = CountMod(members, law, seeded(seed), frozen=against == "release-once")
    answers = count_mod(world)
    return report.finish(
        members,
        answers,
        exact_answers(members),
        2 / epsilon**2,
        controlled=world.controlled,
        deletions=world.deletions,
        releases=world.releases,
        missed_indices=0,
        epsilon=epsilon,
        delta=0.0,
        within_theorem=2 / epsilon**2 <= 0.02 * n and epsilon <= 1,
        seed=seed,
    )
