"""Running totals of a table that grows: their noise, their price, leaving, corrections, and intervals."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from support.fits import ALARM, fit, with_scale
from undeleted.curate.mechanisms import (
    BulletinBoard,
    Grouped,
    NoisyCount,
    NoisyHistogram,
    NoisyMean,
    NoisySum,
)
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.errors import BadBudget, BadQuestion, BadSetting, TooLarge
from undeleted.foundations.coins import NoNoise, secure, seeded
from undeleted.foundations.intervals import noise_interval, standard_deviation
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.schema import Category, Number, Schema, Text

X, CITY = Number("x", min=0, max=9), Category("city", values=("a", "b"))
MANY = Number("cell", min=0, max=29_999)
PEOPLE = Schema([X, CITY])
GAUSS = Budget(1.0, 1e-6)
EXACT = NoisyHistogram((X,), NoNoise())
KINDS = ("factorization", "cohorts")


def people(*values):
    return PEOPLE.table([{"x": x, "city": "ab"[x % 2]} for x in values])


def run(arrivals, batches, coins):
    """Close a tick for every batch; a batch is a table, or None if nobody came."""
    totals, rows = [], arrivals.start()
    for table in batches:
        totals.append(arrivals.batch(table))
        rows = arrivals.tick(rows, totals, coins)
    return rows


@pytest.mark.parametrize("noise", KINDS)
@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=6), st.data())
def test_after_somebody_left_the_rows_are_those_of_a_table_in_which_they_never_were(noise, batches, data):
    """Row by row, with the same coins, whenever they joined and whenever they left; also rows to come."""
    arrivals = LEFT[noise]
    joined = data.draw(st.integers(0, len(batches) - 1))
    leaves = data.draw(st.integers(0, len(batches)))  # before this tick closes
    value = data.draw(st.integers(0, 9))
    gone = arrivals.mechanism.contribution(people(value))
    never = run(arrivals, [people(*b) for b in batches], seeded("the same"))

    coins, rows, totals = seeded("the same"), arrivals.start(), []
    for tick, batch in enumerate(batches):
        if tick == leaves and joined < tick:
            rows = arrivals.forget(rows, gone, joined=joined)
            totals[joined] = arrivals.batch(people(*batches[joined]))
        there = [*batch, value] if tick == joined and leaves > joined else batch
        totals.append(arrivals.batch(people(*there)))
        rows = arrivals.tick(rows, totals, coins)
    if leaves == len(batches):
        rows = arrivals.forget(rows, gone, joined=joined)
    assert np.array_equal(rows.value, never.value)


LEFT = {
    "factorization": Arrivals(NoisyHistogram((X,), GAUSS), 8),
    "cohorts": Arrivals(NoisyHistogram((X,), 1.0), 8, "cohorts"),
}


def test_forgetting_somebody_whose_tick_has_not_closed_changes_nothing():
    arrivals = Arrivals(EXACT, 5)
    rows = run(arrivals, [people(1), people(2)], seeded(1))
    gone = arrivals.mechanism.contribution(people(3))
    assert np.array_equal(arrivals.forget(rows, gone, joined=2).value, rows.value)
    assert not np.array_equal(arrivals.forget(rows, gone, joined=1).value, rows.value)


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("corrections", [0, 1, 2])
def test_nobody_moves_all_rows_further_than_the_noise_was_made_for(noise, corrections):
    """By brute force: one person, every tick to join and to correct at, every value; in L2 over all rows."""
    horizon, small = 4, Number("x", min=0, max=2)
    schema = Schema([small])
    mechanism = NoisySum(small, NoNoise())
    arrivals = Arrivals(mechanism, horizon, noise, max_corrections=corrections, bits=3)
    furthest = 0.0
    for joined in range(horizon):
        for at in product(range(joined + 1, horizon), repeat=corrections):
            for values in product((0, 2), repeat=corrections + 1):
                totals = [np.zeros(1, dtype=np.int64) for _ in range(horizon)]
                totals[joined] += arrivals.batch(schema.table([values[0]]))
                for tick, old, new in zip(at, values, values[1:], strict=False):
                    totals[tick] += arrivals.batch(None, [(schema.table([old]), schema.table([new]))])
                rows = arrivals.start()
                for tick in range(horizon):
                    rows = arrivals.tick(rows, totals[: tick + 1], seeded(1))
                furthest = max(furthest, math.sqrt(int((rows.value**2).sum())))
    allowed = (1 + 2 * corrections) * 2 * arrivals.factors.norm
    assert furthest <= allowed * (1 + 1e-12)
    if corrections == 0:
        assert furthest == pytest.approx(allowed)


@pytest.mark.parametrize("corrections", [0, 1])
def test_all_ticks_together_cost_the_budget_and_no_less(corrections):
    arrivals = Arrivals(NoisyMean(X, GAUSS), 365, max_corrections=corrections)
    assert arrivals.rho == pytest.approx(rho_for(GAUSS), rel=1e-9)
    assert Arrivals(NoisyMean(X, Zcdp(0.1)), 30).rho == pytest.approx(0.1, rel=1e-9)
    narrow = Arrivals(NoisyMean(X, GAUSS), 365)
    wider = [a.sigma / b.sigma for a, b in zip(arrivals.laws, narrow.laws, strict=True)]
    assert wider == pytest.approx([1 + 2 * corrections] * 2)


@pytest.mark.parametrize("noise", KINDS)
def test_every_row_has_noise_of_its_own_and_as_wide_as_its_law(noise):
    """Also the rows of ticks at which nobody came: a missing row would tell that nobody did."""
    arrivals = Arrivals(NoisyHistogram((MANY,), GAUSS), 3, noise)
    rows = run(arrivals, [None] * 3, secure())
    [law] = arrivals.laws
    for row in rows.value:
        assert fit(row, law) > ALARM
        assert fit(row, with_scale(law, 0.85)) < ALARM, "this test cannot see too little noise"
        assert fit(row, with_scale(law, 1.15)) < ALARM, "this test cannot see too much noise"
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert stats.pearsonr(rows.value[a], rows.value[b]).pvalue > ALARM


@pytest.mark.parametrize(
    ("noise", "budget"), [("factorization", GAUSS), ("cohorts", GAUSS), ("cohorts", Budget(1.0))]
)
def test_the_error_is_what_is_foreseen_and_intervals_cover(noise, budget):
    column = Number("cell", min=0, max=7_999)
    arrivals = Arrivals(NoisyHistogram((column,), budget), 30, noise)
    rows = run(arrivals, [None] * 30, seeded("errors"))
    [law] = arrivals.laws
    for tick in (0, 9, 29):
        wrong = arrivals.total(rows, tick)
        one = standard_deviation(law) / arrivals.factors.norm
        assert np.std(wrong) / (arrivals.error(tick) * one) == pytest.approx(1.0, abs=0.05)
        for confidence in (0.5, 0.8, 0.95):
            low, high = noise_interval(arrivals._laws_at(tick, confidence)[0], confidence)
            covered = int(((np.rint(wrong) >= low) & (np.rint(wrong) <= high)).sum())
            assert stats.binomtest(covered, wrong.size, confidence, alternative="less").pvalue > ALARM
            assert covered / wrong.size < confidence + 0.05 + 0.6 / np.std(wrong), "it is not wasteful"


@pytest.mark.parametrize("horizon", [1, 2, 6, 12, 100, 365, 1000])
@pytest.mark.parametrize("noise", [*KINDS, "tree"])
def test_the_plan_shows_the_widest_interval_of_all_ticks(noise, horizon):
    """A tree is widest where the number of ticks has the most ones in binary, not at the horizon."""
    arrivals = Arrivals(NoisyCount(Budget(1.0, 1e-6)), horizon, noise)
    at = [arrivals.mechanism.with_laws(arrivals._laws_at(tick, 0.95)).foreseen(0) for tick in range(horizon)]
    assert arrivals.foreseen(0).width == max(one.width for one in at)
    assert f"after {arrivals.factors.widest + 1} ticks" in arrivals.foreseen(0).of.replace(",", "")


def test_the_total_of_years_is_nearly_as_precise_as_one_release():
    errors = {n: Arrivals(NoisyCount(GAUSS), n).error(n - 1) for n in (12, 365, 3650)}
    assert errors[12] < 2.0
    assert errors[365] < 3.0
    assert errors[3650] < 3.75
    assert Arrivals(NoisyCount(GAUSS), 3650, "cohorts").error(3649) > 60


def test_answers_are_the_mechanisms_own():
    arrivals = Arrivals(NoisyMean(X, Budget(5.0, 1e-6)), 10)
    rows = run(arrivals, [people(*[4] * 500), people(*[8] * 500)], seeded(3))
    [(_, first)] = arrivals.answers(rows, {"tick": 0}, 0.95)
    [(_, both)] = arrivals.answers(rows, {}, 0.95)
    assert first.low <= 4 <= first.high
    assert both.low <= 6 <= both.high
    assert both.high - both.low < 1


def test_nothing_of_the_old_record_is_published_by_a_correction():
    """Until the next tick the rows are the same; then the difference is under that tick's noise."""
    arrivals = Arrivals(EXACT, 5, max_corrections=1)
    old, new = people(3), people(7)
    totals = [arrivals.batch(people(3, 5))]
    rows = arrivals.tick(arrivals.start(), totals, seeded(1))
    totals.append(arrivals.batch(people(1), [(old, new)]))
    after = arrivals.tick(rows, totals, seeded(1))
    assert np.array_equal(after.value[0], rows.value[0])
    assert arrivals.total(after).round(6).tolist() == [0, 1, 0, 0, 0, 1, 0, 1, 0, 0]
    gone = arrivals.forget(after, arrivals.mechanism.contribution(old), joined=0)
    gone = arrivals.forget(gone, arrivals.difference(old, new), joined=1)
    assert arrivals.total(gone).round(6).tolist() == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    with pytest.raises(BadSetting, match="corrections were not foreseen"):
        Arrivals(EXACT, 5).difference(old, new)


