"""The lifecycle in memory: secure coins only, all or nothing, exactly once, nothing kept of who left."""

import numpy as np
import pytest

from undeleted.curate.curator import Curator, Deletion
from undeleted.curate.mechanisms import ExactSum, FrozenMedian, NoisyCount, NoisyHistogram, NoisyMean
from undeleted.errors import (
    AlreadyExists,
    BadBudget,
    BadColumns,
    BudgetSpent,
    CoinsRefused,
    Misuse,
    NotStarted,
    UnknownName,
    WeakDelta,
    WeakPrivacyWarning,
)
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Boolean, Number, Schema

AGE = Number("age", min=0, max=120)
PEOPLE = Schema([AGE], id="id", rows_per_person=2)
ROWS = {"id": ["a", "b", "a", "c"], "age": [41, 17, 42, 99]}


def publications(epsilon=0.25):
    return {
        "people": NoisyCount(Budget(epsilon), rows_per_person=2),
        "mean": NoisyMean(AGE, Budget(epsilon), rows_per_person=2),
        "ages": NoisyHistogram((AGE,), Budget(epsilon), rows_per_person=2),
    }


@pytest.fixture
def curator():
    made = Curator(PEOPLE, Budget(1.0))
    made.publish(ROWS, publications())
    return made


def test_a_person_is_forgotten_with_all_their_rows(curator):
    before = {name: curator.show(name).release.value for name in publications()}
    assert curator.delete("a") == Deletion(deleted=1, unknown=0, version=2, erased=True)

    assert (curator.show("people").release.value - before["people"]).tolist() == [-2]
    moved = curator.show("ages").release.value - before["ages"]
    assert np.flatnonzero(moved).tolist() == [41, 42]
    assert curator.show("mean").version == 2
    assert curator.left == pytest.approx(0.25), "deletions cost no ε"


def test_ids_that_are_not_there_are_counted_and_change_nothing(curator):
    before = curator.show("ages").release
    assert curator.delete("d") == Deletion(deleted=0, unknown=1, version=1, erased=True)
    assert curator.show("ages").release == before
    assert curator.delete("a", "d", "b") == Deletion(deleted=2, unknown=1, version=2, erased=True)


def test_the_second_deletion_is_like_that_of_a_stranger(curator):
    curator.delete("a")
    assert curator.delete("a") == curator.delete("stranger")


def test_a_curator_refuses_seeded_coins():
    with pytest.raises(CoinsRefused, match="got seeded coins"):
        Curator(PEOPLE, Budget(1.0), coins=seeded(7))


def test_publishing_is_all_or_nothing():
    curator = Curator(PEOPLE, Budget(0.6))
    with pytest.raises(BudgetSpent, match=r"publishing 'ages' costs ε = 0\.25, but 0\.1 of 0\.6 is left"):
        curator.publish(ROWS, publications())
    assert curator.left == pytest.approx(0.6)
    with pytest.raises(UnknownName):
        curator.show("people")
    curator.publish(ROWS, publications(0.2))
    assert curator.left == pytest.approx(0)


def test_a_table_is_published_once(curator):
    with pytest.raises(AlreadyExists, match="a publication of this table already exists"):
        curator.publish(ROWS, {"again": NoisyCount(Budget(0.1), rows_per_person=2)})


def test_what_makes_no_promise_is_not_published():
    with pytest.raises(Misuse, match="no promise of differential privacy"):
        Curator(PEOPLE, Budget(1.0)).publish(ROWS, {"sum": ExactSum(AGE, rows_per_person=2)})


def test_an_empty_table_is_published_and_a_curator_without_a_table_says_so():
    with Curator(PEOPLE, Budget(1.0)) as curator:
        assert curator.status().publications == ()
        assert curator.status().left == 1.0
        curator.publish({"id": [], "age": []}, publications())
        assert curator.check() == []
        assert curator.delete("a").unknown == 1
    with pytest.raises(BadColumns, match="which record is whose"):
        Curator(Schema([AGE]), Budget(1.0))
    with pytest.raises(NotStarted, match="this curator has published nothing yet"):
        Curator(PEOPLE, Budget(1.0)).delete("a")


