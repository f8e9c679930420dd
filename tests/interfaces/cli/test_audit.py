"""`undeleted audit` and `undeleted replay`: text and JSON say the same, misuse is exit 2."""

import html
import json
import shlex
import stat
from pathlib import Path

import pytest

from undeleted.interfaces.cli import run

TINY = Path(__file__).parents[2] / "auditing" / "curators" / "tiny.py"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_finding_is_exit_1_and_the_command_it_prints_runs_it_again(capsys, folder):
    code = run(["audit", f"{TINY}:Keyed", "--see", "largest", "--html", "report.html"])
    shown = capsys.readouterr().out
    assert code == 1
    for words in ("BROKEN", "at least", "witness", "report.html", "forgets"):
        assert words in shown
    [command] = [line for line in shown.splitlines() if "undeleted replay" in line]
    assert run(shlex.split(command.partition(":")[2])[1:]) == 1
    assert "HOLDS" in capsys.readouterr().out
    page = html.unescape((folder / "report.html").read_text())
    for words in ("broken", "<svg", "the attacker's, deletion 1", "Does it forget", "never says"):
        assert words in page
    assert "://" not in page.replace("http://www.w3.org", "")


def test_json_says_what_the_text_says(capsys):
    assert run(["audit", "retrain:sum", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["undeleted"].startswith("not broken by these")
    assert found["forgets"] == "yes"
    assert found["witness"] is found["report"] is found["delta_at_least"] is None
    assert {"attacks", "smallest_leak_that_would_have_been_seen", "confidence", "calls"} <= found.keys()
    assert run(["audit", "retrain:median", "--json", "--out", "kept"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["undeleted"] == "broken"
    assert run(["replay", found["witness"], "--target", "retrain:median", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["holds"] is True
    assert run(["replay", found["witness"], "--target", "retrain:sum", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["holds"] is False


def test_a_target_that_fails_is_exit_3_without_a_verdict(capsys, folder):
    assert run(["audit", f"{TINY}:Crash", "--budget", "5s"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert "delete" in said.err
    assert "exit code 9" in said.err
    assert not (folder / "audit").exists()


def test_real_rows_stay_with_their_owner(capsys, folder):
    """One of 61 is very rich; report and witness are 0600, and the redacted ones hold no value."""
    rows = "\n".join(f"p{i},{20 + i},{1000 + 13 * i}" for i in range(60))
    (folder / "people.csv").write_text(f"id,age,pay\n{rows}\np99,77,987654\n")
    arguments = ["audit", "sklearn.preprocessing:MinMaxScaler", "--data", "people.csv", "--html", "r.html"]
    arguments += ["--budget", "4000calls"]
    assert run([*arguments, "--see", "data_max_"]) == 1
    assert "holds real values" in capsys.readouterr().out
    witness, verdict = sorted((folder / "audit").iterdir())
    for path in (witness, verdict, folder / "r.html"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run([*arguments, "--see", "data_max_", "--redact"]) == 1
    shown = capsys.readouterr()
    kept = (witness.read_text(), verdict.read_text(), (folder / "r.html").read_text())
    for text in (shown.out, shown.err, *kept):
        assert "987654" not in text
        assert "1013" not in text


def test_a_bad_row_of_the_data_is_not_told(capsys, folder):
    (folder / "people.csv").write_text("id,age\n" + "\n".join(f"p{i},{i}" for i in range(40)))
    assert run(["audit", f"{TINY}:Fails", "--data", "people.csv"]) == 3
    assert "the deletion failed" not in capsys.readouterr().err


def test_data_without_a_complete_row_are_no_reason_to_make_some_up(capsys, folder):
    (folder / "people.csv").write_text("id,age\np1,\np2,\n")
    assert run(["audit", f"{TINY}:Median", "--data", "people.csv"]) == 2
    assert "no complete row" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["audit", "nonsense"], "does not name a target"),
        (["audit", "retrain:median", "--budget", "soon"], "not a duration"),
        (["audit", "retrain:median", "--budget", "0s"], "budget of 0 s"),
        (["audit", "retrain:median", "--budget", "0calls"], "budget of 0 calls"),
        (["audit", "retrain:median", "--set", "x"], "is not KEY=VALUE"),
        (["audit", "retrain:median", "--column", "x"], "not a column"),
        (["audit", "retrain:median", "--data", "nowhere.csv"], "no such file"),
        (["audit", "retrain:median", "--html", "no/such/folder/r.html"], "cannot be written"),
        (["audit", "retrain:median", "--label", "y", "--column", "x=0..9"], "label is not a column"),
        (["audit", "retrain:median", "--features", "0"], "features"),
        (["audit"], "argument"),
        (["replay", "nowhere.json", "--target", "retrain:median"], "cannot be read"),
        (["replay", "nowhere.json"], "--target"),
    ],
)
def test_misuse_is_exit_2_with_what_to_do(arguments, says, capsys):
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.err.count("\n") == 2
    assert said.out == ""


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param("exec:sh examples/median.sh", 1, marks=pytest.mark.slow),
        ("examples/newton_weights.py:Weights", 1),
        ("examples/usearch_index.py:Neighbours", 1),
        ("examples/counting_bloom.py:Sketch", 0),
    ],
)
def test_examples_are_what_they_say(target, code, capsys, folder, monkeypatch):
    """A program in shell, functions of weights and an index that leak; a sketch that does not."""
    monkeypatch.chdir(Path(__file__).parents[3])
    budget = "1200calls" if target.startswith("exec") else "8000calls"  # a shell is slow
    assert run(["audit", target, "--json", "--out", str(folder), "--budget", budget]) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["undeleted"] == "broken") == bool(code)
    if code:
        assert run(["replay", found["witness"], "--target", target]) == 1
