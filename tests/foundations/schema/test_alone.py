"""A value's code depends on that value and its column alone: not on its neighbours, nor on what carries it.

Mixed columns are drawn at random.  With one person more, everybody else's code stays; and a column's codes
are those of its values given one at a time, which is the rule itself (`Judge.value`).

Covers: foundations/schema/grid_fit.py
"""

import random
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from undeleted.errors import BadBounds, BadColumns, RejectedValue
from undeleted.foundations.schema import Boolean, Category, Number, Schema
from undeleted.foundations.schema.incoming import may_have_lost_digits
from undeleted.foundations.schema.values import Written

LENIENT = {"missing": "drop", "not_a_number": "drop"}
CLAMPED = LENIENT | {"out_of_range": "clamp", "off_grid": "round"}
DROPPED = LENIENT | {"out_of_range": "drop", "off_grid": "drop"}
COLUMNS = [
    Number("x", min=0, max=10**9, step=10**7, **DROPPED),
    Number("x", min=0, max=10**9, step=10**7, **CLAMPED),
    Number("x", min=0, max=120, **CLAMPED),
    Number("x", min=-5, max=5, step="0.1", **DROPPED),
    Number("x", min="-0.3", max="2.7", step="0.3", **CLAMPED),
    Number("x", min=2**70, max=2**70 + 2**60, step=2**50, **CLAMPED),
    Category("x", values=("x", "y", "5", "0.1", "09:00", "true", "7"), unknown="drop", missing="drop"),
    Category("x", values=("1", "other"), unknown="other", other="other", missing="drop"),
    Boolean("x", missing="drop", unknown="drop"),
]
FINE = Number("x", min=0, max=2**64 - 1, **CLAMPED)
ZONE = timezone(timedelta(hours=1))
PLAIN = [
    *(
        0,
        1,
        2,
        5,
        7,
        -3,
        10**7,
        2 * 10**7,
        2**31,
        2**53,
        2**53 + 1,
        2**63,
        2**64 - 1,
        2**70,
        -(2**65),
        10**30,
    ),
    *(0.0, -0.0, 0.1, 0.3, 0.1 + 0.2, 0.5, 1.0, 2.5, 2e7, 1e7 + 1, 1e300, 1e-300, 2.0**53, 5e-324),
    *(float("nan"), float("inf"), float("-inf"), None, True, False, Decimal("0.10"), Decimal("7.0")),
    *(
        Decimal("1E+2"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("1E-5000"),
        Fraction(1, 3),
    ),
    *(
        "",
        "1",
        "1.0",
        " 7",
        "7 ",
        "07",
        "1e7",
        "2e7",
        "20000000.0",
        "0.1",
        ".5",
        "5.",
        "+5",
        "nan",
        "inf",
        "x",
    ),
    *(
        "y",
        "n/a",
        "09:00",
        "true",
        "True",
        "yes",
        "0",
        "1_000",
        "１",
        "\ud800",
        "1" * 999,
        "1e999999999",
        "é",
    ),
    *(date(2020, 1, 1), datetime(2020, 1, 1, 9), time(9), UUID(int=5), b"5", [1], {"a": 1}, (1, 2), object()),
    *(datetime(2020, 1, 1, 9, tzinfo=UTC), datetime(2020, 1, 1, 10, tzinfo=ZONE)),  # equal, and written apart
    *(np.int8(5), np.uint64(2**64 - 1), np.float16(0.1), np.float32(0.1), np.float64(0.1), np.bool_(True)),
    *(np.str_("x"), np.datetime64("2020-01-01"), np.datetime64("NaT"), np.longdouble("0.1")),
    *(pd.NA, pd.NaT, pd.Timestamp("2020-01-01"), Written("7.0"), Written("1e7"), Written("5")),
]


def drawn(rng: random.Random) -> list:
    """A few values, mostly of one kind: the columns in which a single odd value did harm."""
    some = rng.choice(
        [
            PLAIN,
            [v for v in PLAIN if type(v) is type(rng.choice(PLAIN))] or PLAIN,
            [rng.randrange(-5, 130) for _ in range(9)],
            [rng.randrange(100) * 10**7 for _ in range(9)],
            [round(rng.uniform(-6, 6), 1) for _ in range(9)],
            [str(rng.randrange(100)) for _ in range(9)],
            ["x", "y"],
            [True, False],
        ]
    )
    return [rng.choice(some) for _ in range(rng.randrange(1, 10))]


def codes(column, values) -> list:
    found, kept = column.encode(values)
    return [(int(c), bool(k)) for c, k in zip(found, kept, strict=True)]


def carried(values: list) -> dict:
    """The same values in what people have: each keeps them as they are, or is not there."""
    series = pd.Series(values, dtype=object)
    found = {
        "list": values,
        "objects": np.fromiter(values, dtype=object, count=len(values)),
        "pandas objects": series,
        "polars objects": pl.Series(values, dtype=pl.Object),
    }
    widened = np.longdouble | np.float16 | np.float32  # pandas writes their digits out when it widens them
    if not any(isinstance(v, list | tuple | dict | widened) for v in values):
        inferred = pd.Series(values)  # ints beside a gap become floats, and so on
        if inferred.dtype.kind not in "mM":
            found["pandas"] = inferred
    kinds = {type(v) for v in values} - {type(None)}
    if len(kinds) == 1 and kinds <= {int, float, str, bool, date}:
        with_arrow = _arrow(values)
        if with_arrow is not None:
            found |= {"arrow": with_arrow, "chunks": pa.chunked_array([with_arrow[:1], with_arrow[1:]])}
            found |= {"polars": pl.from_arrow(with_arrow), "dictionary": with_arrow.dictionary_encode()}
            found["pandas arrow"] = pd.Series(with_arrow, dtype=pd.ArrowDtype(with_arrow.type))
        if kinds == {int} and with_arrow is not None:
            found["nullable"] = pd.array(values, dtype="Int64") if max(_whole(values)) < 2**63 else values
    return found


def _whole(values):
    return [v for v in values if v is not None]


def _arrow(values):
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None


def alone(column, rounds, seed) -> None:
    rng = random.Random(seed)
    for turn in range(rounds):
        values, other = drawn(rng), rng.choice(PLAIN)
        expected = [codes(column, [v])[0] for v in values]
        assert codes(column, values) == expected, "a value's code depends on its neighbours"
        assert codes(column, [*values, other])[:-1] == expected, "one person more changes another's code"
        for kind, carrier in carried(values).items() if turn % 5 == 0 else ():
            if may_have_lost_digits(carrier) and getattr(column, "is_finer_than_floats", False):
                continue  # refused, below
            if kind == "polars objects" and None in values:
                continue  # polars has not an object that is missing beside others
            assert codes(column, carrier) == expected, kind


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_nobodys_code_depends_on_anybody_else(column):
    """With the next test 2,000 columns."""
    alone(column, 200, str(column))


def test_nobodys_code_depends_on_anybody_else_beyond_floats():
    alone(FINE, 200, "fine")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_nobodys_code_depends_on_anybody_else_in_50_000_columns(part):
    for column in [*COLUMNS, FINE]:
        alone(column, 500, f"slow {part} {column}")


def test_the_columns_that_broke_it():
    """One person more, as they were found: a float among integers, half among 2⁵³+1, a number among texts."""
    n = 50
    coarse = Number("x", min=0, max=10**9, step=10**7, off_grid="drop")
    wide = Number("x", min=0, max=2**64 - 1, off_grid="round")
    letters = Category("x", values=("x", "y"), unknown="drop")
    hours = Category("x", values=("09:00", "10:00"), unknown="drop")
    gaps = Number("x", min=0, max=10**9, step=10**7, off_grid="drop", missing="drop")
    nine = Category("x", values=("09:00:00+00:00",), unknown="drop")
    for column, same, odd in (
        (coarse, [1] * n, 2e7),
        (coarse, ["1"] * n, "20000000.0"),
        (wide, [2**53 + 1] * n, 0.5),
        (letters, ["x"] * n, 5),
        (hours, ["09:00"] * n, "n/a"),
        (gaps, pd.Series([1] * n), None),
        (nine, [time(9, tzinfo=UTC)], time(10, tzinfo=ZONE)),
    ):
        more = pd.Series([*same, odd]) if isinstance(same, pd.Series) else [*same, odd]
        assert codes(column, more)[: len(same)] == codes(column, same)
        assert codes(column, more) == codes(column, [*more][::-1])[::-1], "in any order"


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0]),
        pd.Series([1]),
        pd.Series([1.0]),
        pd.Series([1], dtype="Float64"),
        pd.Series([1], dtype="category"),
        pd.Series([1], dtype=object),
        pd.Series([1.0], dtype="double[pyarrow]"),
        pa.array([1.0]),
        pl.Series([1.0]),
    ],
    ids=lambda v: f"{type(v).__module__.split('.')[0]} {getattr(v, 'dtype', getattr(v, 'type', ''))}",
)
def test_grids_beyond_floats_refuse_what_may_have_lost_digits(values):
    for column in (FINE, Category("x", values=(str(2**53 + 1), "1"))):
        with pytest.raises(BadColumns, match=r"beyond 2⁵³.*\n?.*nullable integers"):
            column.encode(values)


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1, 0.5],
        np.array([2**53 + 1]),
        pd.Series([2**53 + 1, None], dtype="Int64"),
        pd.Series([2**53 + 1, None], dtype="int64[pyarrow]"),
        pd.Series([str(2**53 + 1)], dtype="string"),
        pa.array([2**53 + 1, None]),
        pl.Series([2**53 + 1, None]),
    ],
    ids=lambda v: f"{type(v).__module__.split('.')[0]} {getattr(v, 'dtype', getattr(v, 'type', ''))}",
)
def test_grids_beyond_floats_take_what_keeps_every_digit(values):
    assert codes(FINE, values)[0] == (2**53 + 1, True)


