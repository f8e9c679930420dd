"""From a frame to a table of answers, whatever the frame; the same from Python as from a spec.

Covers: curate/answers.py, curate/publications.py
"""

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from undeleted import (
    BadBudget,
    BadColumns,
    BadSetting,
    BadUsage,
    Boolean,
    Budget,
    Category,
    Curator,
    Date,
    NoisyMean,
    NoisySum,
    NotAColumn,
    NotFound,
    Number,
    Schema,
    StoreError,
    WrongType,
    count,
    histogram,
    mean,
    publish,
    quantiles,
    total,
    variance,
)
from undeleted.curate import curator as curator_module
from undeleted.curate.spec import Spec
from undeleted.foundations.digits import in_digits
from undeleted.interfaces.cli import run
from undeleted.interfaces.report.exporting import exported

AGE = Number("age", min=0, max=120)
EDUC = Category("educ", values=("none", "school", "college"))
MARRIED = Boolean("married")
N = 1200
FRAME = pd.DataFrame(
    {
        "age": np.arange(N) % 90,
        "educ": [EDUC.values[i % 3] for i in range(N)],
        "married": [i % 2 == 0 for i in range(N)],
        "pid": [f"p{i:04}" for i in range(N)],
    }
)
FORMS = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.DataFrame(FRAME),
    "lazy": lambda: pl.DataFrame(FRAME).lazy(),
    "arrow": lambda: pa.Table.from_pandas(FRAME),
    "dict": lambda: FRAME.to_dict("list"),
    "rows": lambda: FRAME.to_dict("records"),
    "records": lambda: FRAME.to_records(index=False),
    "duckdb": lambda: duckdb.from_df(FRAME),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_is_taken(form):
    curator = publish(
        FORMS[form](), id="pid", budget=8.0, people=count(), ages=mean(AGE, by=EDUC, where="age >= 18")
    )
    ages = curator.show("ages").to_pandas()
    exact = FRAME[FRAME.age >= 18].groupby("educ", sort=False).age.mean()
    assert ages.educ.tolist() == ["none", "school", "college"]
    assert np.allclose(ages.estimate, exact.loc[ages.educ], atol=2)  # 11 standard deviations of its noise
    assert curator.delete(FRAME.pid[:200]).deleted == 200
    assert curator.check() == []


def test_a_file_is_taken_by_its_path(tmp_path):
    path = tmp_path / "people.parquet"
    FRAME.to_parquet(path)
    curator = publish(
        path, id="pid", budget=8.0, store=tmp_path / "people.db", ages=quantiles(AGE, by=(MARRIED,))
    )
    table = curator.show("ages").to_arrow(quantile=0.5)
    assert table.column_names == [
        "publication",
        "married",
        "of",
        "estimate",
        "low",
        "high",
        "confidence",
        "version",
    ]
    assert table["married"].to_pylist() == [False, True]


def test_the_answers_are_the_same_in_every_frame():
    curator = publish(
        FRAME, id="pid", budget=1.0, cross=histogram(EDUC, MARRIED), sum=total(AGE), spread=variance(AGE)
    )
    for name in ("cross", "sum", "spread"):
        publication = curator.show(name)
        rows = publication.to_arrow().to_pylist()
        assert publication.to_pandas().to_dict("records") == rows
        assert publication.to_polars().to_dicts() == rows
        assert in_digits(rows[0]["estimate"]) in publication._repr_html_()
    by = curator.show("cross").to_arrow(by=["married"]).to_pylist()
    cells = curator.show("cross").to_arrow().to_pylist()
    for row in by:
        same = [cell["estimate"] for cell in cells if cell["married"] == row["married"]]
        assert row["estimate"] == sum(same), "margins are sums of the same cells"


def test_the_budget_is_shared_as_in_a_spec():
    spec = Spec.parse(
        """
[data]
source = "people.csv"
id = "pid"
[columns.age]
type = "number"
min = 0
max = 120
[columns.educ]
type = "category"
values = ["none", "school", "college"]
[budget]
epsilon = 1.0
delta = 1e-6
[publish.people]
kind = "count"
weight = 3
[publish.ages]
kind = "mean"
column = "age"
by = ["educ"]
"""
    )
    curator = publish(
        FRAME, id="pid", budget=Budget(1.0, 1e-6), people=count(weight=3), ages=mean(AGE, by=EDUC)
    )
    assert curator.store.mechanisms == spec.mechanisms
    assert curator.status().spent <= 1.0


