"""The path of a record in the docs is the path in the code: publish and delete, traced.

Each table has at most ten steps; every function that it names is called, in that order.
"""

import re
import sys
from pathlib import Path

import pytest

from undeleted.curate.mechanisms.noisy_mean import NoisyMean
from undeleted.curate.statistics.moments import Moments
from undeleted.interfaces.cli import run

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "path-of-a-record.md"
SPEC = """
[data]
source = "people.csv"
id = "person"
[columns.age]
type = "number"
min = 0
max = 120
[budget]
epsilon = 1.0
[publish."mean age"]
kind = "mean"
column = "age"
"""


def steps_of(heading):
    """The functions of a table, in their order."""
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| \d+ \| `([^`]+)` \|", section, re.MULTILINE)


def traced(*command):
    """The qualified names of all that is called, in order."""
    found = []
    sys.setprofile(
        lambda frame, event, _: found.append(frame.f_code.co_qualname) if event == "call" else None
    )
    try:
        assert run([*command]) == 0
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture
def people(tmp_path):
    rows = "\n".join(f"p{i:05},{i % 90}" for i in range(500))
    (tmp_path / "people.csv").write_text(f"person,age\n{rows}\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


def test_the_named_steps_are_called_in_their_order(people):
    store = str(people / "people.db")
    publish = traced("publish", str(people / "spec.toml"), "--store", store)
    delete = traced("delete", "p00017", "--store", store)
    for heading, called in (("Publish", publish), ("Delete", delete)):
        steps = steps_of(heading)
        assert 5 < len(steps) <= 10
        at = 0
        for step in steps:
            assert step in called[at:], f"{heading}: {step} was not called after what stands before it"
            at = called.index(step, at)


def test_a_mechanism_is_built_once_and_totals_are_added_up_once(people, monkeypatch):
    built, added = [], []
    make, add = NoisyMean.__init__, Moments.block_total
    monkeypatch.setattr(NoisyMean, "__init__", lambda m, *a, **k: (built.append(1), make(m, *a, **k))[1])
    monkeypatch.setattr(Moments, "block_total", lambda self, *a: (added.append(1), add(self, *a))[1])
    monkeypatch.setattr(
        Moments, "of_codes", lambda *a: pytest.fail("totals were added up from records again")
    )
    assert run(["publish", str(people / "spec.toml"), "--store", str(people / "people.db")]) == 0
    assert len(built) == 1
    assert len(added) == 1
