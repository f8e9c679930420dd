"""Coefficients of a linear regression: every deletion of a known row is an equation on the Gram matrix.

    M β = g,   (M − x xᵀ) β' = g − x y      give   M (β' − β) = −x (y − x·β')

A few deletions determine M = Σ x xᵀ (plus a ridge term), then g = M β.  An attacker who knows everybody but
one person gets that person's features and label: the rest of M and g after all others are subtracted.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from undeleted.auditing.exposures import Exposure, Stage
from undeleted.auditing.lab import Lab, numbers
from undeleted.auditing.pairs import Space
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Output

PEOPLE = 40
CLOSE = 1e-3  # of a step of the grid


class GramDifferencing:
    """One stage, where features and label are numbers; the last person is the unknown one."""

    def stages(self, space: Space, coins: Coins) -> Iterator[Stage]:
        label, width = space.labels, len(space.features) + 1
        if label is None or not all(c.is_number for c in space.columns):
            return
        own = width * (width + 1) // 2 + 2
        people = max(PEOPLE, 2 * own)
        records = tuple({"id": f"r{i:03}", **row} for i, row in enumerate(space.draw(coins, people)))
        yield Stage(records, tuple(r["id"] for r in records[:own]), space.columns, space.label)

    def play(self, lab: Lab, stage: Stage, seed: int) -> Exposure | None:
        label = next(c for c in stage.columns if c.name == stage.label)
        features = [c for c in stage.columns if c.name != stage.label]
        betas = [numbers(z) for z in lab.play(stage.records, [(name,) for name in stage.own], seed)]
        if any(b is None or b.size != len(features) + 1 for b in betas):
            return None
        rows = np.array([[*(float(r[c.name]) for c in features), 1.0] for r in stage.records])
        labels = np.array([float(r[label.name]) for r in stage.records])
        own = len(stage.own)
        gram = solve_gram(betas, rows[:own], labels[:own])
        left = gram - rows[:-1].T @ rows[:-1]
        label_found = float((gram @ betas[0] - rows[:-1].T @ labels[:-1])[-1])
        recovered = np.array([*left[-1, :-1], label_found])
        truth = np.array([*rows[-1, :-1], labels[-1]])
        steps = np.array([c.step for c in [*features, label]])
        if not np.all(np.abs(recovered - truth) <= CLOSE * steps):
            return None
        names = [c.name for c in [*features, label]]
        claims = {stage.records[-1]["id"]: dict(zip(names, map(float, recovered), strict=True))}
        return Exposure("gram-differencing", 1, 1, own, len(stage.records) - 1, claims)


def solve_gram(betas: list[Output], rows: Output, labels: Output) -> Output:
    """The symmetric M that explains how the coefficients moved."""
    width = rows.shape[1]
    where = {(i, j): n for n, (i, j) in enumerate((i, j) for i in range(width) for j in range(i, width))}
    equations, values = [], []
    gone = np.zeros((width, width))
    for (before, after), x, y in zip(pairwise(betas), rows, labels, strict=True):
        step = after - before
        right = -x * (y - x @ after) + gone @ step  # (M − gone) step = −x (y − x·β')
        for i in range(width):
            equation = np.zeros(len(where))
            for j in range(width):
                equation[where[min(i, j), max(i, j)]] += step[j]
            equations.append(equation)
            values.append(right[i])
        gone = gone + np.outer(x, x)
    scale = np.abs(equations).max(axis=0) + 1e-300
    solution = np.linalg.lstsq(np.array(equations) / scale, np.array(values), rcond=None)[0] / scale
    gram = np.zeros((width, width))
    for (i, j), n in where.items():
        gram[i, j] = gram[j, i] = solution[n]
    return gram
