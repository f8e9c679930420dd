"""What a release says to a model: shares, totals, and which marginals say more than their noise."""

import numpy as np
import pytest

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyMarginals
from undeleted.curate.releases.linear import Cells
from undeleted.curate.synthetic.measured import Measured
from undeleted.foundations.coins import DiscreteGaussian, NoNoise, seeded
from undeleted.foundations.schema import Boolean, Category, Schema

A, B = Boolean("a"), Boolean("b")
CITY = Category("city", values=("Bonn", "Haifa", "Lyon"))
SCHEMA = Schema([A, CITY, B])
ROWS = [(i % 2 == 0, CITY.values[i % 3], i % 2 == 0) for i in range(600)]  # b is a; the city is independent


def measured(law=None, coins=None, **more):
    one = NoisyMarginals((A, CITY, B), law or NoNoise(), **more)
    return Measured.of(one, one.release(Arrays(SCHEMA.table(ROWS)), coins or seeded(1)))


def test_columns_of_a_marginal_come_in_their_order():
    found = measured(marginals=(("b", "city", "a"),))
    assert found.sets == ((0, 1, 2),)
    assert found.counts[0].shape == (2, 3, 2)
    assert found.counts[0][1, 0, 1] == 100
    assert found.counts[0][1, 0, 0] == 0


def test_totals_and_shares_use_every_marginal(coins):
    """σ = 5: from one marginal a total spreads 5·√(cells); from three, less.  Six standard errors."""
    found = [measured(DiscreteGaussian(5.0), coins) for _ in range(200)]
    totals = np.array([each.total for each in found])
    weight = sum(1 / (25 * cells) for cells in (6, 4, 6))
    assert totals.std() == pytest.approx((1 / weight) ** 0.5, rel=6 / np.sqrt(400))
    assert totals.mean() == pytest.approx(600, abs=6 * totals.std() / np.sqrt(200))
    shares, spread = found[0].alone(1)
    assert shares.sum() == pytest.approx(1.0)
    assert spread == pytest.approx(5.0 / np.sqrt(1 / 2 + 1 / 2))
    assert np.abs(shares - 1 / 3).max() < 6 * spread / 600


def test_only_marginals_that_say_something_are_above_zero(coins):
    exact = measured().excess()
    assert exact[1] == pytest.approx(1.0)  # a and b: half of the records in two cells, none in the others
    assert exact[0] == pytest.approx(0.0, abs=1e-6)
    noisy = [measured(DiscreteGaussian(20.0), coins).excess() for _ in range(50)]
    independent, together = np.array(noisy)[:, 0], np.array(noisy)[:, 1]
    assert together.min() > 0.5
    assert abs(independent).max() < 0.2


def test_an_empty_or_negative_release_is_no_accident():
    one = NoisyMarginals((A, CITY, B), NoNoise())
    found = Measured.of(one, Cells(np.full(one.statistic.size, -7)))
    assert found.total == 1.0
    assert found.alone(1)[0] == pytest.approx([1 / 3] * 3)
