"""Reconstruct a data set from n noisy Fourier queries, as the deletion attacks do (P9).

noise "gaussian"   σ = c√n on every answer: the wrong fraction is Q(1/(4c)) for every n
noise "worst"      the error that flips as many points as its size allows: 16α of them
"""

from typing import Annotated, Literal

import numpy as np

from undeleted.errors import BadSetting
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import DiscreteGaussian, seeded
from undeleted.foundations.types import Json
from undeleted.games.reconstruction.fourier_queries import (
    Report,
    check_size,
    exact_answers,
    hidden_half,
    reconstruct,
)
from undeleted.games.reconstruction.walsh_hadamard import fwht

FACTS = {
    "claim": "P9",
    "controls": "nothing: it is given noisy answers to n Fourier queries",
    "learns": "almost everybody",
    "predicts": "at most 16α + 1 wrong; a share Q(1/(4√(α/n))) for Gaussian errors",
}


def fourier(answers: Array) -> Array:
    """The members, from approximate answers to all n Fourier queries.

    >>> members = np.array([0, 1, 1, 0, 1, 0, 0, 1], dtype=np.uint8)
    >>> fourier(exact_answers(members)).astype(int)
    array([0, 1, 1, 0, 1, 0, 0, 1])
    """
    return reconstruct(np.array(answers, dtype=np.float64)) > 0.5


def run(
    *,
    n: Annotated[int, "how many possible members, a power of two"] = 2**20,
    c: Annotated[float, "size of the noise, in √n"] = 0.1,
    noise: Annotated[Literal["gaussian", "worst"], "the kind of error in the answers"] = "gaussian",
    against: Annotated[Literal["answers", "release-once"], "who answers the queries"] = "answers",
    seed: Annotated[int, "the same seed gives the same run"] = 7,
) -> Json:
    """Answer every query with noise, or all of them with one answer, and reconstruct."""
    if not 0 <= c <= 100:
        raise BadSetting(f"c = {c} is out of range.", "Choose c from 0 to 100.")
    check_size(n, 40)
    report, coins = Report("fourier", against, n), seeded(seed)
    members = hidden_half(n, coins)
    exact = exact_answers(members)
    answers = exact + error(members, c, noise, seed)
    if against == "release-once":  # one answer was published, and every query gets it
        answers = np.full(n, answers[1 % n])
    facts = {
        "controlled": 0,
        "deletions": 0,
        "releases": n,
        "missed_indices": 0,
        "epsilon": None,
        "delta": None,
    }
    result = report.finish(
        members, answers, exact, c * c * n, **facts, within_theorem=c * c <= 0.02, seed=seed
    )
    if noise == "worst" and against == "answers":
        result["predicted"] = max(0.5, 1 - 16 * result["alpha"] / n)  # no error of this size does worse
    return result


def error(members: Array, c: float, noise: str, seed: int) -> Array:
    """The error of the answers."""
    n = members.size
    if noise == "gaussian":
        if c == 0:
            return np.zeros(n)
        fine = 1000  # steps of the discrete law per unit, so that its grid matters little for small n
        drawn = seeded(f"noise {seed}").noisy(
            DiscreteGaussian(c * n**0.5 * fine), np.zeros(n, dtype=np.int64)
        )
        return drawn / fine
    flips = np.zeros(n)
    flips[np.flatnonzero(members[1:] == 1)[: int(16 * c * c * n)] + 1] = -n / 4
    fwht(flips)
    return flips / n
