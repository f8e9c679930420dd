"""Dwork and Yekhanin's reconstruction from n Fourier queries (P9), and its report.

    q_s = (1 + χ_s)/2      answers a_s = q_s(D) + e_s
    ĥ_0 = a_0,  ĥ_s = 2a_s − a_0,  x̂ = Hĥ/n,  round
    for i ≠ 0 the error of x̂_i is (2/n)(He)_i, so |D Δ D̂| ≤ 16α + 1 with α the mean of e²

For errors like Gaussian noise the wrong fraction is Q(1/(4√(α/n))), for every n.
"""

import math
import os
import resource
import time
from dataclasses import dataclass, field

import numpy as np

from undeleted.errors import TooLarge
from undeleted.foundations.arrays import Array
from undeleted.foundations.coins import Seeded
from undeleted.foundations.types import Given, Json
from undeleted.games.reconstruction.walsh_hadamard import fwht, require_power_of_two


def hidden_half(n: int, coins: Seeded) -> Array:
    """A random D of n/2 of the n indices, as zeros and ones."""
    members = np.zeros(n, dtype=np.uint8)
    members[coins.choose(n, n // 2)] = 1
    return members


def exact_answers(members: Array) -> Array:
    """q_s(D) for every s."""
    spectrum = members.astype(np.float64)
    fwht(spectrum)
    spectrum += spectrum[0]
    spectrum /= 2
    return spectrum


def reconstruct(answers: Array) -> Array:
    """Overwrite the answers with x̂ before rounding; a value above one half means a member."""
    first = answers[0]
    answers *= 2
    answers -= first
    answers[0] = first
    fwht(answers)
    answers /= answers.size
    return answers


def predicted_fraction(alpha: float, n: int, missed: float = 0.0) -> float:
    """1 − Q((1 − f)/(4√(α/n))): the correct share under Gaussian errors of this size.

    An answer to the wrong query is an error; it also removes its share f = `missed` of the signal.
    """
    if alpha == 0:
        return 1.0
    return 1 - 0.5 * math.erfc((1 - missed) / (4 * math.sqrt(alpha / n)) / math.sqrt(2))


def check_size(n: int, bytes_each: int) -> None:
    """Refuse an n that is no power of two or does not fit in memory, before the work begins."""
    require_power_of_two(n)
    needed = n * bytes_each
    try:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return
    if needed > 0.8 * memory_bytes:
        remedy = f"Choose a smaller n: this one needs {needed / 1e9:,.1f} GB."
        raise TooLarge(f"the bytes of memory for n = {n:,}", needed, int(0.8 * memory_bytes), remedy)


@dataclass
class Report:
    """Collects what every reconstruction reports."""

    attack: str
    against: str
    n: int
    facts: Json = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def finish(self, members: Array, answers: Array, exact: Array, one_shot: float, **facts: Given) -> Json:
        """Reconstruct from the answers, count the errors, and compare the count with the bound."""
        alpha = float(np.mean((answers - exact) ** 2))
        guesses = reconstruct(answers) > 0.5
        wrong = int(np.count_nonzero(guesses != (members == 1)))
        bound = 16 * alpha + 1
        if wrong > bound:
            raise AssertionError(f"{wrong} errors exceed the bound {bound}: the reconstruction is broken")
        return {
            "attack": self.attack,
            "against": self.against,
            "n": self.n,
            **facts,
            "alpha": alpha,
            "predicted": None if self.against == "release-once" else predicted_fraction(alpha, self.n),
            "predicted_with_misses": None
            if self.against == "release-once"
            else predicted_fraction(alpha, self.n, facts["missed_indices"] / facts["releases"]),
            "recovered": 1 - wrong / self.n,
            "wrong": wrong,
            "bound": bound,
            "honest": one_shot / self.n <= 0.02,
            "seconds": time.perf_counter() - self.started,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        }
