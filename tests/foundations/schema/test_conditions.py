"""Conditions select the records that they describe, on plain numbers and on arrays alike."""

import itertools
import operator
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted.errors import BadSetting
from undeleted.foundations.schema import Boolean, Category, Number
from undeleted.foundations.schema.conditions import Condition

AGE = Number("age", min=-2, max=5)
RATE = Number("hourly rate", min=0, max=1, step="0.25")
SICK = Boolean("sick")
CITY = Category("city", values=("Rome", "Oslo", "New York"))
COLUMNS = (AGE, RATE, SICK, CITY)
SIGNS = {"=": "eq", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
RECORDS = [
    dict(zip(("age", "hourly rate", "sick", "city"), values, strict=True))
    for values in itertools.product(range(-2, 6), (0, 0.25, 0.5, 0.75, 1), (False, True), CITY.values)
]


def coded(record):
    return {
        "age": record["age"] + 2,
        "hourly rate": int(record["hourly rate"] * 4),
        "sick": int(record["sick"]),
        "city": CITY.values.index(record["city"]),
    }


def comparisons():
    numbers = st.builds(
        lambda name, sign, value: (
            f"`{name}` {sign} {value}",
            lambda r: getattr(operator, SIGNS[sign])(r[name], value),
        ),
        st.sampled_from(["age", "hourly rate"]),
        st.sampled_from(list(SIGNS)),
        st.sampled_from([-9, -2, -1, 0, 0.3, 0.25, 0.5, 1, 3, 3.5, 5, 6, 99]),
    )
    lists = st.lists(st.sampled_from(CITY.values), min_size=1, max_size=3).map(
        lambda names: (
            f"city in [{', '.join(repr(n) for n in names)}]",
            lambda r: r["city"] in names,
        )
    )
    flags = st.sampled_from(
        [
            ("sick", lambda r: r["sick"]),
            ("sick = false", lambda r: not r["sick"]),
            ("sick != TRUE", lambda r: not r["sick"]),
        ]
    )
    return st.one_of(numbers, lists, flags)


def conditions():
    def both(one, other):
        return f"({one[0]}) AND ({other[0]})", lambda r: one[1](r) and other[1](r)

    def either(one, other):
        return f"({one[0]}) or ({other[0]})", lambda r: one[1](r) or other[1](r)

    def neither(one):
        return f"not ({one[0]})", lambda r: not one[1](r)

    def joined(parts):
        return st.one_of(
            st.builds(both, parts, parts), st.builds(either, parts, parts), st.builds(neither, parts)
        )

    return st.recursive(comparisons(), joined, max_leaves=5)


@given(conditions())
def test_a_condition_selects_what_python_selects(drawn):
    text, expected = drawn
    condition = Condition(text, COLUMNS)
    wanted = [int(expected(record)) for record in RECORDS]
    assert [condition.holds(coded(record)) for record in RECORDS] == wanted
    arrays = {name: np.array([coded(r)[name] for r in RECORDS]) for name in coded(RECORDS[0])}
    assert np.broadcast_to(condition.holds(arrays), len(RECORDS)).tolist() == wanted


def test_and_binds_more_tightly_than_or():
    condition = Condition("sick or age > 3 and age > 4", COLUMNS)
    assert [condition.holds(coded(dict(RECORDS[0], sick=True, age=a))) for a in (0, 4, 5)] == [1, 1, 1]
    assert [condition.holds(coded(dict(RECORDS[0], sick=False, age=a))) for a in (0, 4, 5)] == [0, 0, 1]


def test_only_the_columns_that_are_named_are_needed():
    assert Condition("age > 3 or not sick", COLUMNS).columns == (AGE, SICK)


def test_it_is_kept_as_it_was_written():
    condition = Condition("age > 3", COLUMNS)
    _ = condition.columns
    assert pickle.loads(pickle.dumps(condition)) == condition
    assert vars(pickle.loads(pickle.dumps(condition))).keys() == {"text", "declared", "_parsed"} - {"_parsed"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("age", "'age' is compared with nothing"),
        ("age >", "it ends too early"),
        ("age > 'x'", "'age' cannot be compared with 'x' by >"),
        ("age > true", "'age' cannot be compared with 'true' by >"),
        ("sick = 1", "'sick' cannot be compared with '1' by ="),
        ("city > 'Rome'", "'city' cannot be compared with 'Rome' by >"),
        ("city = 'Paris'", "names a category that 'city' does not declare"),
        ("wage > 3", "names 'wage'"),
        ("age > 3 and", "it ends too early"),
        ("(age > 3", "a ) is missing"),
        ("age > 3)", "')' is not expected there"),
        ("age in 3", "`in` needs a list"),
        ("city in ['Rome'", "a ] is missing"),
        ("age > 3; DROP TABLE people", "'; DROP TAB' cannot be read"),
        ("and > 3", "'and' stands where a column is expected"),
        ("age > sick", "'sick' stands where a value is expected"),
        ("age + 1 > 3", "'+ 1 > 3' cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_place(text, says):
    with pytest.raises(BadSetting) as refused:
        Condition(text, COLUMNS)
    assert says in str(refused.value)


def test_a_long_list_never_nests_deeply():
    """A thousand values, evaluated deep inside somebody's program: a condition that published must forget."""
    places = Category("place", values=tuple(f"c{i}" for i in range(2000)))
    listed = ", ".join(f"'c{i}'" for i in range(0, 2000, 2))
    condition = Condition(f"place in [{listed}] or " + " or ".join(["place = 'c1'"] * 300), (places,))

    def deeper(frames):
        return deeper(frames - 1) if frames else [condition.holds({"place": code}) for code in range(4)]

    assert deeper(sys.getrecursionlimit() // 2) == [1, 1, 1, 0]


@pytest.mark.parametrize("text", ["(" * 5000 + "sick" + ")" * 5000, "not " * 5000 + "sick"])
def test_nesting_without_end_is_refused(text):
    with pytest.raises(BadSetting, match="nested more than 20 deep"):
        Condition(text, COLUMNS)


@pytest.mark.parametrize("far", ["99999999999999999999", "-99999999999999999999", "9" * 60])
def test_numbers_far_beyond_the_bounds_are_compared_as_the_bounds(far):
    above = not far.startswith("-")
    for sign, expected in ((">=", not above), ("<", above), ("=", False), ("!=", True)):
        condition = Condition(f"age {sign} {far}", COLUMNS)
        assert {condition.holds(coded(record)) for record in RECORDS} == {int(expected)}


def test_categories_are_the_texts_that_are_written():
    rooms = Category("room", values=("7", "007", "true"))
    for word, code in (("7", 0), ("007", 1), ("'007'", 1), ("true", 2)):
        assert [Condition(f"room = {word}", (rooms,)).holds({"room": c}) for c in range(3)] == [
            int(c == code) for c in range(3)
        ]
