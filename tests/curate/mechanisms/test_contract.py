"""What every mechanism in the folder keeps.  A newcomer is found by itself; its test file holds its WORLD.

The heart is exact: on enumerated coins, for every attacker tried, the generic simulator's law of the game
equals the real one.  The last test shows that the same attackers do see a curator that retrains.
"""

import importlib.util
import inspect
import pickle
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from support.attackers import adaptive, all_orders
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.mechanisms.exact_sum import ExactSum
from undeleted.curate.mechanisms.noisy_count import NoisyCount
from undeleted.curate.mechanisms.noisy_people import NoisyPeople
from undeleted.curate.releases.linear import Linear
from undeleted.foundations import registry
from undeleted.foundations.coins import exact_law, seeded
from undeleted.foundations.schema import Category, Number, Schema
from undeleted.games.baselines._points import without
from undeleted.games.baselines.retrain import Retrain, median
from undeleted.games.dynamic import dynamic_game, ideal_game
from undeleted.games.release_once import ReleaseOnce
from undeleted.games.similarity import total_variation
from undeleted.games.simulator import simulate
from undeleted.games.transcript import plain
from undeleted.verifying.exact import GAMES, FiniteWorld, verify

HERE = Path(__file__).parent
LONG = 3000  # seconds: no test waits for the clock
NAMES = registry.names("undeleted.curate.mechanisms")


def world_of(name):
    path = HERE / f"test_{name.replace('-', '_')}.py"
    assert path.exists(), f"{name} needs a test of its own, with a WORLD: {path.name}"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.WORLD


@pytest.fixture(params=NAMES)
def world(request):
    return world_of(request.param)


def distance(curator, simulator_of, attacker, points, k):
    """How far the ideal game with the attacker's simulator is from the real one, exactly."""
    real = exact_law(lambda coins: dynamic_game(curator(), attacker, points, k, coins))
    ideal = exact_law(lambda coins: ideal_game(curator(), simulator_of(attacker), points, k, coins))
    return total_variation()(real, ideal)


def test_the_generic_simulator_is_perfect(world):
    def curator():
        return ReleaseOnce(world.mechanism, world.schema)

    for points in (world.points, world.others):
        n = len(points)
        for attacker in [*all_orders(n, 2), *adaptive(n, 2)]:
            d = distance(curator, lambda a: simulate(world.mechanism, world.schema, a), attacker, points, 2)
            assert d == 0


@pytest.mark.parametrize(
    "game", [pytest.param(game, marks=() if game == "dynamic" else pytest.mark.slow) for game in GAMES]
)
def test_the_verifier_certifies_it(world, game):
    """The dynamic game implies the others, which `make test-all` plays too.

    No list of attackers, no simulator of ours: the best simulator there is, in every game, is perfect.
    """
    found = verify(finite(world.mechanism, world, n=3, k=2), game, time_limit=LONG)
    assert found.literal.upper == found.keep_z0.upper == 0
    assert found.certified
    assert found.data_sets > 1


def test_the_verifier_rejects_it_when_it_reads_the_data_again(world):
    """The same releases, made afresh of those who remain: with noise or without, somebody shows through.

    A bulletin board and an exact sum are retrained to what they would have said anyway.
    """
    found = verify(finite(lambda: ReadsAgain(world), world, n=2, k=1, kinds=2), time_limit=LONG)
    retrains_to_itself = isinstance(world.mechanism, BulletinBoard | ExactSum)
    counts_only = isinstance(
        world.mechanism, NoisyCount | NoisyPeople
    )  # everybody counts alike: nobody can be told apart
    assert (found.literal.lower > 0) == (not retrains_to_itself and not counts_only)


def finite(subject, world, n, k, kinds=3):
    """The people of the world's data sets, a few at a time."""
    points = sorted(set(world.points) | set(world.others), key=repr)[:kinds]
    return FiniteWorld.of(subject, points, n, k, schema=world.schema, by_value=True)


class ReadsAgain:
    """A mechanism used as people retrain: released again after every deletion."""

    def __init__(self, world):
        self.world = world

    def start(self, data, coins):
        self.left, self.coins = tuple(data), coins
        return self._release()

    def delete(self, points):
        self.left = without(self.left, points)
        return self._release()

    def _release(self):
        return self.world.mechanism.release(Arrays(self.world.schema.table(list(self.left))), self.coins)


