"""A schema takes rows in the shapes people have them, and knows whose they are.

Covers: foundations/schema/table.py
"""

import numpy as np
import pytest

from undeleted.errors import BadColumns, RejectedValue
from undeleted.foundations.schema import Boolean, Number, Schema, Text

AGE, SICK = Number("age", min=0, max=120), Boolean("sick")
PEOPLE = Schema([AGE, SICK])


@pytest.mark.parametrize(
    "data",
    [
        {"age": [41, 17], "sick": [True, False]},
        {"age": np.array([41, 17]), "sick": np.array([True, False]), "unused": [0, 0]},
        [{"age": 41, "sick": True}, {"age": 17, "sick": False}],
        [(41, True), (17, False)],
    ],
)
def test_all_shapes_of_rows_make_the_same_table(data):
    table = PEOPLE.table(data)

    assert table.rows == 2
    assert table.codes["age"].tolist() == [41, 17]
    assert table.codes["sick"].tolist() == [1, 0]


def test_a_single_column_takes_bare_values_and_an_empty_table_is_a_table():
    assert Schema([AGE]).table([41, 17]).codes["age"].tolist() == [41, 17]
    assert Schema([AGE]).table([]).rows == 0
    assert Schema([Text("post")]).table(["hello"]).texts["post"] == ["hello"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"age": [41]}, "not in the data"),
        ({"age": [41], "sick": [True, False]}, "different lengths"),
        ({"age": [[41]], "sick": np.array([[True]])}, "one-dimensional|not numbers"),
        ([{"age": 41}], "some rows do not have exactly these"),
        ([41], "some rows do not have exactly these"),
        ([(41, True, 0)], "some rows do not have exactly these"),
        (None, "some rows do not have exactly these"),
    ],
)
def test_columns_that_are_not_there_are_named(data, problem):
    with pytest.raises(BadColumns, match=problem):
        PEOPLE.table(data)


def test_schemas_that_cannot_be_are_refused():
    with pytest.raises(BadColumns, match="twice"):
        Schema([AGE, AGE])
    with pytest.raises(BadColumns, match="twice"):
        Schema([AGE], id="age")
    for nothing in ([], ["age"], "age"):
        with pytest.raises(BadColumns, match="made of declared columns"):
            Schema(nothing)
    with pytest.raises(BadColumns, match=r"rows_per_person = 1\.5"):
        Schema([AGE], id="id", rows_per_person=1.5)
    with pytest.raises(BadColumns, match="rows_per_person = 2"):
        Schema([AGE], rows_per_person=2)
    with pytest.raises(BadColumns, match="rows_per_person = 0"):
        Schema([AGE], id="id", rows_per_person=0)
    with pytest.raises(BadColumns, match="not a rule"):
        Schema([AGE], id="id", excess="keep")


def test_rows_beyond_the_cap_follow_the_excess_rule():
    rows = {"id": ["a", "b", "a", "a"], "age": [1, 2, 3, 4]}
    with pytest.raises(RejectedValue, match="a person may have 1 row"):
        Schema([AGE], id="id").table(rows)

    kept = Schema([AGE], id="id", rows_per_person=2, excess="drop").table(rows)
    assert kept.codes["age"].tolist() == [1, 2, 3]
    assert kept.ids == ["a", "b", "a"]


def test_every_row_needs_an_id():
    with pytest.raises(RejectedValue, match="every row must have an id"):
        Schema([AGE], id="id").table({"id": ["a", None], "age": [1, 2]})


def test_a_table_does_not_print_people():
    assert "41" not in repr(PEOPLE.table([(41, True)]))


def test_a_column_with_other_bounds_is_not_the_schemas_column():
    """Its sensitivity would be another, and the noise with it."""
    table = PEOPLE.table([(41, True)])
    with pytest.raises(BadColumns, match="declared differently in the schema"):
        table.complete([Number("age", min=0, max=1)])
    with pytest.raises(BadColumns, match="not in the schema"):
        table.complete([Number("height", min=0, max=1)])


def test_with_ids_rows_are_given_by_name():
    """A tuple would not tell which of its fields is the id."""
    people = Schema([AGE], id="id")
    with pytest.raises(BadColumns, match="do not have exactly these"):
        people.table([(41, "a")])
    assert people.table([{"age": 41, "id": 7}]).ids == ["7"]
