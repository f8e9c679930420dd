"""Arguments of a mechanism are checked when it is built, before anybody's data are near."""

import pytest

from undeleted import (
    BadBudget,
    Boolean,
    Budget,
    Category,
    NoisyClassMoments,
    NoisyHistogram,
    NoisyMean,
    NoisyPairs,
    NoisySum,
    NotAColumn,
    Number,
    Text,
    Zcdp,
)
from undeleted.foundations.coins import DiscreteLaplace

AGE, SICK, CITY = Number("age", min=0, max=120), Boolean("sick"), Category("city", values=("a", "b"))


@pytest.mark.parametrize(
    "build",
    [
        lambda: NoisyMean("age", 1.0),
        lambda: NoisySum(CITY, 1.0),
        lambda: NoisySum(None, 1.0),
        lambda: NoisyHistogram("age", 1.0),
        lambda: NoisyHistogram((AGE, "city"), 1.0),
        lambda: NoisyHistogram(Text("note"), 1.0),
        lambda: NoisyPairs((SICK, AGE), 1.0),
        lambda: NoisyClassMoments((AGE,), 1.0, by="city"),
    ],
)
def test_what_is_not_a_column_of_the_right_kind_is_refused(build):
    with pytest.raises(NotAColumn, match=r"takes a \w+") as refused:
        build()
    assert isinstance(refused.value, TypeError)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("budget", ["1.0", None, True, (), (1.0,), [DiscreteLaplace(2.0)], b"1"])
def test_what_is_not_a_budget_is_refused(budget):
    with pytest.raises(BadBudget, match="budget must be a number"):
        NoisySum(AGE, budget)


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "2"])
def test_what_is_not_a_number_of_rows_is_refused(rows):
    with pytest.raises(BadBudget, match="rows_per_person must be a whole number above 0"):
        NoisySum(AGE, 1.0, rows_per_person=rows)


def test_a_number_is_a_pure_epsilon_and_budgets_stay_as_they_are():
    assert NoisySum(AGE, 0.5) == NoisySum(AGE, Budget(0.5))
    assert NoisySum(AGE, 1).laws == NoisySum(AGE, Budget(1.0)).laws
    for budget in (Budget(1.0, 1e-6), Zcdp(0.1), DiscreteLaplace(2.0), (DiscreteLaplace(2.0),)):
        assert NoisySum(AGE, budget).budget is budget


def test_one_column_may_stand_for_several():
    assert NoisyHistogram(AGE, 1.0) == NoisyHistogram((AGE,), 1.0) == NoisyHistogram([AGE], 1.0)
