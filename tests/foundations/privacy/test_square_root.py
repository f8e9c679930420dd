"""The factorization's coefficients are integers, and its error is that of theory."""

import math

import numpy as np
import pytest

from undeleted.errors import BadSetting
from undeleted.foundations.privacy.square_root import SquareRoot


def test_coefficients_are_integers_that_do_not_increase():
    f = SquareRoot(1000).coefficients
    assert f.dtype == np.int64
    assert (f[:4].tolist(), bool((np.diff(f) <= 0).all())) == ([256, 128, 96, 80], True)
    exact = [math.comb(2 * k, k) / 4**k for k in range(200)]
    assert np.abs(f[:200] / 256 - exact).max() <= 0.5 / 256 + 1e-12


def error_of(rows):
    """The error of the last total, in units of one release with the same budget."""
    return rows.norm * rows.spread(rows.horizon - 1)


@pytest.mark.parametrize("horizon", [12, 52, 365])
def test_the_error_grows_like_the_logarithm_and_cohorts_like_the_root(horizon):
    error = error_of(SquareRoot(horizon))
    assert error < 1.1 * (1 + math.log(4 * horizon) / math.pi)
    assert error < math.sqrt(horizon)
    fine = error_of(SquareRoot(horizon, 16))
    assert error < 1.002 * fine, "eight bits are enough"
    assert error_of(SquareRoot(horizon, 1)) > 1.01 * fine, "one bit is not"


@pytest.mark.parametrize("wrong", [{"horizon": 0}, {"horizon": 10**6}, {"horizon": 5, "bits": -1}])
def test_what_is_impossible_is_refused(wrong):
    with pytest.raises(BadSetting):
        SquareRoot(**wrong)
