"""Boxes that grow: both halves noised, the shape fixed for ever, leaves that hold who is left.

Covers: curate/releases/partition.py, curate/releases/clusters.py
"""

from fractions import Fraction

import numpy as np
import pytest

from support.fits import ALARM, fit, with_scale
from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import GrownBoxes
from undeleted.curate.statistics import Boxes
from undeleted.errors import BadBudget, BadColumns, Misuse
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Boolean, Category, Number, Schema

A = Number("a", min=0, max=3)
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=1)
WORLD = SmallWorld(
    GrownBoxes((A,), (LAW, LAW, NoNoise()), clusters=1, depth=2, threshold=0),
    Schema([A]),
    points=(0, 1, 3),
    others=(2, 2, 0),
)
X, Y = Number("x", min=0, max=255), Number("y", min=0, max=90)
OVER = (X, Y)
PEOPLE = Schema(OVER)
RNG = np.random.default_rng(11)
ROWS = np.concatenate(
    [RNG.normal((60, 20), (12, 6), (6000, 2)), RNG.normal((200, 70), (20, 8), (4000, 2))]
).round()
ROWS = np.clip(ROWS, 0, (255, 90)).astype(int)[RNG.permutation(10_000)]


def table(rows):
    return PEOPLE.table([tuple(row) for row in rows.tolist()])


class Recorded:
    """Coins that remember the noise they added, call by call."""

    kind = "seeded"

    def __init__(self, seed):
        self.coins, self.noise = seeded(seed), []

    def noisy(self, law, exact):
        noisy = self.coins.noisy(law, exact)
        self.noise.append((law, noisy - exact))
        return noisy


def exact_cells(mechanism, release, rows):
    """The true counts of the published boxes and offsets of the published leaves, row by row."""
    codes = np.asarray(rows)
    counts, offsets = [], []
    for level, paths in enumerate(release.paths):
        boxes = mechanism.levels[level]
        mine = [_path(boxes, row) for row in codes]
        counts.append(np.array([mine.count(int(p)) for p in paths]))
        leaf = release.leaf[level]
        for path in paths[leaf]:
            inside = codes[[m == int(path) for m in mine]]
            offsets.append([sum(_offset(boxes, j, row[j]) for row in inside) for j in range(codes.shape[1])])
    return counts, np.array(offsets)


def _path(boxes, row):
    """By halving intervals, as a person would."""
    low = [-pad for pad in boxes.pads]
    path = 0
    for column, half in boxes.cuts:
        above = row[column] >= low[column] + half
        path = 2 * path + int(above)
        low[column] += half if above else 0
    return path


def _offset(boxes, j, code):
    span = boxes.spans[j]
    first = (code + boxes.pads[j]) // span * span - boxes.pads[j]
    return round((code - first - (span - 1) / 2) * 2 * boxes.unit / span)


@pytest.mark.parametrize("noise", [Budget(2.0), Budget(1.0, 1e-6), Zcdp(0.1)], ids=str)
def test_each_surviving_leaf_is_the_true_remaining_statistic_plus_its_original_noise(noise):
    mechanism, coins = GrownBoxes(OVER, noise, clusters=3), Recorded("recorded")
    rows = ROWS[:1500]
    release = mechanism.release(Arrays(table(rows)), coins)
    after = release
    for batch in np.array_split(rows[:900], 6):
        after = mechanism.forget(after, mechanism.contribution(table(batch)))
    levels = len(release.counts)
    assert levels >= 4
    assert any(leaf.any() for leaf in release.leaf[:-1]), "some leaves are not at the bottom"
    noises = [noise for _, noise in coins.noise]
    counts, offsets = exact_cells(mechanism, after, rows[900:])
    for level in range(levels):
        assert np.array_equal(after.counts[level], counts[level] + noises[level])
    drawn = np.concatenate([part.reshape(-1, 2) for part in noises[levels:]])
    assert np.array_equal(after.offsets, offsets + drawn)
    assert all(map(np.array_equal, after.paths, release.paths)), "the shape never changes"


def test_the_shape_depends_on_noisy_counts_alone():
    """Whoever is handed the counts draws the same shape; empty halves are there, and noised."""
    mechanism = GrownBoxes(OVER, Budget(1.0), clusters=2)
    release = mechanism.release(Arrays(table(ROWS)), seeded(3))
    for level in range(len(release.counts) - 1):
        cut = release.counts[level] > mechanism.thresholds[level]
        halves = np.repeat(release.paths[level][cut], 2) * np.uint64(2)
        halves[1::2] += np.uint64(1)
        assert np.array_equal(release.paths[level + 1], halves)
    counts, _ = exact_cells(mechanism, release, ROWS[:0])
    exact, _ = exact_cells(mechanism, release, ROWS[::10])
    empty = np.concatenate(exact) == 0
    assert empty.sum() > 5
    assert np.count_nonzero(np.concatenate(release.counts)[empty]) > empty.sum() / 2
    assert all(c.sum() == 0 for c in counts)


