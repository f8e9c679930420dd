"""A linear program with rational data, solved by HiGHS and certified without trusting it.

    minimise c·x   subject to   A x ≥ b (some rows with =),   0 ≤ x ≤ 1

HiGHS works in floating point, and its result is only a guess.  Two steps then follow in rationals:

    bound     any multipliers π (≥ 0 on the ≥ rows) prove  π·b + Σ_j min(0, c_j − (πA)_j)  as a lower
              bound, because every x_j lies in [0, 1] (Neumaier, Shcherbina 2004)
    exact     the final basis of HiGHS is solved again in rationals; if it is feasible and its multipliers
              are too, it is the exact optimum
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic

import highspy
import numpy as np

ZERO, ONE = Fraction(0), Fraction(1)
Terms = dict[int, Fraction]


@dataclass(frozen=True)
class Solved:
    """A guess at the optimum, and what is proven about it."""

    values: Sequence[float | Fraction]  # of the variables; fractions where `exact`
    duals: Sequence[float]  # of the rows
    bound: Fraction  # no solution is better
    exact: bool  # then `bound` is the optimum, and the values attain it


@dataclass
class LinearProgram:
    """A linear program that is built row by row and then solved."""

    costs: list[Fraction] = field(default_factory=list)
    rows: list[Terms] = field(default_factory=list)
    sides: list[Fraction] = field(default_factory=list)
    equal: list[bool] = field(default_factory=list)

    def variable(self, cost: Fraction = ZERO) -> int:
        self.costs.append(cost)
        return len(self.costs) - 1

    def at_least(self, terms: Terms, side: Fraction) -> int:
        return self._row(terms, side, False)

    def equals(self, terms: Terms, side: Fraction) -> int:
        return self._row(terms, side, True)

    @property
    def entries(self) -> int:
        return sum(map(len, self.rows))

    def solve(self, seconds: float) -> Solved:
        """The optimum if it is reached within this time; in any case a valid bound."""
        started = monotonic()
        highs = self._highs(seconds)
        highs.run()
        solution = highs.getSolution()
        duals = list(solution.row_dual)
        assert highs.getModelStatus() != highspy.HighsModelStatus.kInfeasible, "a simulator always exists"
        if highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            left = seconds - (monotonic() - started)
            exact = self._exact(highs.getBasis(), monotonic() + max(left, 1.0))
            if exact is not None:
                values, optimum = exact
                return Solved(values, duals, optimum, True)
        return Solved(list(solution.col_value), duals, self.bound(duals), False)

    def bound(self, duals: Sequence[float]) -> Fraction:
        """The lower bound that the multipliers prove, in rationals."""
        weights = [
            Fraction(d) if e else max(ZERO, Fraction(d)) for d, e in zip(duals, self.equal, strict=True)
        ]
        reduced = list(self.costs)
        for weight, row in zip(weights, self.rows, strict=True):
            if weight:
                for j, a in row.items():
                    reduced[j] -= weight * a
        proven = sum((w * b for w, b in zip(weights, self.sides, strict=True) if w), ZERO)
        return proven + sum((r for r in reduced if r < 0), ZERO)

    def _row(self, terms: Terms, side: Fraction, equal: bool) -> int:
        self.rows.append({j: a for j, a in terms.items() if a})
        self.sides.append(side)
        self.equal.append(equal)
        return len(self.rows) - 1

    def _highs(self, seconds: float) -> highspy.Highs:
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("time_limit", max(0.01, seconds))
        highs.setOptionValue("primal_feasibility_tolerance", 1e-10)
        highs.setOptionValue("dual_feasibility_tolerance", 1e-10)
        highs.setOptionValue("threads", 1)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(self.costs), len(self.rows)
        lp.col_cost_ = np.array([float(c) for c in self.costs])
        lp.col_lower_, lp.col_upper_ = np.zeros(len(self.costs)), np.ones(len(self.costs))
        sides = np.array([float(b) for b in self.sides])
        lp.row_lower_ = sides
        lp.row_upper_ = np.where(self.equal, sides, highspy.kHighsInf)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.cumsum([0, *map(len, self.rows)])
        lp.a_matrix_.index_ = np.array([j for row in self.rows for j in row], dtype=np.int32)
        lp.a_matrix_.value_ = np.array([float(a) for row in self.rows for a in row.values()])
        highs.passModel(lp)
        return highs

    def _exact(self, basis: highspy.HighsBasis, deadline: float) -> tuple[list[Fraction], Fraction] | None:
        """Solve the basis in rationals: its values and the optimum, or None if it is not proven optimal."""
        status = highspy.HighsBasisStatus
        basic = [j for j, s in enumerate(basis.col_status) if s == status.kBasic]
        tight = [i for i, s in enumerate(basis.row_status) if s != status.kBasic]
        values = [ONE if s == status.kUpper else ZERO for s in basis.col_status]
        inside = set(basic)
        left = [
            self.sides[i] - sum((a * values[j] for j, a in self.rows[i].items() if j not in inside), ZERO)
            for i in tight
        ]
        equations = [{j: a for j, a in self.rows[i].items() if j in inside} for i in tight]
        solved = solve_exactly(equations, left, deadline)
        if solved is None:
            return None
        for j in basic:
            values[j] = solved.get(j, ZERO)
        if not all(ZERO <= v <= ONE for v in values) or not self._holds(values):
            return None
        transposed: list[Terms] = [{} for _ in self.costs]
        for i in tight:
            for j, a in self.rows[i].items():
                transposed[j][i] = a
        weights = solve_exactly([transposed[j] for j in basic], [self.costs[j] for j in basic], deadline)
        if weights is None or any(w < 0 and not self.equal[i] for i, w in weights.items()):
            return None
        optimum = sum((c * v for c, v in zip(self.costs, values, strict=True) if v), ZERO)
        return (values, optimum) if self._proves(weights, optimum) else None

    def _holds(self, values: Sequence[Fraction]) -> bool:
        for row, side, equal in zip(self.rows, self.sides, self.equal, strict=True):
            reached = sum((a * values[j] for j, a in row.items() if values[j]), ZERO)
            if reached < side or (equal and reached != side):
                return False
        return True

    def _proves(self, weights: Terms, optimum: Fraction) -> bool:
        """Whether the multipliers prove that nothing is below the optimum."""
        reduced = list(self.costs)
        for i, weight in weights.items():
            for j, a in self.rows[i].items():
                reduced[j] -= weight * a
        proven = sum((w * self.sides[i] for i, w in weights.items()), ZERO)
        return proven + sum((r for r in reduced if r < 0), ZERO) == optimum


def rational(value: float | Fraction) -> Fraction:
    """The solver's number as a non-negative fraction; an exact number keeps its value."""
    return max(ZERO, value if isinstance(value, Fraction) else Fraction(value).limit_denominator(1 << 40))


