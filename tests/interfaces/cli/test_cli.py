"""The command line as a new user meets it.

Covers: interfaces/cli/attack.py, interfaces/cli/daily_use.py, interfaces/cli/demo.py,
        interfaces/cli/output.py
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import undeleted
from undeleted.interfaces.cli import run
from undeleted.interfaces.cli.listing import Kind

SCRIPT = [sys.executable, "-c", "from undeleted.interfaces.cli import main; main()"]
MODULE = [sys.executable, "-m", "undeleted"]


def test_the_version_is_told_both_ways():
    for command in (SCRIPT, MODULE):
        result = subprocess.run([*command, "--version"], capture_output=True, text=True)
        assert (result.returncode, result.stdout) == (0, f"undeleted {undeleted.__version__}\n")


@pytest.mark.width  # it starts a Python that widens noise first
def test_help_is_grouped_has_examples_and_waits_for_no_library():
    """It comes in 0.2 s; the clock is left out of it, since machines differ."""
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "undeleted", "--help"], capture_output=True, text=True
    )
    assert result.returncode == 0
    assert "Research" in result.stdout
    assert "Examples" in result.stdout
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "undeleted.interfaces.cli.app" in imported
    heavy = (
        "numpy",
        "scipy",
        "sklearn",
        "opendp",
        "duckdb",
        "pyarrow",
        "matplotlib",
        "fastapi",
        "cryptography",
    )
    assert imported.isdisjoint(heavy)


@pytest.mark.parametrize(
    "command",
    [
        ["demo"],
        ["list"],
        ["attack"],
        ["attack", "median-walk"],
        ["verify"],
        ["definitions"],
        ["definitions", "show"],
    ],
)
def test_every_command_has_help_with_an_example(command, capsys):
    assert run([*command, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Example" in shown
    assert f"undeleted {' '.join(command)}" in shown.rpartition("Example")[2]


@pytest.mark.parametrize("command", [[], ["attack"]])
def test_without_arguments_there_is_help(command, capsys):
    assert run(command) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize("kind", get_args(Kind))
def test_lists_say_the_same_as_text_and_as_json(kind, capsys):
    assert run(["list", kind, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert run(["list", kind]) == 0
    text = capsys.readouterr().out
    assert listed
    for entry in listed:
        assert entry["name"] in text
        assert entry["summary"] in text


def test_the_demo_tells_the_story(capsys):
    assert run(["demo", "--json"]) == 0
    story = json.loads(capsys.readouterr().out)
    assert story["retrained"]["exposed"] == 32
    assert story["release_once"]["exposed"] == 0
    assert story["simulated"]["identical"]
    assert story["simulated"]["real"] == story["simulated"]["simulated"]

    assert run(["demo"]) == 0
    text = capsys.readouterr().out
    assert "32 people who stayed" in text
    assert "one person added or removed" in text


def test_an_attack_prints_facts_and_json(capsys):
    assert run(["attack", "median-walk", "--n", "101", "--controlled", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["exposed"] == 5
    assert run(["attack", "median-walk", "--n", "101", "--controlled", "9"]) == 0
    assert "exposed" in capsys.readouterr().out


BAD = {
    "an unknown command": (["nonsense"], "nonsense"),
    "an unknown attack": (["attack", "median-wlak"], "Did you mean 'median-walk'?"),
    "an unknown kind": (["list", "nonsense"], "nonsense"),
    "a word for a number": (["attack", "median-walk", "--n", "many"], "--n"),
    "an unknown option": (["demo", "--nonsense"], "--nonsense"),
    "an impossible size": (["attack", "median-walk", "--n", "10", "--controlled", "9"], "above the median"),
    "an unknown curator": (["attack", "median-walk", "--against", "me"], "me"),
    "a missing word": (["list"], "Choose from"),
    "an impossible budget": (["attack", "median-walk", "--epsilon", "-1"], "epsilon"),
    "an impossible budget for the histogram": (
        ["attack", "median-walk", "--against", "noisy-histogram", "--epsilon", "0"],
        "epsilon",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_two_lines_and_exit_code_2(case, capsys):
    arguments, part = BAD[case]
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert part in printed.err
    assert len(printed.err.strip().splitlines()) == 2
    assert printed.err.startswith("undeleted: ")


def test_the_remedy_names_the_command_that_was_meant(capsys):
    run(["attack", "count-mod", "--n", "many"])
    assert "`undeleted attack count-mod --help`" in capsys.readouterr().err


def test_a_bug_of_ours_is_70_and_never_1(monkeypatch, capsys):
    from undeleted.games.attacks import median_walk

    monkeypatch.setattr(median_walk, "stage", lambda *_: 1 / 0)
    assert run(["attack", "median-walk"]) == 70
    assert "a bug in undeleted" in capsys.readouterr().err


@pytest.mark.parametrize("unbuffered", ["", "-u"])
def test_a_closed_pipe_is_no_error(unbuffered):
    command = (
        f"{sys.executable} {unbuffered} -m undeleted list mechanisms | head -n 1; exit ${{PIPESTATUS[0]}}"
    )
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert result.returncode == 0
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told_and_no_bug():
    with open("/dev/full", "w") as full:
        result = subprocess.run([*MODULE, "demo"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 2
    assert result.stderr.startswith("undeleted: No space left on device.")


def test_any_seed_is_a_seed(capsys):
    assert run(["demo", "--seed", "-1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["simulated"]["identical"]
