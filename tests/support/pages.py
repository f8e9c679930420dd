"""Run the documentation: its pages, their blocks, and the commands that a reader would type.

Comments in a page say how it is run; readers do not see them:

    <!-- file: spec.toml -->   the next block is written to this file
    <!-- before: … -->         run this first
    <!-- noisy -->             the next block's numbers are noisy: any number matches a number
    <!-- needs: services -->   the page's commands need a server
    <!-- needs: time -->       the page's commands are run by `make test-all` only

A line `$ command` is run in the page's own folder, and must exit with 0, or with the code in `# exit 1`.
The lines after it must be what it prints; `…` matches anything.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\{?[\w-]*\}?)[^\n]*\n(.*?)^```$", re.M | re.S)
COMMENT = re.compile(r"<!--((?:(?!-->).)*)-->\s*\Z", re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block, and the comment before it."""

    kind: str
    text: str
    comment: str

    @property
    def file(self) -> str:
        return self.comment.removeprefix("file:").strip() if self.comment.startswith("file:") else ""


def pages() -> list[Path]:
    collected = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
    return collected + sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    collected = []
    for match in FENCE.finditer(text):
        before = COMMENT.search(text[: match.start()])
        collected.append(Block(match[1], match[2], before[1].strip() if before else ""))
    return collected


def needs(page: Path) -> str:
    comment = re.search(r"<!-- needs: (\w+) -->", page.read_text(encoding="utf-8"))
    return comment[1] if comment else ""


def run(page: Path, folder: Path, **variables: str) -> None:
    """Run the page as a reader would."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "200", "HOME": str(folder)} | variables
    environment.pop("UNDELETED_STORE", None)
    for before in re.findall(r"<!-- before: (.*?) -->", page.read_text(encoding="utf-8"), flags=re.S):
        _run(before, "", False, folder, environment)
    try:
        for block in blocks(page):
            if block.file:
                (folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.kind == "console":
                for command, expected in commands(block.text):
                    _run(command, expected, block.comment == "noisy", folder, environment)
    finally:
        for left in folder.glob("*.pid"):  # of a service that the page did not stop
            with suppress(OSError, ValueError):
                os.kill(int(left.read_text()), signal.SIGKILL)


def commands(text: str) -> list[tuple[str, str]]:
    """Return each command and its expected output."""
    parts = re.split(r"^\$ ", text, flags=re.M)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def _run(command: str, expected: str, noisy: bool, folder: Path, environment: dict[str, str]) -> None:
    if command.startswith("make "):  # CI runs make targets; another test checks that they exist
        return
    code = int(stated[1]) if (stated := re.search(r"# exit (\d+)\s*$", command)) else 0
    script = f"{command}\ncode=$?\nenv -0 > .environment\nexit $code"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    exported = (folder / ".environment").read_bytes().decode().split("\0")
    if command.startswith("export "):
        environment.update(line.split("=", 1) for line in exported if "=" in line)
    assert done.returncode == code, f"$ {command}\n{done.stdout}{done.stderr}"
    assert like(done.stdout, expected, noisy), (
        f"$ {command}\nprints\n{done.stdout}\nand the page shows\n{expected}"
    )


def like(printed: str, expected: str, noisy: bool) -> bool:
    """Return whether the output matches the page; if the page shows none, any output matches."""
    if not expected.strip():
        return True
    lines = []
    for line in expected.rstrip().splitlines():
        if line.strip() == "…":
            lines.append(r"(?:.*\n)*?")
            continue
        pattern = ".*?".join(map(re.escape, line.rstrip().split("…")))
        if noisy:
            pattern = re.sub(r"(\\[-+])?\d(?:[\d,]|\\\.(?=\d))*", r"[-−]?[\\d,.]+", pattern)
        pattern = re.sub(r"(\\ )+", r"\\s+", pattern)  # the width of a column depends on its widest word
        lines.append(pattern + r"[ ]*\n")
    return re.fullmatch("".join(lines), printed.rstrip() + "\n") is not None
