"""The verifier's linear program as written in the definition: dense, nothing merged, another solver."""

from itertools import permutations, product

import numpy as np
from scipy.optimize import linprog

from undeleted.foundations.coins import exact_law
from undeleted.games.non_adaptive import non_adaptive_game


def plain_delta(make, domain, n, k, factor=1.0, keep=False):
    """Return the least δ of the non-adaptive game, by brute force over ordered data sets and sequences."""
    groups = {}
    for data in product(domain, repeat=n):
        for length in range(1, k + 1):
            for sequence in permutations(range(n), length):
                values = tuple(data[i] for i in sequence)
                law = exact_law(lambda c, d=data, s=sequence: non_adaptive_game(make(), d, s, c).outputs)
                groups.setdefault(values, []).append(law)
    return max(_one_sequence(laws, factor, keep) for laws in groups.values())


def _one_sequence(laws, factor, keep):
    views = sorted({view for law in laws for view in law}, key=repr)
    firsts = sorted({view[0] for view in views}, key=repr)
    at = {
        (z, v): i for i, (z, v) in enumerate((z, v) for z in firsts for v in views if not keep or v[0] == z)
    }
    ways = [False] if factor == 1 else [False, True]
    size = len(at) + len(laws) * len(views) * len(ways) + 1
    rows, sides, equal = [], [], []
    for z in firsts:
        row = np.zeros(size)
        row[[i for (first, _), i in at.items() if first == z]] = 1
        equal.append(row)
    column = len(at)
    for law in laws:
        first = {z: float(sum(p for v, p in law.items() if v[0] == z)) for z in firsts}
        for reverse in ways:
            total = np.zeros(size)
            total[-1] = -1
            for v in views:
                row, real = np.zeros(size), float(law.get(v, 0))
                for z in firsts:
                    if (z, v) in at:
                        row[at[z, v]] = first[z] if reverse else -factor * first[z]
                row[column] = -1
                rows.append(row)
                sides.append(factor * real if reverse else -real)
                total[column] = 1
                column += 1
            rows.append(total)
            sides.append(0.0)
    cost = np.zeros(size)
    cost[-1] = 1
    solved = linprog(cost, A_ub=np.array(rows), b_ub=sides, A_eq=np.array(equal), b_eq=np.ones(len(equal)))
    assert solved.status == 0
    return solved.fun
