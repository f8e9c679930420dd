"""The lifecycle in memory: secure coins only, all or nothing, exactly once, nothing kept of who left."""

import numpy as np
import pytest

from undeleted.coins import seeded
from undeleted.curator import Curator
from undeleted.errors import (
    AlreadyThere,
    BadColumns,
    BadQuestion,
    BudgetSpent,
    CoinsRefused,
    NoRecords,
    NotThere,
    UnknownName,
)
from undeleted.mechanisms import ExactSum, NoisyCount, NoisyHistogram, NoisyMean
from undeleted.privacy import Budget
from undeleted.schema import Number, Schema

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
    assert curator.delete("a") == 1

    assert (curator.show("people").release.value - before["people"]).tolist() == [-2]
    moved = curator.show("ages").release.value - before["ages"]
    assert np.flatnonzero(moved).tolist() == [41, 42]
    assert curator.show("mean").version == 1
    assert curator.left == pytest.approx(0.25), "deletions cost no ε"


@pytest.mark.parametrize("ids", [["d"], ["a", "d"], ["a", "a"]])
def test_deleting_what_is_not_there_deletes_nobody(curator, ids):
    before = curator.show("ages").release
    with pytest.raises(NotThere, match="nothing was deleted"):
        curator.delete(*ids)
    assert curator.show("ages").release == before
    assert curator.delete("a", "b") == 2


def test_the_second_deletion_is_like_that_of_a_stranger(curator):
    curator.delete("a")
    messages = []
    for person in ("a", "stranger"):
        with pytest.raises(NotThere) as caught:
            curator.delete(person)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_nothing_is_kept_of_who_left(curator):
    curator.delete("c")
    assert 99 not in curator._table.codes["age"]
    assert "c" not in curator._table.ids
    assert "c" not in curator._rows


def test_a_curator_refuses_seeded_coins():
    with pytest.raises(CoinsRefused, match="got seeded ones"):
        Curator(PEOPLE, Budget(1.0), seeded(7))


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
    with pytest.raises(AlreadyThere, match="a publication of this table is there already"):
        curator.publish(ROWS, {"again": NoisyCount(Budget(0.1), rows_per_person=2)})


def test_what_makes_no_promise_is_not_published():
    with pytest.raises(BadQuestion, match="no promise of differential privacy"):
        Curator(PEOPLE, Budget(1.0)).publish(ROWS, {"sum": ExactSum(AGE, rows_per_person=2)})


def test_an_empty_table_and_a_schema_without_ids_are_refused():
    with pytest.raises(NoRecords):
        Curator(PEOPLE, Budget(1.0)).publish({"id": [], "age": []}, publications())
    with pytest.raises(BadColumns, match="whose record is whose"):
        Curator(Schema([AGE]), Budget(1.0))
    with pytest.raises(NotThere):
        Curator(PEOPLE, Budget(1.0)).delete("a")
