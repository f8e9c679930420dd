"""`undeleted verify` and `undeleted definitions`: verdicts as text and as JSON, exit codes, refusals.

Covers: interfaces/cli/definitions.py
"""

import json

import pytest

from undeleted.interfaces.cli import run


def as_json(capsys, *arguments):
    code = run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_broken_curator_is_a_finding_with_a_witness(capsys):
    code, found = as_json(capsys, "verify", "retrain-median", "--domain", "2", "--n", "3", "--k", "1")
    assert code == 1
    assert found["delta"] == found["delta_keep_z0"] == found["lower"] == found["upper"] == 0.5
    assert found["certified"] is True
    assert found["witness"]["data"] == [[0, 1, 1], [1, 1, 1]]
    assert {"variables", "seconds"} <= found.keys()


def test_a_safe_one_is_none_and_comes_with_its_simulator(capsys):
    for game in ("non-adaptive", "static", "dynamic"):
        code, found = as_json(capsys, "verify", "exact-sum", "--domain", "3", "--k", "2", "--game", game)
        assert (code, found["delta"], found["certified"]) == (0, 0, True)
        assert found["simulator"]
        assert found["witness"] is None


def test_text_says_what_json_says(capsys):
    assert run(["verify", "recompute-sum"]) == 1
    shown = capsys.readouterr().out
    for words in ("1/9", "11/63", "BROKEN", "two data sets", "probability"):
        assert words in shown
    assert run(["verify", "noisy-sum", "--k", "2"]) == 0
    shown = capsys.readouterr().out
    assert "a simulator is perfect" in shown
    assert "the simulator" in shown


def test_an_adaptive_strategy_is_told(capsys):
    assert run(["verify", "recompute-sum", "--game", "dynamic"]) == 1
    assert "having seen" in capsys.readouterr().out


def test_privacy_of_those_who_stay(capsys):
    code, found = as_json(capsys, "verify", "noisy-sum", "--privacy", "--k", "2")
    assert code == 0
    assert found["epsilon_first"] == found["epsilon_transcript"] == found["epsilon_promised"]
    code, found = as_json(capsys, "verify", "recompute-sum", "--privacy", "--epsilon", "0.7")
    assert code == 1
    assert found["epsilon_transcript"] == pytest.approx(2 * found["epsilon_first"])
    assert run(["verify", "exact-sum", "--privacy"]) == 0
    assert "infinite" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "retrain-mean"], "Did you mean 'retrain-median'"),
        (["verify", "exact-sum", "--n", "0"], "n must be at least 1"),
        (["verify", "exact-sum", "--k", "4"], "k must be between 1 and n = 3"),
        (["verify", "xor-pad", "--domain", "3"], "power of two"),
        (["verify", "noisy-sum", "--ratio", "half"], "not a fraction"),
        (["verify", "noisy-sum", "--ratio", "2"], "from 1e-9 to 1 − 1e-9"),
        (["verify", "exact-sum", "--leakage", "shared"], "leaky mechanisms"),
        (["verify", "exact-sum", "--epsilon", "-1"], "non-negative"),
        (["verify", "exact-sum", "--game", "any"], "verify --help"),
        (["definitions", "show", "garg-2021", "--on", "exact-sum"], "Did you mean 'garg-2020'"),
        (["definitions", "show", "garg-2020", "--on", "sum"], "among the specimens"),
        (["definitions", "show", "garg-2020"], "definitions show --help"),
    ],
)
def test_misuse_is_two_lines_and_exit_code_2(arguments, message, capsys):
    assert run(arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err
    assert len(output.err.strip().splitlines()) == 2


def test_a_world_too_large_is_refused_with_its_size(capsys):
    assert (
        run(["verify", "range-counts", "--domain", "8", "--n", "4", "--k", "2", "--time-limit", "0.1"]) == 2
    )
    assert "too large for a time limit of 0.1 s" in capsys.readouterr().err


def test_a_cell_of_the_survey_with_its_witness(capsys):
    code, found = as_json(capsys, "definitions", "show", "garg-2020", "--on", "exact-sum")
    assert code == 0
    assert (found["holds"], found["paper"], found["agrees"]) == (False, False, True)
    assert run(["definitions", "show", "chourasia-shah-2023", "--on", "xor-pad"]) == 0
    shown = capsys.readouterr().out
    for words in ("it holds", "the paper            it holds", "Chourasia and Shah", "simplified"):
        assert words in shown


@pytest.mark.slow
def test_the_survey_as_table_page_and_json(capsys, tmp_path):
    target = tmp_path / "survey.html"
    assert run(["definitions", "--html", str(target)]) == 0
    shown = capsys.readouterr().out
    assert "garg-2020" in shown
    assert "agree" in shown
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
