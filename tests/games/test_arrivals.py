"""The game of a table that grows, decided exactly in small worlds: who is safe, and which redrawing leaks."""

from fractions import Fraction

import pytest

from undeleted.curate.mechanisms import NoisySum
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.errors import BadSetting
from undeleted.foundations.coins import ClampedGeometric, TruncatedGeometric, exact_law, seeded
from undeleted.foundations.schema import Number, Schema
from undeleted.games.arrivals import GrowingTable, simulated
from undeleted.verifying.divergence import privacy_of_the_undeleted
from undeleted.verifying.exact import FiniteWorld, verify

X = Number("x", min=0, max=1)
PEOPLE = Schema([X])
POINTS = [(tick, value) for tick in (0, 1) for value in (0, 1)]
NARROW = TruncatedGeometric(Fraction(1, 2), 1)


def early(redraws, noise="factorization", **more):
    """Everybody who leaves joined at the first tick, and it has closed."""
    arrivals = Arrivals(NoisySum(X, more.pop("law", NARROW)), 2, noise, bits=1)

    def make():
        return GrowingTable(arrivals, PEOPLE, ticks=2, leave_after=0, redraws=redraws)

    return FiniteWorld.of(make, POINTS[:2], more.get("n", 2), more.get("k", 1), by_value=True)


@pytest.mark.parametrize("game", ["non-adaptive", "dynamic"])
@pytest.mark.parametrize("noise", ["factorization", "cohorts"])
@pytest.mark.parametrize("redraws", ["never", "every-tick"])
def test_noise_that_does_not_depend_on_who_left_is_perfectly_safe(noise, redraws, game):
    assert verify(early(redraws, noise), game).safe


@pytest.mark.parametrize("noise", ["factorization", "cohorts"])
def test_hidden_leavers_expose_nobody_who_stays(noise):
    assert verify(early("hidden", noise, n=2)).safe


@pytest.mark.parametrize("redraws", ["at-deletion", "if-somebody-left"])
def test_noise_that_is_drawn_again_because_somebody_left_is_not_safe(redraws):
    found = verify(early(redraws))
    assert not found.safe
    assert found.literal.lower > 0
    assert found.witness


def test_people_of_both_ticks_and_two_leavers():
    """Points of every tick; those of a tick that has not closed are in no row."""
    arrivals = Arrivals(NoisySum(X, NARROW), 2, "cohorts", bits=1)
    world = FiniteWorld.of(lambda: GrowingTable(arrivals, PEOPLE, ticks=2, leave_after=0), POINTS, 2, 2)
    assert verify(world).safe


def test_safe_is_not_private_noise_at_every_tick_costs_at_every_tick():
    """Undeleted-safety says nothing about the rows themselves: a check of the whole transcript does."""
    law = ClampedGeometric(Fraction(1, 2), low=0, high=2)
    once = privacy_of_the_undeleted(early("never", "cohorts", law=law))
    again = privacy_of_the_undeleted(early("every-tick", "cohorts", law=law))
    assert once.transcript.ratio is not None
    assert again.transcript.ratio is None or again.transcript.ratio > once.transcript.ratio


@pytest.mark.parametrize("noise", ["factorization", "cohorts", "tree"])
@pytest.mark.parametrize("leavers", [[(0, 1)], [(0, 0), (1, 1)], [(0, 0), (0, 1), (1, 0)]])
def test_the_simulator_shows_what_the_curator_shows(noise, leavers):
    """Coin by coin: the law of both together has them equal; redrawn noise has not."""
    data = [(0, 0), (0, 1), (1, 0), (1, 1)]
    arrivals = Arrivals(NoisySum(X, NARROW), 3, noise, bits=2)

    def agree(redraws):
        def play(coins):
            table = GrowingTable(arrivals, PEOPLE, ticks=3, leave_after=1, redraws=redraws)
            first = table.start(data, coins)
            return table.delete(leavers) == simulated(table, first, leavers)

        return play

    assert exact_law(agree("never")) == {True: 1}
    assert not all(agree("at-deletion")(seeded(i)) for i in range(20)), "it would see noise drawn again"


def test_nobody_leaves_after_the_last_tick():
    arrivals = Arrivals(NoisySum(X, NARROW), 2, bits=1)
    with pytest.raises(BadSetting, match="Choose an earlier tick"):
        GrowingTable(arrivals, PEOPLE, ticks=2, leave_after=2)
