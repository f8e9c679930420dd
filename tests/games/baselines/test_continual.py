"""Continual observation: what each construction guarantees, and to whom."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.fits import ALARM, fit, with_scale
from support.laws import depends_on_those_who_stay
from undeleted.curate.mechanisms import RangeCounts
from undeleted.curate.statistics import ClippedSum, Count, Histogram
from undeleted.errors import BadBudget, BudgetSpent
from undeleted.foundations.coins import ClampedGeometric, seeded
from undeleted.foundations.privacy import Budget, Event, account
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines import RenoisedTree, TreeCounter
from undeleted.games.baselines._dyadic import levels_of

X = Number("x", min=0, max=2)
PEOPLE = Schema([X])
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=4)
WORLDS = [(1, 0, *rest) for rest in product((0, 2), repeat=2)]  # they agree on the two that leave


def test_a_tree_over_the_deletions_tells_nothing_of_those_who_stay():
    """First the textbook tree, which does: it noises the data again after the first deletion."""
    assert depends_on_those_who_stay(lambda: RenoisedTree(ClippedSum(X), PEOPLE, LAW, 2), WORLDS, [0, 1])
    assert not depends_on_those_who_stay(lambda: TreeCounter(ClippedSum(X), PEOPLE, LAW, 2), WORLDS, [0, 1])


@pytest.mark.parametrize("horizon", [1, 7, 8, 1000])
def test_both_pay_for_everybody_out_of_one_budget(horizon):
    counter = TreeCounter(Count(), PEOPLE, Budget(1.0), horizon)
    first = Event(counter.first_laws[0], 1)
    stream = Event(counter.stream_laws[0], 1, times=levels_of(horizon))
    assert account([first, stream], 0.0).epsilon == pytest.approx(1.0)
    renoised = RenoisedTree(Count(), PEOPLE, Budget(1.0), horizon)
    everything = Event(renoised.laws[0], 1, times=2 * levels_of(horizon + 1))
    assert account([everything], 0.0).epsilon == pytest.approx(1.0)


@pytest.mark.parametrize("make", [TreeCounter, RenoisedTree])
def test_no_person_is_in_more_noisy_sums_than_were_paid_for(make):
    """Brute force without noise: how often one person's number is added up over a whole run."""
    horizon = 13

    class Counting(make):
        def __init__(self):
            super().__init__(
                ClippedSum(Number("x", min=0, max=1)),
                Schema([Number("x", min=0, max=1)]),
                Budget(1.0),
                horizon,
            )
            self.sums = 0

        def _count(self, total):
            self.sums += abs(int(total[0]))
            return total

        def _deleted(self, start, end):
            total = super()._deleted(start, end)
            return self._count(total) if make is TreeCounter else total

        def _elements(self, start, end):
            return self._count(super()._elements(start, end))

    for leaves_at in range(horizon):
        curator = Counting()
        order = [0] * leaves_at + [1] + [0] * (horizon - leaves_at - 1)
        curator.start(order, seeded(7))
        for point in order:
            curator.delete([point])
        paid = levels_of(horizon) if make is TreeCounter else 2 * levels_of(horizon + 1)
        assert 1 <= curator.sums <= paid


def test_the_noise_after_t_deletions_is_that_of_its_dyadic_blocks(coins):
    """At t = 7 the tree adds three blocks; at t = 8 one.  In both directions."""
    wide = Number("w", min=0, max=6999)
    curator = TreeCounter(Histogram((wide,)), Schema([wide]), Budget(1.0), horizon=8)
    data = list(range(100))
    curator.start(data, coins)
    law = curator.stream_laws[0]
    seven = [curator.delete([person]) for person in data[:7]][-1].value
    eight = curator.delete(data[7:8]).value
    exact = np.zeros(7000, dtype=int)
    exact[8:100] = 1
    exact[7] = 1
    noise = (seven - exact) - (curator._first - np.bincount(data, minlength=7000))
    assert noise.var() == pytest.approx(3 * 2 * law.scale**2, rel=0.15)
    exact[7] = 0
    single = -((eight - exact) - (curator._first - np.bincount(data, minlength=7000)))
    assert fit(single, law) > ALARM
    assert fit(single, with_scale(law, 0.8)) < ALARM
    assert fit(single, with_scale(law, 1.2)) < ALARM
    assert law.scale == pytest.approx(levels_of(8) / 0.5)


@pytest.mark.parametrize("make", [TreeCounter, RenoisedTree])
def test_one_person_more_in_a_request_moves_no_later_request(make):
    """A request is one element of the stream: later blocks do not tell how many it named."""

    def blocks_of(first_request):
        curator = make(Count(), PEOPLE, Budget(1.0), 8)
        curator.start([1] * 12, seeded(7))
        curator.delete(first_request)
        for _ in range(7):
            curator.delete([1])
        return sorted(curator._tree._blocks)

    assert blocks_of([1, 1, 1]) == blocks_of([1]) == blocks_of([])


def test_an_empty_request_is_noised_like_any_other():
    curator = TreeCounter(Count(), PEOPLE, Budget(1.0), 4)
    same = 0
    for seed in range(200):
        first = curator.start([1, 1], seeded(f"empty {seed}"))
        same += curator.delete([]) == first
    assert same < 60


def test_range_counts_are_counted_continually():
    column = Number("v", min=0, max=2**10 - 1)
    reader = RangeCounts(column, Budget(50.0))
    curator = TreeCounter(reader.statistic, Schema([column]), Budget(50.0), horizon=600)
    first = curator.start(list(range(1024)), seeded(7))
    after = curator.delete(list(range(600)))
    assert abs(reader.median(first).value - 512) < 20
    assert abs(reader.median(after).value - 812) < 40


@pytest.mark.parametrize("make", [TreeCounter, RenoisedTree])
def test_the_plan_is_kept(make):
    curator = make(Count(), PEOPLE, Budget(1.0), 2)
    curator.start([1, 1, 1, 1], seeded(7))
    curator.delete([1])
    curator.delete([1, 1])
    with pytest.raises(BudgetSpent, match="deletion 3"):
        curator.delete([1])
    for horizon in (0, 2.5):
        with pytest.raises(BadBudget, match="horizon must be at least 1"):
            make(Count(), PEOPLE, Budget(1.0), horizon)
