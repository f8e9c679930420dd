"""Any notion of similarity will do: statistical, computational, or that of differential privacy."""

from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import log
from typing import Any

from undeleted.baselines.retrain import Retrain, median
from undeleted.claims._claim import Found, Setting, exactly
from undeleted.claims._pictures import curves
from undeleted.claims._runs import least, private
from undeleted.coins import exact_law
from undeleted.games import non_adaptive_game
from undeleted.games.similarity import approximate, distinguishers, total_variation

SAYS = (
    "The definitions can be read with any similarity of distributions: statistical distance, a class of "
    "distinguishers, or the (ε, δ) of differential privacy."
)
WHERE = "Remark 3.2"


def d5(setting: Setting) -> Found:
    figures, rows = [], []
    x, y = "ε of the similarity", "least δ of any simulator"
    steps = setting.pick(6, 16)
    ratio, _ = private("recompute-sum")
    top = ratio.transcript.epsilon
    grid = [round(1.25 * top * i / (steps - 1), 4) for i in range(steps)]
    for name in ("retrain-median", "recompute-sum", "noisy-sum"):
        lows, highs = [], []
        for epsilon in grid:
            found, command = least(name, "non-adaptive", epsilon=epsilon)
            lows.append(float(found.literal.lower))
            highs.append(float(found.literal.upper))
            rows.append({x: epsilon, y: lows[-1], "curator": name})
        falls = all(after <= before + 1e-9 for before, after in pairwise(lows))
        figures.append(exactly(f"{name}: the optimum never rises with ε", falls, True))
        ends = {"retrain-median": (0.5, 0.5), "noisy-sum": (0.0, 0.0)}
        if name in ends:
            first, last = ends[name]
            figures.append(exactly(f"{name}: optimum at ε = 0", round(lows[0], 9), first))
            what = (
                f"{name}: optimum at ε = {grid[-1]:g}, where what is told apart has no probability at all "
                "in one world"
            )
            figures.append(
                exactly(
                    what if last else f"{name}: optimum at ε = {grid[-1]:g}",
                    round(highs[-1], 9),
                    last,
                    command,
                )
            )
        else:
            figures.append(exactly(f"{name}: the optimum at ε = 0 is positive", lows[0] > 0, True))
            what = f"{name}: optimum at ε = {grid[-1]:g}, beyond the {top:.3f} of its whole transcript"
            figures.append(exactly(what, round(highs[-1], 9), 0.0, command))
    one, other = (exact_law(partial(_after_one_leaves, data)) for data in ((0, 1, 1), (1, 1, 1)))
    half = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    figures.append(
        exactly(
            "median 1, then a 1 leaves: statistical distance of the two worlds",
            str(total_variation()(one, other)),
            "1",
        )
    )
    figures.append(
        exactly(
            "the same through the eyes of a test that looks for 0",
            str(distinguishers([lambda v: v == 0])(one, other)),
            "1",
        )
    )
    figures.append(
        exactly(
            "the same through the eyes of a test that looks for 7",
            str(distinguishers([lambda v: v == 7])(one, other)),
            "0",
        )
    )
    figures.append(
        exactly(
            "(ln 2, δ)-distance of a fair guess from the truth",
            round(float(approximate(log(2))(one, half)), 9),
            0.5,
        )
    )
    caption = (
        "The verifier's optimum against ε. Retraining the median is broken for every ε; recomputing a "
        "noisy sum is safe from some ε on; subtracting is perfectly safe."
    )
    alt = "A flat line at a half, a line that falls to zero, and a flat line at zero."
    picture = curves(rows, x, y, "curator", joined=True, caption=caption, alt=alt)
    return Found(tuple(figures), (picture,))


def _after_one_leaves(data: tuple[int, ...], coins: Any) -> Any:
    return non_adaptive_game(Retrain(median), data, [2], coins).outputs[1]
