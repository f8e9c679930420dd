"""The tables in the docs are what the kept benchmark results give."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


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
    [daily] = [i for i, line in enumerate(printed) if line.startswith("4  In daily use")]
    assert "\n".join(printed[:daily]).strip() in readme, "the scenes with seeded coins"
    for line in printed[daily:]:  # the commands; their numbers carry secure noise
        if line.strip().startswith("$"):
            assert line.strip() in readme
