"""The tables in the docs are what the kept benchmark results give."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_accuracy_page_was_generated():
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "tables.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_shows_what_the_demo_prints(capsys):
    from undeleted.cli import run

    assert run(["demo"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.strip().splitlines()]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(printed) in readme
