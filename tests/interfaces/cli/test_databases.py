"""Specs whose table lies in a database, and stores that are copied, from the command line.

Covers: interfaces/cli/stores.py
"""

import json
from pathlib import Path

import duckdb
import pytest

from undeleted.interfaces.cli import run

SPEC = """[data]
connection = "{connection}"
table = "{table}"
id = "person"

[budget]
epsilon = 1.0

[columns.age]
type = "number"
min = 0
max = 120

[publish.people]
kind = "count"

[publish.ages]
kind = "quantiles"
column = "age"
"""


@pytest.fixture
def folder(tmp_path):
    """A warehouse with 1,000 people."""
    with duckdb.connect(str(tmp_path / "warehouse.duckdb")) as file:
        file.execute(
            "CREATE TABLE people AS SELECT 'p' || i AS person, i % 100 AS age FROM range(1000) AS r (i)"
        )
    return tmp_path


def spec(folder: Path, connection: str = "duckdb://warehouse.duckdb", table: str = "people") -> str:
    path = folder / "spec.toml"
    path.write_text(SPEC.format(connection=connection, table=table), encoding="utf-8")
    return str(path)


def test_a_table_of_a_database_is_drafted_published_forgotten_and_copied(folder, capsys):
    file, copy = str(folder / "people.db"), str(folder / "copy.db")
    draft = [
        "init",
        "people",
        "--connection",
        "duckdb://warehouse.duckdb",
        "--out",
        str(folder / "draft.toml"),
    ]
    assert run(draft) == 0
    text = (folder / "draft.toml").read_text()
    assert 'connection = "duckdb://warehouse.duckdb"' in text
    assert "[columns.age]" in text
    assert run(["publish", spec(folder), "--store", file]) == 0
    assert run(["publish", spec(folder), "--store", file]) == 0, "the same spec again spends nothing"
    assert run(["delete", "p1", "p2", "nobody", "--store", file]) == 0
    capsys.readouterr()
    assert run(["store", "copy", file, copy, "--json"]) == 0
    copied = json.loads(capsys.readouterr().out)
    assert (copied["intact"], copied["version"], copied["publications"]) == (True, 2, ["people", "ages"])
    shown = []
    for store in (file, copy):
        assert run(["show", "--json", "--store", store]) == 0
        shown.append(capsys.readouterr().out)
        assert run(["check", "--store", store]) == 0
        capsys.readouterr()
    assert shown[0] == shown[1]
    assert run(["store", "vacuum", "--store", copy, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"erased": True}


@pytest.mark.parametrize(
    ("connection", "table", "told"),
    [
        ("duckdb://nowhere.duckdb", "people", "does not exist"),
        ("duckdb://warehouse.duckdb", "nobody", "has no table 'nobody'"),
        ("duckdb://warehouse.duckdb", "people.parquet", "there is no such file"),
        ("warehouse.duckdb", "people", "does not say which kind of database"),
        ("nosuchdb://host/db", "people", "a backend that Ibis does not have: nosuchdb"),
        ("$NO_SUCH_VARIABLE", "people", "not set: NO_SUCH_VARIABLE"),
        ("postgresql://reader@127.0.0.1:1/db", "people", "cannot be reached"),
        ("postgresql://reader:open-sesame@127.0.0.1/db", "people", "`connection` may contain a secret"),
        ("postgresql://127.0.0.1/db?password=open-sesame", "people", "`connection` may contain a secret"),
        ("postgresql://reader:12/open-sesame@db/app", "people", "may contain a secret"),
        ("duckdb://md:db?motherduck_token=open-sesame", "people", "may contain a secret"),
        ("host=db user=x password=open-sesame", "people", "does not say which kind of database"),
        ("mysql://reader@127.0.0.1/db", "people", "pip install 'ibis-framework[mysql]'"),
    ],
)
def test_a_connection_that_cannot_be_is_told_with_its_remedy_and_nothing_is_written(
    folder, capsys, connection, table, told
):
    assert run(["publish", spec(folder, connection, table), "--store", str(folder / "new.db")]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert len(err.strip().splitlines()) == 2
    assert "open-sesame" not in err
    assert not list(folder.glob("new.db*"))


def test_a_secret_connection_comes_from_the_environment(folder, capsys, monkeypatch):
    monkeypatch.setenv("WAREHOUSE", f"duckdb://{folder}/warehouse.duckdb")
    assert run(["publish", spec(folder, "$WAREHOUSE"), "--store", str(folder / "new.db")]) == 0
    monkeypatch.setenv("WAREHOUSE", "postgresql://reader:open-sesame@127.0.0.1:1/db")
    assert run(["publish", spec(folder, "$WAREHOUSE"), "--store", str(folder / "other.db")]) == 2
    assert "open-sesame" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            "ALTER TABLE people ALTER age TYPE VARCHAR; UPDATE people SET age = 'old' WHERE age = '3'",
            "be numbers",
        ),
        ("ALTER TABLE people DROP COLUMN age", "'age': not in people"),
        ("UPDATE people SET age = 121 WHERE person = 'p7'", "must lie in [0, 120] (1 row)"),
        ("INSERT INTO people VALUES ('p7', 3)", "may have 1 row (1 row)"),
    ],
)
def test_a_table_that_is_not_as_the_spec_says(folder, capsys, change, told):
    with duckdb.connect(str(folder / "warehouse.duckdb")) as file:
        file.execute(change)
    assert run(["publish", spec(folder), "--store", str(folder / "new.db")]) == 2
    assert told in capsys.readouterr().err
    assert not list(folder.glob("new.db*"))


