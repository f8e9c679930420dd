"""The definitions run: reductions, leakage, similarity, and what tells safe from unsafe.

Covers: games/*.py
"""

from fractions import Fraction
from itertools import product

import pytest

from support.attackers import all_orders
from undeleted.curate.mechanisms import NoisySum
from undeleted.errors import BadColumns, NoRecords, NotStarted, RuleBroken
from undeleted.foundations.coins import ClampedGeometric, exact_law, seeded
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines import Retrain, XorPad, XorUndeleted
from undeleted.games.baselines.retrain import median, total
from undeleted.games.dynamic import Leakage, dynamic_game, ideal_game
from undeleted.games.non_adaptive import non_adaptive_game
from undeleted.games.reductions import non_adaptive_from_static, static_from_dynamic, treats_points_by_value
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.similarity import approximate, distinguishers, total_variation
from undeleted.games.simulator import simulate
from undeleted.games.static import static_game
from undeleted.games.transcript import plain

X = Number("x", min=0, max=2)
PEOPLE = Schema([X])
SUM = NoisySum(X, ClampedGeometric(Fraction(1, 2), low=0, high=5))


def noisy_sum():
    return ReleaseOnce(SUM, PEOPLE)


def dynamic_simulator(attacker):
    return simulate(SUM, PEOPLE, attacker)


def largest_first(world):
    """A static attacker whose order depends on what it saw."""
    order = sorted(
        world.controlled, key=lambda i: (world.controlled[i], i), reverse=plain(world.look())[0][0] % 2 == 0
    )
    for i in order:
        world.delete(i)


def test_the_dynamic_simulator_makes_a_static_one():
    data, controlled = (2, 0, 1), (0, 2)

    def ideal(coins):
        first = noisy_sum().start(data, coins)
        simulator = static_from_dynamic(dynamic_simulator, largest_first)
        return simulator(len(data), first, {i: data[i] for i in controlled}, None)

    real = exact_law(lambda coins: static_game(noisy_sum(), data, largest_first, controlled, coins))
    assert total_variation()(real, exact_law(ideal)) == 0
    assert len(real) > 5


def test_the_static_simulator_makes_a_non_adaptive_one():
    data, sequence = (2, 0, 1), (2, 0)

    def ideal(coins, **told):
        first = noisy_sum().start(data, coins)
        static = lambda attacker: static_from_dynamic(dynamic_simulator, attacker)  # noqa: E731
        return non_adaptive_from_static(static, n=3, **told)(first, [data[i] for i in sequence])

    real = exact_law(lambda coins: non_adaptive_game(noisy_sum(), data, sequence, coins))
    assert total_variation()(real, exact_law(lambda c: ideal(c, by_value=True))) == 0
    assert total_variation()(real, exact_law(lambda c: ideal(c, by_value=False, indices=sequence))) == 0
    with pytest.raises(RuleBroken, match="by value"):
        ideal(seeded(7), by_value=False)


class FirstPlace:
    """Treats points by position: after a deletion it tells whether the first point of D was deleted."""

    def start(self, data, coins):
        self._first = data[0]
        return None

    def delete(self, points):
        return int(self._first in points)


def test_the_condition_of_the_reduction_can_be_checked():
    assert treats_points_by_value(noisy_sum, (2, 0, 1), (2, 0))
    assert treats_points_by_value(lambda: XorUndeleted(bits=2), (2, 0, 1), (2, 0))
    assert not treats_points_by_value(FirstPlace, (2, 0, 1), (2, 0))


def test_a_retrained_median_cannot_be_simulated():
    """The median of {0, 1}³ with one deletion: two data sets agree on (z0, y1) and differ in z1."""
    attacker = next(iter(all_orders(3, 1)))
    worlds = [d for d in product((0, 1), repeat=3) if d[0] == 1 and median(d) == 1]
    seen = {d: dynamic_game(Retrain(median), attacker, d, 1, seeded(7)) for d in worlds}
    assert len({str(v) for v in seen.values()}) == 2
    sums = {d: dynamic_game(Retrain(total), attacker, d, 1, seeded(7)) for d in worlds if sum(d) == 2}
    assert len({str(v) for v in sums.values()}) == 1


