"""The recipe releases and forgets together; noisy sums and range counts are instances of it."""

from fractions import Fraction

import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisySum, RangeCounts, Recipe
from undeleted.curate.statistics import ClippedSum, Count, CrossProducts, Histogram, RangeTree
from undeleted.foundations.coins import ClampedGeometric, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Boolean, Number, Schema

X, SICK = Number("x", min=0, max=1), Boolean("s")
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=2)
WORLD = SmallWorld(Recipe((Count(), ClippedSum(X)), LAW), Schema([X]), points=(0, 1, 1), others=(0, 0, 1))

AGE = Number("age", min=0, max=120, missing="drop")
PEOPLE = Schema([AGE, SICK])
ROWS = [(41, True), (17, False), (None, True), (99, False)]


@pytest.mark.parametrize("noise", [Budget(1.0), Zcdp(0.3)], ids=str)
def test_noisy_sums_and_range_counts_are_recipes_with_one_statistic(noise):
    table = Arrays(PEOPLE.table(ROWS))
    for mechanism, statistic in (
        (NoisySum(AGE, noise), ClippedSum(AGE)),
        (RangeCounts(AGE, noise, branching=4), RangeTree(AGE, 4)),
    ):
        recipe = Recipe([statistic], noise)
        assert recipe.release(table, seeded(7)) == (mechanism.release(table, seeded(7)),)


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)], ids=str)
def test_all_statistics_share_one_budget(budget):
    recipe = Recipe([Count(), Histogram((SICK,)), CrossProducts((AGE, SICK))], budget, weights=[1, 2, 3])
    assert 0.97 * budget.epsilon <= account(recipe.events, budget.delta).epsilon <= budget.epsilon


def test_statistics_forget_together_and_drop_apart():
    recipe = Recipe([Count(), ClippedSum(AGE), Histogram((SICK,))], Budget(1.0))
    release = recipe.release(Arrays(PEOPLE.table(ROWS)), seeded(7))
    after = recipe.forget(release, recipe.contribution(PEOPLE.table(ROWS[2:])))
    assert after == recipe.release(Arrays(PEOPLE.table(ROWS[:2])), seeded(7))


def test_exact_laws_claim_nothing():
    assert WORLD.mechanism.events is None
