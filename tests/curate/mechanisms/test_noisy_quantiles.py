"""Quantiles of several columns, from noisy trees."""

from fractions import Fraction

import numpy as np
import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyQuantiles, RangeCounts
from undeleted.foundations.coins import ClampedGeometric, seeded
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Number, Schema

X = Number("x", min=0, max=2)
WORLD = SmallWorld(
    NoisyQuantiles((X,), ClampedGeometric(Fraction(1, 2), 0, 1), branching=4),
    Schema([X]),
    points=(0, 1, 2),
    others=(0, 0, 2),
)
AGE, PAY = Number("age", min=0, max=4095), Number("pay", min=0, max=255)


def test_every_column_answers_as_range_counts_do():
    rng = np.random.default_rng(1)
    data = {"age": rng.integers(0, 4096, 20_000), "pay": rng.integers(0, 200, 20_000)}
    mechanism = NoisyQuantiles((AGE, PAY), Budget(1.0))
    release = mechanism.release(Arrays(Schema([AGE, PAY]).table(data)), seeded(7))
    assert account(mechanism.events, 0).epsilon == pytest.approx(1.0)
    for i, (column, name) in enumerate(zip(mechanism.trees, data, strict=True)):
        part = mechanism.column(release, i)
        assert isinstance(column, RangeCounts)
        assert abs(column.count(part, 0, 100).value - (data[name] <= 100).sum()) < 400
        found = mechanism.quantiles(release, [0.1, 0.5, 0.9])[:, i]
        assert found == pytest.approx(np.quantile(data[name], [0.1, 0.5, 0.9]), rel=0.05)


def test_nothing_but_noise_still_gives_rising_quantiles_within_the_bounds():
    mechanism, coins = NoisyQuantiles((AGE,), Budget(0.01)), seeded("nothing")
    table = Schema([AGE]).table([7])
    for _ in range(20):
        found = mechanism.quantiles(mechanism.release(Arrays(table), coins), np.linspace(0, 1, 11))[:, 0]
        assert (np.diff(found) >= 0).all()
        assert found.min() >= 0
        assert found.max() <= 4095
