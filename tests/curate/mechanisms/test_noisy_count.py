"""A noisy count costs what was asked, and knows how many rows a person may have."""

from fractions import Fraction

import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyCount
from undeleted.errors import BadBudget
from undeleted.foundations.coins import ClampedGeometric, DiscreteLaplace, secure
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Number, Schema

X = Number("x", min=0, max=1)
LAW = ClampedGeometric(Fraction(1, 3), low=0, high=4)
WORLD = SmallWorld(NoisyCount(LAW), Schema([X]), points=(0, 1, 1), others=(0, 0, 0))


def test_a_count_costs_what_was_asked():
    [law] = NoisyCount(Budget(0.5)).laws
    assert isinstance(law, DiscreteLaplace)
    assert law.scale == pytest.approx(2.0)
    assert account(NoisyCount(Budget(0.5)).events, 0.0).epsilon == pytest.approx(0.5)


def test_a_table_that_allows_more_rows_per_person_is_refused():
    people = Schema([X], id="id", rows_per_person=2)
    table = people.table({"id": ["a", "a"], "x": [0, 1]})
    with pytest.raises(BadBudget, match="rows_per_person must be at least the 2 rows"):
        NoisyCount(Budget(1.0)).release(Arrays(table), secure())
    assert NoisyCount(Budget(1.0), rows_per_person=2).release(Arrays(table), secure()).value.size == 1


def test_only_records_whose_columns_count_are_counted(coins):
    gap = Number("x", min=0, max=1, missing="drop")
    mechanism = NoisyCount(Budget(1e6), over=(gap,))
    release = mechanism.release(Arrays(Schema([gap]).table([0, None, 1])), coins)
    assert mechanism.estimate(release).value == 2