def solve_exactly(equations: Iterable[Terms], sides: Iterable[Fraction], deadline: float) -> Terms | None:
    """Solve sparse linear equations in rationals; None if they are singular or time is up.

    Gaussian elimination that eliminates the rarest unknown of the shortest equation next: the systems here
    are nearly triangular, and stay sparse that way.
    """
    rows = {i: dict(terms) for i, terms in enumerate(equations)}
    right = dict(enumerate(sides))
    where: dict[int, set[int]] = {}
    for i, row in rows.items():
        for j in row:
            where.setdefault(j, set()).add(i)
    by_length: dict[int, set[int]] = {}
    for i, row in rows.items():
        by_length.setdefault(len(row), set()).add(i)
    done: list[tuple[int, int]] = []  # (unknown, its equation)
    while any(by_length.values()):
        if monotonic() > deadline:
            return None
        shortest = min(length for length, members in by_length.items() if members)
        i = by_length[shortest].pop()
        row = rows[i]
        if not row:
            if right[i]:
                return None
            continue
        pivot = min(row, key=lambda j: (len(where[j]), j))
        scale = row[pivot]
        for other in where[pivot] - {i}:
            _eliminate(rows, right, where, by_length, other, i, rows[other][pivot] / scale)
        for j in row:
            where[j].discard(i)
        done.append((pivot, i))
    values: Terms = {}
    for pivot, i in reversed(done):
        known = sum((a * values[j] for j, a in rows[i].items() if j != pivot and j in values), ZERO)
        values[pivot] = (right[i] - known) / rows[i][pivot]
    return values


def _eliminate(
    rows: dict[int, Terms],
    right: Terms,
    where: dict[int, set[int]],
    by_length: dict[int, set[int]],
    target: int,
    source: int,
    times: Fraction,
) -> None:
    """Subtract `times` the source equation from the target."""
    row = rows[target]
    by_length[len(row)].discard(target)
    for j, a in rows[source].items():
        after = row.get(j, ZERO) - times * a
        if after:
            row[j] = after
            where[j].add(target)
        else:
            row.pop(j, None)
            where[j].discard(target)
    right[target] -= times * right[source]
    by_length.setdefault(len(row), set()).add(target)
