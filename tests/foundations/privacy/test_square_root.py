"""The factorization decodes exactly, its norm is that of the integers, and its error that of theory."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted.errors import BadSetting
from undeleted.foundations.privacy.square_root import SquareRoot


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40), st.integers(0, 12))
def test_running_totals_are_decoded_exactly(batches, bits):
    rows = SquareRoot(len(batches), bits)
    for tick in range(len(batches)):
        encoded = rows.encode([[x] for x in batches], tick)
        assert rows.decode(encoded, tick)[0] == pytest.approx(sum(batches[: tick + 1]), abs=1e-3)


@pytest.mark.parametrize(("horizon", "bits"), [(1, 8), (5, 0), (30, 8)])
def test_the_norm_is_how_far_one_batch_moves_all_rows(horizon, bits):
    """By brute force: a batch of size 1 at each tick, and the first moves them furthest."""
    rows = SquareRoot(horizon, bits)
    moved = []
    for joined in range(horizon):
        batches = [[int(tick == joined)] for tick in range(horizon)]
        moved.append(math.sqrt(int((rows.encode(batches, horizon - 1) ** 2).sum())))
    assert max(moved) == moved[0] == pytest.approx(rows.norm, rel=1e-12)


def test_coefficients_are_integers_that_do_not_increase():
    f = SquareRoot(1000).coefficients
    assert f.dtype == np.int64
    assert (f[:4].tolist(), bool((np.diff(f) <= 0).all())) == ([256, 128, 96, 80], True)
    exact = [math.comb(2 * k, k) / 4**k for k in range(200)]
    assert np.abs(f[:200] / 256 - exact).max() <= 0.5 / 256 + 1e-12


@pytest.mark.parametrize("horizon", [12, 52, 365])
def test_the_error_grows_like_the_logarithm_and_cohorts_like_the_root(horizon):
    error = SquareRoot(horizon).error(horizon - 1)
    assert error < 1.1 * (1 + math.log(4 * horizon) / math.pi)
    assert error < math.sqrt(horizon)
    fine = SquareRoot(horizon, 16).error(horizon - 1)
    assert error < 1.002 * fine, "eight bits are enough"
    assert SquareRoot(horizon, 1).error(horizon - 1) > 1.01 * fine, "one bit is not"


@pytest.mark.parametrize("wrong", [{"horizon": 0}, {"horizon": 10**6}, {"horizon": 5, "bits": -1}])
def test_what_is_impossible_is_refused(wrong):
    with pytest.raises(BadSetting):
        SquareRoot(**wrong)
