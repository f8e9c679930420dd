"""Learned attackers find what there is to find, and nothing where there is nothing.

ALARM: held-out advantages of 400 runs are compared with 0.25; chance reaches that with probability 1e-6.
"""

import numpy as np
import pytest

from undeleted.auditing.distinguishers import Runs, train

RUNS, CHANCE = 400, 0.25


def advantage(make, seed=3):
    generator = np.random.default_rng(seed)
    ones, others = (Runs([make(generator, world) for _ in range(2 * RUNS)]) for world in (0, 1))
    distinguisher = train(ones[:RUNS], others[:RUNS])
    gained = np.mean(distinguisher.scores(ones[RUNS:]) > 0) - np.mean(distinguisher.scores(others[RUNS:]) > 0)
    return float(gained), distinguisher.name


def pad(generator, world):
    z = int(generator.integers(0, 16))
    return (z, z ^ (3 if world else 12))


def fresh(generator, world):
    return tuple(float(world + generator.normal(scale=1.5)) for _ in range(17))


def cancelled(generator, world):
    """Noise that is the same before and after: the step depends on it, and a little on the world."""
    z = generator.normal(size=2)
    return tuple(z.tolist()), tuple((z * (0.9 + 0.001 * world) + 0.1 * z**2).tolist())


def texts(generator, world):
    return (None, "red" if generator.random() < (0.8 if world else 0.2) else "blue")


def shapes(generator, world):
    return ((), (1,) if world else (1, 2))


@pytest.mark.parametrize(
    ("make", "least", "by"),
    [
        (pad, 0.9, "lookup"),
        (fresh, 0.7, "likelihood"),
        (cancelled, 0.9, "likelihood"),
        (texts, 0.4, "lookup"),
        (shapes, 0.9, "lookup"),
    ],
)
def test_a_leak_is_found_by_the_attacker_that_is_made_for_it(make, least, by):
    gained, name = advantage(make)
    assert gained > least
    assert by in name


@pytest.mark.parametrize("make", [pad, fresh, cancelled, texts, shapes])
def test_where_both_worlds_are_one_there_is_nothing_to_find(make):
    gained, _ = advantage(lambda generator, world: make(generator, 0))
    assert abs(gained) < CHANCE


def test_outputs_without_a_common_shape_have_no_array():
    assert Runs([(1, 2), (1, (2, 3))]).array is None
    assert Runs([(1, "a")]).array is None
    assert Runs([(1.0, float("inf"))]).array is None
    assert Runs([((1, 2), (3, 4))]).array.shape == (1, 2, 2)
