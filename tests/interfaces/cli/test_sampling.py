"""`undeleted sample`: what it refuses before it fits anything; and rows as files."""

import io
import json
from contextlib import redirect_stdout

import pyarrow.parquet as pq
import pytest

from undeleted.interfaces.cli import run

SPEC = """
[data]
source = "people.csv"
id = "id"

[columns.age]
type = "number"
min = 0
max = 99

[columns.sex]
type = "category"
values = ["f", "m"]

[budget]
epsilon = 4.0

[publish.rows]
kind = "synthetic"
columns = ["age", "sex"]
edges = {age = [18, 65]}

[publish.people]
kind = "count"
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"p{i},{i % 100},{'fm'[i % 2]}\n" for i in range(800))
    (tmp_path / "people.csv").write_text("id,age,sex\n" + lines)
    (tmp_path / "spec.toml").write_text(SPEC)
    with redirect_stdout(io.StringIO()):
        assert run(["publish", "spec.toml"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody"], "no 'nobody' among the publications"),
        (["people"], "of kind synthetic"),
        (["rows", "--rows", "0"], "0 rows cannot be drawn"),
        (["rows", "--seed", "-4"], "is not a seed"),
        (["rows", "--out", "rows.xlsx"], "names no format"),
        (["rows", "--out", "none/rows.csv"], "cannot be written"),
        (["rows", "--model", "tree", "--megabytes", "0"], "is not possible"),
    ],
)
def test_what_cannot_be_done_is_two_lines_and_exit_2(store, arguments, said, capsys):
    assert run(["sample", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert len(printed.err.strip().splitlines()) == 2
    assert not list(store.glob("rows.*"))


def test_counts_have_intervals_and_what_was_not_measured_says_so(store, capsys):
    assert run(["show", "rows", "--where", "sex=f", "--where", "age=18..64", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert "at 95%" in str(said) or "low" in str(said)
    assert run(["show", "rows", "--where", "age=10..20"]) == 2
    assert "cuts a bin" in capsys.readouterr().err


@pytest.mark.services  # it fits a model, which needs Private-PGM
def test_rows_as_files_on_stdout_and_after_a_deletion(store, capfdbinary):
    assert run(["sample", "rows", "--rows", "300", "--out", "rows.parquet", "--json"]) == 0
    said = json.loads(capfdbinary.readouterr().out)
    assert said == {"written": "rows.parquet", "rows": 300, "version": 1, "model": "mixture", "seed": 0}
    assert pq.read_table("rows.parquet").num_rows == 300
    assert run(["delete", "p3", "p5"]) == 0
    capfdbinary.readouterr()
    assert run(["sample", "rows", "--rows", "20", "--model", "tree"]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0] == '"age","sex"'
    assert len(lines) == 21
    assert run(["sample", "rows", "--rows", "4", "--model", "tree", "--json"]) == 0
    assert set(json.loads(capfdbinary.readouterr().out)[3]) == {"age", "sex"}
