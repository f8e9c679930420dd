"""Rational certificates: they must hold, and must not hold when the program is another one."""

from fractions import Fraction
from time import monotonic

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from undeleted.verifying.linear_program import LinearProgram, solve_exactly

FRACTIONS = st.fractions(-3, 3, max_denominator=6)


def later():
    return monotonic() + 3000


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.data())
def test_linear_equations_are_solved_exactly(size, data):
    matrix = data.draw(
        st.lists(st.lists(FRACTIONS, min_size=size, max_size=size), min_size=size, max_size=size)
    )
    wanted = data.draw(st.lists(FRACTIONS, min_size=size, max_size=size))
    sides = [sum(a * x for a, x in zip(row, wanted, strict=True)) for row in matrix]
    solved = solve_exactly(
        [{j: a for j, a in enumerate(row) if a} for row in matrix], [Fraction(s) for s in sides], later()
    )
    if abs(np.linalg.det(np.array(matrix, dtype=float))) > 1e-9:
        assert [solved[j] for j in range(size)] == wanted


def test_contradictory_equations_have_no_solution():
    one = Fraction(1)
    assert solve_exactly([{0: one}, {0: one}], [one, 2 * one], later()) is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_optimum_is_exact_and_is_the_solvers(data):
    columns, rows = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    program = LinearProgram()
    costs = [data.draw(FRACTIONS) for _ in range(columns)]
    for cost in costs:
        program.variable(cost)
    matrix = [[data.draw(FRACTIONS) for _ in range(columns)] for _ in range(rows)]
    inside = [
        data.draw(st.fractions(0, 1, max_denominator=4)) for _ in range(columns)
    ]  # so that it is feasible
    sides = [sum((a * x for a, x in zip(row, inside, strict=True)), Fraction(0)) for row in matrix]
    for row, side in zip(matrix, sides, strict=True):
        program.at_least(dict(enumerate(row)), side)
    solved = program.solve(10.0)
    floats = linprog(
        [float(c) for c in costs],
        A_ub=-np.array(matrix, dtype=float),
        b_ub=[-float(s) for s in sides],
        bounds=(0, 1),
    )
    assert float(solved.bound) == pytest.approx(floats.fun, abs=1e-7)
    if solved.exact:
        assert sum(c * v for c, v in zip(costs, solved.values, strict=True)) == solved.bound
        assert all(
            sum(a * v for a, v in zip(row, solved.values, strict=True)) >= side
            for row, side in zip(matrix, sides, strict=True)
        )


def test_wild_multipliers_prove_a_bound_that_still_holds():
    """max x with x ≤ 1/3: whatever the multiplier, the bound is at most the optimum −1/3."""
    program = LinearProgram()
    program.variable(Fraction(-1))
    program.at_least({0: Fraction(-1)}, Fraction(-1, 3))
    assert program.solve(1.0).bound == Fraction(-1, 3)
    idle = LinearProgram()  # nothing to gain, and a row with room: its multiplier must not count backwards
    idle.variable()
    idle.at_least({0: Fraction(-1)}, Fraction(-2))
    for dual in (-5.0, 0.0, 0.3, 1.0, 7.0):
        assert program.bound([dual]) <= Fraction(-1, 3)
        assert idle.bound([dual]) <= 0
