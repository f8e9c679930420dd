"""The commands of a table that grows: add, tick, correct, show by tick; wrong files and wrong clocks."""

import json

import pytest

from undeleted.curate.curator import Curator
from undeleted.interfaces.cli import run

SPEC = """[data]
source = "people.csv"
id = "pid"
[columns.age]
type = "number"
min = 0
max = 120
[columns.city]
type = "category"
values = ["Rome", "Oslo"]
[budget]
epsilon = 1
delta = 1e-6
[publish.people]
kind = "count"
[publish.ages]
kind = "mean"
column = "age"
by = ["city"]
[arrivals]
every = "day"
horizon = 30
max_corrections = 1
"""


def csv(path, first, n, age=30):
    rows = [f"p{i},{age},{('Rome', 'Oslo')[i % 2]}" for i in range(first, first + n)]
    path.write_text("\n".join(["pid,age,city", *rows]) + "\n")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNDELETED_STORE", raising=False)
    (tmp_path / "spec.toml").write_text(SPEC)
    csv(tmp_path / "people.csv", 0, 400)
    csv(tmp_path / "new.csv", 400, 100)
    csv(tmp_path / "changed.csv", 0, 3, age=90)
    return tmp_path


@pytest.fixture
def said(here, capsys):
    def command(*words, code=0):
        capsys.readouterr()
        assert run(list(words)) == code
        out = capsys.readouterr()
        return json.loads(out.out) if "--json" in words else out.out + out.err

    return command


def start(said):
    said("publish", "spec.toml")
    with Curator.open("undeleted.db") as curator:
        return curator.clock.start


def test_a_life_of_a_table_at_the_command_line(here, said):
    begin = start(said)
    done = said("add", "new.csv", "--json")
    assert (done["added"], done["there"], done["tick"]) == (100, 0, 1)
    assert done["closes"] > begin.isoformat()
    assert said("tick", "--json")["closed"] == 0
    year = begin.year + 1
    closed = said("tick", "--now", f"{year}-12-31", "--yes", "--json")
    assert (closed["closed"], closed["ticks"], closed["horizon"], closed["next"]) == (29, 30, 30, None)
    assert closed["erased"] is True
    history = said("show", "people", "--tick", "all", "--json")
    assert [row["labels"]["tick"] for row in history] == list(range(30))
    assert history[1]["estimate"] - history[0]["estimate"] == pytest.approx(100, abs=250)
    one = said("show", "people", "--tick", "3", "--json")
    assert one["estimate"] == history[3]["estimate"]
    assert said("delete", "p1", "p401", "--json")["deleted"] == 2
    assert said("check", "--json")["intact"]
    exported = said("export", "people", "--tick", "all", "--format", "csv")
    assert exported.splitlines()[0] == "publication,tick,estimate,low,high,confidence,version"
    assert len(said("export", "people", "--cells").splitlines()) > 30


def test_corrections_wait_for_the_tick_and_are_counted(here, said):
    start(said)
    done = said("correct", "changed.csv", "--json")
    assert (done["corrected"], done["unchanged"], done["unknown"], done["tick"]) == (3, 0, 0, 1)
    assert said("correct", "changed.csv", "--json")["unchanged"] == 3
    assert "1 of 30 have closed" in said("status")
    said("tick", "--now", "2100-01-01", "--yes")
    csv(here / "changed.csv", 0, 3, age=20)
    assert "all 30 ticks have closed: no record can be corrected any more." in said(
        "correct", "changed.csv", code=2
    )


def test_what_is_said_is_read_by_people(here, said):
    assert "after 30 ticks" in said("plan", "spec.toml", "--rows", "400")
    start(said)
    text = said("add", "new.csv")
    assert text.startswith("added  100 people\ntick   1: published after ")
    assert "no tick is due" in said("tick")
    assert "ticks" in said("status", "--json")
    facts = said("status", "--json")["ticks"]
    assert (facts["closed"], facts["horizon"], facts["leavers"], facts["max_corrections"]) == (
        1,
        30,
        "shown",
        1,
    )


def test_newcomers_get_receipts(here, said):
    start(said)
    assert said("add", "new.csv", "--receipts", "new.jsonl", "--json")["receipts"] == "new.jsonl"
    lines = [json.loads(line) for line in (here / "new.jsonl").read_text().splitlines()]
    assert [line["person"] for line in lines] == [f"p{i}" for i in range(400, 500)]
    assert "already exists" in said("add", "new.csv", "--receipts", "new.jsonl", code=2)


def test_hidden_leavers_are_said_to_wait(here, said):
    hidden = 'leavers = "hidden"\nleavers_epsilon = 1\nleavers_delta = 1e-6\n'
    (here / "spec.toml").write_text(SPEC + hidden)
    start(said)
    text = said("delete", "p1")
    assert "version  v1, unchanged" in text
    assert "erased   pending: leavers are hidden; rows to come need their records, without ids" in text
    assert "who leaves is hidden: ε = " in said("status")
    assert said("status", "--json")["ticks"]["leavers_epsilon"] == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ("add", "people.csv"),
            "400 people are in the store already; nobody was added."
            "\nLeave them out (--skip-existing), or give their new records to `undeleted correct`.",
        ),
        (("add", "absent.csv"), "absent.csv: cannot be read (no such file"),
        (
            ("add", "bad.csv"),
            "column 'age': values must lie in [0, 120] (line 2)",
        ),
        (
            ("add", "new.csv", "--watermark", "load"),
            "--watermark names a column of a database's table.\nAdd --connection.",
        ),
        (
            ("tick", "--now", "tomorrow"),
            "'tomorrow' is not a time.\nWrite it as 2026-03-01 or 2026-03-01T12:00.",
        ),
        (
            ("tick", "--now", "2100-01-01"),
            "is ahead of the system's clock, and ticks that are closed stay closed.",
        ),
        (("tick", "--now", "2001-01-01"), "Ticks close in order: correct the clock or `now`"),
        (("show", "people", "--tick", "7"), "tick 7 has not closed.\nOnly tick 0 has closed."),
        (("show", "people", "--tick", "last"), "'last' is not a tick."),
        (("delete", "p1", "--fold", "2"), "a table that grows does not hold deletions back."),
        (("publish", "more.toml", "--more"), "the budget of ε = 1 is spent."),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_lost(here, said, command, message):
    start(said)
    csv(here / "bad.csv", 900, 1, age=2000)
    (here / "more.toml").write_text('[publish.x]\nkind = "count"\n')
    before = said("status", "--json")
    assert message in said(*command, code=2)
    assert said("status", "--json") == before
    assert said("check", "--json")["intact"]


def test_a_table_that_does_not_grow_says_how_to_go_on(here, said):
    (here / "spec.toml").write_text(SPEC[: SPEC.index("[arrivals]")])
    said("publish", "spec.toml")
    for command in (("add", "new.csv"), ("correct", "changed.csv"), ("tick",)):
        text = said(*command, code=2)
        assert "undeleted.db does not grow: it was published once." in text
        assert "Publish newcomers into a new store, whose spec has [arrivals]." in text
    assert "a table that does not grow has no ticks" in said("show", "people", "--tick", "1", code=2)