def test_the_same_attackers_see_a_curator_that_retrains():
    """A frozen median's simulator, held against a retrained one: it must fail, or the test above is blind."""
    from undeleted.curate.mechanisms.frozen_median import Frozen, FrozenMedian

    x = Number("x", min=0, max=2)

    def curator():
        return Retrain(lambda points: Frozen(median(points)))

    def simulator_of(attacker):
        return simulate(FrozenMedian(x), Schema([x]), attacker)

    found = [distance(curator, simulator_of, a, (0, 1, 2), 2) for a in [*all_orders(3, 2), *adaptive(3, 2)]]
    assert max(found) == 1


def test_forget_has_no_way_to_see_data(world):
    assert list(inspect.signature(type(world.mechanism).forget).parameters) == [
        "self",
        "release",
        "contribution",
    ]


def test_a_copy_made_before_any_data_forgets_identically(world):
    innocent = pickle.dumps(world.mechanism)
    first = world.mechanism.release(Arrays(world.schema.table(list(world.points))), seeded("first"))
    contribution = world.mechanism.contribution(world.schema.table([world.points[0]]))
    copy = pickle.loads(innocent)

    assert plain(copy.forget(first, contribution)) == plain(world.mechanism.forget(first, contribution))
    world.mechanism.release(Arrays(world.schema.table(list(world.others))), seeded("second"))
    assert plain(copy.forget(first, contribution)) == plain(world.mechanism.forget(first, contribution))


def test_order_and_batching_of_deletions_do_not_matter(world):
    mechanism, schema = world.mechanism, world.schema
    first = mechanism.release(Arrays(schema.table(list(world.points))), seeded(7))
    at_once = mechanism.forget(first, mechanism.contribution(schema.table(list(world.points))))
    for order in permutations(world.points):
        release = first
        for point in order:
            release = mechanism.forget(release, mechanism.contribution(schema.table([point])))
        assert plain(release) == plain(at_once)


def test_forgetting_nobody_changes_nothing_and_forgetting_never_changes_the_old_release(world):
    mechanism, schema = world.mechanism, world.schema
    first = mechanism.release(Arrays(schema.table(list(world.points))), seeded(7))
    before = plain(first)

    assert plain(mechanism.forget(first, mechanism.contribution(schema.table([])))) == before
    mechanism.forget(first, mechanism.contribution(schema.table([world.points[0]])))
    assert plain(first) == before


def test_a_mechanism_for_exact_worlds_claims_no_epsilon(world):
    if isinstance(world.mechanism, Linear):
        assert world.mechanism.events is None
    assert not hasattr(world.mechanism, "privacy")


def test_no_record_moves_a_total_further_than_the_noise_is_made_for(world):
    """By brute force over every record of the schema: each block moves in L1 and L2 by its reach at most."""
    for part in getattr(world.mechanism, "parts", (world.mechanism,)):
        if isinstance(part, Linear):
            reaches = [(reach.l1, reach.l2) for reach in part.statistic.sensitivity]
            assert worst_moves(part.statistic, world.schema) == pytest.approx(np.array(reaches))


def worst_moves(statistic, schema):
    """The most that any record of the schema moves each block, in as many cells as it says at most."""
    empty = Arrays(schema.table([])).total(statistic)
    worst = np.zeros((len(statistic.blocks), 2))
    for codes in product(*(range(column.cells) for column in schema.columns)):
        record = {c.name: _value(c, code) for c, code in zip(schema.columns, codes, strict=True)}
        moved = np.abs(Arrays(schema.table([record])).total(statistic) - empty)
        for i, (start, block) in enumerate(zip(statistic.starts, statistic.blocks, strict=True)):
            part = moved[start : start + block.width]
            assert np.count_nonzero(part) <= block.moves
            worst[i] = np.maximum(worst[i], [part.sum(), np.sqrt((part**2).sum())])
    return worst


def _value(column, code):
    if isinstance(column, Number):
        return float(column.min + code * column.step)
    return column.values[code] if isinstance(column, Category) else bool(code)


def test_outputs_can_be_written_down(world):
    release = world.mechanism.release(Arrays(world.schema.table(list(world.points))), seeded(7))
    assert isinstance(hash(plain(release)), int)
    assert not isinstance(plain(release), np.ndarray)
