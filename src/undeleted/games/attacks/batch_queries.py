"""A handful of deletions reconstructs almost everybody: the paper's headline theorem (P6).

    one shot    ⌊(Star + Lap(2/ε))/3k⌉ picks a block of t queries, answered with Gaussian noise: (ε, δ)-DP
    attack      3k stars a block, n/t blocks: 3kn/t controlled points steer the curator through all queries

Item (1) of the theorem is the one-shot algorithm, whose accuracy every run measures; item (2) is the attack.
"""

import functools
import math
from typing import Annotated, Literal

from undeleted.errors import BadBudget, BadSetting, TooLarge
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace, seeded
from undeleted.foundations.privacy import NEIGHBOURS, Budget, calibrate
from undeleted.foundations.types import Json
from undeleted.games.reconstruction.block_attackers import ATTACKERS, settle, single
from undeleted.games.reconstruction.fourier_queries import Report, check_size, exact_answers, hidden_half
from undeleted.games.reconstruction.pictures import hidden_picture, reconstruction_picture, require_writable
from undeleted.games.reconstruction.tasks import Against, BatchQueries

FACTS = {
    "claim": "P6",
    "controls": "3kn/t stars",
    "learns": "almost everybody",
    "predicts": "as fourier, with α = σ²",
}
MOST_ANSWERS = 2**31
BETA = 0.05  # the chance that any of the r releases answers a wrong block, for the theorem's condition


def batch_queries(world: BatchQueries, attacker: str = "single") -> Array:
    """Answers to all n queries, by deleting stars.

    >>> import numpy as np
    >>> exact = exact_answers(np.array([0, 1, 1, 0], dtype=np.uint8))
    >>> quiet = (DiscreteLaplace(1e-9), DiscreteGaussian(1e-9))
    >>> batch_queries(BatchQueries(exact, k=1, t=2, laws=quiet, coins=seeded(7), frozen=False))
    array([2., 1., 1., 0.])
    """
    return settle(ATTACKERS[attacker](world), world)


@functools.cache
def sigma_of(noise: str, t: int, epsilon: float, delta: float) -> float:
    """The paper's σ, or the least that (ε/2, δ) allows for t counting queries."""
    if noise == "paper":
        return math.sqrt(16 * t * math.log(1 / delta)) / epsilon
    [[law]] = calibrate([(1,)], Budget(epsilon / 2, delta), times=t, only="gaussian")
    assert isinstance(law, DiscreteGaussian)
    return law.sigma


def run(
    *,
    n: Annotated[int, "how many possible members, a power of two"] = 2**20,
    k: Annotated[int, "how far a release's count of the stars may be off"] = 2,
    t: Annotated[int, "how many queries are answered together"] = 2048,
    epsilon: Annotated[float, f"ε of every release ({NEIGHBOURS})"] = 4.0,
    delta: Annotated[float, "δ of every release"] = 1e-6,
    noise: Annotated[
        Literal["tight", "paper"], "the least noise that (ε, δ) allows, or the paper's"
    ] = "tight",
    attacker: Annotated[
        Literal["single", "average", "all"], "one release a block, those with one valid block, or all"
    ] = "single",
    against: Against = "retrain",
    picture: Annotated[str, "write a picture of a hidden image here (.png, .svg or .html)"] = "",
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Play against a curator that solves the task with differential privacy after every deletion."""
    _check(n, k, t, Budget(epsilon, delta), attacker, picture)
    report = Report("batch-queries", against, n)
    members = hidden_picture(n) if picture else hidden_half(n, seeded(f"members {seed}"))
    exact = exact_answers(members)
    sigma = sigma_of(noise, t, epsilon, delta)
    laws = (DiscreteLaplace(2 / epsilon), DiscreteGaussian(sigma))

    def world(frozen: bool) -> BatchQueries:
        return BatchQueries(exact, k, t, laws, seeded(seed), frozen=frozen)

    if picture:
        reconstruction_picture(picture, n, world, single)
    played = world(against == "release-once")
    # Answers are near n/4 for most sets, but not for a picture, so those are not clipped.
    answers = ATTACKERS[attacker](played) if picture else batch_queries(played, attacker)
    answers[0] = n / 2  # public
    blocks = n // t
    theorem = epsilon <= 1 and k >= 2 / epsilon * math.log(2 * blocks / BETA)
    return report.finish(
        members,
        answers,
        exact,
        sigma**2,
        controlled=played.controlled,
        deletions=played.deletions,
        releases=played.releases,
        missed_indices=played.missed,
        epsilon=epsilon,
        delta=delta,
        sigma=sigma,
        attacker=attacker,
        noise=noise,
        k=k,
        t=t,
        within_theorem=theorem,
        seed=seed,
    )


def _check(n: int, k: int, t: int, budget: Budget, attacker: str, picture: str) -> None:
    """Refuse what cannot be played, before the work begins."""
    if budget.delta == 0:
        raise BadBudget("delta", budget.delta, "positive: the noise is Gaussian")
    check_size(n, 48)
    if t < 1 or n % t:
        raise BadSetting(f"t = {t} does not divide n = {n}.", "Choose a t that does, such as a power of two.")
    if k < 1:
        raise BadSetting(f"k = {k} gives blocks without stars.", "Choose k ≥ 1.")
    work = 3 * k * n if attacker != "single" else n
    if work > MOST_ANSWERS:
        remedy = "Choose a smaller n or k, or the single attacker."
        raise TooLarge("the answers that this attacker reads", work, MOST_ANSWERS, remedy)
    if picture:
        require_writable(picture, "PIL")