@pytest.mark.parametrize("noise", [Budget(0.7), Zcdp(0.05)], ids=str)
def test_the_noise_of_levels_and_offsets_is_as_wide_as_its_law_says(noise):
    """Too little and too much noise are both seen.  Chi-square at 1e-9."""
    mechanism = GrownBoxes(OVER, noise, clusters=2, depth=4, threshold=-1e9)
    drawn = {3: [], 4: []}
    for seed in range(300):
        coins = Recorded(seed)
        mechanism.release(Arrays(table(ROWS[:3])), coins)
        drawn[3].append(coins.noise[3][1])
        drawn[4] += [part for law, part in coins.noise if law is mechanism.laws[4]]
    for which, parts in drawn.items():
        law, found = mechanism.laws[which], np.concatenate(parts)
        coarse = max(1, round(getattr(law, "scale", 0) or law.sigma) // 20)
        found, law = np.round(found / coarse).astype(int), with_scale(law, 1 / coarse)
        assert fit(found, law) > ALARM
        assert fit(found, with_scale(law, 0.8)) < ALARM, "this test cannot see too little noise"
        assert fit(found, with_scale(law, 1.25)) < ALARM, "this test cannot see too much noise"


@pytest.mark.parametrize("over", [(A,), (A, Boolean("b")), (Number("w", min=0, max=4), A)], ids=str)
def test_no_record_moves_a_release_further_than_the_noise_is_made_for(over):
    """Every record of the grid, every depth: counts by 1 a level, offsets by the reach, which is met."""
    most = Boxes(over, 1).most
    worst1 = worst2 = 0
    for depth in range(1, most + 1):
        mechanism = GrownBoxes(over, NoNoise(), clusters=1, depth=depth, threshold=-1)
        schema = Schema(list(over))
        nobody = mechanism.release(Arrays(schema.table([])), seeded(1))
        for codes in np.ndindex(*(c.cells for c in over)):
            left = mechanism.forget(nobody, np.array([codes]))
            moved = [a - b for a, b in zip(nobody.counts, left.counts, strict=True)]
            assert all(m.sum() == np.abs(m).sum() == 1 for m in moved)
            offsets = np.abs(nobody.offsets - left.offsets)
            assert np.count_nonzero(offsets.any(axis=1)) <= 1, "a record is in one leaf"
            assert offsets.sum() <= mechanism.reach.l1
            assert np.sqrt((offsets.astype(float) ** 2).sum()) <= mechanism.reach.l2 * (1 + 1e-12)
            worst1, worst2 = max(worst1, offsets.sum()), max(worst2, np.sqrt((offsets**2).sum()))
    assert worst1 == mechanism.reach.l1
    assert worst2 == pytest.approx(mechanism.reach.l2)


def test_one_budget_pays_for_all_levels_and_the_offsets():
    for noise, delta in ((Budget(0.8), 0.0), (Budget(0.8, 1e-6), 1e-6)):
        for rows in (1, 3):
            mechanism = GrownBoxes(OVER, noise, rows_per_person=rows)
            assert 0.97 * 0.8 < account(mechanism.events, delta).epsilon <= 0.8 * (1 + 1e-9)
            assert len(mechanism.events) == mechanism.deepest + 1
    assert sum(e.rho for e in GrownBoxes(OVER, Zcdp(0.1)).events) == pytest.approx(0.1)


def test_more_rows_or_a_larger_budget_cut_deeper():
    depths = [GrownBoxes(OVER, Budget(e)).deepest for e in (0.05, 0.5, 5.0)]
    assert depths == sorted(depths)
    assert depths[0] < depths[2]
    few, many = (GrownBoxes(OVER, Budget(1.0), expected_rows=n).deepest for n in (500, 10**6))
    assert few < many <= Boxes(OVER, 1).most
    assert GrownBoxes(OVER, Budget(1e9)).deepest == 15, "as fine as the grid"


def test_without_noise_leaves_hold_the_people_and_their_means():
    mechanism = GrownBoxes(OVER, NoNoise(), clusters=4, depth=9, threshold=30)
    release = mechanism.release(Arrays(table(ROWS)), seeded(1))
    leaves = mechanism.leaves(release)
    assert leaves.counts.sum() == len(ROWS)
    codes = ROWS.astype(float)
    assert (leaves.counts[:, None] * leaves.means).sum(axis=0) == pytest.approx(codes.sum(axis=0))
    assert np.all(np.abs(leaves.means - leaves.middles) <= leaves.halves + 1e-9)


def test_there_are_twice_as_many_leaves_as_clusters_even_of_nobody():
    for clusters in (1, 3, 8):
        mechanism = GrownBoxes(OVER, Budget(0.01), clusters=clusters)
        release = mechanism.release(Arrays(table(ROWS[:0])), seeded(1))
        assert len(release.offsets) >= 2 * clusters


def test_halves_are_known_better_with_their_parents():
    """Adjusted counts stray less than the noisy ones of the same leaves: 200 seeded releases."""
    mechanism = GrownBoxes(OVER, Budget(1.0), clusters=2, depth=3, threshold=-1e9)
    exact, _ = exact_cells(mechanism, mechanism.release(Arrays(table(ROWS[:200])), seeded(0)), ROWS[:200])
    plain, adjusted = [], []
    for seed in range(200):
        release = mechanism.release(Arrays(table(ROWS[:200])), seeded(seed))
        plain.append(release.counts[-1] - exact[-1])
        adjusted.append(mechanism.leaves(release).counts - exact[-1])
    assert np.std(adjusted) < 0.95 * np.std(plain)
    assert np.std(adjusted) == pytest.approx(np.sqrt(mechanism.leaves(release).variances.mean()), rel=0.1)


def test_nonsense_is_refused():
    with pytest.raises(Misuse, match="8 clusters are too many for at most 4 leaves"):
        GrownBoxes(OVER, Budget(1.0), depth=2)
    with pytest.raises(BadBudget, match="each of 3 levels and the offsets"):
        GrownBoxes(OVER, (LAW, LAW), depth=3, clusters=2, threshold=0)
    with pytest.raises(Misuse, match="no threshold follows"):
        GrownBoxes(OVER, NoNoise())
    with pytest.raises(Misuse, match="boxes cannot have"):
        GrownBoxes(OVER, Budget(1.0), depth=99)
    for wrong in ({"clusters": 0}, {"clusters": 2.5}, {"expected_rows": -1}, {"threshold": float("nan")}):
        with pytest.raises(Misuse):
            GrownBoxes(OVER, Budget(1.0), **wrong)
    with pytest.raises(Misuse, match="need a column"):
        GrownBoxes((), Budget(1.0))
    with pytest.raises(BadColumns, match="categories cannot be added"):
        GrownBoxes((Category("g", values=("a", "b")),), Budget(1.0))


@pytest.mark.parametrize("left", [3000, pytest.param(300, marks=pytest.mark.slow), 0])
def test_sizes_of_clusters_hold_as_often_as_they_say_even_of_nobody(left):
    """Three clusters, 30 seeded releases at 95%: fewer than 80% of 90 once in 10⁶ runs (binomial)."""
    pytest.importorskip("sklearn")
    from undeleted.curate.releases.clusters import clusters, sizes_within

    mechanism = GrownBoxes(OVER, Budget(5.0), clusters=3)
    rows, held = ROWS[:3000], 0
    exact, people, gone = (
        Arrays(table(rows[:left])),
        Arrays(table(rows)),
        mechanism.contribution(table(rows[left:])),
    )
    for seed in range(30):
        release = mechanism.forget(mechanism.release(people, seeded(seed)), gone)
        found = clusters(mechanism, release, 3)
        true = np.zeros(3)
        first = 0
        for level, leaf in enumerate(release.leaf):
            if leaf.any():
                inside = exact.total_at(mechanism.levels[level], release.paths[level][leaf].astype(np.int64))
                np.add.at(true, found.of[first : first + inside.size], inside)
                first += inside.size
        low, high = sizes_within(found, 0.95)
        held += np.sum((low <= true) & (true <= high))
    assert held >= 0.8 * 90


@pytest.mark.parametrize("cells", [3, 17, 65, 73, 100])
def test_on_a_padded_grid_nothing_lies_outside_of_it(cells):
    over = (Number("x", min=0, max=cells - 1), Number("y", min=0, max=cells - 1))
    mechanism = GrownBoxes(over, Budget(0.5), clusters=4)
    schema = Schema(over)
    for seed in range(5):
        release = mechanism.release(Arrays(schema.table([(1, 1)] * 200)), seeded(seed))
        leaves = mechanism.leaves(release)
        assert leaves.means.min() >= 0
        assert leaves.means.max() <= cells - 1
        for level, paths in enumerate(release.paths):
            boxes = mechanism.levels[level]
            codes = [tuple(code) for code in np.ndindex(cells, cells)]
            there = {_path(boxes, code) for code in codes}
            assert boxes.hold(paths).tolist() == [int(p) in there for p in paths]
            assert boxes.holding == len(there)
        empty = np.concatenate(
            [
                ~mechanism.levels[i].hold(p[f])
                for i, (p, f) in enumerate(zip(release.paths, release.leaf, strict=True))
            ]
        )
        assert not leaves.counts[empty].any(), "a box of padding is known to be empty"
