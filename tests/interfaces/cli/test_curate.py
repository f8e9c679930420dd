"""The commands of daily use, from a table in a file to a store that has forgotten.

Covers: interfaces/cli/publishing.py, interfaces/report/exporting.py
"""

import json
import os
import re
import sqlite3
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from undeleted.interfaces.cli import run

SPEC = """[data]
source = "people.csv"
id = "person"

[budget]
epsilon = 8.0

[columns.age]
type = "number"
min = 0
max = 120
out_of_range = "clamp"

[columns.city]
type = "category"
values = ["Haifa", "Chicago"]

[columns.note]
type = "text"

[publish.people]
kind = "count"

[publish."mean age"]
kind = "mean"
column = "age"

[publish.ages]
kind = "quantiles"
column = "age"

[publish.cities]
kind = "histogram"
columns = ["city"]

[publish.moments]
kind = "products"
columns = ["age"]

[publish.notes]
kind = "board"
column = "note"
"""
N = 400


def table():
    return {
        "person": [f"p{i}" for i in range(N)],
        "age": [20 + i % 50 for i in range(N)],
        "city": ["Haifa" if i % 4 else "Chicago" for i in range(N)],
        "note": [f"note {i}" for i in range(N)],
    }


def write_csv(path, columns, extra=""):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n" + extra, encoding="utf-8")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNDELETED_STORE", raising=False)
    write_csv(tmp_path / "people.csv", table())
    (tmp_path / "spec.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def as_json(capsys, *arguments):
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_whole_life_of_a_store(here, capsys):
    published = as_json(capsys, "publish", "spec.toml")
    assert {"publications", "epsilon", "delta", "left", "version"} <= published.keys()
    assert published["version"] == 1
    assert published["left"] == 0
    before = as_json(capsys, "show", "people")
    assert {"name", "version", "estimate", "low", "high", "confidence"} <= before.keys()
    assert before["low"] <= before["estimate"] <= before["high"]
    done = as_json(capsys, "delete", "p1", "p2", "nobody")
    assert done == {"deleted": 2, "unknown": 1, "version": 2, "erased": True, "held": 0}
    after = as_json(capsys, "show", "people")
    assert after["estimate"] == before["estimate"] - 2
    assert after["version"] == 2
    status = as_json(capsys, "status")
    assert status["version"] == 2
    for exact in (N, N - 2):  # as a number of its own: digits of a width may be the same by chance
        assert not re.search(rf"(?<![\d.]){exact}(?![\d.])", json.dumps(status)), "no exact row count"
    assert as_json(capsys, "check") == {"intact": True, "problems": [], "rule": 2, "unchecked": []}
    again = as_json(capsys, "publish", "spec.toml")
    for said in (again, published):  # the summary is for the noisy count, which two people have left
        said.pop("rows"), said.pop("expected")
    assert again == published | {"version": 2, "already": True}, (
        "publishing again shows what there is and spends nothing"
    )


def test_questions(here, capsys):
    run(["publish", "spec.toml"])
    capsys.readouterr()
    assert 20 <= as_json(capsys, "show", "ages", "--quantile", "0.9")["estimate"] <= 75
    assert as_json(capsys, "show", "ages", "--range", "0", "120")["estimate"] == pytest.approx(N, abs=60)
    assert as_json(capsys, "show", "cities", "--where", "city=Haifa")["estimate"] == pytest.approx(
        300, abs=60
    )
    assert len(as_json(capsys, "show")) >= 6
    assert run(["show"]) == 0
    text = capsys.readouterr().out
    assert "mean age" in text
    assert "at 95%" in text
    assert "note 399" in text


def test_deleting_from_a_file_and_a_pipe(here, capsys):
    run(["publish", "spec.toml"])
    capsys.readouterr()
    (here / "ids.txt").write_text("p3\n\np4\n", encoding="utf-8")
    assert as_json(capsys, "delete", "--from", "ids.txt")["deleted"] == 2
    command = [sys.executable, "-m", "undeleted", "delete", "--stdin", "--json"]
    piped = subprocess.run(command, input="p3\np5\n", capture_output=True, text=True, cwd=here)
    assert json.loads(piped.stdout) == {"deleted": 1, "unknown": 1, "version": 3, "erased": True, "held": 0}
    assert run(["delete", "p6"]) == 0
    assert "v3 → v4" in capsys.readouterr().out


def test_deletions_that_are_folded_in_together(here, capsys):
    run(["publish", "spec.toml"])
    capsys.readouterr()
    before = as_json(capsys, "show", "people")["estimate"]
    first = as_json(capsys, "delete", "p1", "--fold", "3")
    assert (first["deleted"], first["version"], first["held"]) == (1, 1, 1)
    assert as_json(capsys, "show", "people")["estimate"] == before
    assert as_json(capsys, "delete", "p1", "--fold", "3")["unknown"] == 1, "the record went at once"
    assert run(["delete", "p2", "--fold", "3"]) == 0
    assert "held back" in capsys.readouterr().out
    last = as_json(capsys, "delete", "p3", "--fold", "3")
    assert (last["version"], last["held"]) == (2, 0)
    assert as_json(capsys, "show", "people")["estimate"] == before - 3
    assert as_json(capsys, "check")["intact"]


@pytest.mark.parametrize("suffix", ["parquet", "json", "jsonl", "db"])
def test_other_kinds_of_files_give_the_same_people(here, capsys, suffix):
    data = table()
    path = here / f"people.{suffix}"
    records = [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]
    if suffix == "parquet":
        pq.write_table(pa.table(data), path)
    elif suffix == "db":
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE people (person TEXT, age INTEGER, city TEXT, note TEXT)")
            db.executemany("INSERT INTO people VALUES (:person, :age, :city, :note)", records)
        db.close()
    else:
        lines = "\n".join(map(json.dumps, records))
        path.write_text(lines if suffix == "jsonl" else json.dumps(records), encoding="utf-8")
    (here / "other.toml").write_text(SPEC.replace("people.csv", path.name), encoding="utf-8")
    assert run(["publish", "other.toml", "--store", "other.db"]) == 0
    capsys.readouterr()
    assert as_json(capsys, "check", "--store", "other.db")["intact"]
    shown = as_json(capsys, "show", "notes", "--store", "other.db")
    assert sorted(entry["estimate"] for entry in shown) == sorted(data["note"])


def test_a_csv_is_read_as_it_is_written(here, capsys):
    """No row is taken for a comment, no text for a number or a date, no id for another."""
    lines = [
        "person,age,city,note",
        "#a,30,TRUE,2020-01-05T10:00",
        "007,31,1.0,TRUE",
        "7,32,1e3,'quoted'",
        "07,33,TRUE,#no comment",
        '"7,0",34,1.0,"two\nlines"',
    ]
    (here / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    spoiled(here, '["Haifa", "Chicago"]', '["TRUE", "1.0", "1e3"]')
    assert run(["publish", "spec.toml"]) == 0
    capsys.readouterr()
    notes = [entry["estimate"] for entry in as_json(capsys, "show", "notes")]
    assert sorted(notes) == sorted(["2020-01-05T10:00", "TRUE", "'quoted'", "#no comment", "two\nlines"])
    (here / "ids.txt").write_bytes(b"\xef\xbb\xbf7\n007\n07\n")
    assert as_json(capsys, "delete", "--from", "ids.txt")["deleted"] == 3
    assert as_json(capsys, "delete", "#a", "7,0")["deleted"] == 2


def test_ids_that_are_whole_numbers_are_written_alike(here, capsys):
    data = {**table(), "person": [float(i) for i in range(N)]}
    pq.write_table(pa.table(data), here / "people.parquet")
    spoiled(here, "people.csv", "people.parquet")
    assert run(["publish", "spec.toml"]) == 0
    capsys.readouterr()
    assert as_json(capsys, "delete", "17")["deleted"] == 1


def test_a_value_that_is_no_number_is_refused_without_telling_it(here, capsys):
    with sqlite3.connect(here / "people.db") as db:
        db.execute("CREATE TABLE people (person, age, city, note)")
        rows = [("p1", 30, "Haifa", "x"), ("p2", "topsecret", "Haifa", "y")]
        db.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    db.close()
    spoiled(here, "people.csv", "people.db")
    assert run(["publish", "spec.toml"]) == 2
    error = capsys.readouterr().err
    assert "values must be numbers (row 1)" in error
    assert "topsecret" not in error


def test_export_in_three_forms(here, capsysbinary):
    run(["publish", "spec.toml"])
    capsysbinary.readouterr()
    assert run(["export", "cities", "--cells"]) == 0
    exported = json.loads(capsysbinary.readouterr().out)
    assert (exported["name"], exported["version"], len(exported["cells"])) == ("cities", 1, 2)
    assert run(["export", "cities", "--cells", "--format", "csv"]) == 0
    assert capsysbinary.readouterr().out.decode().splitlines()[0] == "name,version,block,cell,value"
    assert run(["export", "cities", "--cells", "--format", "parquet", "--out", "c.parquet"]) == 0
    assert pq.read_table("c.parquet").num_rows == 2


def test_answers_are_exported_with_labels_and_intervals_in_three_forms(here, capsysbinary):
    run(["publish", "spec.toml"])
    capsysbinary.readouterr()
    assert run(["export", "cities"]) == 0
    answers = json.loads(capsysbinary.readouterr().out)["answers"]
    columns = ["publication", "city", "estimate", "low", "high", "confidence", "version"]
    assert [list(row) for row in answers] == [columns] * 2
    assert run(["export", "cities", "--format", "csv"]) == 0
    head, *lines = capsysbinary.readouterr().out.decode().splitlines()
    assert head.split(",") == columns
    assert [line.split(",")[1] for line in lines] == [row["city"] for row in answers]
    assert run(["export", "cities", "--format", "parquet", "--out", "c.parquet"]) == 0
    assert pq.read_table("c.parquet").to_pylist() == answers


def test_a_draft_has_no_value_of_the_table(here, capsys):
    assert run(["init", "people.csv", "--out", "draft.toml"]) == 0
    text = (here / "draft.toml").read_text(encoding="utf-8")
    assert "DECIDE" in text
    for value in ("Haifa", "Chicago", "note 1", "p17", str(N)):
        assert value not in text
    assert run(["init", "people.csv", "--out", "draft.toml"]) == 2
    assert "already exists" in capsys.readouterr().err


def spoiled(here, old, new):
    (here / "spec.toml").write_text(SPEC.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda here: spoiled(here, "people.csv", "none.csv"), "no such file"),
        (lambda here: spoiled(here, "people.csv", "spec.toml"), "not of a kind that can be read"),
        (lambda here: spoiled(here, 'id = "person"', 'id = "name"'), "not in"),
        (lambda here: spoiled(here, 'out_of_range = "clamp"', "max_ = 3"), "no key `max_`"),
        (lambda here: write_csv(here / "people.csv", table(), "p1,30,Haifa,x\n"), "a person may have 1 row"),
        (lambda here: write_csv(here / "people.csv", table(), ",30,Haifa,x\n"), "every row must have an id"),
        (lambda here: write_csv(here / "people.csv", table(), "p999,old,Haifa,x\n"), "must be numbers"),
        (lambda here: write_csv(here / "people.csv", table(), "p999,30,Paris,x\n"), "declared categories"),
        (lambda here: write_csv(here / "people.csv", table(), "p999,30\n"), "has 2 values"),
    ],
)
def test_bad_input_is_two_lines_exit_2_and_no_store(here, capsys, spoil, message):
    spoil(here)
    assert run(["publish", "spec.toml"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 2
    assert "Paris" not in error
    assert not (here / "undeleted.db").exists()


def test_misuse_of_a_store(here, capsys):
    assert run(["show"]) == 2
    assert "there is no store" in capsys.readouterr().err
    run(["publish", "spec.toml"])
    state = as_json_quiet(capsys)
    for arguments, message in (
        (["delete"], "must come from exactly one place"),
        (["delete", "p1", "--stdin"], "must come from exactly one place"),
        (["delete", "p1", "--fold", "1"], "holds nobody back"),
        (["delete", "p1", "--fold", "9", "--fold-after", "soon"], "is not a duration"),
        (["delete", "--from", "none.txt"], "none.txt"),
        (["show", "nothing"], "no 'nothing' among the publications"),
        (["show", "people", "--quantile", "0.5"], "only publications of kind quantiles answer quantile"),
        (["show", "ages", "--quantile", "1.5"], "does not exist"),
        (["show", "cities", "--where", "age=3"], "no column of this publication"),
        (["show", "cities", "--where", "city=Paris"], "no category"),
        (["show", "people", "--confidence", "2"], "confidence"),
        (["show", "--quantile", "0.9"], "this question needs one publication"),
        (["show", "cities", "--where", "city=Haifa", "--where", "city=Chicago"], "asked about twice"),
    ):
        assert run(arguments) == 2, arguments
        assert message in capsys.readouterr().err
    spoiled(here, "epsilon = 8.0", "epsilon = 9.0")
    assert run(["publish", "spec.toml"]) == 2
    assert "a publication of another spec" in capsys.readouterr().err
    assert as_json_quiet(capsys) == state


def as_json_quiet(capsys):
    capsys.readouterr()
    run(["show", "--json"])
    return json.loads(capsys.readouterr().out)


def test_the_store_is_found_in_the_environment(here, capsys, monkeypatch):
    monkeypatch.setitem(os.environ, "UNDELETED_STORE", "elsewhere.db")
    assert run(["publish", "spec.toml"]) == 0
    assert (here / "elsewhere.db").exists()
    assert run(["delete", "p1"]) == 0
    assert (here / "elsewhere.db.key").exists()


def test_an_empty_table_is_published_like_any_other(here, capsys):
    """That it is refused would tell that nobody is in it."""
    (here / "people.csv").write_text("person,age,city,note\n")
    assert as_json(capsys, "publish", "spec.toml")["version"] == 1
    told = as_json(capsys, "show", "people")
    assert told["low"] < 100
    assert as_json(capsys, "delete", "p1")["unknown"] == 1
    assert as_json(capsys, "check")["intact"]


def test_budgets_that_promise_nothing_are_warned_of_or_refused(here, capsys):
    spoiled(here, "epsilon = 8.0", "epsilon = 100.0")
    assert run(["publish", "spec.toml", "--store", "a.db"]) == 0
    assert "undeleted: warning: ε = 100 promises next to nothing" in capsys.readouterr().err
    spoiled(here, "epsilon = 8.0", "epsilon = 8.0\ndelta = 0.5")
    assert run(["publish", "spec.toml", "--store", "b.db"]) == 2
    error = capsys.readouterr().err
    assert "δ = 0.5 does not protect" in error
    assert "far below 1/n" in error
    assert not (here / "b.db").exists()
    assert run(["publish", "spec.toml", "--store", "b.db", "--i-know"]) == 0


def test_no_warning_without_a_reason(here, capsys):
    assert run(["publish", "spec.toml"]) == 0
    assert capsys.readouterr().err == ""


def test_receipts_are_written_without_a_word_of_how_many(here, capsys):
    for form in ([], ["--json"]):
        (here / "out.jsonl").unlink(missing_ok=True)
        assert run(["publish", "spec.toml", "--receipts", "out.jsonl", *form]) == 0
        told = capsys.readouterr()
        lines = (told.out + told.err).splitlines()
        noisy = ("(the noisy count)", '"rows": ')  # which may be right by chance
        rest = "\n".join(line for line in lines if not any(words in line for words in noisy))
        assert not re.search(rf"(?<![\d.,]){N}(?![\d.])", rest)
        assert "out.jsonl" in told.out
    assert len((here / "out.jsonl").read_text().splitlines()) == N


def test_a_post_commands_no_terminal(here, capsys):
    """Escape sequences, of one byte and of two, bells, line breaks, and marks that turn the text around."""
    columns = table()
    columns["note"][0] = '"clear \x1b[2J, \x9b1m, \x07, \u202e."'
    write_csv(here / "people.csv", columns)
    assert run(["publish", "spec.toml"]) == 0
    for form in ([], ["--json"]):
        capsys.readouterr()
        assert run(["show", "notes", *form]) == 0
        printed = capsys.readouterr().out
        assert "clear" in printed
        assert not set("\x1b\x9b\x07") & set(printed)
    assert run(["show", "notes"]) == 0
    assert r"clear \x1b[2J, \x9b1m, \x07, \u202e." in capsys.readouterr().out


def test_check_says_by_which_rule_codes_were_made(here, capsys):
    assert run(["publish", "spec.toml"]) == 0
    capsys.readouterr()
    assert run(["check"]) == 0
    assert "2: each value was encoded on its own" in capsys.readouterr().out