def test_an_id_counts_once_and_may_be_a_number_or_a_list():
    curator = Curator(Schema([AGE], id="id"), Budget(1.0))
    curator.publish({"id": [1, 2, 3], "age": [41, 17, 99]}, {"n": NoisyCount(Budget(1.0))})
    assert curator.delete(1, 1) == Deletion(deleted=1, unknown=1, version=2, erased=True)
    assert curator.delete(["2", 3]).deleted == 2


def test_what_is_shown_is_a_copy(curator):
    shown = curator.show("people")
    before = int(shown.release.value[0])
    shown.release.value[0] = 10**6
    curator.delete("b")
    assert int(curator.show("people").release.value[0]) == before - 1
    assert shown.version == 1
    assert curator.show("mean").estimate().low < curator.show("mean").estimate().high
    with pytest.raises(Misuse, match="more than one number"):
        curator.show("ages").estimate()


def test_a_mechanism_with_other_bounds_than_the_schema_is_refused():
    """It would be charged for a smaller sensitivity than the data have."""
    tiny = Number("age", min=0, max=1, out_of_range="clamp")
    curator = Curator(PEOPLE, Budget(1.0))
    with pytest.raises(BadColumns, match="declared differently in the schema"):
        curator.publish(ROWS, {"m": NoisyMean(tiny, Budget(1.0), rows_per_person=2)})
    assert curator.left == 1.0
    assert curator.publications == ()


@pytest.mark.parametrize("nothing", [{}, [], None])
def test_publishing_nothing_is_refused(nothing):
    with pytest.raises(Misuse, match="there is nothing to publish"):
        Curator(PEOPLE, Budget(1.0)).publish(ROWS, nothing)


def test_wrong_budgets_are_told_what_is_wanted():
    with pytest.raises(BadBudget, match="budget must be a Budget"):
        Curator(PEOPLE, 1.0)
    with pytest.raises(BadBudget, match=r"budget must be a number \(ε\), a Budget"):
        NoisyCount("1.0")
    with pytest.raises(BudgetSpent, match="needs a budget with δ > 0"):
        Curator(PEOPLE, Budget(1.0)).publish(ROWS, {"n": NoisyCount(Zcdp(0.1))})
    with pytest.raises(Misuse, match="no promise"):
        Curator(PEOPLE, Budget(1.0)).publish(ROWS, {"m": FrozenMedian(AGE)})


@pytest.mark.filterwarnings("ignore::undeleted.errors.WeakPrivacyWarning")
def test_a_boolean_has_a_mean():
    sick = Boolean("sick")
    curator = Curator(Schema([sick], id="id"), Budget(1e6))
    curator.publish({"id": range(4), "sick": [True, True, True, False]}, {"m": NoisyMean(sick, Budget(1e5))})
    assert curator.show("m").estimate().value == pytest.approx(0.75, abs=0.01)


def test_a_budget_that_promises_nothing_is_refused_or_warned_of():
    counted = {"people": NoisyCount(Budget(0.5), rows_per_person=2)}
    data = {"id": ["a"], "age": [41]}
    with pytest.raises(WeakDelta, match="does not protect"):
        Curator(PEOPLE, Budget(1.0, 0.01)).publish(data, counted)
    Curator(PEOPLE, Budget(1.0, 0.009)).publish(data, counted)
    Curator(PEOPLE, Budget(1.0, 0.5), i_know=True).publish(data, counted)
    Curator(PEOPLE, Budget(10.0)).publish(data, counted)
    with pytest.warns(WeakPrivacyWarning, match="ε = 10.5 promises next to nothing"):
        Curator(PEOPLE, Budget(10.5)).publish(data, counted)
