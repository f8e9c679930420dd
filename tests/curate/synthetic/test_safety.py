"""Synthetic rows in small worlds: safe from what is published, not from what is hidden or read again."""

from fractions import Fraction

import numpy as np
import pytest

from undeleted.curate.mechanisms import NoisyMarginals
from undeleted.curate.releases.linear import Cells
from undeleted.curate.synthetic.measured import Measured
from undeleted.foundations.coins import TruncatedGeometric
from undeleted.foundations.schema import Boolean, Schema
from undeleted.games.release_once import ReleaseOnce
from undeleted.verifying.exact import FiniteWorld, verify

A, B = Boolean("a"), Boolean("b")
SCHEMA = Schema([A, B])
POINTS = [(False, False), (True, False), (True, True)]
ONE = NoisyMarginals((A, B), TruncatedGeometric(Fraction(1, 2), 1), marginals=(("a",), ("b",)))


def more_telling(tables):
    """The marginal whose counts differ more; the first of two that are alike."""
    apart = [abs(int(table[1]) - int(table[0])) for table in tables]
    return int(np.argmax(apart))


class Shows:
    """A curator of synthetic rows: what it shows of its release, and of the marginal that a model uses."""

    def __init__(self, shows):
        self.shows, self.inner = shows, ReleaseOnce(ONE, SCHEMA)

    def start(self, data, coins):
        self.data, self.left = list(data), False
        return self.seen(self.inner.start(data, coins))

    def delete(self, points):
        for point in points:
            self.data.remove(point)
        self.left = True
        return self.seen(self.inner.delete(points))

    def seen(self, release):
        tables = ONE.tables(release)
        if self.shows == "the release and a choice from it":
            return release.value.tolist(), more_telling(tables)
        if self.shows == "the chosen marginal alone":
            return more_telling(tables), tables[more_telling(tables)].tolist()
        if not self.left:
            return release.value.tolist(), more_telling(tables)
        counts = [np.bincount([point[i] for point in self.data], minlength=2) for i in (0, 1)]
        return release.value.tolist(), more_telling(counts)  # chosen again, from the records


def world(shows, n=2):
    return FiniteWorld.of(lambda: Shows(shows), POINTS, n=n, k=1, by_value=True)


@pytest.mark.parametrize("game", ["non-adaptive", "dynamic"])
def test_a_choice_from_the_release_is_safe(game):
    assert verify(world("the release and a choice from it"), game).safe


def test_marginals_that_are_hidden_are_leakage():
    found = verify(world("the chosen marginal alone"))
    assert found.safe is False
    assert found.witness


def test_a_choice_from_the_records_after_a_deletion_is_not_safe():
    found = verify(world("a choice from the records", n=3))
    assert found.safe is False
    assert found.literal.lower > 0


def test_what_a_model_is_given_is_a_function_of_the_release():
    """`Measured` has no parameter through which records could reach it, and sees nothing but the release."""
    release = Cells(np.array([3, 5, -1, 9]))
    noisy = NoisyMarginals((A, B), 1.0, marginals=(("a",), ("b",)))
    one, other = (Measured.of(noisy, release) for _ in range(2))
    assert one.excess() == other.excess()
    assert all(np.array_equal(a, b) for a, b in zip(one.counts, other.counts, strict=True))
