"""Naive Bayes on categories, from noisy counts."""

from fractions import Fraction

import numpy as np
import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyClassHistograms
from undeleted.errors import Misuse
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Boolean, Category, Schema

A, B = Boolean("a"), Boolean("b")
WORLD = SmallWorld(
    NoisyClassHistograms((A,), B, ClampedGeometric(Fraction(1, 2), 0, 1)),
    Schema([A, B]),
    points=((False, True), (True, True), (True, False)),
    others=((False, False), (False, True), (True, True)),
)
GRADE = Category("grade", values=("a", "b", "c"))


def test_tables_counts_and_shares_without_noise():
    mechanism = NoisyClassHistograms((GRADE, A), B, NoNoise())
    rows = [("a", True, True)] * 3 + [("b", False, True)] + [("a", False, False)] * 2
    release = mechanism.release(Arrays(Schema([GRADE, A, B]).table(rows)), seeded(7))
    grades, flags = mechanism.tables(release)
    assert grades.tolist() == [[2, 0, 0], [3, 1, 0]]
    assert flags.tolist() == [[2, 0], [1, 3]]
    assert mechanism.counts(release).tolist() == [2, 4]
    shares, tables = mechanism.log_shares(release.value.astype(float), alpha=1.0)
    assert np.exp(shares) == pytest.approx([3 / 8, 5 / 8])
    assert np.exp(tables[0][1]) == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    joint = mechanism.log_joint(release.value.astype(float), np.array([[0, 1]]), alpha=1.0)
    assert np.exp(joint[0]) == pytest.approx([3 / 8 * 3 / 5 * 1 / 4, 5 / 8 * 4 / 7 * 4 / 6])


def test_the_count_of_all_columns_is_less_noisy_than_that_of_one():
    """Four columns of two values: the spread of a class count halves.  400 draws, six standard errors."""
    flags = tuple(Boolean(f"f{i}") for i in range(4))
    mechanism = NoisyClassHistograms(flags, B, Budget(1.0))
    table, coins = Schema([*flags, B]).table([(True,) * 5] * 50), seeded("counts")
    releases = [mechanism.release(Arrays(table), coins) for _ in range(400)]
    together = np.std([mechanism.counts(r)[1] for r in releases])
    alone = np.std([mechanism.tables(r)[0][1].sum() for r in releases])
    assert together / alone == pytest.approx(0.5, abs=6 * 0.5 / np.sqrt(400))
    assert account(mechanism.events, 0).epsilon == pytest.approx(1.0)


def test_no_column_is_refused():
    with pytest.raises(Misuse, match="need a column"):
        NoisyClassHistograms((), B, Budget(1.0))