def test_groups_have_running_totals_too():
    grouped = Grouped(NoisyMean(X, Budget(5.0, 1e-6)), (CITY,))
    arrivals = Arrivals(grouped, 10)
    rows = run(arrivals, [people(*[4] * 500), people(*[7] * 500)], seeded(3))
    means = {labels["city"]: mean for labels, mean in arrivals.answers(rows, {}, 0.95)}
    assert means["a"].low <= 4 <= means["a"].high
    assert means["b"].low <= 7 <= means["b"].high


def test_a_table_that_allows_more_rows_per_person_is_refused():
    many = Schema([X, CITY], id="id", rows_per_person=3)
    table = many.table({"id": ["a"] * 3, "x": [1] * 3, "city": ["a"] * 3})
    with pytest.raises(BadBudget, match="rows_per_person must be at least the 3 rows"):
        Arrivals(EXACT, 5).batch(table)


def test_what_is_impossible_is_refused():
    with pytest.raises(BadSetting, match='"factorization" needs a budget with a δ'):
        Arrivals(NoisyCount(1.0), 12, "factorization")
    with pytest.raises(BadSetting, match="is not a total"):
        Arrivals(BulletinBoard(Text("note")), 12)
    for wrong in ({"horizon": 0}, {"horizon": 3, "noise": "trees"}, {"horizon": 3, "max_corrections": -1}):
        with pytest.raises(BadSetting):
            Arrivals(NoisyCount(GAUSS), **wrong)
    arrivals = Arrivals(EXACT, 2)
    with pytest.raises(BadSetting, match="no tick has closed"):
        arrivals.total(arrivals.start())
    with pytest.raises(BadSetting, match="needs the totals of 1"):
        arrivals.tick(arrivals.start(), [], seeded(1))
    rows = run(arrivals, [people(1), None], seeded(1))
    with pytest.raises(BadQuestion, match="has not closed"):
        arrivals.total(rows, 2)
    with pytest.raises(BadSetting, match="all 2 ticks have closed"):
        arrivals.tick(rows, [arrivals.batch(None)] * 3, seeded(1))
    with pytest.raises(TooLarge):
        arrivals.tick(arrivals.start(), [np.array([2**60])], seeded(1))
