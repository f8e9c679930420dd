"""Plain `init` reads no value; with --peek it guesses types, says why, and writes no value or bound."""

import json
import re
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted.curate.spec.peek import guess
from undeleted.interfaces.cli import run

N = 300
COLUMNS = {
    "pid": [f"x-{i:05}" for i in range(N)],
    "married": ["yes" if i % 2 else "no" for i in range(N)],
    "visits": [str(40 + i % 13) for i in range(N)],
    "height": [f"{150 + i % 40}.{i % 10}" for i in range(N)],
    "salary": [f"${1 + i % 9},{i % 10}00" for i in range(N)],
    "born": [f"19{30 + i % 60}-0{1 + i % 9}-17" for i in range(N)],
    "joined": [f"20{10 + i % 10}-0{1 + i % 9}" for i in range(N)],
    "seen": [f"2020-01-0{1 + i % 9} 1{i % 10}:31:07" for i in range(N)],
    "town": [("Riverton", "Lakeside")[i % 2] for i in range(N)],
    "remark": [f"came by on some day and talked about matter {i * 7919}" for i in range(N)],
}
EXPECTED = {
    **{"married": "boolean", "visits": "number", "height": "decimal", "salary": "money", "born": "date"},
    **{"joined": "month", "seen": "time", "town": "category", "remark": "text", "pid": "text"},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [",".join(f'"{value}"' for value in row) for row in zip(*COLUMNS.values(), strict=True)]
    (tmp_path / "people.csv").write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    return tmp_path


def drafted(folder, capsys, *more, table="people.csv"):
    assert run(["init", table, "--out", "draft.toml", "--json", *more]) == 0
    facts = json.loads(capsys.readouterr().out)
    text = (folder / "draft.toml").read_text(encoding="utf-8")
    (folder / "draft.toml").unlink()
    return facts, text


def test_plain_init_is_the_same_whatever_the_values(folder, capsys):
    """Only the first line of the file matters: with other values, or none, the draft is the same."""
    _, text = drafted(folder, capsys, "--id", "pid")
    (folder / "people.csv").write_text(",".join(COLUMNS) + "\n")
    assert drafted(folder, capsys, "--id", "pid")[1] == text
    (folder / "people.csv").write_text(",".join(COLUMNS) + "\n" + ",".join(["7"] * len(COLUMNS)) + "\n")
    assert drafted(folder, capsys, "--id", "pid")[1] == text
    assert text.count("type = DECIDE") == len(COLUMNS) - 1
    assert "private data" not in text


def test_peek_guesses_says_why_and_says_that_the_draft_rests_on_private_data(folder, capsys):
    facts, text = drafted(folder, capsys, "--peek")
    guesses = {name: words.split(":")[0] for name, words in facts["guesses"].items()}
    assert guesses == EXPECTED
    assert "this draft rests on private data" in text
    assert "may be the id" in facts["guesses"]["pid"]
    assert "may be the id" not in facts["guesses"]["town"]
    assert text.count("# guessed from the values: ") == len(COLUMNS)


def test_peek_writes_no_value_no_bound_and_no_count(folder, capsys):
    facts, text = drafted(folder, capsys, "--peek", "--id", "pid")
    said = text + json.dumps(facts)
    values = {value for column in COLUMNS.values() for value in column} - {"yes", "no"}
    assert [value for value in values if re.search(rf"(?<!\d){re.escape(value)}(?!\d)", said)] == []
    assert str(N) not in said
    for key in ("min", "max", "step", "values"):
        assert set(re.findall(rf"^{key} = (\S+)", text, re.M)) <= {"DECIDE", "[DECIDE]"}


def test_guesses_are_the_same_for_files_of_the_same_kind(folder, capsys):
    """One value more that fits its column changes nothing in the draft."""
    _, text = drafted(folder, capsys, "--peek", "--id", "pid")
    more = [f'"{column[7]}"' if name != "pid" else '"x-99999"' for name, column in COLUMNS.items()]
    with (folder / "people.csv").open("a") as file:
        file.write(",".join(more) + "\n")
    after = drafted(folder, capsys, "--peek", "--id", "pid")[1]
    unique = "# no value occurs twice"
    assert [x for x in after.splitlines() if unique not in x] == [
        x for x in text.splitlines() if unique not in x
    ]


def test_declared_types_of_sqlite_are_used_without_reading_rows(folder, capsys):
    with closing(sqlite3.connect(folder / "people.db")) as db:
        db.execute("CREATE TABLE people (pid TEXT, age INTEGER, height REAL, sick BOOLEAN, born DATE, x)")
        db.commit()
    _, text = drafted(folder, capsys, "--id", "pid", table="people.db")
    kinds = dict(re.findall(r"\[columns\.(\w+)\]\ntype = (\S+)", text))
    assert kinds == {
        **{"age": '"number"', "height": '"number"', "sick": '"boolean"', "born": '"date"', "x": "DECIDE"}
    }


def test_a_name_that_is_nearly_right_is_pointed_at(folder, capsys):
    assert run(["init", "people.csv", "--id", "PID"]) == 2
    assert "Did you mean 'pid'?" in capsys.readouterr().err
    assert run(["init", "t", "--connection", "duckdb://x.duckdb", "--peek"]) == 2


@given(st.lists(st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.booleans(), st.dates())))
def test_any_column_has_a_guess(values):
    assert guess(values).type in {*EXPECTED.values()}
