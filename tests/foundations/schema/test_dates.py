"""Dates: every form of the same moment has the same code, alone and among others; answers are dates again."""

import json
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted import Budget, NoisyHistogram, NoisyMean, NoisySum, publish
from undeleted.curate.curator import Curator
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.engines.ibis import Ibis
from undeleted.curate.publishing import count, mean, quantiles
from undeleted.curate.stores._json_descriptions import build, describe
from undeleted.errors import BadBounds, BadColumns, BadQuestion, BadSetting, RejectedValue
from undeleted.foundations.coins import seeded
from undeleted.foundations.schema import Date, Schema
from undeleted.foundations.schema.conditions import Condition
from undeleted.interfaces.cli import run

DAY = Date(
    "when", min="2019-12-30", max="2024-12-31", missing="drop", not_a_number="drop", out_of_range="drop"
)
MONTH = Date("when", min="2019-12", max="2024-12", grain="month", missing="drop", not_a_number="drop")
SECOND = Date("when", min="1969-12-30", max="2030-01-01", grain="second", missing="drop", not_a_number="drop")
GRAINS = (DAY, MONTH, SECOND)
MOMENTS = st.datetimes(datetime(2019, 12, 31), datetime(2024, 12, 30))


def codes(column, values):
    got, kept = column.encode(values)
    return [int(c) if k else None for c, k in zip(got, kept, strict=True)]


def exact(column, when):
    """The rule, written again: whole days, months or seconds since the first of the grid."""
    low = {"day": datetime(2019, 12, 30), "month": datetime(2019, 12, 1), "second": datetime(1969, 12, 30)}
    if column.grain == "month":
        return (when.year - 2019) * 12 + when.month - 12
    return (when - low[column.grain]) // timedelta(**{column.grain + "s": 1})


@pytest.mark.parametrize("column", GRAINS, ids=lambda c: c.grain)
@given(MOMENTS.map(lambda when: when.replace(microsecond=0)))
def test_every_form_of_a_moment_has_the_code_of_the_rule(column, when):
    code, utc = exact(column, when), when.replace(tzinfo=UTC)
    there = utc.astimezone(timezone(timedelta(hours=5, minutes=30)))
    forms = [
        *([when], [str(when)], [when.isoformat()], [utc], [there.isoformat()], [f"{when.isoformat()}Z"]),
        *(np.array([when], dtype=f"datetime64[{unit}]") for unit in ("s", "us", "ns")),
        *(
            pd.Series([when]),
            pd.Series([there]),
            pd.Series([str(when)]),
            pl.Series([when]),
            pl.Series([there]),
        ),
        *(pa.array([when], pa.timestamp(unit)) for unit in ("s", "us", "ns")),
        *(
            pa.array([utc], pa.timestamp("us", "Asia/Tokyo")),
            pa.chunked_array([[when]]),
            pa.array([str(when)]),
        ),
    ]
    for form in forms:
        assert codes(column, form) == [code], form
    for day in ([when.date()], [str(when.date())], pa.array([when.date()]), pl.Series([when.date()])):
        assert codes(column, day) == [exact(column, datetime.combine(when.date(), datetime.min.time()))]


@given(st.lists(st.one_of(MOMENTS, st.none(), st.just("never"), st.just(""), st.just(7)), max_size=9))
def test_a_value_has_the_same_code_alone_and_among_others(values):
    for column in GRAINS:
        assert codes(column, values) == [codes(column, [value])[0] for value in values]


def test_what_is_no_date_is_refused_dropped_or_clamped():
    for wrong in (
        "31.01.2020",
        "2020-02-30",
        "20200131",
        "2020",
        "2020-01",
        20200131,
        1.5e9,
        True,
        ["2020-01-31"],
    ):
        assert codes(DAY, [wrong]) == [None]
    strict = Date("when", min="2020-01-01", max="2020-12-31")
    for wrong, says in (("soon", "must be dates"), (None, "must be present"), ("2021-01-01", "must lie in")):
        with pytest.raises(RejectedValue, match=says):
            strict.encode(["2020-05-05", wrong])
    clamped = Date("when", min="2020-01-01", max="2020-12-31", out_of_range="clamp")
    assert codes(clamped, ["1600-01-01", "2020-01-03", "9999-12-31"]) == [0, 2, 365]
    assert codes(clamped, np.array(["1600-01-01", "NaT"], dtype="datetime64[D]")[:1]) == [0]


def test_no_value_stops_a_column_that_drops_what_does_not_fit():
    """A time before the first year in UTC, milliseconds in a date64, masks, and types that pandas borrows."""
    assert codes(DAY, ["0001-01-01T00:00:00+14:00", "2020-01-01"]) == [None, 2]
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    assert codes(DAY, [early, datetime(2020, 1, 1)]) == [None, 2]
    halfway = pa.array([1577836800123, 1577836800000], pa.int64()).view(pa.date64())
    assert codes(DAY, halfway) == [2, 2]
    masked = np.ma.MaskedArray(np.array(["2020-01-01"] * 2, dtype="datetime64[D]"), mask=[True, False])
    assert codes(DAY, masked) == [None, 2]
    when = [datetime(2020, 1, 1, 5)]
    for kind in ("timestamp[us][pyarrow]", "timestamp[us, Asia/Tokyo][pyarrow]", "date32[day][pyarrow]"):
        assert codes(DAY, pd.Series(when).dt.tz_localize("UTC").astype("timestamp[us, UTC][pyarrow]")) == [
            2
        ], kind
    assert codes(DAY, pd.DatetimeIndex(when, tz="Asia/Tokyo")) == [1]
    assert codes(DAY, pd.DatetimeIndex(when)) == [2]


