"""What may be concluded from runs, and with what confidence.

    TV(T_D, T_D') ≤ TV(z0, z0') + 2δ      so   δ ≥ (advantage − TV(z0, z0'))/2

An advantage is bounded from below on runs that were not used to choose the attacker (Clopper–Pearson, one
side for each world).  The distance between the first outputs must be bounded from *above*, which no
classifier does.  These do:

    coupling   P(z0 ≠ z0') when both worlds get the same seed: any coupling bounds the distance
    counting   the distance of the two histograms plus √(ln(1/α)/N): on average a histogram distance is
               too large, never too small (it is convex), and each of the 2N runs moves it by 1/N at most
               (McDiarmid).  Useful if z0 is discrete as published; for a continuous z0 the bound is 1
    privacy    (e^ε − 1 + 2δ)/(e^ε + 1): an assumption, reported as such
    density    the mean of max(0, 1 − p'(z)/p(z)) over z ~ p, plus √(ln(1/α)/2N): for a z0 whose density
               the target states
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import exp, expm1, log, sqrt

import numpy as np
from scipy.special import betaincinv

from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output

ENOUGH = 20  # a test stops after this many shuffles that score as high as the observed labels
MOST = 20_000  # shuffles; p-values that would need more are bounded


def at_least(hits: int, runs: int, alpha: float) -> float:
    """The Clopper–Pearson lower bound of a probability: too high with probability α at most."""
    return 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, alpha))


def at_most(hits: int, runs: int, alpha: float) -> float:
    """The Clopper–Pearson upper bound."""
    return 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - alpha))


def advantage(hits: int, false_hits: int, runs: int, alpha: float) -> float:
    """A lower bound on P_D(event) − P_D'(event)."""
    return at_least(hits, runs, alpha / 2) - at_most(false_hits, runs, alpha / 2)


def by_coupling(ones: Sequence[Hashable], others: Sequence[Hashable], alpha: float) -> float:
    """From first outputs with common seeds."""
    return at_most(sum(a != b for a, b in zip(ones, others, strict=True)), len(ones), alpha)


def by_counting(ones: Sequence[Hashable], others: Sequence[Hashable], alpha: float) -> float:
    """From two histograms of first outputs."""
    runs = len(ones)
    return min(1.0, histogram_distance(ones, others) + sqrt(log(1 / alpha) / runs))


def histogram_distance(ones: Sequence[Hashable], others: Sequence[Hashable]) -> float:
    counts, theirs = Counter(ones), Counter(others)
    return sum(abs(counts[z] - theirs[z]) for z in counts.keys() | theirs.keys()) / (2 * len(ones))


def by_privacy(epsilon: float, delta: float, people: int) -> float:
    """From a stated (ε, δ) for replacing one person, when `people` are replaced."""
    total_epsilon = people * epsilon
    if total_epsilon > 50:
        return 1.0
    grouped = delta * (expm1(total_epsilon) / expm1(epsilon) if epsilon > 0 else people)
    return min(1.0, (expm1(total_epsilon) + 2 * grouped) / (exp(total_epsilon) + 1))


def by_density(log_ratios: Output, alpha: float) -> float:
    """From log p'(z) − log p(z) at draws of p."""
    short = np.maximum(0.0, -np.expm1(np.minimum(np.asarray(log_ratios), 0.0)))
    return min(1.0, float(short.mean()) + sqrt(log(1 / alpha) / (2 * short.size)))


def given_first(
    firsts: Sequence[Hashable], from_one: Output, scores: Output, rounds: int, coins: Coins
) -> tuple[float, int]:
    """Test perfect safety: given z0, do the updates reveal which world it was?

    The world labels are permuted within each first output.  Under perfect safety that changes nothing, so
    the p-value is valid for any scores.  The test stops early when the p-value cannot become small (Besag and
    Clifford, 1991).  If `MOST` shuffles are too few for a small enough p-value, it is twice the smaller of
    two p-values, the second by Hoeffding's inequality.  Return it and how many runs could be compared.
    """
    numbered: dict[Hashable, int] = {}
    group = np.array([numbered.setdefault(z, len(numbered)) for z in firsts])
    named = np.asarray(from_one, dtype=bool)
    sizes, ours = np.bincount(group), np.bincount(group, weights=named)
    mixed = ((ours > 0) & (ours < sizes))[group]
    if not mixed.any():
        return 1.0, 0
    group, named, scores = group[mixed], named[mixed], np.asarray(scores, dtype=np.float64)[mixed]
    order = np.argsort(group, kind="stable")
    group, named, scores = group[order], named[order], scores[order]
    generator = np.random.default_rng(int(coins.integers(0, 2**62, 1)[0]))
    p = _by_shuffling(group, named, scores, min(rounds, MOST), generator)
    if rounds > MOST:
        p = min(1.0, 2 * min(p, _by_hoeffding(group, named, scores)))
    return p, int(group.size)


def _by_shuffling(
    group: Output, named: Output, scores: Output, rounds: int, generator: np.random.Generator
) -> float:
    """A p-value: how often labels permuted within groups score as high.  The groups are sorted."""
    seen, as_high = float(scores @ named), 0
    for done in range(1, rounds + 1):
        shuffled = named[np.argsort(group + generator.random(group.size))]
        as_high += not float(scores @ shuffled) < seen - 1e-9 * abs(seen)
        if as_high == ENOUGH:
            return ENOUGH / done
    return (1 + as_high) / (1 + rounds)


def _by_hoeffding(group: Output, named: Output, scores: Output) -> float:
    """A p-value from how many of the named score above the mean of their group: draws without replacement.

    A group of N, n of them named, counts as n draws or as the N − n that were left out, whichever is fewer
    (Hoeffding, 1963).
    """
    sizes, ours = np.bincount(group), np.bincount(group, weights=named)
    there = np.maximum(sizes, 1)
    above = scores > (np.bincount(group, weights=scores) / there)[group]
    more = np.count_nonzero(above & named) - float((ours * np.bincount(group, weights=above) / there).sum())
    draws = float(np.minimum(ours, sizes - ours).sum())
    return max(exp(-2 * max(0.0, more) ** 2 / draws), 1e-300)
