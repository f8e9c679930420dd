"""Test randomised curators: choose a pair of worlds and an attacker on some runs, test them on others.

The choice may use any number of runs.  A judgement is made on fresh, independent runs at stopping points that
are fixed in advance.  All judgements that may be made share the stated rate of false alarms.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from undeleted.auditing import confidence_bounds
from undeleted.auditing.distinguishers import Runs, alone, train
from undeleted.auditing.lab import TOLERANCE, Lab, exactly, merged
from undeleted.auditing.pairs import Pair
from undeleted.errors import BadSetting, TargetFailed
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Json, Output

CANDIDATES = 3
STOPPING_POINTS = (60, 240, 960, 3840)  # runs of each world to train on, and as many again to test on
PILOT = 60
PARTS = {"broken": 0.4, "imperfect": 0.4, "forgets": 0.2}  # of the rate of false alarms


@dataclass(frozen=True)
class FirstOutput:
    """What is assumed about z0: (ε, δ) for replacing one person, or nothing."""

    epsilon: float | None = None
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.epsilon is not None and not 0 <= self.epsilon < float("inf"):
            raise BadSetting(f"the first output cannot have ε = {self.epsilon:g}.", "Give 0 or more.")
        if not 0 <= self.delta < 1:
            raise BadSetting(f"the first output cannot have δ = {self.delta:g}.", "Give one below 1.")
        if self.epsilon is None and self.delta:
            raise BadSetting("a δ of the first output is stated without an ε.", "State both.")

    def __str__(self) -> str:
        return f"the first output is ({self.epsilon:g}, {self.delta:g})-DP for a replacement"


@dataclass(frozen=True)
class Candidate:
    """A pair of worlds, with the estimates of the pilot runs."""

    pair: Pair
    batches: tuple[tuple[str, ...], ...]
    promise: float
    advantage: float
    first_advantage: float
    unbounded: bool = False


@dataclass(frozen=True)
class Judgement:
    """The test result of one candidate at one stopping point."""

    pair: Pair
    batches: tuple[tuple[str, ...], ...]
    distinguisher: str
    runs: int
    advantage: float
    advantage_at_least: float
    first_at_most: float
    first_by: str
    p_value: float
    compared: int
    advantage_needed: float  # to be detected at all in so many runs

    @property
    def delta(self) -> float:
        """A lower bound on δ; at or below 0 it says nothing."""
        return (self.advantage_at_least - self.first_at_most) / 2

    def as_json(self) -> Json:
        return {
            "by": self.distinguisher,
            "family": self.pair.family,
            "runs": self.runs,
            "advantage": self.advantage,
            "advantage_at_least": self.advantage_at_least,
            "first_output_distance_at_most": self.first_at_most,
            "first_output_bounded_by": self.first_by,
            "delta_at_least": self.delta,
            "p_value_of_perfect_safety": self.p_value,
        }


def seeds_from(coins: Coins, count: int) -> list[int]:
    return [int(s) for s in coins.integers(0, 2**31, count)]


def pilot(
    lab: Lab,
    pair: Pair,
    batches: Output,
    coins: Coins,
    assumed: FirstOutput,
    tolerance: float = TOLERANCE,
    runs: int = PILOT,
) -> Candidate:
    """Estimate how promising a pair is; no estimate is a bound."""
    seeds = seeds_from(coins, 2 * runs)
    ones, others = lab.plays(pair.one, batches, seeds), lab.plays(pair.other, batches, seeds)
    transcripts = merged([*ones, *others], tolerance)
    gained = _advantage(Runs(transcripts[: 2 * runs]), Runs(transcripts[2 * runs :]), runs)
    first = _advantage(alone([t[0] for t in ones]), alone([t[0] for t in others]), runs)
    firsts = _exact([t[0] for t in ones]), _exact([t[0] for t in others])
    blur = sqrt(8 / STOPPING_POINTS[-2])
    guesses = [
        float(np.mean([a != b for a, b in zip(*firsts, strict=True)])),
        confidence_bounds.histogram_distance(*firsts) + blur,
    ]
    if assumed.epsilon is not None:
        guesses.append(confidence_bounds.by_privacy(assumed.epsilon, assumed.delta, len(pair.staying)))
    if lab.has_density:
        guesses.append(_by_density(lab, pair, [t[0] for t in ones], 0.5))
    promise = gained - min(guesses)
    return Candidate(pair, tuple(batches), promise, gained, first, min(guesses) >= 1)


def _advantage(ones: Runs, others: Runs, runs: int) -> float:
    distinguisher = train(ones[:runs], others[:runs])
    hits = np.mean(distinguisher.scores(ones[runs:]) > 0) - np.mean(distinguisher.scores(others[runs:]) > 0)
    return float(hits)


def look(
    lab: Lab,
    candidate: Candidate,
    runs: int,
    coins: Coins,
    assumed: FirstOutput,
    alpha: float,
    tolerance: float = TOLERANCE,
) -> Judgement:
    """Make one test: train on fresh runs, test on other fresh runs; the error probability is `alpha`."""
    pair, batches = candidate.pair, candidate.batches
    ours, theirs = seeds_from(coins, 2 * runs), seeds_from(coins, 2 * runs)
    played = lab.plays(pair.one, batches, ours) + lab.plays(pair.other, batches, theirs)
    transcripts = merged(played, tolerance)
    distinguisher = train(Runs(transcripts[:runs]), Runs(transcripts[2 * runs : 3 * runs]))
    for_one = distinguisher.scores(Runs(transcripts[runs : 2 * runs]))
    for_other = distinguisher.scores(Runs(transcripts[3 * runs :]))
    hits, false = int((for_one > 0).sum()), int((for_other > 0).sum())
    coupled = [t[0] for t in lab.plays(pair.other, (), ours[runs:])]
    firsts = [t[0] for t in played[runs : 2 * runs]], [t[0] for t in played[3 * runs :]]
    share = alpha * PARTS["broken"] / 2
    by, distance = _first_distance(lab, pair, firsts, coupled, assumed, share)
    p, compared = confidence_bounds.given_first(
        list(map(exactly, [*firsts[0], *firsts[1]])),
        np.repeat([True, False], runs),
        np.concatenate([for_one, for_other]),
        ceil(5 / (alpha * PARTS["imperfect"])),
        coins,
    )
    at_least = confidence_bounds.advantage(hits, false, runs, share)
    gained = (hits - false) / runs
    least = _advantage_needed(runs, share)
    return Judgement(
        pair, batches, distinguisher.name, runs, gained, at_least, distance, by, p, compared, least
    )


def _advantage_needed(runs: int, alpha: float) -> float:
    """The smallest advantage that so many runs would bound away from 0, for an event of probability 1/2."""
    half = runs // 2
    for gap in range(half + 1):
        if confidence_bounds.advantage(half + gap, half - gap, runs, alpha) > 0:
            return 2 * gap / runs
    return 1.0


def _first_distance(
    lab: Lab,
    pair: Pair,
    firsts: tuple[list[Output], list[Output]],
    coupled: list[Output],
    assumed: FirstOutput,
    alpha: float,
) -> tuple[str, float]:
    """The best upper bound on the distance between the first outputs; each bound gets its share of α.

    `coupled` are first outputs of the second world with the seeds of the first.
    """
    ways: dict[str, Callable[[float], float]] = {
        "coupling": lambda a: confidence_bounds.by_coupling(_exact(firsts[0]), _exact(coupled), a),
        "counting": lambda a: confidence_bounds.by_counting(_exact(firsts[0]), _exact(firsts[1]), a),
    }
    if lab.has_density:
        ways["density"] = lambda a: _by_density(lab, pair, firsts[0], a)
    bounded = {name: way(alpha / len(ways)) for name, way in ways.items()}
    if assumed.epsilon is not None:
        bounded["privacy"] = confidence_bounds.by_privacy(assumed.epsilon, assumed.delta, len(pair.staying))
    best = min(bounded, key=lambda name: bounded[name])
    return best, bounded[best]


def _exact(outputs: Sequence[Output]) -> list[str]:
    return list(map(exactly, outputs))


def _by_density(lab: Lab, pair: Pair, draws: Sequence[Output], alpha: float) -> float:
    outputs = [list(z) if isinstance(z, tuple) else z for z in draws]
    here = np.array(lab.target.log_density(pair.one, outputs))
    there = np.array(lab.target.log_density(pair.other, outputs))
    if not np.isfinite(here).all():
        raise TargetFailed("asking for the density of the first output", "its own outputs have no density")
    return confidence_bounds.by_density(there - here, alpha)
