"""Beyond the paper: a table that people join for years, at one ε each, and leave."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import numpy as np

from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.curate.releases.arrivals import Arrivals, RowNoise, Rows
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import ClampedGeometric, FiniteLaw, TruncatedGeometric, seeded
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Number, Schema
from undeleted.games.arrivals import Redraws
from undeleted.paper.claim import ClaimResult, Figure, Setting, about, exactly, more_than, none_above
from undeleted.paper.claims._pictures import curves
from undeleted.verifying.growing_worlds import GrowingSmallWorld, privacy_of_the_stayers, verify_growing

SAYS = (
    "The paper's table only loses people. If people also join, at ticks of a public clock, one ε a person "
    "pays for all ticks: the rows of a factorization, from which leavers are subtracted, are perfectly "
    "undeleted-safe, and the error of a total after years is a small multiple of a single release's."
)
WHERE = "Beyond the paper"
NOTE = (
    "Both worlds of the game compute what every tick would publish if nobody left; the simulator receives "
    "that and the leavers' records. Noise drawn again because somebody left is then not safe. Noise drawn "
    "again at every tick is safe in this sense, and not private: that is a second question, and a check of "
    "whole transcripts answers it."
)
X = Number("x", min=0, max=1)
NARROW, CLAMPED = TruncatedGeometric(Fraction(1, 2), 1), ClampedGeometric(Fraction(1, 2), low=0, high=2)
CELLS = 400
CAPTION = "The error of a running total, in units of one release with the same ε and δ."
ALT = "The factorization's error hardly rises; that of separate batches grows as the root of the ticks."


def g4_growing_tables(setting: Setting) -> ClaimResult:
    figures = [*_safety(), *_privacy(), _reach()]
    rows, theory = [], []
    for horizon in setting.pick((12, 60, 365), (12, 60, 365, 3650)):
        measured = _errors(horizon, f"{setting.seed} {horizon}")
        foreseen = _growing(horizon).error(horizon - 1)
        spread = foreseen / sqrt(2 * CELLS)
        figures.append(about(f"error of a total after {horizon:,} ticks", measured["ours"], foreseen, spread))
        rows.append({"ticks": horizon, "error": measured["ours"], "which": "factorization"})
        rows.append({"ticks": horizon, "error": measured["cohorts"], "which": "cohorts"})
        theory.append({"ticks": horizon, "error": foreseen, "which": "factorization"})
        theory.append({"ticks": horizon, "error": sqrt(horizon), "which": "cohorts"})
        if horizon == 365:
            half, hidden = measured["half"] / measured["ours"], measured["hidden"] / measured["ours"]
            figures.append(exactly("the same after half of everybody has left", round(half, 6), 1.0))
            few = f"a ratio of root mean squares of {CELLS} cells"
            figures.append(none_above("hidden leavers, with an ε as large", hidden, 2.0, uncertainty=few))
    picture = curves(rows, "ticks", "error", "which", theory=theory, log="xy", caption=CAPTION, alt=ALT)
    return ClaimResult(tuple(figures), (picture,), note=NOTE)


def _safety() -> list[Figure]:
    """Every attacker that closes ticks, puts records of its own into batches, and deletes."""
    safe: tuple[tuple[Redraws, RowNoise, bool, str], ...] = (
        ("never", "factorization", False, "rows of the factorization"),
        ("never", "cohorts", False, "separate batches"),
        ("never", "tree", False, "a binary tree"),
        ("never", "cohorts", True, "hidden leavers"),
        ("every-tick", "cohorts", False, "a total with new noise at every tick"),
    )
    figures = []
    for redraws, noise, hidden, what in safe:
        found = verify_growing(_world(redraws, noise, NARROW, hidden=hidden))
        figures.append(exactly(f"least δ, {what}", "0" if found.safe else str(float(found.lower)), "0"))
    again: dict[Redraws, str] = {
        "at-deletion": "at a deletion",
        "if-somebody-left": "at a tick if somebody left",
    }
    for redraws, what in again.items():
        lower = float(verify_growing(_world(redraws, "cohorts", NARROW)).lower)
        figures.append(more_than(f"least δ, noise drawn again {what}", lower, 0.0))
    return figures


def _world(redraws: Redraws, noise: RowNoise, law: FiniteLaw, *, hidden: bool = False) -> GrowingSmallWorld:
    """Two people join at the first of two ticks, or the attacker's own at any; one may leave."""
    arrivals = Arrivals(NoisySum(X, law), 2, noise, leavers=law if hidden else None, bits=1)
    own = 1 if redraws == "never" and law == NARROW and not hidden else 0
    return GrowingSmallWorld(arrivals, Schema([X]), (0, 1), (2, 0), own=own, redraws=redraws)


