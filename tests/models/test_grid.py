"""Codes: the same at fitting and at forgetting, as each column's own, and never beyond the grid."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undeleted.errors import BadBounds, UndeclaredValue

pytest.importorskip("sklearn")
from undeleted.models import _grid
from undeleted.models._grid import Grid, Labels

ends = st.floats(allow_nan=False, allow_infinity=False)
values = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None)  # the first call compiles
@given(ends, ends, st.integers(1, 2**16), st.lists(values, min_size=1, max_size=8))
def test_no_code_is_outside_of_the_grid(low, high, steps, given_values):
    """Bounds far from 0, near each other, too small or too large for floats: refused, or kept inside."""
    if not low < high:
        return
    try:
        grid = Grid.between(np.array([low]), np.array([high]), steps, "x")
    except BadBounds:
        return
    for data in ([low], [high], given_values):
        for kernel in (_grid.kernel, lambda name: None):
            with patch.object(_grid, "kernel", kernel):
                codes = grid.codes(np.array(data)[:, None])
            assert codes.min() >= 0
            assert codes.max() <= steps


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.2269290138228319e18, 1.226929013822832e18),  # a few floats apart
        (-1e308, 1e308),  # their difference is infinite
        (0.0, 1e-320),  # a step of it is 0
    ],
)
def test_bounds_that_floats_cannot_divide_are_refused(low, high):
    with pytest.raises(BadBounds, match="cannot distinguish"):
        Grid.between(np.array([low]), np.array([high]), 4096, "x")


@settings(deadline=None)
@given(st.integers(1, 500), st.lists(st.floats(-30, 30), min_size=1, max_size=10))
def test_codes_are_those_of_each_columns_own(steps, data):
    """But for values in the middle of two grid points, where floats round one way and fractions up."""
    grid = Grid.between(np.array([-7.3, 0.1]), np.array([11.9, 0.7]), steps, "x")
    matrix = np.column_stack([data, data])
    codes = grid.codes(matrix)
    for i, column in enumerate(grid.columns):
        exact = column.encode(matrix[:, i])[0]
        place = (matrix[:, i] - float(column.min)) / float(column.step)
        halves = np.abs(place - np.floor(place) - 0.5) < 1e-6
        assert codes[~halves, i].tolist() == exact[~halves].tolist()
        assert np.abs(codes[:, i] - exact).max() <= 1
    assert [grid.codes(matrix[[j]])[0].tolist() for j in range(len(data))] == codes.tolist()
    with patch.object(_grid, "kernel", lambda name: None):  # as on a machine without numba
        assert grid.codes(matrix).tolist() == codes.tolist()


@pytest.mark.parametrize("steps", [0, -1, 2**16 + 1, 2.5, True, None])
def test_steps_that_make_no_grid(steps):
    with pytest.raises(BadBounds, match="are not possible"):
        Grid.between(np.array([0.0]), np.array([1.0]), steps, "x")


def test_labels_of_all_kinds():
    for declared, given_labels, codes in (
        ([3, 1, 2], np.array([1.0, 3.0]), [0, 2]),
        ([False, True], [1, 0], [1, 0]),
        (["b", "a"], np.array(["a", "b"], dtype=object), [0, 1]),
        ([0.5, 1.5], [1.5], [1]),
    ):
        assert list(Labels.of(declared).codes(given_labels, "label")) == codes
        assert (
            list(Labels.of(declared).codes(np.repeat(given_labels, 20), "label"))
            == np.repeat(codes, 20).tolist()
        )
    for declared, wrong in (
        ([0, 1], [2]),
        ([0, 1], [0.5]),
        (["a"], [1]),
        ([0], ["0"]),
        ([2.0**53], [2**53 + 1]),
    ):
        with pytest.raises(UndeclaredValue):
            Labels.of(declared).codes(np.array(wrong), "label")
        with pytest.raises(UndeclaredValue, match="20 rows"):
            Labels.of(declared).codes(np.repeat(wrong, 20), "label")