@pytest.mark.parametrize(
    "bounds",
    [{"min": 3, "max": "2020-01-01"}, {"min": "2020-01-02", "max": "2020-01-01"}, {"min": "x", "max": "y"}],
)
def test_bounds_must_be_dates_in_order(bounds):
    with pytest.raises(BadBounds):
        Date("when", **bounds)
    with pytest.raises(BadBounds, match="does not exist"):
        Date("when", min="2020-01-01", max="2021-01-01", grain="year")


def test_a_date_is_stored_and_read_back():
    for column in GRAINS:
        assert build(json.loads(json.dumps(describe(column)))) == column


def test_conditions_compare_dates():
    after = Condition('when >= "2020-01-01" and when < "2020-01-03"', (DAY,))
    assert [after.holds({"when": code}) for code in range(6)] == [0, 0, 1, 1, 0, 0]
    for wrong in ("when > 5", 'when > "soon"'):
        with pytest.raises(BadSetting, match="write dates in quotes"):
            Condition(wrong, (DAY,))


def test_engines_agree_on_dates():
    import ibis

    when = [date(2020, 1, 1) + timedelta(days=i % 700) for i in range(2000)]
    schema, statistic = Schema([DAY]), NoisyMean(DAY, 1.0).statistic
    totals = Arrays(schema.table({"when": when})).total(statistic)
    assert Ibis(schema, ibis.memtable({"when": when})).total(statistic).tolist() == totals.tolist()


def test_dates_have_no_sum():
    with pytest.raises(BadColumns, match="dates have no sum"):
        NoisySum(DAY, Budget(1.0))


def test_answers_are_dates_and_frames_have_them():
    when = [date(2020, 1, 1) + timedelta(days=i % 60) for i in range(3000)]
    people = {"pid": [str(i) for i in range(3000)], "when": when}
    curator = publish(
        people,
        id="pid",
        budget=9.0,
        middle=mean(DAY),
        quartiles=quantiles(DAY),
        recent=count(where='when >= "2020-02-01"'),
    )
    [row] = curator.show("middle").to_arrow().to_pylist()
    assert row["low"] <= row["estimate"] <= row["high"]
    assert abs(row["estimate"] - date(2020, 1, 30)) <= timedelta(days=4)
    assert "2020-01" in str(curator.show("middle").estimate())
    frame = curator.show("quartiles").to_pandas()
    assert abs(frame.estimate.iloc[1] - date(2020, 1, 30)) <= timedelta(days=4)
    [recent] = curator.show("recent").to_arrow().to_pylist()
    assert abs(recent["estimate"] - 3000 * 29 / 60) < 40


def test_cells_of_a_histogram_are_labelled_with_dates():
    months = Date("when", min="2020-01", max="2020-03", grain="month")
    mechanism = NoisyHistogram((months,), 100.0)
    release = mechanism.release(
        Arrays(Schema([months]).table(["2020-01", "2020-03-31", "2020-03-01"])), seeded(7)
    )
    labels = [label["when"] for label, _ in mechanism.answers(release, {}, 0.95)]
    assert labels == ["2020-01", "2020-02", "2020-03"]
    [(_, box)] = mechanism.answers(release, {"where": ["when=2020-02..2020-03"]}, 0.95)
    assert box.value == 2
    with pytest.raises(BadQuestion, match="names days"):
        next(mechanism.answers(release, {"where": ["when=2020-02-03..2020-03-09"]}, 0.95))
    with pytest.raises(BadSetting, match="is in months"):
        Condition('when >= "2020-02-03"', (months,))


SPEC = """[data]
source = "people.csv"
id = "pid"
[budget]
epsilon = 9.0
[columns.when]
type = "date"
min = 2020-01-01
max = "2020-12-31"
not_a_date = "drop"
[publish.hired]
kind = "mean"
column = "when"
[publish.spread]
kind = "quantiles"
column = "when"
"""


def test_a_spec_declares_dates_and_the_command_line_shows_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"p{i},2020-06-{1 + i % 30:02}" for i in range(3000))
    (tmp_path / "people.csv").write_text(f"pid,when\n{rows}\nlast,someday\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    assert run(["publish", "spec.toml"]) == 0
    capsys.readouterr()
    assert run(["show", "hired", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["low"] <= said["estimate"] <= said["high"]
    assert said["estimate"].startswith("2020-06-1")
    assert run(["show"]) == 0
    assert "[2020-06-" in capsys.readouterr().out
    assert run(["show", "spread", "--range", "2020-06-01", "2020-06-15", "--json"]) == 0
    assert abs(json.loads(capsys.readouterr().out)["estimate"] - 1500) < 90
    assert run(["export", "hired"]) == 0
    assert '"2020-06-1' in capsys.readouterr().out
    (tmp_path / "bad.toml").write_text(SPEC.replace("min = 2020-01-01", "min = 5"))
    assert run(["publish", "bad.toml", "--store", "other.db"]) == 2
    assert "`min` must be a date such as 2020-01-31" in capsys.readouterr().err
    with Curator.open("undeleted.db") as curator:
        assert curator.delete("p0").deleted == 1
        assert curator.check() == []
