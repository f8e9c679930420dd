"""The game of a table that grows: real and ideal, its rules, and what the generic simulator shows.

Who is safe is decided in `tests/verifying/test_growing_worlds.py`.
"""

from fractions import Fraction

import pytest

from undeleted.curate.mechanisms import NoisySum
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.errors import BadSetting, RuleBroken
from undeleted.foundations.coins import NoNoise, TruncatedGeometric, exact_law, seeded
from undeleted.foundations.schema import Number, Schema
from undeleted.games.arrivals import GrowingSimulator, GrowingTable, Tick, growing_game, ideal_growing_game

X = Number("x", min=0, max=3)
SCHEMA = Schema([X])
NARROW = TruncatedGeometric(Fraction(1, 2), 1)
PEOPLE = [(0, 1), (0, 3), (1, 2)]


def table(noise="factorization", law=NARROW, redraws="never", **more):
    return GrowingTable(Arrivals(NoisySum(X, law), 3, noise, bits=1, **more), SCHEMA, redraws=redraws)


def nosy(world):
    """Puts records of its own into batches, corrupts somebody and deletes, by what it sees."""
    world.tick(2)
    world.tick()
    if world.look()[0][0] % 2:
        world.corrupt(1)
        world.delete(1)
    else:
        world.delete(3)  # the first of its own: numbered after the three honest people
    world.tick(1)


@pytest.mark.parametrize(
    ("noise", "hidden"),
    [
        ("factorization", False),
        ("cohorts", True),
        pytest.param("cohorts", False, marks=pytest.mark.slow),
        pytest.param("tree", False, marks=pytest.mark.slow),
        pytest.param("factorization", True, marks=pytest.mark.slow),
    ],
)
def test_real_and_ideal_are_one_law_for_an_attacker_who_adapts(noise, hidden):
    """Exactly: over all coins, the corrupted and what the attacker saw have the same probability."""
    more = {"leavers": TruncatedGeometric(Fraction(1, 2), 1)} if hidden else {}

    def law(game):
        return exact_law(lambda coins: game(table(noise, **more), nosy, PEOPLE, 3, 1, coins))

    assert law(growing_game) == law(ideal_growing_game)


@pytest.mark.parametrize("redraws", ["at-deletion", "if-somebody-left"])
def test_noise_drawn_again_because_somebody_left_is_not_what_the_simulator_shows(redraws):
    def law(game):
        return exact_law(lambda coins: game(table("cohorts", redraws=redraws), nosy, PEOPLE, 3, 1, coins))

    assert law(growing_game) != law(ideal_growing_game)


def test_the_view_has_everything_in_order():
    outcome = growing_game(table("cohorts", NoNoise()), nosy, PEOPLE, 3, 1, seeded(1))
    corrupted, view = outcome
    assert corrupted == (3, 4), "the attacker's own records are its own"
    controlled, requests, deleted, outputs = view
    assert controlled == ((3, (0, 2)), (4, (2, 1)))
    assert requests == (("tick", (2,)), ("tick", ()), ("delete", (3,)), ("tick", (1,)))
    assert deleted == ((3,),)
    assert outputs[1:] == (((6,),), ((6,), (2,)), ((4,), (2,)), ((4,), (2,), (1,)))


def test_the_rules_of_the_game():
    def breaks(world):
        with pytest.raises(RuleBroken, match="only published records"):
            world.corrupt(0)  # the first tick has not closed
        world.tick()
        world.corrupt(0)
        with pytest.raises(RuleBroken, match="only published records"):
            world.corrupt(2)  # joins at the second tick
        with pytest.raises(RuleBroken, match="at most k"):
            world.corrupt(1)
        with pytest.raises(RuleBroken, match="only controlled"):
            world.delete(1)
        with pytest.raises(RuleBroken, match="one of 0"):
            world.corrupt(7)
        world.tick(), world.tick()
        with pytest.raises(RuleBroken, match="no tick closes after the last"):
            world.tick()
        return "played"

    assert growing_game(table(), breaks, PEOPLE, 3, 1, seeded(1)) == ((0,), "played")


def test_somebody_who_left_before_a_row_is_not_in_it_and_every_earlier_row_loses_them():
    for noise in ("factorization", "cohorts", "tree"):
        stayed, left = table(noise, NoNoise()), table(noise, NoNoise())
        left.start([(0, 1), (0, 3), (1, 2)], seeded(1))
        stayed.start([(0, 1), (1, 2)], seeded(1))
        left.delete([Tick()]), left.delete([(0, 3)])
        stayed.delete([Tick()])
        assert left.delete([Tick()]) == stayed.delete([Tick()])


def test_hidden_leavers_show_at_the_next_tick_and_not_before():
    hidden = table("cohorts", NoNoise(), leavers=NoNoise())
    hidden.start([(0, 1), (0, 3)], seeded(1))
    before = hidden.delete([Tick()])
    assert hidden.delete([(0, 3)]) == before == ((4, 0),)
    assert hidden.delete([Tick()]) == ((4, 0), (0, 3))


def test_the_simulator_sees_no_data():
    simulator = GrowingSimulator(table("cohorts").arrivals, SCHEMA)
    assert simulator.tick(((7,),)) == ((7,),)
    assert simulator.leave([(0, 3)]) == ((4,),)
    assert simulator.tick(((7,), (5,))) == ((4,), (5,))


def test_hidden_leavers_are_never_drawn_again():
    with pytest.raises(BadSetting, match="never change a row"):
        table(redraws="at-deletion", leavers=NARROW)
