"""The same table comes out in every form, from the command line, from Python and over HTTP."""

import csv
import io
import json

import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from undeleted.curate.curator import Curator
from undeleted.errors import BadQuestion
from undeleted.interfaces.cli import run

SPEC = """[data]
source = "people.csv"
id = "pid"
[budget]
epsilon = 5.0
[columns.age]
type = "number"
min = 0
max = 99
[columns.tall]
type = "number"
min = 100
max = 220
[columns.city]
type = "category"
values = ["Rome", "Oslo"]
[publish.people]
kind = "count"
[publish.ages]
kind = "mean"
column = "age"
by = ["city"]
[publish.cities]
kind = "histogram"
columns = ["city"]
[publish.model]
kind = "naive-bayes"
features = ["age", "tall"]
target = "city"
weight = 4
"""
N = 2000


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(
        f"p{i},{i % 50 + 40 * (i % 2)},{150 + 60 * (i % 2)},{('Rome', 'Oslo')[i % 2]}" for i in range(N)
    )
    (tmp_path / "people.csv").write_text(f"pid,age,tall,city\n{rows}\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    assert run(["publish", "spec.toml"]) == 0
    return tmp_path


def read(folder, form, *more):
    assert run(["export", *more, "--format", form, "--out", f"out.{form}"]) == 0
    data = (folder / f"out.{form}").read_bytes()
    if form == "json":
        return json.loads(data)["answers"]
    if form == "csv":
        return list(csv.DictReader(io.StringIO(data.decode())))
    table = pq.read_table(io.BytesIO(data)) if form == "parquet" else feather.read_table(io.BytesIO(data))
    return table.to_pylist()


def test_every_form_has_the_same_rows_and_columns(folder):
    with Curator.open("undeleted.db") as curator:
        expected = curator.show("ages").to_arrow().to_pylist()
    columns = ["publication", "city", "estimate", "low", "high", "confidence", "version"]
    assert list(expected[0]) == columns
    for form in ("json", "parquet", "arrow"):
        assert read(folder, form, "ages") == expected
    for got, row in zip(read(folder, "csv", "ages"), expected, strict=True):
        assert list(got) == columns
        assert got["city"] == row["city"]
        assert float(got["estimate"]) == pytest.approx(row["estimate"], rel=1e-12)


def test_counts_are_written_as_whole_numbers(folder):
    assert all(row["estimate"].isdigit() for row in read(folder, "csv", "cities"))


def test_all_publications_are_one_table_and_questions_are_asked_of_one(folder, capsys):
    rows = [row for row in read(folder, "arrow") if row["publication"] != "model"]
    assert [row["publication"] for row in rows] == ["people", "ages", "ages", "cities", "cities"]
    [rome] = read(folder, "json", "cities", "--where", "city=Rome")
    assert rome["of"] == "city=Rome"
    assert run(["export", "--by", "city"]) == 2
    assert run(["export", "--cells"]) == 2
    assert run(["export", "ages", "--out", "nowhere/ages.csv"]) == 2
    assert "Name a file in a folder that exists" in capsys.readouterr().err


def test_a_model_predicts_in_python_as_at_the_command_line(folder, capsys):
    (folder / "rows.csv").write_text("age,tall\n10,150\n80,210\n")
    capsys.readouterr()
    assert run(["show", "model", "--predict", "rows.csv", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["predictions"]
    with Curator.open("undeleted.db") as curator:
        model = curator.show("model")
        assert model.predict("rows.csv") == said
        assert model.predict([{"age": 10, "tall": 150}, {"age": 80, "tall": 210}]) == said
        assert model.predict({"age": [10, 80], "tall": [150, 210]}) == said
        assert [p["prediction"] for p in said] == ["Rome", "Oslo"]
        with pytest.raises(BadQuestion, match="only models predict"):
            curator.show("people").predict([{"age": 1}])
