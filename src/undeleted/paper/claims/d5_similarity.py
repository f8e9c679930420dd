"""Any notion of similarity can be used: statistical, computational, or that of differential privacy."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import log
from operator import eq

from undeleted.foundations.coins import exact_law
from undeleted.foundations.types import Json, Output
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.non_adaptive import non_adaptive_game
from undeleted.games.similarity import approximate, distinguishers, total_variation
from undeleted.paper.claim import ClaimResult, Figure, Setting, exactly, more_than
from undeleted.paper.claims._pictures import curves
from undeleted.paper.claims._runs import least, private

SAYS = (
    "The definitions can be read with any similarity of distributions: statistical distance, a class of "
    "distinguishers, or the (ε, δ) of differential privacy."
)
WHERE = "Remark 3.2"


# The optimum at ε = 0 and at an ε beyond that of the whole transcript of recomputing; None: positive.
ENDS: dict[str, tuple[float | None, float]] = {
    "retrain-median": (0.5, 0.5),  # the output that differs has probability 0 in one of the worlds
    "recompute-sum": (None, 0.0),
    "noisy-sum": (0.0, 0.0),
}
X, Y = "ε of the similarity", "least δ of any simulator"


def d5_similarity(setting: Setting) -> ClaimResult:
    steps = setting.pick(6, 16)
    top = private("recompute-sum")[0].transcript.epsilon
    grid = [round(1.25 * top * i / (steps - 1), 4) for i in range(steps)]
    figures, rows = notions(), []
    for name in ENDS:
        more, points = along(name, grid)
        figures += more
        rows += points
    caption = (
        "The verifier's optimum against ε. Retraining the median is broken for every ε; recomputing a "
        "noisy sum is safe from some ε on; subtracting is perfectly safe."
    )
    alt = "A flat line at a half, a line that falls to zero, and a flat line at zero."
    picture = curves(rows, X, Y, "curator", joined=True, caption=caption, alt=alt)
    return ClaimResult(tuple(figures), (picture,))


def along(name: str, grid: Sequence[float]) -> tuple[list[Figure], list[Json]]:
    """The best simulator of a curator, as the ε of the similarity grows."""
    runs = [least(name, "non-adaptive", epsilon=epsilon) for epsilon in grid]
    lows = [float(result.literal.lower) for result, _ in runs]
    last, command = runs[-1]
    first, beyond = ENDS[name]
    falls = all(after <= before + 1e-9 for before, after in pairwise(lows))
    figures = [
        exactly(f"{name}: the optimum never rises with ε", falls, True),
        more_than(f"{name}: optimum at ε = 0", lows[0], 0.0)
        if first is None
        else exactly(f"{name}: optimum at ε = 0", round(lows[0], 9), first),
        exactly(f"{name}: optimum at ε = {grid[-1]:g}", round(float(last.literal.upper), 9), beyond, command),
    ]
    return figures, [{X: epsilon, Y: low, "curator": name} for epsilon, low in zip(grid, lows, strict=True)]


def notions() -> list[Figure]:
    """Three notions of similarity on the same pair of worlds: a median of 1, then a 1 leaves."""
    one, other = (exact_law(partial(_after_one_leaves, data)) for data in ((0, 1, 1), (1, 1, 1)))
    half = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    seen = {v: str(distinguishers([partial(eq, v)])(one, other)) for v in (0, 7)}
    what = "median 1, then a 1 leaves: statistical distance of the two worlds"
    return [
        exactly(what, str(total_variation()(one, other)), "1"),
        exactly("the same, for a test that looks for 0", seen[0], "1"),
        exactly("the same, for a test that looks for 7", seen[7], "0"),
        exactly(
            "(ln 2, δ)-distance of a fair guess from the truth",
            round(float(approximate(log(2))(one, half)), 9),
            0.5,
        ),
    ]


def _after_one_leaves(data: tuple[int, ...], coins: Output) -> Output:
    return non_adaptive_game(Retrain(median), data, [2], coins).outputs[1]
