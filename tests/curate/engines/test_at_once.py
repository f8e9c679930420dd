"""Sums of values that all fit are computed without rules, in one query; one misfit, and the rules apply.

Covers: curate/engines/ibis.py
"""

import ibis
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.engines.ibis import Ibis
from undeleted.curate.statistics import (
    ClippedSum,
    Count,
    CrossProducts,
    GroupedCells,
    Histogram,
    Moments,
    RangeTree,
)
from undeleted.errors import RejectedValue
from undeleted.foundations.schema import Boolean, Number, Schema
from undeleted.foundations.schema.conditions import Condition


def columns(rule):
    """The columns, whose misfits are clamped or left out."""
    x = Number("x", min=-5, max=9, out_of_range=rule, missing="drop")
    return x, Number("g", min=3, max=6, out_of_range=rule, missing="drop"), Boolean("b", missing="drop")


def statistics(x, g, b):
    return [
        *(Count(), ClippedSum(x), Moments(x, 2), Histogram((g, b)), RangeTree(x, 4), CrossProducts((x, g))),
        *(GroupedCells(each, (g, b)) for each in (Count(), Moments(x, 2), Moments(b, 1))),
        GroupedCells(ClippedSum(x), (g,), Condition("x > 2 and b", (x, g, b))),
    ]


def totals(rows, rule):
    """By Ibis and by numpy, and whether the short way was taken."""
    x, g, b = columns(rule)
    schema, frame = Schema([x, g, b]), pd.DataFrame(rows, columns=["x", "g", "b"])
    frame = frame.astype({"x": "Int64", "g": "Int64", "b": "boolean"})
    asked = statistics(x, g, b)
    engine, arrays = Ibis(schema, ibis.memtable(frame)), Arrays(schema.table(frame))
    engine.prepare(asked)
    theirs = [engine.total(s).tolist() for s in asked]
    return theirs, [arrays.total(s).tolist() for s in asked], engine._fits


FITS = st.tuples(st.integers(-5, 9), st.integers(3, 6), st.booleans())
ANY = st.tuples(
    st.one_of(st.none(), st.integers(-9, 12), st.sampled_from([2**62, -(2**62)])),
    st.one_of(st.none(), st.integers(0, 9)),
    st.one_of(st.none(), st.booleans()),
)


@settings(max_examples=8)
@given(st.lists(FITS, max_size=12), st.sampled_from(["clamp", "drop"]))
def test_values_that_fit_are_summed_at_once_to_the_same_integers(rows, rule):
    theirs, ours, at_once = totals(rows, rule)
    assert theirs == ours
    assert at_once


@settings(max_examples=14)
@given(st.lists(FITS, max_size=6), ANY, st.sampled_from(["clamp", "drop"]))
def test_one_value_that_does_not_fit_and_the_rules_apply(rows, misfit, rule):
    theirs, ours, at_once = totals([*rows, misfit], rule)
    assert theirs == ours
    x, g, b = misfit
    assert at_once == (x in range(-5, 10) and g in range(3, 7) and b is not None)


@pytest.mark.parametrize(
    "misfit", [(99, 3, True), (1, 99, True), (None, 3, True), (1, None, True), (1, 3, None)]
)
def test_a_rule_that_refuses_is_not_left_out(misfit):
    x, g, b = Number("x", min=-5, max=9), Number("g", min=3, max=6), Boolean("b")
    frame = pd.DataFrame([(1, 3, True), misfit], columns=["x", "g", "b"])
    frame = frame.astype({"x": "Int64", "g": "Int64", "b": "boolean"})
    engine = Ibis(Schema([x, g, b]), ibis.memtable(frame))
    with pytest.raises(RejectedValue):
        engine.prepare([GroupedCells(Count(), (g,))])


def test_a_database_that_does_not_enforce_its_types_is_not_taken_at_its_word(tmp_path):
    """SQLite keeps 1000 in a column of booleans; such a value must not be summed as it is."""
    import sqlite3

    with sqlite3.connect(tmp_path / "t.db") as db:
        db.execute("CREATE TABLE t (sick BOOLEAN)")
        db.executemany("INSERT INTO t VALUES (?)", [(1,), (0,), (1000,)])
    db.close()
    backend = ibis.sqlite.connect(str(tmp_path / "t.db"))
    sick = Boolean("sick", unknown="drop")
    engine = Ibis(Schema([sick]), backend.table("t"))
    total = engine.total(Moments(sick, 1))
    assert not engine._fits
    assert int(total[1]) <= int(total[0])
    backend.disconnect()


def test_ids_are_still_checked():
    x = Number("x", min=0, max=9)
    engine = Ibis(Schema([x], id="pid"), ibis.memtable({"pid": ["a", "a"], "x": [1, 2]}))
    with pytest.raises(RejectedValue, match="a person may have 1 row"):
        engine.prepare([ClippedSum(x)])
