"""Models as publications: published from a spec, shown with intervals, predicting from what stands.

Covers: interfaces/report/questions.py, curate/publications.py, curate/releases/publishable.py
"""

import csv
import json

import numpy as np
import pytest

from undeleted.interfaces.cli import run

SPEC = """[data]
source = "people.csv"
id = "id"
[budget]
epsilon = 20.0
[columns.age]
type = "number"
min = 18
max = 90
[columns.pay]
type = "number"
min = 0
max = 100
[columns.rich]
type = "boolean"
[columns.city]
type = "category"
values = ["Haifa", "Chicago", "nowhere"]
[publish.bayes]
kind = "naive-bayes"
features = ["age", "pay"]
target = "rich"
[publish.places]
kind = "naive-bayes"
features = ["city"]
target = "rich"
[publish.line]
kind = "linear-regression"
features = ["age"]
target = "pay"
[publish.logit]
kind = "logistic-regression"
features = ["age", "pay"]
target = "rich"
products = false
[publish.parts]
kind = "pca"
features = ["age", "pay"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    age = rng.integers(18, 91, 4000)
    pay = np.clip(age + rng.normal(0, 5, 4000), 0, 100).astype(int)
    city = np.where(pay > 55, "Haifa", "Chicago")
    with open("people.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "pay", "rich", "city"])
        flags = np.where(pay > 55, "true", "FALSE")
        writer.writerows((f"p{i}", *row) for i, row in enumerate(zip(age, pay, flags, city, strict=True)))
    (tmp_path / "rows.csv").write_text("age,pay,city\n25,20,Chicago\n80,85,Haifa\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def as_json(capsys, *arguments):
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


BEYOND = """[data]
source = "people.csv"
id = "id"
[budget]
epsilon = 60.0
[columns]
age = {type = "number", min = 18, max = 90}
pay = {type = "number", min = 0, max = 100}
rich = {type = "boolean"}
old = {type = "boolean"}
far = {type = "boolean"}
city = {type = "category", values = ["Haifa", "Chicago", "nowhere"]}
[publish]
trees = {kind = "forest", features = ["age", "pay", "city"], target = "rich", trees = 5, depth = 4}
pays = {kind = "forest", features = ["age"], target = "pay"}
groups = {kind = "k-means", features = ["age", "pay"], clusters = 2}
goes = {kind = "recommender", features = ["rich", "old", "far"], at_most = 2}
"""


def test_forests_clusters_and_recommendations_are_publications_too(here, capsys):
    lines = (here / "people.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    with open("people.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*lines[0].split(","), "old", "far"])
        for i, row in enumerate(rows):  # whoever is rich is old
            writer.writerow([*row, row[3], str(i % 10 == 0 and row[3] != "true").lower()])
    (here / "rows.csv").write_text(
        "age,pay,city,rich,old,far\n25,20,Chicago,false,false,true\n80,85,Haifa,false,true,false\n"
    )
    (here / "spec.toml").write_text(BEYOND)
    assert run(["publish", "spec.toml"]) == 0
    capsys.readouterr()
    assert predicted(capsys, "trees") == (1, [False, True])
    _, pays = predicted(capsys, "pays")
    assert pays == pytest.approx([25, 79], abs=12)
    _, groups = predicted(capsys, "groups")
    assert groups == [1, 2]
    _, goes = predicted(capsys, "goes")
    assert goes[1][0] == "rich"
    assert {a["of"] for a in as_json(capsys, "show", "trees")} == {"share of False", "share of True"}
    sizes = [a for a in as_json(capsys, "show", "groups") if a["of"].endswith("records")]
    assert sum(a["estimate"] for a in sizes) == pytest.approx(4000, abs=200)
    assert all(a["low"] <= a["estimate"] <= a["high"] for a in as_json(capsys, "show", "groups"))
    assert "rich & old" in json.dumps(as_json(capsys, "show", "goes"))
    for name in ("groups", "goes", "trees"):
        assert run(["export", name, "--cells", "--format", "csv"]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 3
    (here / "leavers.txt").write_text("\n".join(row[0] for row in rows if row[3] == "true") + "\n")
    assert run(["delete", rows[0][0]]) == 0
    assert run(["delete", "--from", "leavers.txt"]) == 0
    capsys.readouterr()
    assert predicted(capsys, "trees")[1][0] is False
    assert share_of_the_rich(capsys, "trees") < 0.05, "all who were rich have left"
    assert "rich & old" not in json.dumps(as_json(capsys, "show", "goes"))
    assert as_json(capsys, "check") == {"intact": True, "problems": [], "rule": 2, "unchecked": []}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clusters = 2", "clusters = 0", "clusters = 0 must be"),
        ("clusters = 2", "clusters = 2.5", "must be an integer"),
        ('features = ["age", "pay"], clusters', 'features = ["city"], clusters', "k-means takes numbers"),
        ("at_most = 2", "at_most = 1", "not a valid cap on the items"),
        ('["rich", "old", "far"]', '["rich", "age"]', "recommender takes booleans"),
        ("trees = 5", "trees = 0", "a forest cannot have trees = 0"),
        ("depth = 4", "depths = 4", "Did you mean `depth`"),
        ('features = ["age"], target = "pay"', 'features = ["age"], target = "age"', "both a feature"),
    ],
)
def test_a_spec_that_makes_no_forest_or_cluster_is_refused(here, capsys, old, new, message):
    assert old in BEYOND
    (here / "spec.toml").write_text(BEYOND.replace(old, new, 1))
    assert run(["publish", "spec.toml"]) == 2
    assert message in capsys.readouterr().err
    assert not (here / "undeleted.db").exists()


def share_of_the_rich(capsys, name):
    return next(a["estimate"] for a in as_json(capsys, "show", name) if a["of"] == "share of True")


def predicted(capsys, name):
    found = as_json(capsys, "show", name, "--predict", "rows.csv")
    return found["version"], [row["prediction"] for row in found["predictions"]]


def test_models_are_published_shown_and_predict_from_the_current_state(here, capsys):
    assert run(["publish", "spec.toml"]) == 0
    capsys.readouterr()
    for name in ("bayes", "places", "logit"):
        assert predicted(capsys, name) == (1, [False, True])
    _, line = predicted(capsys, "line")
    assert line == pytest.approx([25, 79], abs=4)
    _, parts = predicted(capsys, "parts")
    assert np.shape(parts) == (2, 2)
    slope = next(a for a in as_json(capsys, "show", "line") if a["of"] == "pay ~ age")
    assert slope["low"] < slope["estimate"] < slope["high"]
    assert {a["of"] for a in as_json(capsys, "show", "bayes")} >= {"share of True", "mean age of False"}
    assert len(as_json(capsys, "show", "parts")) == 2
    with open("people.csv", encoding="utf-8", newline="") as file:
        rich = [row["id"] for row in csv.DictReader(file) if row["rich"] == "true"]
    (here / "leavers.txt").write_text("\n".join(rich) + "\n")
    assert run(["delete", "--from", "leavers.txt"]) == 0
    capsys.readouterr()
    version, places = predicted(capsys, "places")
    assert version > 1
    assert places[0] is False
    assert share_of_the_rich(capsys, "places") < 0.05, (
        "all who were rich have left"
    )  # a hundred counts: noise has one or two
    assert as_json(capsys, "check") == {"intact": True, "problems": [], "rule": 2, "unchecked": []}
    odds = as_json(capsys, "show", "logit")
    assert {a["of"] for a in odds} == {f"True against False ~ {n}" for n in ("(intercept)", "age", "pay")}
    assert run(["show", "line", "--predict", "rows.csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('target = "pay"', 'target = "city"', "linear-regression takes numbers"),
        ('features = ["city"]', 'features = ["city", "age"]', "all numbers or all categories"),
        ('features = ["city"]', 'features = ["rich"]', "both a feature and the target"),
        ('features = ["age"]', 'features = ["agee"]', "no column 'agee'"),
        ('target = "pay"', 'target = "payy"', "no column 'payy'"),
        ('target = "pay"', "", "needs `target`"),
        ('features = ["age"]\ntarget = "pay"', 'features = []\ntarget = "pay"', "at least one column"),
        ("products = false", 'products = "no"', "must be true or false"),
    ],
)
def test_a_spec_that_makes_no_model_is_refused_at_its_line(here, capsys, old, new, message):
    assert old in SPEC
    (here / "spec.toml").write_text(SPEC.replace(old, new, 1))
    assert run(["publish", "spec.toml"]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "line" in told
    assert not (here / "undeleted.db").exists()


def test_questions_that_a_model_cannot_answer(here, capsys):
    assert run(["publish", "spec.toml"]) == 0
    (here / "bad.csv").write_text("age\nten\n")
    (here / "other.csv").write_text("height\n3\n")
    for arguments in (
        ["show", "--predict", "rows.csv"],
        ["show", "line", "--predict", "nothing.csv"],
        ["show", "line", "--predict", "bad.csv"],
        ["show", "line", "--predict", "other.csv"],
        ["show", "line", "--predict", "rows.csv", "--quantile", "0.5"],
        ["show", "line", "--quantile", "0.5"],
    ):
        assert run(arguments) == 2, arguments
    assert "ten" not in capsys.readouterr().err