def _privacy() -> list[Figure]:
    """The whole transcript of those who stay, with adaptive arrivals: drawing again costs at every tick."""
    worlds: tuple[tuple[Redraws, RowNoise, str, str], ...] = (
        ("never", "cohorts", "batches with their own noise", "2"),
        ("never", "factorization", "rows of the factorization, of reach 3", "8"),
        ("every-tick", "cohorts", "a total with new noise at each of two ticks", "4"),
    )
    said = "e^ε of those who stay over a whole transcript"
    return [
        exactly(f"{said}, {what}", str(_ratio(redraws, noise)), expected)
        for redraws, noise, what, expected in worlds
    ]


def _ratio(redraws: Redraws, noise: RowNoise) -> Fraction | None:
    return privacy_of_the_stayers(_world(redraws, noise, CLAMPED)).transcript.ratio


def _reach() -> Figure:
    """By brute force: a person joins, and moves all rows together by exactly what the noise is made for."""
    arrivals = Arrivals(NoisySum(Number("x", min=0, max=2), Zcdp(0.1)), 9)
    moved = [sum((2 * int(f)) ** 2 for f in arrivals.factors.column(joined, 9)) for joined in range(9)]
    assert arrivals.events is not None
    shift = arrivals.events[0].shift
    return exactly(
        "furthest that a person moves all rows, as the noise assumes", round(sqrt(max(moved)) / shift, 9), 1.0
    )


def _growing(horizon: int, noise: RowNoise = "factorization") -> Arrivals:
    mechanism = NoisyHistogram((Number("cell", min=0, max=CELLS - 1),), Budget(1.0, 1e-6))
    return Arrivals(mechanism, horizon, noise)


def _errors(horizon: int, seed: str) -> dict[str, float]:
    """Root mean squares over independent cells, in units of one release with the same budget."""
    arrivals, cohorts = _growing(horizon), _growing(horizon, "cohorts")
    one = standard_deviation(arrivals.laws[0]) / arrivals.factors.norm
    nobody = np.zeros((horizon, CELLS), dtype=np.int64)
    rows, departures = (_noise(arrivals, nobody, f"{seed} {which}") for which in ("joined", "left"))
    joined = seeded(f"{seed} people").integers(0, 20, horizon * CELLS).reshape(horizon, CELLS)
    factors = np.zeros((horizon, horizon), dtype=np.int64)
    for tick in range(horizon):
        factors[tick, : tick + 1] = arrivals.factors.row(tick)
    full = Rows(rows.value + factors @ joined)
    after = Rows(full.value - factors @ (joined // 2))
    wrong = {
        "ours": arrivals.total(full) - joined.sum(axis=0),
        "half": arrivals.total(after) - (joined - joined // 2).sum(axis=0),
        "hidden": arrivals.total(rows) - arrivals.total(departures),
        "cohorts": cohorts.total(_noise(cohorts, nobody, f"{seed} cohorts")),
    }
    return {name: sqrt(float((error**2).mean())) / one for name, error in wrong.items()}


def _noise(arrivals: Arrivals, batches: Sequence[IntArray] | IntArray, seed: str) -> Rows:
    """The rows of a table that nobody is in: their noise."""
    coins = seeded(seed)
    return Rows(np.array([arrivals.noisy(batch, coins) for batch in batches]))
