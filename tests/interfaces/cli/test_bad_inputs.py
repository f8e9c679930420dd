"""Forty inputs that are wrong in one way each: two lines, exit code 2, nobody's value, and nothing lost."""

import hashlib

import pytest

from support.bad_inputs import CASES, PUBLISH, SECRET, right
from undeleted.interfaces.cli import run


def state(folder):
    """What a store holds, in its file and its key; opening it makes a log and a lock."""
    kept = [path for path in (folder / "undeleted.db", folder / "undeleted.db.key") if path.exists()]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in kept}


@pytest.mark.parametrize("name", CASES)
def test_it_says_what_is_wrong_and_changes_nothing(name, tmp_path, monkeypatch, capsys):
    bad = CASES[name]
    monkeypatch.chdir(tmp_path)
    right(tmp_path)
    if bad.published:
        assert run(list(PUBLISH)) == 0
    bad.change(tmp_path)
    before = state(tmp_path)
    capsys.readouterr()
    assert run(list(bad.command)) == 2
    said = capsys.readouterr()
    assert said.err == f"undeleted: {bad.says}\n".replace("{folder}", str(tmp_path))
    assert (said.out, state(tmp_path)) == ("", before)
    assert SECRET not in said.err


def test_there_are_forty_and_the_folder_is_right_without_them(tmp_path, monkeypatch, capsys):
    assert len(CASES) >= 40
    assert len({bad.says for bad in CASES.values()}) >= 40
    monkeypatch.chdir(tmp_path)
    right(tmp_path)
    assert run(list(PUBLISH)) == 0