@pytest.mark.parametrize(
    ("work", "error", "says"),
    [
        (lambda: publish(FRAME, id="pid", budget=1.0), BadUsage, "there is nothing to publish"),
        (lambda: publish(FRAME, id="pid", budget=1.0, n=AGE), WrongType, "'n' is not a request"),
        (
            lambda: publish(FRAME, id="nobody", budget=1.0, n=mean(AGE)),
            BadColumns,
            "'nobody': not in the data",
        ),
        (lambda: mean("age"), WrongType, "mean takes declared columns, got a str"),
        (lambda: mean(AGE, by="educ"), WrongType, "got a str"),
        (lambda: mean(AGE, where=FRAME.age > 3), WrongType, "where is a Series"),
        (lambda: publish(FRAME, id="pid", budget=1.0, n=count()), BadUsage, "no column is declared"),
        (lambda: publish(FRAME, id="pid", budget="1", n=mean(AGE)), BadBudget, "budget must be a number"),
        (lambda: mean(AGE, weight=0), BadSetting, "weight = 0 is not positive"),
        (
            lambda: publish(FRAME, id="pid", budget=1.0, n=mean(AGE, where="wage > 3")),
            BadSetting,
            "names 'wage'",
        ),
        (
            lambda: publish(FRAME, id="pid", budget=1.0, n=mean(AGE), m=mean(Number("age", min=0, max=9))),
            BadColumns,
            "declared in two ways",
        ),
        (
            lambda: publish(FRAME, id="pid", budget=1.0, n=histogram(EDUC)).show("n").to_arrow(by=["age"]),
            NotFound,
            "the histogram has no age",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(work, error, says):
    with pytest.raises(error, match=says):
        work()


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (FRAME, "a table was given"),
        (pl.DataFrame(FRAME), "a table was given"),
        (pa.Table.from_pandas(FRAME), "a table was given"),
        ({"pid": ["p0000"]}, "a table was given"),
        (None, "an id is missing"),
        ([None], "an id is missing"),
        ([float("nan")], "an id is missing"),
        ([["p0000"]], "cannot be of type list"),
        (b"p0000", "cannot be of type bytes"),
        (bytearray(b"p0000"), "cannot be of type bytearray"),
        (memoryview(b"p0000"), "cannot be of type memoryview"),
        (np.array("p0000"), "an array of 0 dimensions"),
        (np.array([["p0000"]]), "an array of 2 dimensions"),
    ],
)
def test_what_is_not_a_list_of_ids_is_refused_and_deletes_nobody(ids, says):
    curator = publish(FRAME, id="pid", budget=1.0, ages=mean(AGE))
    with pytest.raises(WrongType, match=says):
        curator.delete(ids)
    assert curator.status().version == 1
    assert curator.delete("p0000").deleted == 1


@pytest.mark.parametrize(
    "ids", [FRAME.pid[:3], pl.Series(FRAME.pid[:3]), FRAME.pid[:3].to_numpy(), iter(FRAME.pid[:3])]
)
def test_a_column_of_ids_is_a_list_of_ids(ids):
    curator = publish(FRAME, id="pid", budget=1.0, ages=mean(AGE))
    assert curator.delete(ids).deleted == 3


PLANTED = pd.Series(["424242", "434343"], name="age")
NUMBERS = PLANTED.astype(int)


@pytest.mark.parametrize(
    "work",
    [
        lambda: mean(NUMBERS),
        lambda: mean(AGE, by=PLANTED),
        lambda: mean(AGE, by=PLANTED.tolist()),
        lambda: mean(AGE, where=PLANTED),
        lambda: NoisyMean(NUMBERS.to_numpy(), 1.0),
        lambda: NoisyMean(NUMBERS, 1.0),
        lambda: NoisyMean(AGE, NUMBERS),
        lambda: NoisyMean(AGE, tuple(NUMBERS)),
        lambda: publish(FRAME, id="pid", budget=NUMBERS, n=mean(AGE)),
    ],
)
def test_data_in_the_wrong_place_are_not_repeated_in_the_message(work):
    """A column of data where a declared column or a number belongs: messages reach logs."""
    with pytest.raises((WrongType, NotAColumn, BadBudget)) as refused:
        work()
    said = str(refused.value) + str(getattr(refused.value, "columns", ""))
    assert not any(value in said for value in PLANTED)


def test_dates_and_numbers_in_one_table_have_columns_of_their_own(tmp_path):
    """A column has one type: a date beside them does not turn all numbers into texts."""
    born = Date("born", min="1950-01-01", max="2020-01-01")
    people = {"pid": [str(i) for i in range(300)], "age": [40] * 300, "born": ["1990-05-05"] * 300}
    columns = {"n": count(), "ages": mean(AGE), "births": quantiles(born)}
    curator = publish(people, id="pid", budget=9.0, columns=[AGE], **columns)
    frame = curator.to_pandas()
    assert frame.estimate.dtype == float
    assert list(frame["estimate (date)"].notna()) == [name == "births" for name in frame.publication]
    alone = curator.show("births").to_pandas(quantile=0.5)
    assert "estimate (date)" not in alone
    assert "1950" <= str(alone.estimate[0]) <= "2021"
    rows = json.loads(exported(curator.show(), "json"))["answers"]
    assert {type(row["estimate"]) for row in rows} == {float, str}
    assert len({tuple(row) for row in rows}) == 1


def test_a_table_of_another_schema_is_refused():
    """Its codes would be packed into too few bits, and a deletion would subtract another number."""
    wide, narrow = Number("v", min=0, max=1000), Number("v", min=0, max=10)
    table = Schema([wide], id="id").table({"id": ["1", "2"], "v": [1000, 500]})
    with pytest.raises(WrongType, match="another schema"):
        Curator(Schema([narrow], id="id"), Budget(1.0)).publish(table, {"s": NoisySum(wide, 1.0)})


def test_a_float_that_may_be_somebody_elses_id_is_refused():
    people = {"pid": [str(2**53), str(2**53 + 1)], "age": [1, 2]}
    curator = publish(people, id="pid", budget=1.0, ages=mean(AGE))
    with pytest.raises(WrongType, match="may be another person's"):
        curator.delete(pd.Series([2**53 + 1, None]).dropna())
    assert curator.delete(2**53 + 1).deleted == 1


def test_a_bad_id_late_in_a_list_reports_and_erases_what_was_deleted_before(monkeypatch):
    monkeypatch.setattr(curator_module, "BATCH", 100)
    curator = publish(FRAME, id="pid", budget=1.0, ages=mean(AGE))
    with pytest.raises(StoreError, match="200 people were deleted before this: an id is missing"):
        curator.delete([*FRAME.pid[:250], None])
    assert not curator.status().erasure_pending
    assert curator.delete(FRAME.pid[:250]).deleted == 50


@pytest.mark.parametrize("name", ["low", "estimate", "version", "publication", "confidence"])
def test_a_column_with_a_name_of_ours_keeps_its_labels(name):
    column = Category(name, values=("a", "b"))
    frame = {"pid": [str(i) for i in range(100)], name: ["a", "b"] * 50}
    table = publish(frame, id="pid", budget=5.0, n=count(by=column)).show("n").to_pandas()
    assert table[f"{name} (label)"].tolist() == ["a", "b"]
    assert table.publication.tolist() == ["n", "n"]


def test_thousands_of_groups_are_exported_and_not_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wide = Number("n", min=0, max=4999)
    frame = {"pid": ["a", "b"], "n": [1, 2]}
    publish(frame, id="pid", budget=1.0, store="p.db", n=count(by=wide)).close()
    assert run(["show", "n", "--store", "p.db"]) == 2
    assert "undeleted export" in capsys.readouterr().err
    assert run(["export", "n", "--store", "p.db", "--format", "csv", "--out", "n.csv"]) == 0
    assert len((tmp_path / "n.csv").read_text().splitlines()) == 5001


def test_without_a_name_everything_is_shown():
    curator = publish(FRAME, id="pid", budget=1.0, ages=mean(AGE), cross=histogram(EDUC))
    assert {name: one.name for name, one in curator.show().items()} == {"ages": "ages", "cross": "cross"}
    assert curator.show()["ages"].to_arrow() == curator.show("ages").to_arrow()


def test_what_was_deleted_before_a_failure_is_reported_even_if_it_cannot_be_erased(monkeypatch):
    monkeypatch.setattr(curator_module, "BATCH", 100)
    curator = publish(FRAME, id="pid", budget=1.0, ages=mean(AGE))

    def lost(*_):
        raise StoreError("the server was lost.", "Try again.")

    monkeypatch.setattr(curator.store, "erase", lost)
    with pytest.raises(StoreError, match="100 people were deleted before this: an id is missing"):
        curator.delete([*FRAME.pid[:150], None])
