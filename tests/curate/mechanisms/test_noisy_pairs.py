"""Pairs of items: all noised, few kept, and after deletions those that a fresh release would keep."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from support.fits import ALARM, fit, with_scale
from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyPairs
from undeleted.curate.statistics import ItemPairs
from undeleted.errors import BadColumns, Misuse
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Boolean, Number, Schema

A, B = Boolean("a"), Boolean("b")
WORLD = SmallWorld(
    NoisyPairs((A, B), ClampedGeometric(Fraction(1, 2), 0, 1), at_most=2, threshold=0),
    Schema([A, B]),
    points=((False, True), (True, True), (True, False)),
    others=((True, True), (False, True), (True, True)),
)
SHOP = tuple(Boolean(f"i{k}") for k in range(12))
BASKETS = np.random.default_rng(5).random((600, 12)) < 0.25


def table(rows):
    return Schema(SHOP).table([tuple(map(bool, row)) for row in rows])


@pytest.mark.parametrize("noise", [Budget(4.0), Budget(1.0, 1e-6), Zcdp(0.2)], ids=str)
def test_to_forget_is_to_have_released_the_rest_with_the_same_coins(noise):
    """Exactly, though pairs are dropped: one by one, and at once."""
    mechanism = NoisyPairs(SHOP, noise, at_most=5)
    first = mechanism.release(Arrays(table(BASKETS)), seeded(3))
    rest = mechanism.release(Arrays(table(BASKETS[400:])), seeded(3))
    at_once = mechanism.forget(first, mechanism.contribution(table(BASKETS[:400])))
    step = first
    for row in BASKETS[:400]:
        step = mechanism.forget(step, mechanism.contribution(table([row])))
    assert at_once == step == rest
    assert first.pairs.size > rest.pairs.size > 0, "some pairs were dropped on the way"


def test_counts_are_those_that_a_person_would_count():
    mechanism = NoisyPairs(SHOP, NoNoise(), at_most=4)
    release = mechanism.release(Arrays(table(BASKETS)), seeded(1))
    counted = [row & (np.cumsum(row) <= 4) for row in BASKETS]
    assert np.sum(counted) < np.sum(BASKETS), "some have too many items, of which the first four count"
    assert release.items.tolist() == np.sum(counted, axis=0).tolist()
    together = {(i, j): sum(r[i] and r[j] for r in counted) for i, j in combinations(range(12), 2)}
    found = zip(*map(np.ndarray.tolist, mechanism.statistic.items_of(release.pairs)), strict=True)
    assert dict(zip(found, release.counts.tolist(), strict=True)) == {p: n for p, n in together.items() if n}


def test_a_cap_beyond_the_catalogue_is_the_catalogue():
    wide, exact = (NoisyPairs((A, B), Budget(1.0), at_most=most) for most in (8, 2))
    assert wide.laws == exact.laws


def test_pairs_are_numbered_row_by_row():
    for n in (2, 3, 12, 50):
        pairs = ItemPairs(tuple(Boolean(f"i{k}") for k in range(n)), at_most=2)
        i, j = pairs.items_of(np.arange(pairs.pairs))
        assert list(zip(i.tolist(), j.tolist(), strict=True)) == list(combinations(range(n), 2))
        assert pairs.pair(i, j).tolist() == list(range(pairs.pairs))


@pytest.mark.parametrize("noise", [Budget(1.0), Zcdp(0.1)], ids=str)
def test_the_noise_of_items_and_of_pairs_is_as_wide_as_its_law_says(noise):
    """Every pair is noised, the empty ones as well.  Chi-square at 1e-9."""
    mechanism = NoisyPairs(SHOP, noise, at_most=3, threshold=-(10**9))
    releases = [mechanism.release(Arrays(table(BASKETS[:2])), seeded(seed)) for seed in range(120)]
    exact = Arrays(table(BASKETS[:2])).total(mechanism.statistic)
    noise = np.array([r.value for r in releases]) - exact
    assert noise.shape[1] == 12 + 66
    for law, found in zip(mechanism.laws, (noise[:, :12].ravel(), noise[:, 12:].ravel()), strict=True):
        assert fit(found, law) > ALARM
        assert fit(found, with_scale(law, 0.7)) < ALARM, "this test cannot see too little noise"
        assert fit(found, with_scale(law, 1.4)) < ALARM, "this test cannot see too much noise"


def test_the_budget_is_spent_and_the_cap_decides_its_noise():
    for most in (2, 5, 12):
        mechanism = NoisyPairs(SHOP, Budget(1.0), at_most=most)
        assert account(mechanism.events, 0).epsilon == pytest.approx(1.0)
        assert mechanism.laws[1].scale == pytest.approx(most * (most - 1) / 2 * 1.25)
        gaussian = NoisyPairs(SHOP, Zcdp(0.1), at_most=most)
        assert sum(e.rho for e in gaussian.events) == pytest.approx(0.1)
        approximate = NoisyPairs(SHOP, Budget(1.0, 1e-6), at_most=most)
        assert account(approximate.events, 1e-6).epsilon <= 1.0
    twice = NoisyPairs(SHOP, Budget(1.0), at_most=5, rows_per_person=2)
    assert account(twice.events, 0).epsilon == pytest.approx(1.0)


def test_of_empty_pairs_few_are_kept():
    """Twice as many as items by expectation; four times as many once in 10⁹ runs (Chernoff)."""
    wide = tuple(Boolean(f"i{k}") for k in range(60))
    for noise in (Budget(1.0), Zcdp(0.1)):
        release = NoisyPairs(wide, noise, at_most=4).release(Arrays(Schema(wide).table([])), seeded(2))
        assert 0 < release.pairs.size < 4 * 60


def test_similar_items_are_those_of_the_same_baskets():
    mechanism = NoisyPairs(SHOP, NoNoise(), at_most=3)
    rows = np.zeros((30, 12), dtype=bool)
    rows[:20, [0, 1]] = True
    rows[20:, [1, 2]] = True
    alike = mechanism.similarities(mechanism.release(Arrays(table(rows)), seeded(1)))
    assert alike[0, 1] == pytest.approx(20 / np.sqrt(21 * 31))
    assert alike[1, 0] == alike[0, 1] > alike[1, 2] > alike[0, 2] == 0


def test_nonsense_is_refused():
    with pytest.raises(BadColumns, match="NoisyPairs takes a Boolean"):
        NoisyPairs((A, Number("n", min=0, max=1)), Budget(1.0), at_most=2)
    with pytest.raises(Misuse, match="two items"):
        NoisyPairs((A,), Budget(1.0), at_most=2)
    for most in (1, 2.0, True):
        with pytest.raises(Misuse, match="not a valid cap"):
            NoisyPairs(SHOP, Budget(1.0), at_most=most)
    with pytest.raises(Misuse, match="not a count"):
        NoisyPairs(SHOP, Budget(1.0), threshold=1.5)
