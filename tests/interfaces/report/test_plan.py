"""What `plan` expects is what a publication then has; and it reads nothing."""

import pytest

from undeleted.curate.curator import Curator
from undeleted.curate.spec import Spec
from undeleted.interfaces.cli import run
from undeleted.interfaces.report.plan import plan

N = 3000
SPEC = """
[data]
source = "people.csv"
id = "pid"
[columns.age]
type = "number"
min = 0
max = 99
[columns.city]
type = "category"
values = ["a", "b", "c"]
[columns.note]
type = "text"
[budget]
epsilon = 2.0
[publish.people]
kind = "count"
[publish.sum]
kind = "sum"
column = "age"
[publish.mean]
kind = "mean"
column = "age"
weight = 2
[publish."mean by city"]
kind = "mean"
column = "age"
by = ["city"]
[publish.ages]
kind = "quantiles"
column = "age"
[publish.cities]
kind = "histogram"
columns = ["city"]
[publish.board]
kind = "board"
column = "note"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def test_the_expected_intervals_are_those_that_come(folder):
    """Counts and sums have the interval that was foreseen; a mean in the middle has a narrower one."""
    rows = "\n".join(f"p{i},{i % 100},{'abc'[i % 3]},n" for i in range(N))
    (folder / "people.csv").write_text("pid,age,city,note\n" + rows + "\n")
    expected = {p["name"]: p for p in plan(Spec.load("spec.toml"), N).facts["publications"]}
    with Curator.from_spec("spec.toml", "people.db") as curator:
        for name in ("people", "sum", "mean", "mean by city", "cities"):
            [*rows] = curator.show(name).to_arrow().to_pylist()
            assert expected[name]["groups"] == (len(rows) if name == "mean by city" else 1)
            for row in rows:
                ratio = (row["high"] - row["low"]) / 2 / expected[name]["half_width"]
                assert (0.6 if "mean" in name else 0.9) < ratio < 1.1
        view = curator.show("ages")
        widths = [view.mechanism.count(view.release, 0, v) for v in range(5, 95, 10)]
        assert max((e.high - e.low) / 2 for e in widths) < 1.3 * expected["ages"]["half_width"]
    assert sum(p["epsilon"] for p in expected.values()) == pytest.approx(2.0)
    assert expected["mean"]["epsilon"] == pytest.approx(2 * expected["people"]["epsilon"])
    assert (expected["board"]["epsilon"], expected["board"]["half_width"]) == (0.0, None)


def test_the_size_is_about_that_of_the_store_that_comes(folder):
    rows = "\n".join(f"p{i},{i % 100},{'abc'[i % 3]},n" for i in range(20_000))
    (folder / "people.csv").write_text("pid,age,city,note\n" + rows + "\n")
    (folder / "spec.toml").write_text(SPEC.split("[publish.board]")[0])
    foreseen = plan(Spec.load("spec.toml"), 20_000).facts["bytes"]
    Curator.from_spec("spec.toml", "people.db").close()
    assert 0.8 < (folder / "people.db").stat().st_size / foreseen < 1.25


def test_publish_shows_it_for_the_noisy_count_and_warns(folder, capsys):
    """The number of rows that it names is the published one, or the stated one: never the exact one."""
    rows = "\n".join(f"p{i},{i % 100},{'abc'[i % 3]},n" for i in range(40))
    (folder / "people.csv").write_text("pid,age,city,note\n" + rows + "\n")
    assert run(["publish", "spec.toml", "--rows", "40"]) == 0
    said = capsys.readouterr()
    assert "warning: in mean by city" in said.err
    assert "for 40 rows (as stated with --rows)" in said.out
    with Curator.open("undeleted.db") as curator:
        noisy = max(1, round(curator.show("people").estimate().value))
    assert run(["publish", "spec.toml"]) == 0  # again: nothing is spent
    shown = capsys.readouterr().out
    assert f"for {noisy:,} rows (the noisy count)" in shown
    assert "NOTHING BUT NOISE" in shown
    assert run(["publish", "spec.toml", "--rows", "0"]) == 2


def test_a_mean_of_too_few_rows_is_nothing_but_noise(folder):
    """Where the count may be 0 the interval is everything between the bounds, however narrow the sum's is."""
    expected = {p["name"]: p for p in plan(Spec.load("spec.toml"), 20).facts["publications"]}
    assert expected["mean by city"]["nothing_but_noise"]
    assert expected["mean by city"]["half_width"] == pytest.approx(49.5)


def test_nothing_is_read_and_nothing_is_written(folder, capsys):
    """There is no table at all, and no store afterwards."""
    assert run(["plan", "spec.toml", "--rows", "3000"]) == 0
    assert "nothing was read, and nothing was spent" in capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["spec.toml"]


def test_what_is_nothing_but_noise_is_said(folder, capsys):
    assert run(["plan", "spec.toml", "--rows", "3000"]) == 0
    assert "NOISE" not in capsys.readouterr().out
    assert run(["plan", "spec.toml", "--rows", "20"]) == 0
    shown = capsys.readouterr().out
    assert "NOTHING BUT NOISE" in shown
    assert "in mean by city" in shown


def test_many_cells_are_said_before_anybody_waits(folder, capsys):
    text = SPEC.replace('columns = ["city"]', 'columns = ["city", "age", "wide"]')
    (folder / "spec.toml").write_text(text + '[columns.wide]\ntype = "number"\nmin = 0\nmax = 999\n')
    assert run(["plan", "spec.toml"]) == 0
    assert "300,282 cells: drawing their noise takes about 6 s" in capsys.readouterr().out


@pytest.mark.parametrize("rows", ["0", "-5"])
def test_a_number_of_rows_that_is_none(folder, capsys, rows):
    assert run(["plan", "spec.toml", "--rows", rows]) == 2
    assert "is not a number of rows" in capsys.readouterr().err