@pytest.mark.parametrize(("pad", "leaks"), [(XorPad, False), (XorUndeleted, True)])
def test_the_pads_differ_in_whom_they_expose(pad, leaks):
    """Two worlds that agree on the deleted point and differ in one who stays."""

    def law(stays):
        attacker = next(iter(all_orders(2, 1)))
        return exact_law(lambda coins: dynamic_game(pad(bits=1), attacker, (1, stays), 1, coins))

    assert total_variation()(law(0), law(1)) == (1 if leaks else 0)


class HiddenNoise:
    """Publishes nothing at first, and the noisy sum of what is left afterwards: safe only with leakage."""

    def start(self, data, coins):
        self.hidden = ReleaseOnce(SUM, PEOPLE)
        self.hidden.start(data, coins)
        return None

    def delete(self, points):
        return self.hidden.delete(points)


def attacker_of_hidden(world):
    world.corrupt(0)
    world.delete(0)


def told(world, leaked):
    """A simulator that is told the hidden release and forgets for itself."""
    mine = world.corrupt(0)[0]
    world.delete(0)
    after = SUM.forget(leaked, SUM.contribution(PEOPLE.table([mine])))
    return [((0, mine),), None, ((0,),), (None, after)]


@pytest.mark.parametrize("data", [(2, 0, 1), (1, 1, 1)])
def test_leakage_that_shares_coins_makes_a_hidden_release_simulatable(data):
    share = Leakage(lambda algorithm: algorithm.hidden._release, shares_coins=True)
    fresh = Leakage(lambda d, coins: noisy_sum().start(d, coins), shares_coins=False)
    real = exact_law(lambda c: dynamic_game(HiddenNoise(), attacker_of_hidden, data, 1, c))
    for leakage in (share, fresh):  # nothing was published that a fresh draw could contradict
        ideal = exact_law(lambda c, g=leakage: ideal_game(HiddenNoise(), told, data, 1, c, leakage=g))
        assert total_variation()(real, ideal) == 0


class ShowsParity(HiddenNoise):
    """The same, but it first shows the parity of the hidden release: a fresh draw contradicts that."""

    def start(self, data, coins):
        super().start(data, coins)
        return int(self.hidden._release.value[0]) % 2


def told_parity(world, leaked):
    rest = told(world, leaked)
    return [*rest[:3], (world.look(), rest[3][1])]


def test_fresh_leakage_is_weaker_than_shared_leakage():
    data = (2, 0, 1)
    share = Leakage(lambda algorithm: algorithm.hidden._release, shares_coins=True)
    fresh = Leakage(lambda d, coins: noisy_sum().start(d, coins), shares_coins=False)
    real = exact_law(lambda c: dynamic_game(ShowsParity(), attacker_of_hidden, data, 1, c))
    with_shared = exact_law(lambda c: ideal_game(ShowsParity(), told_parity, data, 1, c, leakage=share))
    with_fresh = exact_law(lambda c: ideal_game(ShowsParity(), told_parity, data, 1, c, leakage=fresh))

    assert total_variation()(real, with_shared) == 0
    assert total_variation()(real, with_fresh) > 0


def test_in_the_ideal_world_deletions_stay_hidden():
    def curious(world):
        world.corrupt(0)
        return [world.delete(0), world.look()]

    (_, (answer, seen)) = ideal_game(Retrain(total), curious, (1, 2), 1, seeded(7))
    assert (answer, seen) == (None, 3)


def test_similarity_notions_agree_where_they_must():
    p, q = {0: Fraction(3, 4), 1: Fraction(1, 4)}, {0: Fraction(1, 4), 2: Fraction(3, 4)}
    everything = distinguishers([lambda x, s=s: x in s for s in ({0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2})])

    assert total_variation()(p, q) == everything(p, q) == Fraction(3, 4)
    assert approximate(0.0)(p, q) == pytest.approx(0.75)
    assert approximate(1.0)(p, q) == pytest.approx(0.75)  # the mass on 2 is never excused
    assert approximate(5.0)(p, p) == 0
    assert distinguishers([])(p, q) == 0


def test_in_a_game_every_point_is_a_person():
    with pytest.raises(BadColumns, match="every point is a person"):
        ReleaseOnce(SUM, Schema([X], id="id", excess="drop"))


def test_a_mechanism_must_start_and_needs_somebody():
    with pytest.raises(NotStarted):
        noisy_sum().delete([1])
    with pytest.raises(NoRecords):
        noisy_sum().start([], seeded(7))
