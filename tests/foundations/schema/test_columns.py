"""Values land on the grid, or follow the rule that the schema states; messages never tell them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted.errors import BadBounds, RejectedValue
from undeleted.foundations.schema import Boolean, Category, Number, Text

SECRET = 987_654.25


def age(**rules):
    return Number("age", min=0, max=120, step=1, **rules)


@given(st.integers(-50, 50), st.integers(1, 40), st.integers(1, 9), st.data())
def test_integers_and_floats_get_the_same_codes(low, cells, step, data):
    column = Number("x", min=low, max=low + cells * step, step=step, out_of_range="clamp", off_grid="round")
    values = data.draw(st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
    as_integers, as_floats = column.encode(values), column.encode([float(v) for v in values])

    assert np.array_equal(as_integers[0], as_floats[0])
    assert as_integers[0].min() >= 0
    assert as_integers[0].max() < column.cells
    assert as_integers[1].all()


@given(st.sampled_from(["0.1", "0.01", "0.25", "3", "1e-3"]), st.integers(-30, 30), st.integers(1, 500))
def test_decimal_grids_are_exact(step, start, cells):
    low = Fraction(step) * start
    column = Number("x", min=str(float(low)), max=low + Fraction(step) * cells, step=step)
    points = [float(low + Fraction(step) * i) for i in range(cells + 1)]

    assert column.cells == cells + 1
    assert np.array_equal(column.encode(points)[0], np.arange(cells + 1))
    assert column.unit * (column.offset + column.stride * 3) == column.min + 3 * column.step
    assert column.decode(cells) == pytest.approx(float(column.max))


def test_out_of_range_values_follow_their_rule():
    assert age(out_of_range="clamp").encode([-5, 34, 150])[0].tolist() == [0, 34, 120]
    assert age(out_of_range="drop").encode([-5, 34, 150])[1].tolist() == [False, True, False]
    assert age(out_of_range="clamp").encode([math.inf, -math.inf])[0].tolist() == [120, 0]
    with pytest.raises(RejectedValue, match=r"column 'age': values must lie in \[0, 120\] \(2 rows"):
        age().encode([-5, 34, 150])


def test_values_off_the_grid_follow_their_rule():
    assert age(off_grid="round").encode([34.4, 34.5, 34.6])[0].tolist() == [34, 35, 35]
    assert age(off_grid="drop").encode([34.4, 34.0])[1].tolist() == [False, True]
    with pytest.raises(RejectedValue, match="min plus a multiple of step = 1"):
        age().encode([34.4])
    with pytest.raises(RejectedValue, match="min plus a multiple of step = 5"):
        Number("x", min=0, max=10, step=5).encode([3])


class NAType:
    """Like pandas' own nothing: it has no truth value."""

    def __bool__(self):
        raise TypeError("ambiguous")

    __eq__ = __hash__ = None


@pytest.mark.parametrize("gap", [None, math.nan, "", NAType()])
def test_missing_values_follow_their_rule(gap):
    columns = [age(), Category("sex", values=("f",)), Boolean("sick"), Text("post")]
    for column in columns:
        encode = column.texts if isinstance(column, Text) else column.encode
        with pytest.raises(RejectedValue, match=rf"column '{column.name}': values must be present \(row 0\)"):
            encode([gap])
    for column in [
        age(missing="drop"),
        Category("sex", values=("f",), missing="drop"),
        Boolean("s", missing="drop"),
    ]:
        assert column.encode([gap])[1].tolist() == [False]
    assert Text("post", missing="drop").texts([gap])[1].tolist() == [False]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, SECRET])
def test_no_message_tells_the_value(bad):
    with pytest.raises(RejectedValue) as caught:
        age().encode([bad])
    assert str(bad) not in str(caught.value)
    assert caught.value.remedy in str(caught.value)


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        ({"min": 1, "max": 1}, "is not below max"),
        ({"min": 2, "max": 1}, "is not below max"),
        ({"min": math.nan, "max": 1}, "finite"),
        ({"min": 0, "max": math.inf}, "finite"),
        ({"min": 0, "max": "ten"}, "finite"),
        ({"min": 0, "max": 10, "step": 3}, "does not divide"),
        ({"min": 0, "max": 10, "step": 0}, "does not divide"),
        ({"min": 0, "max": 10, "step": -1}, "does not divide"),
        ({"min": 0, "max": 2**64}, "points"),
        ({"min": 0, "max": 1, "out_of_range": "guess"}, "not a rule"),
        ({"min": 0, "max": 1, "missing": "clamp"}, "not a rule"),
    ],
)
def test_impossible_numbers_are_refused_with_the_column_and_a_remedy(bounds, problem):
    with pytest.raises(BadBounds, match=problem) as caught:
        Number("x", **bounds)
    assert caught.value.column == "x"
    assert caught.value.remedy


def test_categories_are_declared_and_unknown_ones_follow_their_rule():
    grade = Category("grade", values=("a", "b", "rest"))
    assert grade.encode(["b", "a"])[0].tolist() == [1, 0]
    with pytest.raises(RejectedValue, match="among the declared categories"):
        grade.encode(["c"])
    assert Category("grade", values=("a",), unknown="drop").encode(["c"])[1].tolist() == [False]
    rest = Category("grade", values=("a", "b", "rest"), unknown="other", other="rest")
    assert rest.encode(["c", "a"])[0].tolist() == [2, 0]


