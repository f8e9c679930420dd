"""A mechanism is one file: the page's own class, put into a copy of the package, is published and forgets."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "add-a-mechanism.md"
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
[publish.grown]
kind = "adults"
column = "age"
"""
LIFE = """
import contextlib, io, json
from undeleted.interfaces.cli import run
def said(*command):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run([*command]) == 0, command
    return out.getvalue()
store = ["--store", "people.db"]
said("publish", "spec.toml", *store)
before = json.loads(said("show", "grown", "--json", *store))
said("delete", "p00040", "p00010", *store)
after = json.loads(said("show", "grown", "--json", *store))
said("check", *store)
said("export", "grown", "--cells", "--out", "grown.json", *store)
names = json.loads(said("list", "mechanisms", "--json"))
proof = json.loads(said("verify", "noisy-adults", "--domain", "2", "--n", "2", "--k", "1", "--json"))
print(json.dumps([before, after, str(names), proof]))
"""


def module():
    """The first block of the page, as a file would have it."""
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    lines = [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... ", "..."))]
    imports = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    return (
        "\n".join(['"""Publish noisy counts by age once; the adults are added up."""', *imports, *rest])
        + "\n"
    )


def test_one_file_is_all_it_takes(tmp_path):
    shutil.copytree(ROOT / "src" / "undeleted", tmp_path / "src" / "undeleted")
    added = tmp_path / "src" / "undeleted" / "curate" / "mechanisms" / "noisy_adults.py"
    added.write_text(module(), encoding="utf-8")
    (tmp_path / "people.csv").write_text("person,age\n" + "".join(f"p{i:05},{i % 90}\n" for i in range(900)))
    (tmp_path / "spec.toml").write_text(SPEC)
    done = subprocess.run(
        [sys.executable, "-c", LIFE],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    before, after, names, proof = json.loads(done.stdout)
    assert after["estimate"] == before["estimate"] - 1, "p00040 was of age, p00010 was not"
    assert after["version"] == before["version"] + 1
    assert "noisy-adults" in names
    assert proof["safe"] is True
    assert len(json.loads((tmp_path / "grown.json").read_text())["cells"]) == 121
