"""Worlds and algorithms that cannot be verified: named and refused."""

from time import process_time

import pytest

from support.small_algorithms import (
    Endless,
    OwnDice,
    Position,
    RareDice,
    RareOrder,
    Remembering,
    SecretDice,
)
from undeleted.curate.mechanisms.exact_sum import ExactSum
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.errors import BadBudget, BadWorld, NotEnumerable, NotReproducible, TooLarge, UnknownName
from undeleted.foundations.coins import DiscreteLaplace
from undeleted.foundations.schema import Number, Schema
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.verifying import _game_bounds, exact, finite_world, step_laws
from undeleted.verifying.divergence import privacy_of_the_undeleted
from undeleted.verifying.exact import FiniteWorld, verify
from undeleted.verifying.small_worlds import named_world

X = Number("x", min=0, max=1)


def median_world(domain=(0, 1), n=3, k=1):
    return FiniteWorld.of(lambda: Retrain(median), domain, n, k)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"k": 4}, "k must be between 1 and n = 3"),
        ({"k": 0}, "k must be between 1"),
        ({"n": 2.5}, "n must be"),
        ({"domain": ()}, "domain must be at least one point"),
        ({"domain": (1, 1)}, "each of them once"),
    ],
)
def test_impossible_worlds(arguments, message):
    with pytest.raises(BadWorld, match=message):
        median_world(**arguments)


def test_infinitely_many_outcomes():
    with pytest.raises(NotEnumerable, match="DiscreteLaplace has infinitely many"):
        verify(FiniteWorld.of(NoisySum(X, DiscreteLaplace(1.0)), (0, 1), 2, 1, schema=Schema([X])))
    with pytest.raises(NotEnumerable, match="tosses more than"):
        verify(FiniteWorld.of(Endless, (0, 1), 2, 1))


@pytest.mark.parametrize("algorithm", [OwnDice, SecretDice, Remembering, RareDice])
def test_not_a_function_of_the_coins(algorithm):
    with pytest.raises(NotReproducible):
        verify(FiniteWorld.of(algorithm, (0, 1), 2, 1))
    with pytest.raises(NotReproducible):
        verify(FiniteWorld.of(algorithm, (0, 1), 3, 1, by_value=True))
    with pytest.raises(NotReproducible):
        privacy_of_the_undeleted(FiniteWorld.of(algorithm, (0, 1), 3, 1, by_value=True))


def test_a_domain_that_does_not_fit_the_schema():
    with pytest.raises(BadWorld, match="domain must be"):
        verify(FiniteWorld.of(ExactSum(X), (0, 7), 2, 1, schema=Schema([X])))


def test_a_claim_about_order_that_is_not_true():
    with pytest.raises(BadWorld, match="depends on the order"):
        verify(FiniteWorld.of(Position, (0, 1), 2, 1, by_value=True))
    with pytest.raises(BadWorld, match="depends on the order"):
        verify(FiniteWorld.of(RareOrder, (0, 1), 4, 1, by_value=True))


def test_a_mechanism_without_its_schema_and_things_that_are_no_algorithm():
    with pytest.raises(BadWorld, match="the schema of the mechanism"):
        FiniteWorld.of(ExactSum(X), (0, 1), 2, 1)
    with pytest.raises(BadWorld, match="a mechanism, an algorithm"):
        FiniteWorld.of(7, (0, 1), 2, 1)


def test_pads_on_a_domain_that_is_no_power_of_two():
    with pytest.raises(BadWorld, match="power of two"):
        named_world("xor-pad", domain=3, n=2, k=1)


def test_leakage_of_what_hides_nothing_and_unknown_names():
    with pytest.raises(BadWorld, match="leaky mechanisms"):
        named_world("exact-sum", domain=2, n=2, k=1, leakage="shared")
    with pytest.raises(UnknownName, match="Did you mean 'retrain-median'"):
        named_world("retrain-medain", domain=2, n=2, k=1)


def test_a_game_and_an_epsilon_that_make_no_sense():
    with pytest.raises(BadWorld, match="game must be one of"):
        verify(median_world(), "static adaptive")
    with pytest.raises(BadBudget, match="non-negative"):
        verify(median_world(), epsilon=-1)


@pytest.fixture
def own_time(monkeypatch):
    """The verifier's time limits in its own time, whatever else the machine does."""
    for module in (exact, finite_world, step_laws, _game_bounds):
        monkeypatch.setattr(module, "monotonic", process_time)


def test_a_world_that_is_too_large_is_refused_with_its_size_before_anything_is_solved(own_time):
    started = process_time()  # ours, not that of a busy machine
    with pytest.raises(TooLarge, match="less than one of 330 data sets"):
        verify(named_world("range-counts", domain=8, n=4, k=2).world, time_limit=0.2)
    with pytest.raises(TooLarge, match="covered one of 126 data sets"):
        verify(named_world("recompute-sum", domain=5, n=5, k=2).world, time_limit=2)
    assert process_time() - started < 10


def test_with_one_person_nobody_stays():
    with pytest.raises(BadWorld, match="nobody stays"):
        privacy_of_the_undeleted(median_world(n=1))


def test_outputs_that_nobody_could_compare():
    with pytest.raises(BadWorld, match="an output must be numbers"):
        verify(FiniteWorld.of(lambda: Retrain(lambda points: object()), (0, 1), 2, 1))
