"""The verifier's known answers, its agreement with the plain program, and its proofs.

Covers: verifying/*.py
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.plain_program import plain_delta
from support.small_algorithms import (
    LateGenerator,
    LeaksByType,
    Ok,
    Position,
    RandomTable,
    Refused,
    WithClosure,
)
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.foundations.coins import ClampedGeometric, exact_law
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.recompute import Recompute
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import Leakage
from undeleted.games.release_once import ReleaseOnce
from undeleted.verifying import _game_bounds, exact, finite_world, linear_program, step_laws
from undeleted.verifying.exact import GAMES, FiniteWorld, verify
from undeleted.verifying.linear_program import LinearProgram, Solved
from undeleted.verifying.small_worlds import WorldNoise, named_world, names

HALF = Fraction(1, 2)
X = Number("x", min=0, max=1)
EVERYTHING = Leakage(lambda data, coins: data, shares_coins=False)


def named(name, domain=2, n=3, k=1, **more):
    return named_world(name, domain=domain, n=n, k=k, **more).world


def retrained_median(domain=2, n=3, k=1, **more):
    return FiniteWorld.of(lambda: Retrain(median), range(domain), n, k, **more)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(
    "name",
    [
        "exact-sum",
        "retrain-sum",
        "bulletin-board",
        "frozen-median",
        "ignore",
        "xor-pad",
        "noisy-sum",
        "tree-counter",
    ],
)
def test_these_are_perfectly_safe(name, game):
    wide = 3 if name == "tree-counter" else 4  # whose noise makes many worlds
    for domain, n, k in ((2, 3, 1), (2, 3, 2), (wide, 2, 2)):
        found = verify(named(name, domain, n, k), game)
        assert found.literal.upper == found.keep_z0.upper == 0
        assert found.certified
        assert found.safe
        assert found.simulator
        assert found.witness is None


@pytest.mark.parametrize("game", GAMES)
def test_the_exact_median_of_three_bits_is_off_by_one_half(game):
    found = verify(retrained_median(), game)
    assert found.literal.lower == found.literal.upper == found.keep_z0.lower == found.keep_z0.upper == HALF
    assert found.certified


@pytest.mark.parametrize("game", GAMES)
def test_a_pad_on_somebody_who_stayed_is_off_by_one_half(game):
    for n in (2, 3):
        assert verify(named("xor-undeleted", 2, n, 1), game).literal.lower == HALF


def test_recomputing_is_off_and_by_more_for_a_simulator_that_keeps_z0():
    found = verify(named("recompute-sum"))
    assert 0 < found.literal.lower == found.literal.upper < found.keep_z0.lower == found.keep_z0.upper
    assert (found.literal.lower, found.keep_z0.lower) == (Fraction(1, 9), Fraction(11, 63))


@pytest.mark.parametrize("game", GAMES)
def test_hidden_range_counts_are_safe_for_who_is_told_them_and_not_else(game):
    assert verify(named("range-counts", 3, 2, 1), game).literal.upper == 0
    assert verify(named("hidden-range-median"), game).literal.lower > 0
    assert verify(named("hidden-range-median", leakage="shared"), game).keep_z0.upper == 0


def test_a_fresh_draw_of_the_leakage_helps_who_may_say_another_z0_more():
    found = verify(named("hidden-range-median", leakage="fresh"))
    assert found.literal.upper == 0  # it makes a whole transcript of its own
    assert 0 < found.keep_z0.lower < verify(named("hidden-range-median")).keep_z0.lower
    assert found.simulator


@pytest.mark.parametrize("game", GAMES)
def test_a_simulator_that_is_told_everything_is_perfect(game):
    world = retrained_median(leakage=EVERYTHING, by_value=True)
    assert verify(world, game).literal.upper == 0
    assert verify(world, game, shortcuts=False).literal.upper == 0


@pytest.mark.parametrize("game", GAMES)
def test_side_information_helps_the_simulator(game):
    told = verify(retrained_median(3, 3, 2, side=sum, by_value=True), game)
    assert told.literal.upper < verify(retrained_median(3, 3, 2, by_value=True), game).literal.lower


@pytest.mark.parametrize(
    "name", ["exact-sum", "retrain-median", "threshold", "xor-undeleted", "noisy-sum", "hidden-range-median"]
)
@pytest.mark.parametrize("game", GAMES)
def test_the_shortcuts_agree_with_the_programs(name, game):
    world = named(name, 2, 3, 2)
    short, long = verify(world, game), verify(world, game, shortcuts=False)
    assert (short.literal, short.keep_z0) == (long.literal, long.keep_z0)
    assert long.programs > 0


def test_for_deterministic_algorithms_the_shortcut_is_one_less_one_over_the_transcripts():
    found = verify(retrained_median(3, 3, 1))
    assert found.programs == 0
    assert found.literal.lower == Fraction(2, 3)  # 011 → 0 or 1 or 2 may follow a median of 2 with 2 deleted


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 1.5, 3.0]), st.booleans())
def test_the_optimum_is_that_of_the_plain_program(seed, factor, keep):
    """Another formulation, another solver, nothing merged."""
    found = verify(
        FiniteWorld.of(lambda: RandomTable(seed), (0, 1), 2, 1), epsilon=math.log(factor), shortcuts=False
    )
    optimum = found.keep_z0 if keep else found.literal
    plain = plain_delta(lambda: RandomTable(seed), (0, 1), 2, 1, math.exp(math.log(factor)), keep)
    assert found.certified
    assert float(optimum.lower) == pytest.approx(plain, abs=1e-7)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_the_optimum_is_that_of_the_plain_program_with_two_deletions(factor, keep):
    def make():
        return Recompute(NoisySum(X, ClampedGeometric(HALF, 0, 2)), Schema([X]))

    found = verify(FiniteWorld.of(make, (0, 1), 3, 2, by_value=True), epsilon=math.log(factor))
    plain = plain_delta(make, (0, 1), 3, 2, factor, keep)
    assert float((found.keep_z0 if keep else found.literal).lower) == pytest.approx(plain, abs=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_harder_games_are_harder(seed):
    """dynamic ≥ static ≥ non-adaptive for algorithms that count points by value; and literal ≤ keep z0."""
    world = FiniteWorld.of(lambda: RandomTable(seed), (0, 1), 3, 2, by_value=True)
    found = [verify(world, game, time_limit=3000) for game in GAMES]
    for easier, harder in pairwise(found):
        assert easier.literal.lower <= harder.literal.upper
        assert easier.literal.lower <= harder.literal.lower
    for verdict in found:
        assert verdict.literal.lower <= verdict.literal.upper <= verdict.keep_z0.upper
        assert verdict.literal.lower <= verdict.keep_z0.lower <= verdict.keep_z0.upper


def test_letting_z0_choose_the_person_is_stronger():
    """In the dynamic game the attacker deletes another person after another first output."""
    static, dynamic = (verify(named("recompute-sum"), game) for game in ("static", "dynamic"))
    assert static.literal.upper < dynamic.literal.lower
    assert static.keep_z0.upper < dynamic.keep_z0.lower
    assert dynamic.certified
    assert (dynamic.literal.lower, dynamic.keep_z0.lower) == (Fraction(10, 81), Fraction(35, 186))


def test_an_algorithm_that_minds_positions_is_static_safe_and_not_non_adaptive_safe():
    """Static ⇒ non-adaptive needs points that count by value: here the static simulator knows the index."""
    world = FiniteWorld.of(Position, (0, 1), 2, 1)
    assert verify(world, "static").literal.upper == 0
    assert verify(world, "non-adaptive").literal.lower == HALF


def test_fewer_deletions_than_k_are_checked_too():
    """With k = n everything is deleted, and then a simulator knows it all; it does not on the way."""
    assert verify(retrained_median(2, 3, 3)).literal.lower == HALF


@pytest.mark.slow
def test_more_deletions_never_help_the_simulator():
    found = [verify(named("renoised-tree", 2, 3, k), game).literal.lower for game in GAMES for k in (1, 2)]
    assert all(one <= two for one, two in zip(found[::2], found[1::2], strict=True))


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0])
def test_more_epsilon_less_delta_with_a_rigorous_interval(epsilon):
    exact, close = verify(named("recompute-sum")), verify(named("recompute-sum"), epsilon=epsilon)
    assert close.certified
    assert not close.literal.exact or close.literal.upper == 0
    assert close.literal.upper < exact.literal.lower


def test_the_witness_is_what_the_algorithm_does():
    """Replay it: run the algorithm on the two data sets and find the same conditional laws."""
    found = verify(named("recompute-sum", 2, 3, 2)).witness

    def make():
        return Recompute(NoisySum(X, ClampedGeometric(HALF, 0, 3)), Schema([X]))

    for side, data in enumerate(found["data"]):

        def run(coins, data=data):
            curator = make()
            first = int(curator.start(data, coins).value[0])
            return first, tuple(int(curator.delete(label).value[0]) for label in found["strategy"])

        law = exact_law(run)
        first = sum(p for (z, _), p in law.items() if z == found["first"])
        assert str(first) == found["first_probabilities"][side]
        for row in found["then"]:
            mass = law.get((found["first"], tuple(row["outputs"])), 0)
            assert str(mass / first) == row["probabilities"][side]
    assert any(row["probabilities"][0] != row["probabilities"][1] for row in found["then"])


def test_every_adaptive_witness_compares_data_sets_that_agree_on_the_deleted():
    for name in ("retrain-median", "recompute-sum", "xor-undeleted"):
        witness = verify(named(name, 2, 3, 1), "dynamic").witness
        for row in witness["then"]:
            assert row["deleted"] == witness["then"][0]["deleted"]


def test_the_simulator_of_a_safe_mechanism_is_forget():
    for entry in verify(named("noisy-sum")).simulator:
        assert entry["say"] == {str(entry["first"] - entry["delete"][0]): "1"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Ok(0), Refused(0)),
        ({1, 2}, (1, 2)),
        ({}, ()),
        (np.zeros((0, 2)), np.zeros((0, 3))),
        (math.nan, "nan"),
        (HALF, "1/2"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (1, True),
        (1, 1.0),
        (b"x", "x"),
    ],
    ids=repr,
)
def test_outputs_that_an_observer_tells_apart_are_told_apart(one, other):
    assert verify(FiniteWorld.of(lambda: LeaksByType(one, other), (0, 1), 2, 1)).literal.lower == HALF


@pytest.mark.parametrize(
    ("one", "other"),
    [(True, np.True_), (math.nan, np.float32("nan")), (3, np.int16(3)), ([1], (1,))],
    ids=repr,
)
def test_and_those_that_nobody_tells_apart_are_not(one, other):
    assert verify(FiniteWorld.of(lambda: LeaksByType(one, other), (0, 1), 2, 1)).safe


def test_an_algorithm_that_cannot_be_pickled_after_a_while_is_run_from_its_start_then():
    found = verify(FiniteWorld.of(LateGenerator, (0, 1), 3, 2, by_value=True))
    assert found.certified
    assert found.literal.lower == HALF


def test_a_solver_without_time_leaves_bounds_that_hold(monkeypatch):
    """Nothing but zeros from the solver: the bounds are worse, and still hold."""
    worlds = [named("recompute-sum"), named("xor-undeleted"), named("hidden-range-median", leakage="fresh")]
    wholes = {
        (i, g, e): verify(w, g, epsilon=e) for i, w in enumerate(worlds) for g in GAMES for e in (0, 0.7)
    }

    def idle(self, seconds):
        return Solved([0.0] * len(self.costs), [0.0] * len(self.rows), Fraction(-1), False)

    monkeypatch.setattr(LinearProgram, "solve", idle)
    for (i, game, epsilon), whole in wholes.items():
        lazy = verify(worlds[i], game, epsilon=epsilon)
        for fast, slow in ((lazy.literal, whole.literal), (lazy.keep_z0, whole.keep_z0)):
            assert fast.lower <= slow.upper
            assert slow.lower <= fast.upper


@pytest.mark.parametrize("name", names())
def test_the_order_of_the_data_does_not_matter_to_ours(name):
    """What the verifier takes for granted of everything with a name, on every order."""
    found = verify(replace(named(name, 2, 3, 2), order_known=False), time_limit=3000)
    assert found.order.endswith("checked on every order")


def test_an_algorithm_that_cannot_be_pickled_is_run_from_its_start():
    by_steps, by_replay = (
        verify(retrained_median(3, 3, 2)),
        verify(FiniteWorld.of(WithClosure, range(3), 3, 2)),
    )
    assert (by_steps.literal, by_steps.keep_z0) == (by_replay.literal, by_replay.keep_z0)


def test_an_instance_and_a_mechanism_can_be_verified_too():
    noisy = NoisySum(X, ClampedGeometric(HALF, 0, 3))
    for subject_ in (noisy, ReleaseOnce(noisy, Schema([X])), lambda: ReleaseOnce(noisy, Schema([X]))):
        assert verify(FiniteWorld.of(subject_, (0, 1), 3, 1, schema=Schema([X]))).safe


class Clock:
    """A clock that moves on by one second whenever somebody reads it."""

    def __init__(self):
        self.reads = 0

    def __call__(self):
        self.reads += 1
        return float(self.reads)


@pytest.mark.parametrize(("game", "reads"), list(zip(GAMES, (300, 200, 400), strict=True)))
def test_a_time_limit_leaves_valid_bounds(game, reads, monkeypatch):
    clock = Clock()
    for module in (exact, finite_world, step_laws, _game_bounds, linear_program):
        monkeypatch.setattr(module, "monotonic", clock)
    world = named("recompute-sum", 3, 2, 2, noise=WorldNoise(low=0, high=3))
    whole = verify(world, game, time_limit=10**4)
    hurried = verify(world, game, time_limit=reads)  # enough to walk the world, and not to solve it
    assert not hurried.certified
    for fast, slow in ((hurried.literal, whole.literal), (hurried.keep_z0, whole.keep_z0)):
        assert fast.lower <= slow.upper
        assert slow.lower <= fast.upper
        assert fast.lower <= fast.upper


def test_merging_makes_the_programs_ten_times_smaller():
    found = verify(named("recompute-sum", 3, 4, 2, noise=WorldNoise(low=-1, high=9)))
    assert found.certified
    assert found.plain_variables >= 10 * found.variables


@pytest.mark.parametrize("name", names())
def test_everything_with_a_name_can_be_verified(name):
    assert verify(named(name, 2, 2, 1)).certified


SAFE_BASELINES = {"ignore", "xor-pad", "cumulative-xor-pad", "tree-counter", "retrain-sum"}


def test_every_baseline_that_should_fail_fails_with_its_witness():
    from undeleted.verifying.small_worlds import VARIANTS, folder_of

    for name in names():
        base = VARIANTS.get(name, (name, {}))[0]
        if folder_of(base) == "undeleted.curate.mechanisms" or name in SAFE_BASELINES:
            continue
        for game in GAMES:
            found = verify(named(name), game)
            assert found.literal.lower > 0, name
            assert found.witness is not None
            assert len(found.witness["then"]) > 1