def test_an_array_of_booleans_is_no_column_of_numbers():
    """numpy would make ones of them beside a number: then one person would change everybody's code."""
    with pytest.raises(BadColumns, match="array of booleans"):
        COLUMNS[2].encode(np.array([True]))


def test_only_the_rule_error_lets_one_person_refuse_a_table():
    for odd in PLAIN:
        for column in COLUMNS:
            assert len(codes(column, [1, odd])) == 2
    with pytest.raises(RejectedValue):
        Number("x", min=0, max=9).encode([1, "ten"])


def test_rows_with_several_values_in_one_field_follow_the_rule():
    table = Schema([COLUMNS[2]]).table({"x": [5, [1, 2], {"a": 1}]})
    assert table.kept["x"].tolist() == [True, False, False]


TENTHS = Number("x", min=0, max=1, step="0.1", **DROPPED)
LABELS = Category("x", values=("x", "7", "2020-01-01", "0.5"), unknown="drop", missing="drop")
AGES = Number("x", min=0, max=120, **CLAMPED)
HALF_A_TEXT = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes()), pa.py_buffer(b"7\xff")]
)
FAR_DATE = pa.array([18262, 10**8], pa.int32()).cast(pa.date32())


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        (LABELS, pd.Series(["x", b"q"], dtype="category"), [(0, True), (0, False)]),
        (
            TENTHS,
            pd.Series(
                pd.Categorical([np.float32(0.1), 7], categories=pd.Index([np.float32(0.1), 7], dtype=object))
            ),
            [(1, True), (0, False)],
        ),
        (Number("x", min=0, max="3.63e-320", step="3e-322", **DROPPED), [3.27e-320], [(109, True)]),
        (
            Number("x", min=0, max="1e-43", step="1e-45", **DROPPED),
            np.array([1e-45], np.float32),
            [(1, True)],
        ),
        (Number("x", min=0, max="1e-24", step="1e-30", **CLAMPED), [0, 0], [(0, True)] * 2),
        (
            Number("x", min=0, max="1e-24", step="1e-30", **CLAMPED),
            pa.array(["0", "5.5"]),
            [(0, True), (10**6, True)],
        ),
        (LABELS, FAR_DATE, [(2, True), (0, False)]),
        (AGES, FAR_DATE, [(0, False)] * 2),
        (AGES, pa.array([10**15], pa.timestamp("s")), [(0, False)]),
        (LABELS, pa.array([2**62], pa.duration("s")), [(0, False)]),
        (LABELS, pd.Series(np.array(["20000-01-01"], dtype="datetime64[s]")), [(0, False)]),
        (
            LABELS,
            ["x", 10**5000, Decimal("1." + "1" * 5000), Fraction(10**5000, 3)],
            [(0, True), *[(0, False)] * 3],
        ),
        (AGES, [np.timedelta64(7, "D"), np.timedelta64(7, "ns")], [(0, False)] * 2),
        (AGES, pl.DataFrame([{"x": 1}, {"x": 2**65}])["x"], [(1, True), (120, True)]),
        (AGES, pd.Series([7, 2**64], dtype="category"), [(7, True), (120, True)]),
        (AGES, np.ma.array([5.0, 7.0, 50.0], mask=[0, 0, 1]), [(5, True), (7, True), (0, False)]),
        (AGES, np.ma.array([5, 10**6], mask=[0, 1]), [(5, True), (0, False)]),
        (AGES, pa.array(["5", "x"], pa.string_view()), [(5, True), (0, False)]),
        (AGES, HALF_A_TEXT, [(7, True), (0, False)]),
        (LABELS, HALF_A_TEXT, [(1, True), (0, False)]),
        (AGES, pd.Series(pd.PeriodIndex(["1970-01-08"], freq="D")), [(0, False)]),
        (
            LABELS,
            [np.datetime64("2020-01-01"), date(2020, 1, 1), Fraction(1, 2)],
            [(2, True)] * 2 + [(3, True)],
        ),
    ],
    ids=range(22),
)
def test_values_that_are_seldom_seen(column, values, expected):
    """Each was found to change others, to refuse a table, or to escape as an error."""
    assert codes(column, values) == expected