def test_a_source_beside_a_connection_is_refused_with_its_line(folder, capsys):
    path = Path(spec(folder))
    path.write_text(path.read_text().replace('id = "person"', 'id = "person"\nsource = "people.csv"'))
    assert run(["publish", str(path), "--store", str(folder / "new.db")]) == 2
    assert "line 5: a table in a database has no `source`" in capsys.readouterr().err


@pytest.mark.services
def test_spark_without_java_says_so(folder, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert run(["publish", spec(folder, "pyspark://local[2]"), "--store", str(folder / "new.db")]) == 2
    assert "needs Java" in capsys.readouterr().err
    assert not list(folder.glob("new.db*"))


def test_a_copy_that_cannot_be_made_leaves_nothing(folder, capsys):
    assert run(["publish", spec(folder), "--store", str(folder / "people.db")]) == 0
    assert run(["store", "copy", str(folder / "none.db"), str(folder / "new.db")]) == 2
    assert run(["store", "copy", str(folder / "people.db"), str(folder / "people.db")]) == 2
    assert run(["store", "copy", str(folder / "people.db"), str(folder / "no" / "folder.db")]) == 2
    capsys.readouterr()
    assert not list(folder.glob("new.db*"))
    assert run(["check", "--store", str(folder / "people.db")]) == 0


@pytest.mark.parametrize(
    "place",
    [
        "postgresql+psycopg://u:open-sesame@127.0.0.1/db",
        "PostgreSQL://u:open-sesame@127.0.0.1/db",
        "postgresql:/u:open-sesame@127.0.0.1/db",
        "mysql://u:open-sesame@127.0.0.1/db",
        "host=127.0.0.1 password=open-sesame dbname=db",
    ],
)
def test_an_address_that_is_no_store_is_refused_without_repeating_it(place, capsys):
    for command in (["status"], ["delete", "p1"], ["check"]):
        assert run([*command, "--store", place]) == 2
        err = capsys.readouterr().err
        assert "which is not a store" in err
        assert "open-sesame" not in err


def test_a_draft_with_something_to_decide_says_which_line(folder, capsys):
    out = folder / "draft.toml"
    assert run(["init", "people", "--connection", "duckdb://warehouse.duckdb", "--out", str(out)]) == 0
    assert run(["publish", str(out), "--store", str(folder / "new.db")]) == 2
    assert "this line still says DECIDE" in capsys.readouterr().err


def test_publishing_again_says_that_nothing_was_spent(folder, capsys):
    for already in (False, True):
        assert run(["publish", spec(folder), "--store", str(folder / "new.db"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["already"] is already
