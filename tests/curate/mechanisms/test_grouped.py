"""By group and with a condition: every group is what the mechanism alone would publish of it."""

from fractions import Fraction

import numpy as np
import pytest

from support.worlds import SmallWorld
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import (
    FrozenMedian,
    Grouped,
    NoisyCount,
    NoisyHistogram,
    NoisyMean,
    NoisySum,
    NoisyVariance,
    RangeCounts,
)
from undeleted.errors import Misuse, NotAColumn, TooLarge, WrongType
from undeleted.foundations.coins import ClampedGeometric, NoNoise, seeded
from undeleted.foundations.privacy import Budget, Zcdp, account
from undeleted.foundations.schema import Boolean, Category, Number, Schema, Text
from undeleted.foundations.schema.conditions import Condition

X = Number("x", min=0, max=2)
LAW = ClampedGeometric(Fraction(1, 2), low=-1, high=2)
WORLD = SmallWorld(Grouped(NoisyCount(LAW), by=(X,)), Schema([X]), points=(0, 1, 2), others=(2, 2, 0))

AGE = Number("age", min=0, max=40)
SICK = Boolean("sick")
CITY = Category("city", values=("a", "b", "c"))
PEOPLE = Schema([AGE, SICK, CITY])
ADULT = Condition("age >= 18", (AGE, SICK, CITY))
MECHANISMS = [NoisyCount, NoisySum, NoisyMean, NoisyVariance, RangeCounts, NoisyHistogram]


def build(kind, budget):
    return kind(budget) if kind is NoisyCount else kind(AGE, budget)


def people(n, seed="grouped"):
    coins = seeded(seed)
    ages, sick, city = coins.integers(0, 41, n), coins.bits(n), coins.integers(0, 3, n)
    return [(int(a), bool(s), CITY.values[c]) for a, s, c in zip(ages, sick, city, strict=True)]


@pytest.mark.parametrize("where", [None, ADULT], ids=["all", "adults"])
@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_without_noise_every_group_is_what_the_mechanism_says_of_its_people(kind, where):
    rows, alone = people(200), build(kind, NoNoise())
    mechanism = Grouped(alone, by=(CITY, SICK), where=where)
    release = mechanism.release(Arrays(PEOPLE.table(rows)), seeded(7))
    for number, labels in enumerate(mechanism.groups()):
        group = [
            r
            for r in rows
            if (r[2], r[1]) == (labels["city"], labels["sick"]) and (where is None or r[0] >= 18)
        ]
        expected = alone.release(Arrays(PEOPLE.table(group)), seeded(7))
        assert mechanism.release_of(release, number) == expected


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_the_groups_share_one_budget_and_no_noise_is_saved(kind):
    """A record is in one group: every cell has the noise of the mechanism alone, no less and no more."""
    for budget in (Budget(0.7), Zcdp(0.2)):
        alone = build(kind, budget)
        mechanism = Grouped(alone, by=(CITY, SICK), where=ADULT)
        assert mechanism.laws == alone.laws
        assert [(e.law, e.shift) for e in mechanism.events] == [(e.law, e.shift) for e in alone.events]
        if isinstance(budget, Budget):
            assert account(mechanism.events, 0.0).epsilon == pytest.approx(0.7)


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_no_neighbour_moves_the_cells_further_than_the_noise_is_made_for(kind):
    """By brute force: every record of the domain, added to none and to some, in L1 and in L2."""
    mechanism = Grouped(build(kind, 1.0), by=(CITY, SICK), where=ADULT)
    statistic = mechanism.statistic
    records = [(age, sick, city) for age in range(41) for sick in (False, True) for city in CITY.values]
    moved = [Arrays(PEOPLE.table([r])).total(statistic) for r in records]
    assert max(int(np.abs(m).sum()) for m in moved) == statistic.l1 == mechanism.inner.statistic.l1
    assert max(float(np.sqrt((m.astype(float) ** 2).sum())) for m in moved) == pytest.approx(statistic.l2)
    for start, block in zip(statistic.starts, statistic.blocks, strict=True):
        assert max(int(np.abs(m[start : start + block.width]).sum()) for m in moved) == block.reach


@pytest.mark.parametrize("kind", MECHANISMS, ids=lambda kind: kind.__name__)
def test_forgetting_equals_never_having_come(kind):
    rows = people(120)
    mechanism = Grouped(build(kind, Budget(1.0)), by=(CITY,), where=ADULT)
    before = mechanism.release(Arrays(PEOPLE.table(rows)), seeded(7))
    after = mechanism.forget(before, mechanism.contribution(PEOPLE.table(rows[:50])))
    assert after == mechanism.release(Arrays(PEOPLE.table(rows[50:])), seeded(7))


def test_groups_are_declared_not_seen():
    mechanism = Grouped(NoisyCount(NoNoise()), by=(CITY,))
    release = mechanism.release(Arrays(PEOPLE.table([(30, True, "b")])), seeded(7))
    labels = [(label["city"], answer.value) for label, answer in mechanism.answers(release, {}, 0.95)]
    assert labels == [("a", 0), ("b", 1), ("c", 0)]


def test_a_question_is_asked_of_every_group():
    mechanism = Grouped(RangeCounts(AGE, Budget(50.0)), by=(SICK,))
    release = mechanism.release(Arrays(PEOPLE.table(people(2000))), seeded(7))
    answers = list(mechanism.answers(release, {"quantile": 0.5}, 0.9))
    assert [label for label, _ in answers] == [
        {"sick": False, "of": "quantile 0.5"},
        {"sick": True, "of": "quantile 0.5"},
    ]
    assert all(15 < answer.value < 25 for _, answer in answers)


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (
            lambda: Grouped(FrozenMedian(AGE), by=(CITY,)),
            WrongType,
            "FrozenMedian cannot be published by group",
        ),
        (lambda: Grouped(Grouped(NoisyCount(1.0), by=(CITY,)), by=(SICK,)), WrongType, "Grouped cannot be"),
        (lambda: Grouped(NoisyCount(1.0), by=("city",)), NotAColumn, "got a str"),
        (lambda: Grouped(NoisyCount(1.0), by=(Text("note"),)), NotAColumn, "Grouped takes"),
        (lambda: Grouped(NoisyCount(1.0), by=(CITY, CITY)), Misuse, "grouped by twice"),
        (lambda: Grouped(NoisyCount(1.0), by=(Number("n", min=0, max=2**40),)), TooLarge, "all groups"),
    ],
)
def test_what_cannot_be_grouped_is_refused(build, error, says):
    with pytest.raises(error, match=says):
        build()


def test_a_histogram_of_those_who_fit_is_a_table_and_answers_its_questions():
    mechanism = Grouped(NoisyHistogram((CITY, SICK), NoNoise()), where=ADULT)
    rows = people(300)
    release = mechanism.release(Arrays(PEOPLE.table(rows)), seeded(7))
    for label, answer in mechanism.answers(release, {"by": ["city"], "where": ["sick=true"]}, 0.95):
        assert answer.value == sum(r[0] >= 18 and r[1] and r[2] == label["city"] for r in rows)


def test_a_condition_is_a_condition():
    with pytest.raises(WrongType, match="`where` is not a Condition"):
        Grouped(NoisyCount(1.0), where="age > 3")
