"""Pairs of worlds agree on what the attacker controls, and keep what their family says."""

from itertools import islice

import numpy as np
import pytest

from undeleted.auditing.columns import TargetColumn, columns_from, columns_of, parse_column
from undeleted.auditing.pairs import FAMILIES, Space, crowd, pairs
from undeleted.errors import Misuse
from undeleted.foundations.coins import seeded

NUMBERS = Space((TargetColumn("x", 0, 100), TargetColumn("z", -1.0, 1.0), TargetColumn("y", -64, 64)), "y")
CLASSES = Space(
    (
        TargetColumn("x", 0, 100),
        TargetColumn("colour", values=("red", "blue")),
        TargetColumn("y", values=(0, 1)),
    ),
    "y",
)
LINE = Space((TargetColumn("x", 0, 1000),))
REAL = Space(
    (TargetColumn("age", 17, 90), TargetColumn("sex", values=("f", "m"))),
    rows=tuple({"age": 17 + i, "sex": "fm"[i % 2]} for i in range(60)),
)
SPACES = {"numbers": NUMBERS, "classes": CLASSES, "line": LINE, "real": REAL}


def some(space, family, count=30):
    return list(islice(pairs(space, seeded(family), (family,)), count))


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("family", FAMILIES)
def test_worlds_agree_on_the_controlled_rows_and_on_the_names(space, family):
    applies = any(FAMILIES[family](space, seeded(i), 8, 8) for i in range(5))
    if not applies:
        return
    for pair in some(space, family):
        assert [r["id"] for r in pair.one] == [r["id"] for r in pair.other]
        assert len({r["id"] for r in pair.one}) == len(pair.one)
        assert not set(pair.own) & set(pair.staying), "the worlds differ in a row of the attacker's"
        assert set(pair.own) <= {r["id"] for r in pair.one}
        for row in (*pair.one, *pair.other):
            for column in space.columns:
                if column.is_number:
                    assert column.low <= row[column.name] <= column.high
                    assert (row[column.name] - column.low) / column.step % 1 == 0
                else:
                    assert row[column.name] in column.values


def staying(pair, world, name):
    return np.array([r[name] for r in world if r["id"] not in pair.own], dtype=float)


def test_same_sum_and_same_moments_are_the_same_to_the_last_bit():
    for pair in some(LINE, "same-sum"):
        assert staying(pair, pair.one, "x").sum() == staying(pair, pair.other, "x").sum()
    for pair in some(LINE, "same-moments"):
        for power in (1, 2):
            ours, theirs = (staying(pair, w, "x") ** power for w in (pair.one, pair.other))
            assert ours.sum() == theirs.sum()


def test_flat_labels_are_flat_and_the_attacker_cancels():
    for pair in some(NUMBERS, "flat-label"):
        assert set(staying(pair, pair.one, "y")) == set(staying(pair, pair.other, "y")) == {0.0}
        mine = [r for r in pair.one if r["id"] in pair.own]
        assert sum(r["y"] for r in mine) == 0
        assert sum(r["y"] * r["x"] for r in mine) == 0


def test_both_labels_stand_at_every_point():
    for pair in some(CLASSES, "both-labels"):
        for world in (pair.one, pair.other):
            points = sorted((r["x"], r["colour"], r["y"]) for r in world)
            assert [p[:2] for p in points if p[2] == 0] == [p[:2] for p in points if p[2] == 1]


def test_mirrored_worlds_have_the_same_spread():
    for pair in some(LINE, "mirror"):
        ours, theirs = ([r["x"] for r in w] for w in (pair.one, pair.other))
        assert np.var(ours) == pytest.approx(np.var(theirs))


def test_real_rows_are_real():
    known = {(r["age"], r["sex"]) for r in REAL.rows}
    for pair in some(REAL, "redraw"):
        assert {(r["age"], r["sex"]) for r in (*pair.one, *pair.other)} <= known


def test_a_crowd_shares_the_attackers_rows():
    worlds, own = crowd(CLASSES, seeded(7), 50)
    rows = [[r for r in world if r["id"] in own] for world in worlds]
    assert all(r == rows[0] for r in rows)
    assert len({str(w) for w in worlds}) > 25


def test_columns_are_read_as_they_are_written():
    assert parse_column("age=0..120") == TargetColumn("age", 0, 120)
    assert parse_column("w=-1.5..2").step == 3.5 / 1024
    assert parse_column("w=0.0..1.0").size == 1025
    assert columns_from({"sex": ("f", "m")})[0].values == ("f", "m")
    assert parse_column("sex=f,m").values == ("f", "m")
    assert columns_from({"age": (0, 9), "sex": ["f", "m"]})[1].values == ("f", "m")
    found = columns_of([{"id": "a", "n": 3, "s": "x"}, {"id": "b", "n": 9, "s": "y"}])
    assert found == (TargetColumn("n", 3, 9), TargetColumn("s", values=("x", "y")))
    for wrong in ("age", "age=", "=0..1", "age=9..0", "age=a..b", "sex=f", "id=0..1"):
        with pytest.raises(Misuse):
            parse_column(wrong)
