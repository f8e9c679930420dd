"""What is seen of an output, and when two outputs are the same."""

import pickle

import pytest

from undeleted.auditing.lab import Lab, apart, exactly, leaves, merged, numbers
from undeleted.curate.files import rows
from undeleted.errors import BadFile, TargetFailed, UnknownName


class Silent:
    """A target that nobody asks anything."""

    has_density = False


def seen(output, digits=None):
    return Lab(Silent(), digits).seen(output)


def test_outputs_become_tuples_rounded_for_the_observer():
    assert seen([1, [2.26, "a"], {"b": 1.25, "a": None}], 1) == (1, (2.3, "a"), (("a", None), ("b", 1.2)))
    assert exactly(seen(-0.04, 1)) == "0.0", "a rounded observer sees no sign of zero"
    assert exactly(seen(-0.0)) == "-0.0"
    assert seen(float("inf"), 2) == float("inf")
    with pytest.raises(TargetFailed, match="NaN"):
        seen([1.0, [float("nan")]])


def test_equality_is_to_the_last_bit():
    assert exactly((1, 0.0)) != exactly((1, -0.0))
    assert exactly(1) != exactly(1.0) != exactly(True)
    assert exactly(0.1 + 0.2) != exactly(0.3)


def test_updates_that_differ_by_rounding_become_one_and_first_outputs_stay():
    near, far = 0.1 + 0.2, 0.3001
    told = merged([(0.3, 0.3), (near, near), (0.3, far), (0.3, 7)], 1e-9)
    assert [t[1] for t in told] == [(0.3,), (0.3,), (far,), (7,)]
    assert [t[0] for t in told] == [0.3, near, 0.3, 0.3]
    kept = [(0.3, 0.3), (near, near)]
    assert merged(kept, 0.0) == kept


def test_whole_numbers_and_texts_are_the_same_or_not():
    assert apart(1_700_000_000, 1_700_000_001) == apart(10**400, 0.5) == apart("a", "b") == float("inf")
    assert apart(1.7e9, 1.7e9 + 1) < 1e-9
    assert seen("\ud800") == "\\ud800"


def test_only_numbers_make_an_array():
    assert numbers((1, (2.5, 3))).tolist() == [1, 2.5, 3]
    assert numbers((1, "a")) is None
    assert numbers(10**400) is None
    assert leaves(((1, "a"), None)) == [1, "a", None]


def test_errors_reach_other_processes_whole():
    for error in (TargetFailed("delete r00", "it crashed"), UnknownName("attacks", "x", ["y"])):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_rows_of_a_file_are_complete_ones(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id,age,sex\na,41,f\nb,,m\nc,17,m\n")
    assert sorted(map(str, rows(str(path), 10))) == [
        "{'id': 'a', 'age': 41, 'sex': 'f'}",
        "{'id': 'c', 'age': 17, 'sex': 'm'}",
    ]
    assert len(rows(str(path), 1)) <= 1
    with pytest.raises(BadFile):
        rows(str(tmp_path / "nowhere.csv"), 10)
