"""Pages, tables and pictures that are generated are what the code and the kept results give."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_accuracy_page_was_generated():
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "tables.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_page_shows_what_the_demo_prints(capsys):
    from undeleted.interfaces.cli import run

    assert run(["demo"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
    page = (ROOT / "docs" / "tutorials" / "demo.md").read_text(encoding="utf-8")
    [daily] = [i for i, line in enumerate(printed) if line.startswith("4  In daily use")]
    assert "\n".join(printed[:daily]).strip() in page, "the scenes with seeded coins"
    for line in printed[daily:]:  # the commands; their numbers carry secure noise
        if line.strip().startswith("$"):
            assert line.strip() in page


def test_the_picture_is_what_its_command_draws(tmp_path):
    import numpy as np
    from PIL import Image

    from undeleted.interfaces.cli import run

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [command] = [
        line for line in readme.splitlines() if line.startswith("`undeleted attack") and "--picture" in line
    ]
    words = command.strip("`").split()[1:]
    target = tmp_path / "hidden.png"
    assert run([*words[:-1], str(target)]) == 0
    drawn, kept = (np.asarray(Image.open(path)) for path in (target, ROOT / "docs" / "hidden.png"))
    assert (drawn == kept).all()


@pytest.mark.parametrize("name", ["commands.md", "names.md", "values.md"])
def test_the_reference_is_what_the_code_gives(name):
    generated = pages_of_the_reference()
    assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == generated.PAGES[name]()


@pytest.mark.services
def test_the_licences_of_everything_that_is_installed_are_listed():
    """Here every extra is installed; versions are those of constraints.txt."""
    generated = pages_of_the_reference()
    page = (ROOT / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    assert page == generated.licences()
    for extra in generated.FOR:
        for name in generated.closure("undeleted", extra) - {"undeleted"}:
            assert f"| {name} |" in page


def pages_of_the_reference():
    sys.path.insert(0, str(ROOT / "docs"))
    import generated

    return generated
