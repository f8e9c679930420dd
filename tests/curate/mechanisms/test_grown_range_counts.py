"""Range counts on a grown tree: every child noised, the shape fixed for ever, answers that hold."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.fits import ALARM, fit, with_scale
from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import GrownRangeCounts
from undeleted.curate.statistics import Prefix
from undeleted.errors import BadBudget, Misuse, RejectedValue, TooLarge
from undeleted.foundations.coins import ClampedGeometric, DiscreteLaplace, NoNoise, secure, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Number, Schema

X = Number("x", min=0, max=3)
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=1)
WORLD = SmallWorld(
    GrownRangeCounts(X, LAW, branching=2, threshold=0), Schema([X]), points=(0, 1, 3), others=(2, 2, 0)
)

WIDE = Number("w", min=0, max=2**32 - 1)
PEOPLE = Schema([WIDE])
VALUES = np.exp(seeded("incomes").noisy(DiscreteLaplace(70.0), np.full(20_000, 1500)) / 100).astype(np.int64)
VALUES = np.minimum(VALUES, 2**32 - 1)


def exact_counts(mechanism, release, values):
    """The true counts of the published nodes."""
    totals = Arrays(PEOPLE.table(values))
    spans = [mechanism._span(level) for level in range(len(release.counts))]
    return [totals.total_at(Prefix(WIDE, s), p) for s, p in zip(spans, release.prefixes, strict=True)]


class Recorded:
    """Coins that remember the noise they added."""

    kind = "seeded"

    def __init__(self, seed):
        self.coins, self.noise = seeded(seed), []

    def noisy(self, law, exact):
        noisy = self.coins.noisy(law, exact)
        self.noise.append(noisy - exact)
        return noisy


@pytest.mark.parametrize("noise", [Budget(1.0), Budget(1.0, 1e-6)], ids=str)
def test_each_surviving_cell_is_the_true_remaining_count_plus_its_original_noise(noise):
    mechanism, coins = GrownRangeCounts(WIDE, noise), Recorded("recorded")
    release = mechanism.release(Arrays(PEOPLE.table(VALUES)), coins)
    after = release
    for batch in np.array_split(VALUES[:6000], 7):
        after = mechanism.forget(after, mechanism.contribution(PEOPLE.table(batch)))

    assert len(release.counts) >= 4
    assert all(np.array_equal(a, b) for a, b in zip(after.prefixes, release.prefixes, strict=True))
    for counts, exact, drawn in zip(
        after.counts, exact_counts(mechanism, after, VALUES[6000:]), coins.noise, strict=True
    ):
        assert np.array_equal(counts, exact + drawn)


def test_every_child_of_an_expanded_node_is_noised_empty_ones_too():
    """Most children are empty here; their noise must follow the law of their level, in both directions."""
    mechanism, coins = GrownRangeCounts(WIDE, Budget(1.0)), seeded("children")
    release = mechanism.release(Arrays(PEOPLE.table(np.arange(0, 2**32, 2**32 // 40_000))), coins)
    exact = exact_counts(mechanism, release, np.arange(0, 2**32, 2**32 // 40_000))
    seen = 0
    for law, counts, truth, prefixes in zip(
        mechanism.laws, release.counts, exact, release.prefixes, strict=False
    ):
        assert prefixes.size % mechanism.fanout == 0
        if counts.size > 4000:
            seen += 1
            noise = counts - truth
            assert fit(noise, law) > ALARM
            assert fit(noise, with_scale(law, 0.8)) < ALARM
            assert fit(noise, with_scale(law, 1.2)) < ALARM
    assert seen


def test_empty_children_are_there_and_noised():
    narrow = np.full(5000, 2**31)
    mechanism = GrownRangeCounts(WIDE, Budget(1.0))
    release = mechanism.release(Arrays(PEOPLE.table(narrow)), seeded("empty"))
    exact = exact_counts(mechanism, release, narrow)
    empty = np.concatenate([c[e == 0] for c, e in zip(release.counts, exact, strict=True)])
    assert empty.size >= 8 * 15
    assert np.count_nonzero(empty) > 0.8 * empty.size


def test_the_shape_depends_on_noisy_counts_alone():
    """Nodes are expanded just where the published count exceeds the threshold."""
    mechanism = GrownRangeCounts(WIDE, Budget(0.5))
    for seed in range(5):
        release = mechanism.release(Arrays(PEOPLE.table(VALUES[:3000])), seeded(f"shape {seed}"))
        for level in range(len(release.counts) - 1):
            expanded = release.prefixes[level][release.counts[level] > mechanism.thresholds[level]]
            children = release.prefixes[level + 1].reshape(-1, mechanism.fanout)
            assert np.array_equal(children[:, 0] // np.uint64(mechanism.fanout), expanded)
            assert (np.diff(children.astype(np.int64), axis=1) == 1).all()
        if len(release.counts) < mechanism.levels:
            assert (release.counts[-1] <= mechanism.thresholds[len(release.counts) - 1]).all()


@pytest.mark.parametrize("branching", [2, 3, 4])
def test_a_record_is_counted_once_on_every_level_by_brute_force(branching):
    """Without noise and with a threshold that expands everything: L1 = L over all records of the domain."""
    column = Number("v", min=0, max=11)
    people = Schema([column])
    mechanism = GrownRangeCounts(column, NoNoise(), branching=branching, threshold=-1)
    nobody = mechanism.release(Arrays(people.table([])), seeded(7))
    for value in range(12):
        moved = [
            np.abs(a - b)
            for a, b in zip(
                mechanism.release(Arrays(people.table([value])), seeded(7)).counts, nobody.counts, strict=True
            )
        ]
        assert [int(m.sum()) for m in moved] == [1] * mechanism.levels
        assert sum(int((m**2).sum()) for m in moved) == mechanism.levels


@pytest.mark.parametrize("noise", [Budget(1.0), Budget(1.0, 1e-6), Zcdp(0.1)], ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_one_budget_pays_for_all_levels(noise, rows):
    mechanism = GrownRangeCounts(WIDE, noise, rows_per_person=rows)
    assert len(mechanism.events) == mechanism.levels
    if isinstance(noise, Zcdp):
        assert sum(e.rho for e in mechanism.events) == pytest.approx(noise.rho)
    else:
        assert 0.95 * noise.epsilon <= account(mechanism.events, noise.delta).epsilon <= noise.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("noise", [Budget(1.0), Budget(1.0, 1e-6)], ids=str)
@pytest.mark.parametrize("deleted", [0, 6000], ids=["before", "after 30 % left"])
def test_ranges_and_quantiles_hold_as_often_as_they_say(noise, deleted):
    """1,000 seeds; a range along nodes holds 95 to 97%; cut leaves and quantiles at least 95%."""
    mechanism = GrownRangeCounts(WIDE, noise)
    left = np.sort(VALUES[deleted:])
    gone = mechanism.contribution(PEOPLE.table(VALUES[:deleted]))
    table = Arrays(PEOPLE.table(VALUES))
    edge = 2**32 // mechanism.fanout
    exact = {
        "aligned": int((left >= edge).sum()),
        "range": int(((left >= 10**6) & (left <= 9 * 10**6)).sum()),
        "median": int(left[-(-left.size // 2) - 1]),
        "upper": int(left[-(-left.size * 9 // 10) - 1]),
    }
    held = dict.fromkeys(exact, 0)
    for seed in range(1000):
        release = mechanism.forget(mechanism.release(table, seeded(f"grown {seed}")), gone)
        held["aligned"] += exact["aligned"] in mechanism.count(release, edge, 2**32 - 1)
        held["range"] += exact["range"] in mechanism.count(release, 10**6, 9 * 10**6)
        held["median"] += exact["median"] in mechanism.median(release)
        held["upper"] += exact["upper"] in mechanism.quantile(release, 0.9)

    for name, times in held.items():
        assert stats.binomtest(times, 1000, 0.95, alternative="less").pvalue > 1e-6, name
    assert stats.binomtest(held["aligned"], 1000, 0.97, alternative="greater").pvalue > 1e-6


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_leaf_that_is_cut_in_two_may_hide_all_its_people_on_one_side(side):
    """400 people on one value, in a leaf that is not expanded: shared out evenly they would be lost."""
    mechanism = GrownRangeCounts(WIDE, Budget(10.0), threshold=500)
    edge = 5 * 2**28
    people = np.full(400, edge + (10 if side == "left" else 2**27))
    for seed in range(50):
        release = mechanism.release(Arrays(PEOPLE.table(people)), seeded(f"cut {seed}"))
        there = 400 if side == "left" else 0
        assert there in mechanism.count(release, 0, edge + 20, confidence=1 - 1e-9)
        assert int(people[0]) in mechanism.median(release, confidence=1 - 1e-9)


def test_a_domain_of_64_bits_is_grown_and_answered():
    huge = Number("h", min=0, max=2**64 - 1)
    people = Schema([huge])
    values = np.repeat(np.array([3, 2**63 + 5, 2**64 - 1], dtype=np.uint64), 1000)
    mechanism = GrownRangeCounts(huge, Budget(5.0))
    release = mechanism.release(Arrays(people.table(values)), seeded(7))
    assert len(release.counts) == mechanism.levels
    assert release.size < 3000
    assert abs(mechanism.median(release).value - 2.0**63) < 2**20
    after = mechanism.forget(release, mechanism.contribution(people.table(values[1000:])))
    assert abs(mechanism.total(after).value - 1000) < 50
    assert mechanism.median(after).value < 2**20


def test_secure_coins_grow_a_tree():
    mechanism = GrownRangeCounts(WIDE, Budget(1.0))
    release = mechanism.release(Arrays(PEOPLE.table(VALUES)), secure())
    assert abs(mechanism.total(release).value - 20_000) < 2000


def test_endpoints_beyond_floating_point_are_exact():
    huge = Number("h", min=0, max=2**64 - 1)
    mechanism, far = GrownRangeCounts(huge, Budget(1.0)), 2**60
    people = Schema([huge])
    release = mechanism.release(Arrays(people.table(np.full(20_000, far, dtype=np.uint64))), seeded(7))
    assert 0 in mechanism.count(release, far + 1, 2 * far)
    assert 20_000 in mechanism.count(release, far, far)
    release = mechanism.release(Arrays(people.table(np.full(20_000, far + 1, dtype=np.uint64))), seeded(7))
    assert far + 1 in mechanism.median(release)


def test_padding_beyond_the_domain_is_known_to_be_empty():
    """65 values on a tree of 256: everybody at the last value, in a node that is mostly padding."""
    column = Number("v", min=0, max=64)
    mechanism = GrownRangeCounts(column, Budget(1.0), branching=16, depth=1)
    release = mechanism.release(Arrays(Schema([column]).table([64] * 10_000)), seeded(7))
    assert abs(mechanism.total(release).value - 10_000) < 100
    assert abs(mechanism.count(release, 60, 64).value - 10_000) < 3000


@pytest.mark.parametrize("epsilon", [13.0, 60.0, 200.0])
@pytest.mark.parametrize("cells", [2**8, 2**10, 2**32])
def test_large_budgets_make_trees_too(epsilon, cells):
    column = Number("v", min=0, max=cells - 1)
    mechanism = GrownRangeCounts(column, Budget(epsilon))
    release = mechanism.release(Arrays(Schema([column]).table([7] * 100)), seeded(7))
    assert mechanism.median(release).value == 7


def test_a_tree_that_would_outgrow_the_memory_stops_and_tells_nothing():
    column = Number("v", min=0, max=2**26 - 1)
    mechanism = GrownRangeCounts(column, Budget(100.0), branching=2**12, threshold=0.5)
    people = np.arange(0, 2**26, 2**26 // 5000)
    release = mechanism.release(Arrays(Schema([column]).table(people)), seeded(7))
    assert len(release.counts) < mechanism.levels
    assert abs(mechanism.total(release).value - people.size) < 50


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"branching": 1}, Misuse, "is not possible"),
        ({"threshold": 1}, Misuse, "below the noise"),
        ({"depth": 0}, Misuse, "not a level"),
        ({"depth": 9}, Misuse, "not a level"),
        ({"depth": 1.5}, Misuse, "not a level"),
        ({"branching": 2.5}, Misuse, "is not possible"),
        ({"threshold": float("nan")}, Misuse, "not a number"),
        ({"budget": LAW}, Misuse, "no threshold follows"),
    ],
)
def test_trees_that_cannot_be_are_refused(options, error, problem):
    with pytest.raises(error, match=problem):
        GrownRangeCounts(WIDE, **({"budget": Budget(1.0)} | options))


def test_what_does_not_fit_is_refused():
    with pytest.raises(TooLarge, match="padded domain"):
        GrownRangeCounts(Number("h", min=0, max=2**64 - 1), Budget(1.0), branching=8)
    mechanism = GrownRangeCounts(WIDE, Budget(1.0))
    with pytest.raises(RejectedValue, match="must lie in"):
        mechanism.contribution(PEOPLE.table([2**32]))
    twice = Schema([WIDE], id="id", rows_per_person=2)
    with pytest.raises(BadBudget, match="rows_per_person"):
        mechanism.release(Arrays(twice.table({"id": ["a"], "w": [1]})), seeded(7))
    release = mechanism.release(Arrays(PEOPLE.table(VALUES)), seeded(7))
    for q in (-0.1, 1.5):
        with pytest.raises(Misuse, match="quantile"):
            mechanism.quantile(release, q)
    with pytest.raises(Misuse, match="inverted"):
        mechanism.count(release, 5, 4)


def test_a_shallow_tree_stops_at_its_public_depth():
    mechanism = GrownRangeCounts(WIDE, Budget(1.0), depth=2)
    assert len(mechanism.events) == 2
    assert len(mechanism.release(Arrays(PEOPLE.table(VALUES)), seeded(7)).counts) <= 2