@pytest.mark.parametrize(
    "options",
    [
        {"values": ()},
        {"values": ("a", "a")},
        {"values": "abc"},
        {"values": ("a",), "unknown": "other"},
        {"values": ("a",), "other": "a"},
        {"values": ("a",), "unknown": "other", "other": "b"},
        {"values": ("a",), "unknown": "clamp"},
    ],
)
def test_impossible_categories_are_refused(options):
    with pytest.raises(BadBounds):
        Category("grade", **options)


def test_booleans_and_texts_are_checked():
    assert Boolean("sick").encode([True, 0, np.True_])[0].tolist() == [1, 0, 1]
    with pytest.raises(RejectedValue, match="true or false"):
        Boolean("sick").encode([2])
    with pytest.raises(RejectedValue, match="at most 3 characters"):
        Text("post", max_length=3).texts(["four"])
    with pytest.raises(BadBounds, match="max_length"):
        Text("post", max_length=0)


def test_categories_may_be_declared_as_numbers():
    assert Category("code", values=(1, 2)).encode([2, "1"])[0].tolist() == [1, 0]


def test_integers_among_gaps_stay_exact():
    wide = Number("w", min=0, max=2**60, missing="drop")
    codes, kept = wide.encode([2**53 + 1, None])
    assert codes.tolist() == [2**53 + 1, 0]
    assert kept.tolist() == [True, False]
    with pytest.raises(RejectedValue, match="present"):
        Number("w", min=0, max=2**60).encode([2**53 + 1, None])
    assert Number("x", min=-1, max=1, out_of_range="clamp").encode([10**400, -(10**400)])[0].tolist() == [
        2,
        0,
    ]


def test_no_code_lies_beyond_the_grid():
    """Values near 2⁶⁰; the code must stay inside the bounds that the noise is made for."""
    far = Number(
        "t", min=2**60 + 127, max=2**60 + 129, missing="drop", out_of_range="clamp", off_grid="round"
    )
    assert far.encode([2.0**60 + 256, math.nan])[0].max() < far.cells


def test_a_float_is_the_decimal_that_it_prints():
    tenths = Number("x", min=0, max="0.3", step="0.1", out_of_range="drop")
    assert tenths.encode([0.3, 0.1 + 0.2])[1].tolist() == [True, False]  # 0.30000000000000004
    for kind in (np.float16, np.float32, np.float64):
        assert tenths.encode(np.array([0.1, 0.2, 0.3], dtype=kind))[0].tolist() == [1, 2, 3]
    assert Category("g", values=("0", "1")).encode(np.array([0.0, 1.0]))[0].tolist() == [0, 1]


def test_grids_of_64_bits_are_exact():
    unsigned = Number("u", min=0, max=2**64 - 1)
    signed = Number("i", min=-(2**63), max=2**63 - 1)
    assert unsigned.encode(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64))[0].tolist() == [
        0,
        2**63,
        2**64 - 1,
    ]
    assert signed.encode(np.array([-(2**63), -1, 2**63 - 1]))[0].tolist() == [0, 2**63 - 1, 2**64 - 1]
    clamped = Number("u", min=0, max=2**64 - 1, out_of_range="clamp")
    assert clamped.encode(np.array([-5, 7]))[0].tolist() == [0, 7]
    assert clamped.encode([2.0**70])[0].tolist() == [2**64 - 1]


def test_the_largest_value_of_a_coarse_grid_of_64_bits_is_the_largest_code():
    coarse = Number("y", min=0, max=2**64 - 1, step=3)
    assert coarse.encode(np.array([0, 3, 2**64 - 1], dtype=np.uint64))[0].tolist() == [0, 1, (2**64 - 1) // 3]
    assert coarse.value(coarse.cells - 1) == 2**64 - 1


def test_words_are_not_numbers():
    with pytest.raises(RejectedValue, match="values must be numbers"):
        age().encode(["forty"])
    assert age(not_a_number="drop").encode(["forty", True, 40])[1].tolist() == [False, False, True]
    assert age().encode(["40"])[0].tolist() == [40]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize(
    ("low", "high"), [(0, 100), (-50, 50), (-(2**62), 2**61), (2**62, 2**62 + 9), (-(2**63), 9)]
)
def test_the_fast_way_of_encoding_integers_is_the_slow_one(kind, low, high):
    """Extremes of every type, inside and outside of the bounds, where codes might wrap around."""
    bounds = np.iinfo(kind)
    values = {bounds.min, bounds.max, 0, 1, low - 1, low, low + 1, high - 1, high, high + 1}
    column = Number("x", min=low, max=high, out_of_range="drop")
    for value in (v for v in values if bounds.min <= v <= bounds.max):
        [code], [kept] = column.encode(np.array([value], dtype=kind))
        assert bool(kept) == (low <= value <= high), value
        assert int(code) == (value - low if kept else 0), value
