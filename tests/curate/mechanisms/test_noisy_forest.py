"""A forest of noisy leaves: its questions never look at the data, its answers follow from the leaves."""

from fractions import Fraction

import numpy as np
import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyForest
from undeleted.curate.statistics import ForestLeaves
from undeleted.errors import Misuse, TooLarge
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Boolean, Category, Number, Schema

A, B = Boolean("a"), Boolean("b")
WORLD = SmallWorld(
    NoisyForest((A,), ClampedGeometric(Fraction(1, 2), 0, 1), by=B, trees=1, depth=1),
    Schema([A, B]),
    points=((False, True), (True, True), (True, False)),
    others=((False, False), (False, True), (True, True)),
)
AGE, PAY = Number("age", min=0, max=99), Number("pay", min=0, max=999)
GRADE = Category("grade", values=("a", "b", "c"))


def released(mechanism, rows, seed=7):
    schema = Schema(list(mechanism.statistic.columns))
    return mechanism.release(Arrays(schema.table(rows)), seeded(seed)).value.astype(float)


def test_questions_are_different_evenly_dealt_and_the_same_for_ever():
    leaves = ForestLeaves((AGE, PAY, B), by=GRADE, trees=50, depth=7)
    columns, least = leaves.questions
    for tree in range(50):
        asked = list(zip(columns[tree].tolist(), least[tree].tolist(), strict=True))
        assert len(set(asked)) == 7
        assert [sum(c == j for c, _ in asked) for j in range(3)] == [3, 3, 1], "a boolean has one question"
        assert all(1 <= h < leaves.over[c].cells for c, h in asked)
    assert ForestLeaves((AGE, PAY), by=B, trees=2, depth=3).questions[1].tolist() == [
        [62, 405, 21],
        [48, 954, 292],
    ], "stores keep the seed alone: other questions would make nonsense of their cells"
    assert (
        leaves.questions[1].tolist()
        != ForestLeaves(leaves.over, by=GRADE, trees=50, depth=7, seed=1).questions[1].tolist()
    )


def test_a_forest_asks_no_more_than_there_is_to_ask():
    leaves = ForestLeaves((B, GRADE), by=A, trees=3, depth=9)
    assert (leaves.asked, leaves.leaves) == (3, 8)


def test_the_budget_buys_noise_in_proportion_to_the_trees():
    for trees in (1, 7):
        mechanism = NoisyForest((AGE,), Budget(2.0), by=B, trees=trees, depth=3)
        assert mechanism.laws[0].scale == pytest.approx(trees / 2.0)
        assert account(mechanism.events, 0).epsilon == pytest.approx(2.0)
        gaussian = NoisyForest((AGE,), Zcdp(0.5), target=PAY, trees=trees, depth=3)
        assert gaussian.laws[0].sigma == pytest.approx(999 * np.sqrt(trees))


def test_without_noise_leaves_are_the_counts_and_means_that_a_person_would_compute():
    rows = [(a, a >= 30) for a in range(100)]
    forest = NoisyForest((AGE,), NoNoise(), by=B, trees=40, depth=5)
    values = released(forest, rows)
    assert forest.counts_of(values).tolist() == [30, 70]
    tables = forest.tables_of(values)
    for tree in (0, 17):
        cuts = sorted(forest.statistic.questions[1][tree].tolist())
        inside = np.diff([0, *cuts, 100])
        assert sorted(c for c in tables[tree].sum(axis=0) if c) == sorted(inside)
    codes = np.arange(100)[:, None]
    told = forest.log_shares_at(forest.shares_of(values), codes).argmax(axis=1)
    assert np.mean(told == (codes[:, 0] >= 30)) > 0.95
    numbers = NoisyForest((AGE,), NoNoise(), target=PAY, trees=40, depth=5)
    values = released(numbers, [(a, 10 * a) for a in range(100)])
    assert numbers.prior_of(values)[1] == pytest.approx(495 / 999, abs=0.01)
    assert 999 * numbers.means_at(numbers.shares_of(values), codes) == pytest.approx(
        10 * codes[:, 0], abs=120
    )


def test_a_leaf_without_records_takes_after_its_parents_and_more_so_the_more_noise_there_is():
    rows = [(a, True) for a in range(50)] + [(a, False) for a in range(50, 100)]
    forest = NoisyForest((AGE,), NoNoise(), by=B, trees=1, depth=1)
    values = released(forest, rows)
    plain = forest.shares_of(values)[0]
    noisy = NoisyForest((AGE,), Budget(0.05), by=B, trees=1, depth=1).shares_of(values)[0]
    prior = forest.prior_of(values)
    assert np.all(np.abs(noisy - prior[:, None]) < np.abs(plain - prior[:, None]))
    empty = NoisyForest((AGE,), NoNoise(), by=B, trees=1, depth=1)
    nobody = empty.shares_of(np.zeros(4))
    assert nobody == pytest.approx(np.full((1, 2, 2), 0.5))
    assert np.isfinite(empty.shares_of(np.full(4, -1e9))).all()


def test_nonsense_is_refused():
    for wrong in ({"trees": 0}, {"depth": 0}, {"trees": 1.5}, {"depth": True}, {"seed": "x"}):
        with pytest.raises(Misuse):
            NoisyForest((AGE,), Budget(1.0), by=B, **wrong)
    with pytest.raises(Misuse, match="classes or a target"):
        NoisyForest((AGE,), Budget(1.0))
    with pytest.raises(Misuse, match="needs a feature"):
        NoisyForest((), Budget(1.0), by=B)
    with pytest.raises(Misuse, match="nothing to ask"):
        NoisyForest((Category("c", values=("a",)),), Budget(1.0), by=B)
    with pytest.raises(TooLarge, match="coarser step"):
        NoisyForest((Number("wide", min=0, max=2**60),), Budget(1.0), by=B)
    with pytest.raises(TooLarge, match="fewer trees"):
        NoisyForest((PAY,), Budget(1.0), by=B, trees=1000, depth=20)
