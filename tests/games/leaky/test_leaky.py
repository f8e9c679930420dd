"""Leaky mechanisms: perfect for a simulator that is told g, exactly; broken without it.

Covers: games/leaky/*.py
"""

from fractions import Fraction
from itertools import product

import pytest

from support.attackers import adaptive, all_orders
from support.laws import depends_on_those_who_stay, given_the_first
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import RangeCounts
from undeleted.errors import NoRecords, NotStarted
from undeleted.foundations import registry
from undeleted.foundations.coins import ClampedGeometric, exact_law, seeded
from undeleted.foundations.privacy import Budget, account
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines import LazyRangeMedian
from undeleted.games.dynamic import Leakage, dynamic_game, ideal_game
from undeleted.games.leaky import ExactThenRanges, HiddenRangeMedian
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.similarity import total_variation
from undeleted.games.with_leakage import SHARED, WithLeakage, simulate_with_leakage

X = Number("x", min=0, max=3)
PEOPLE = Schema([X])
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=2)
LEAKY = {
    "hidden-range-median": HiddenRangeMedian(X, LAW, branching=4),
    "exact-then-ranges": ExactThenRanges(X, LAW, branching=4),
}
WORLDS = [(0, *rest) for rest in product((1, 3), repeat=2)]  # they agree on the point that is deleted


def test_every_leaky_mechanism_is_covered():
    assert set(LEAKY) == set(registry.names("undeleted.games.leaky"))


@pytest.mark.parametrize("name", LEAKY)
def test_told_g_the_simulator_is_perfect(name):
    mechanism = LEAKY[name]
    for attacker in [*list(all_orders(3, 2))[:4], *adaptive(3, 2)]:
        simulator = simulate_with_leakage(mechanism, PEOPLE, attacker)
        for data in ((0, 1, 3), (2, 2, 1)):
            real = exact_law(
                lambda c, d=data, a=attacker: dynamic_game(WithLeakage(mechanism, PEOPLE), a, d, 2, c)
            )
            ideal = exact_law(
                lambda c, d=data, s=simulator: ideal_game(
                    WithLeakage(mechanism, PEOPLE), s, d, 2, c, leakage=SHARED
                )
            )
            assert total_variation()(real, ideal) == 0


def test_a_fresh_draw_of_g_is_not_enough():
    mechanism, attacker = LEAKY["hidden-range-median"], next(iter(all_orders(3, 2)))
    fresh = Leakage(
        lambda data, coins: mechanism.release(Arrays(PEOPLE.table(list(data))), coins)[1], shares_coins=False
    )
    simulator = simulate_with_leakage(mechanism, PEOPLE, attacker)
    real = exact_law(lambda c: dynamic_game(WithLeakage(mechanism, PEOPLE), attacker, (0, 1, 3), 2, c))
    ideal = exact_law(
        lambda c: ideal_game(WithLeakage(mechanism, PEOPLE), simulator, (0, 1, 3), 2, c, leakage=fresh)
    )
    assert total_variation()(real, ideal) > 0


@pytest.mark.parametrize("name", LEAKY)
def test_without_g_deletions_tell_of_those_who_stay(name):
    """Given the first answer and the deleted point, the next answer has another law for other stayers.

    The same counts, published whole, tell nothing more.
    """
    assert depends_on_those_who_stay(lambda: WithLeakage(LEAKY[name], PEOPLE), WORLDS, [0])
    small = RangeCounts(X, ClampedGeometric(Fraction(1, 2), low=0, high=1), branching=4)
    assert not depends_on_those_who_stay(lambda: ReleaseOnce(small, PEOPLE), WORLDS, [0])


def test_a_lazily_evaluated_tree_has_the_law_of_the_hidden_one_and_leaks_alike():
    def lazy():
        return LazyRangeMedian(X, LAW, branching=2)

    hidden = HiddenRangeMedian(X, ClampedGeometric(Fraction(1, 2), low=0, high=1), branching=2)

    def lazy_small():
        return LazyRangeMedian(X, ClampedGeometric(Fraction(1, 2), low=0, high=1), branching=2)

    for data in ((0, 1, 3), (2, 2, 1)):
        whole = given_the_first(lambda: WithLeakage(hidden, PEOPLE), data, [0, 1])
        assert given_the_first(lazy_small, data, [0, 1]) == whole
    assert depends_on_those_who_stay(lazy, WORLDS, [0])


def test_the_leakage_costs_what_its_counts_cost():
    mechanism = HiddenRangeMedian(Number("v", min=0, max=999), Budget(0.7))
    assert account(mechanism.hidden.events, 0.0).epsilon == pytest.approx(0.7)


def test_medians_follow_the_deletions():
    column = Number("v", min=0, max=999)
    for mechanism in (HiddenRangeMedian(column, Budget(2.0)), ExactThenRanges(column, Budget(2.0))):
        curator = WithLeakage(mechanism, Schema([column]))
        assert abs(curator.start(list(range(1000)) * 5, seeded(7)) - 500) < 20
        assert abs(curator.delete(list(range(400)) * 5) - 700) < 20


def test_medians_come_as_values_and_not_as_codes():
    column = Number("v", min=10, max=60, step=5)
    for mechanism in (HiddenRangeMedian(column, Budget(50.0)), ExactThenRanges(column, Budget(50.0))):
        assert WithLeakage(mechanism, Schema([column])).start([30] * 9, seeded(7)) == 30
    assert LazyRangeMedian(column, Budget(50.0)).start([30] * 9, seeded(7)) == 30


def test_leaky_curators_start_before_they_delete():
    with pytest.raises(NotStarted):
        WithLeakage(LEAKY["hidden-range-median"], PEOPLE).delete([1])
    with pytest.raises(NoRecords):
        WithLeakage(LEAKY["hidden-range-median"], PEOPLE).start([], seeded(7))
