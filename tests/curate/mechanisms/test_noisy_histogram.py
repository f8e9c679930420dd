"""A noisy histogram: noise on every declared cell, exact after deletions, counts with honest intervals."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from support.fits import ALARM, fit, with_scale
from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import NoisyHistogram
from undeleted.curate.releases.linear import Cells
from undeleted.errors import Misuse
from undeleted.foundations.coins import ClampedGeometric, DiscreteLaplace, secure, seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Boolean, Category, Number, Schema

X = Boolean("x")
LAW = ClampedGeometric(Fraction(1, 2), low=0, high=2)
WORLD = SmallWorld(
    NoisyHistogram((X,), LAW), Schema([X]), points=(False, True, True), others=(True, True, True)
)

WIDE = Number("wide", min=0, max=39_999)


@pytest.mark.width
@pytest.mark.parametrize("kind", ["secure", "seeded"])
def test_every_declared_cell_gets_its_own_noise(kind, coins):
    mechanism = NoisyHistogram((WIDE,), Budget(0.5))
    table = Schema([WIDE]).table(np.zeros(1000, dtype=int))
    noise = mechanism.release(Arrays(table), secure() if kind == "secure" else coins).value.copy()
    noise[0] -= 1000

    assert fit(noise, DiscreteLaplace(2.0)) > ALARM
    assert fit(noise, with_scale(DiscreteLaplace(2.0), 0.85)) < ALARM
    assert fit(noise, with_scale(DiscreteLaplace(2.0), 1.15)) < ALARM
    assert noise.min() < 0, "what is stored is not clamped"


def test_several_columns_make_a_table(coins):
    grade = Category("grade", values=("a", "b", "c"))
    mechanism = NoisyHistogram((grade, X), Budget(1e6))
    counts = mechanism.counts(mechanism.release(Arrays(Schema([grade, X]).table([("b", True)] * 3)), coins))
    assert counts.tolist() == [[0, 0], [0, 3], [0, 0]]


@pytest.mark.parametrize("width", [1, 7, 300])
@pytest.mark.parametrize("deleted", [0, 300])
def test_counts_hold_as_often_as_they_say_and_at_most_two_points_more(width, deleted):
    """1,000 seeds; the noise is discrete, so 95% means 95 to 97%."""
    column = Number("v", min=0, max=299)
    mechanism, people = NoisyHistogram((column,), Budget(1.0)), Schema([column])
    values = seeded("values").integers(0, 300, 1000)
    exact = int((values[deleted:] < width).sum())
    gone = mechanism.contribution(people.table(values[:deleted]))
    table, held, runs = people.table(values), 0, 1000
    for seed in range(runs):
        release = mechanism.forget(mechanism.release(Arrays(table), seeded(f"count {seed}")), gone)
        held += exact in mechanism.count(release, v=(0, width - 1))

    assert stats.binomtest(held, runs, 0.95, alternative="less").pvalue > 1e-6
    assert stats.binomtest(held, runs, 0.97, alternative="greater").pvalue > 1e-6


def test_the_median_is_read_off_a_clamped_copy(coins):
    column = Number("v", min=0, max=9)
    mechanism = NoisyHistogram((column,), Budget(1e6))
    release = mechanism.release(Arrays(Schema([column]).table([1, 1, 4, 8, 9])), coins)
    before = release.value.copy()
    assert mechanism.median(release) == 4
    assert np.array_equal(release.value, before)
    with pytest.raises(Misuse, match="over one number"):
        NoisyHistogram((column, X), Budget(1.0)).median(release)
    with pytest.raises(Misuse, match="over one number"):
        NoisyHistogram(X, Budget(1.0)).median(release)


def test_questions_are_asked_in_values(coins):
    tens, grade = Number("v", min=20, max=120, step=10, off_grid="round"), Category("g", values=("a", "b"))
    mechanism = NoisyHistogram((tens, grade), Budget(1e6))
    people = Schema([tens, grade]).table([(23, "a"), (55, "b"), (99, "b")])
    release = mechanism.release(Arrays(people), coins)

    assert mechanism.count(release).value == 3
    assert mechanism.count(release, v=(20, 60)).value == 2
    assert mechanism.count(release, v=60).value == 1
    assert mechanism.count(release, g="b", v=(70, 120)).value == 1
    assert mechanism.count(release, g=("a", "b")).value == 3
    for wrong in ({"height": 3}, {"v": (60, 20)}, {"g": "c"}):
        with pytest.raises(Misuse):
            mechanism.count(release, **wrong)


def test_a_value_is_asked_for_in_its_own_cell_on_any_grid():
    """0.3 on a grid of tenths is not quite 0.3 in floating point."""
    column = Number("x", min=0, max=1, step="0.1")
    release = Cells(np.arange(100, 111))
    mechanism = NoisyHistogram((column,), Budget(1.0))
    for code in range(column.cells):
        assert mechanism.count(release, x=column.value(code)).value == 100 + code
        assert mechanism.count(release, x=code / 10).value == 100 + code
    assert mechanism.count(release, x=(0.1, 0.3)).value == 101 + 102 + 103
    assert mechanism.count(release, x=(-5.0, 5.0)).value == sum(range(100, 111))
    for wrong in (0.35, 5.0):
        with pytest.raises(Misuse, match="is not a value of 'x'"):
            mechanism.count(release, x=wrong)


CITY, SICK, ROOM = Category("city", values=("a", "b", "c")), Boolean("sick"), Number("room", min=0, max=4)


@pytest.mark.parametrize(
    "by", [["city"], ["room", "city"], ["sick", "room", "city"], ["city", "sick", "room"]]
)
def test_tables_are_added_up_over_the_other_columns_in_any_order(by):
    mechanism = NoisyHistogram((CITY, SICK, ROOM), Budget(1.0))
    release = Cells(np.arange(30) ** 2)
    counts = mechanism.counts(release)
    for labels, answer in mechanism.answers(release, {"by": by}, 0.95):
        index = [slice(None)] * 3
        for name, value in labels.items():
            axis = ["city", "sick", "room"].index(name)
            index[axis] = CITY.values.index(value) if name == "city" else int(value)
        assert list(labels) == by
        assert answer.value == counts[tuple(index)].sum()


def test_a_margin_has_the_interval_of_all_its_cells():
    """Coverage of a margin over ten cells, in both directions: too narrow and too wide are noticed."""
    mechanism, runs = NoisyHistogram((CITY, SICK, ROOM), Budget(1.0)), 1500
    covered = 0
    for seed in range(runs):
        noisy = seeded(f"margin {seed}").noisy(mechanism.laws[0], np.full(30, 50))
        [first, *_] = mechanism.answers(Cells(noisy), {"by": ["city"]}, 0.9)
        covered += 500 in first[1]
    assert stats.binomtest(covered, runs, 0.9, alternative="less").pvalue > ALARM
    assert covered < 0.97 * runs, "far too wide"


def test_a_table_can_be_asked_for_part_of_the_records():
    mechanism = NoisyHistogram((CITY, SICK, ROOM), Budget(1.0))
    release = Cells(np.arange(30) ** 2)
    asked = {"by": ["city", "sick"], "where": ["room=1..3", "sick=true"]}
    answers = list(mechanism.answers(release, asked, 0.95))
    counts = mechanism.counts(release)
    expected = {(city, True): counts[i, 1, 1:4].sum() for i, city in enumerate(CITY.values)}
    assert {tuple(label.values()): answer.value for label, answer in answers} == expected


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"by": ["town"]}, "the histogram has no town"),
        ({"where": ["room=7..9"]}, "no value of 'room' lies between 7 and 9"),
        ({"where": ["room=3..1"]}, "is inverted"),
    ],
)
def test_questions_without_an_answer_are_refused(asked, says):
    mechanism = NoisyHistogram((CITY, SICK, ROOM), Budget(1.0))
    with pytest.raises(Misuse, match=says):
        list(mechanism.answers(Cells(np.zeros(30, dtype=np.int64)), asked, 0.95))