def test_a_moment_is_one_whatever_its_zone():
    nine = Category("x", values=("2020-01-01 09:00:00+00:00",), unknown="drop")
    for moment in (datetime(2020, 1, 1, 9, tzinfo=UTC), datetime(2020, 1, 1, 10, tzinfo=ZONE)):
        assert codes(nine, [moment]) == [(0, True)]
        assert codes(nine, pa.array([moment])) == [(0, True)]
    before = Category("x", values=("1969-12-31 23:59:59.999999",), unknown="drop")
    for moments in (pa.array([-500], pa.timestamp("ns")), np.array([-500], dtype="datetime64[ns]")):
        assert codes(before, moments) == [(0, True)], "half a microsecond before 1970"


def test_a_row_of_bytes_is_a_value():
    assert Schema([AGES]).table([1, b"5"]).kept["x"].tolist() == [True, False]


def test_bounds_that_floats_do_not_have_are_refused_at_once():
    for top in ("1e400", "1e99999999", "1e-99999999"):
        with pytest.raises(BadBounds):
            Number("x", min=0, max=top, step=top)


def test_ids_of_floats_that_have_lost_digits_are_refused():
    people = Schema([AGES], id="id")
    assert people.table({"id": np.array([7.0]), "x": [1]}).ids == ["7"]
    with pytest.raises(BadColumns, match="lose digits of ids"):
        people.table(pd.DataFrame({"id": [2**53, 2**53 + 1, 0.5], "x": [1, 2, 3]}))
