"""Growing tables decided exactly: every attacker that closes ticks, adds records of its own, and deletes."""

from fractions import Fraction

import pytest

from undeleted.curate.mechanisms import NoisySum
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.errors import BadWorld, TooLarge
from undeleted.foundations.coins import ClampedGeometric, TruncatedGeometric
from undeleted.foundations.schema import Number, Schema
from undeleted.games import arrivals as games
from undeleted.verifying import growing_worlds
from undeleted.verifying.growing_worlds import GrowingSmallWorld, privacy_of_the_stayers, verify_growing

X = Number("x", min=0, max=1)
HALF = Fraction(1, 2)
NARROW = TruncatedGeometric(HALF, 1)
CLAMPED = ClampedGeometric(HALF, low=0, high=2)


def world(noise="factorization", law=NARROW, honest=(2, 0), **more):
    growing = Arrivals(NoisySum(X, law), len(honest), noise, bits=1, **more.pop("arrivals", {}))
    return GrowingSmallWorld(growing, Schema([X]), (0, 1), honest, **more)


SLOW = pytest.mark.slow  # they repeat another case


@pytest.mark.parametrize(
    ("noise", "redraws"),
    [
        ("factorization", "never"),
        ("cohorts", "every-tick"),
        pytest.param("cohorts", "never", marks=SLOW),
        pytest.param("tree", "never", marks=SLOW),
        pytest.param("factorization", "every-tick", marks=SLOW),
    ],
)
def test_noise_that_does_not_depend_on_who_left_is_perfectly_safe(noise, redraws):
    found = verify_growing(world(noise, honest=(1, 1), redraws=redraws))
    assert found.safe
    assert found.histories > 800


@pytest.mark.slow
def test_two_leavers_and_three_ticks():
    assert verify_growing(world("cohorts", honest=(1, 1, 0), own=0, k=2)).safe


@pytest.mark.parametrize("noise", ["cohorts", pytest.param("factorization", marks=SLOW)])
def test_hidden_leavers_expose_nobody_who_stays(noise):
    assert verify_growing(world(noise, honest=(2, 0), own=0, arrivals={"leavers": NARROW})).safe


@pytest.mark.parametrize("redraws", ["at-deletion", "if-somebody-left"])
def test_noise_that_is_drawn_again_because_somebody_left_is_not_safe(redraws):
    found = verify_growing(world(redraws=redraws, own=0))
    assert found.safe is False
    assert found.lower > 0
    shown, undisturbed = Fraction(found.witness["shown"]), Fraction(found.witness["undisturbed"])
    assert (shown - undisturbed) / 2 == found.lower
    assert [step["deleted"][0] for step in found.witness["seen"][1:]].count("delete") == 1


def test_what_the_ticks_reveal_by_themselves_is_no_leak():
    """Records 3 apart, under noise of width 1: M tells the tables apart, and a deletion adds nothing."""
    wide = Number("x", min=0, max=3)
    growing = Arrivals(NoisySum(wide, NARROW), 1, "cohorts")
    found = verify_growing(GrowingSmallWorld(growing, Schema([wide]), (0, 3), (2,), 0, redraws="at-deletion"))
    assert (found.safe, found.lower) == (None, 0)


def test_an_attacker_deletes_records_of_its_own():
    """With one honest person, only the attacker's own record is in both tables and can leave."""
    found = verify_growing(world("cohorts", honest=(1,), redraws="at-deletion"))
    assert found.safe is False
    alone = verify_growing(world("cohorts", honest=(1,), own=0, redraws="at-deletion"))
    assert alone.safe is None, "nobody can leave who is in both tables"


def test_a_simulator_that_errs_is_noticed(monkeypatch):
    """The verdict compares with the simulator that there is: one that forgets nobody fails."""
    monkeypatch.setattr(games.GrowingSimulator, "leave", lambda self, people: self.rows())
    found = verify_growing(world("cohorts", honest=(2,), own=0))
    assert not found.safe


def test_a_simulator_with_the_same_outputs_and_other_odds_is_noticed(monkeypatch):
    class Other(games.SimulatedTable):
        def __init__(self, arrivals, schema, **more):
            law = TruncatedGeometric(Fraction(1, 3), 1)
            super().__init__(Arrivals(NoisySum(X, law), arrivals.horizon, arrivals.noise), schema, **more)

    monkeypatch.setattr(growing_worlds, "SimulatedTable", Other)
    assert verify_growing(world("cohorts", honest=(2,), own=0)).safe is None


@pytest.mark.parametrize(
    ("noise", "promised"), [("cohorts", 2), pytest.param("tree", 4, marks=SLOW), ("factorization", 8)]
)
def test_stayers_pay_what_the_noise_was_made_for_whatever_arrives_and_leaves(noise, promised):
    """e^ε over whole transcripts, with adaptive arrivals: the law's ratio to the L1 reach of the rows."""
    growing = world(noise, CLAMPED, honest=(1, 1), own=1 if noise == "tree" else 0)
    assert promised == 2**growing.arrivals.factors.l1
    found = privacy_of_the_stayers(growing)
    assert found.transcript.ratio == promised, "no more, and the worst pair pays no less"
    assert found.deletions_cost_nothing


def test_noise_at_every_tick_costs_at_every_tick():
    """It is undeleted-safe, as shown above; it is not as private as its first row."""
    once = privacy_of_the_stayers(world("cohorts", CLAMPED, honest=(1, 1), own=0))
    again = privacy_of_the_stayers(world("cohorts", CLAMPED, honest=(1, 1), own=0, redraws="every-tick"))
    assert (once.transcript.ratio, again.transcript.ratio) == (2, 4)
    assert again.witness


def test_noise_drawn_again_at_a_deletion_costs_stayers():
    again = privacy_of_the_stayers(world("cohorts", CLAMPED, redraws="at-deletion", own=0))
    assert again.undisturbed.ratio == 2
    assert again.transcript.ratio == 4
    assert not again.deletions_cost_nothing


def test_a_difference_in_delta_is_a_cost_too():
    """Under truncated noise both ratios are infinite; what deletions cost shows in δ alone."""
    again = privacy_of_the_stayers(world("cohorts", NARROW, redraws="at-deletion", own=0))
    assert again.undisturbed == again.transcript
    assert again.delta > again.delta_undisturbed
    assert not again.deletions_cost_nothing
    assert privacy_of_the_stayers(world("cohorts", NARROW, own=0)).deletions_cost_nothing


def test_delta_at_an_epsilon():
    small = world("cohorts", CLAMPED, honest=(1, 1), own=0)
    found, at_most = (privacy_of_the_stayers(small, epsilon) for epsilon in (0.3, 0.7))
    assert found.delta[0] > 0
    assert at_most.delta[1] < Fraction(1, 10**6)  # ln 2 < 0.7


def test_what_is_no_small_world():
    with pytest.raises(BadWorld, match="ticks"):
        GrowingSmallWorld(world().arrivals, Schema([X]), (0, 1), (1, 1, 1))
    with pytest.raises(BadWorld):
        world(honest=(-1, 1))
    with pytest.raises(TooLarge):
        world(honest=(100, 100)).tables()
