"""Every way in which batches enter rows: totals decode exactly, and the norms are those of the integers.

Covers: foundations/privacy/running_totals.py, foundations/privacy/cohorts.py,
        foundations/privacy/binary_tree.py, foundations/privacy/first_apart.py
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted.errors import BadSetting
from undeleted.foundations.privacy.binary_tree import BinaryTree
from undeleted.foundations.privacy.cohorts import Cohorts
from undeleted.foundations.privacy.first_apart import FirstApart
from undeleted.foundations.privacy.square_root import SquareRoot

KINDS = {
    "square root": SquareRoot,
    "coarse": lambda horizon: SquareRoot(horizon, 2),
    "cohorts": Cohorts,
    "tree": BinaryTree,
}
APART = {"first apart": lambda horizon: FirstApart(horizon, SquareRoot(max(1, horizon - 1)))}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@given(st.sampled_from([*KINDS, *APART]), st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40))
def test_running_totals_are_decoded_exactly(kind, batches):
    rows = (KINDS | APART)[kind](len(batches))
    encoded = np.array([[rows.row(t) @ batches[: t + 1]] for t in range(len(batches))])
    for tick in range(len(batches)):
        assert rows.decode(encoded, tick)[0] == pytest.approx(sum(batches[: tick + 1]), abs=1e-3)


@pytest.mark.parametrize("horizon", [1, 2, 5, 8, 31])
def test_the_norms_are_how_far_one_batch_moves_all_rows(kind, horizon):
    """By brute force: a batch of size 1 at each tick, and the first moves them furthest."""
    rows, matrix = kind(horizon), np.zeros((horizon, horizon), dtype=np.int64)
    for tick in range(horizon):
        matrix[tick, : tick + 1] = rows.row(tick)
    for joined in range(horizon):
        assert np.array_equal(rows.column(joined, horizon), matrix[joined:, joined])
        assert np.array_equal(rows.column(joined, horizon - 1), matrix[joined:-1, joined])
    l1, squares = np.abs(matrix).sum(axis=0), (matrix**2).sum(axis=0)
    assert l1.max() == l1[0] == rows.l1
    assert math.sqrt(squares.max()) == pytest.approx(rows.norm, rel=1e-12)
    assert matrix.max() == rows.largest
    assert (matrix != 0).sum(axis=0).max() <= rows.entered


def test_a_tree_is_better_than_cohorts_once_the_horizon_is_long():
    def error(rows, ticks):
        return rows.l1 * max(rows.spread(t) for t in ticks)

    for horizon, better in ((12, Cohorts), (365, Cohorts), (3650, BinaryTree)):
        ticks = range(0, horizon, max(1, horizon // 500))
        errors = {k: error(k(horizon), [*ticks, horizon - 1]) for k in (Cohorts, BinaryTree)}
        assert min(errors, key=errors.__getitem__) is better


@pytest.mark.parametrize("horizon", [0, -1, 10**6, True, 2.5])
def test_what_is_impossible_is_refused(kind, horizon):
    with pytest.raises(BadSetting, match="is not possible"):
        kind(horizon)
