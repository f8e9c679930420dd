"""The documentation: every block runs, every link leads somewhere, every command exists."""

import functools
import re
import shlex
import subprocess
import sys

import pytest

from support import pages
from support.pages import ROOT, blocks, like, needs, run

MARKS = {"services": pytest.mark.services, "time": pytest.mark.slow}
RUN = [
    pytest.param(page, marks=MARKS[needs(page)] if needs(page) else (), id=str(page.relative_to(ROOT)))
    for page in pages.pages()
    if any(block.kind == "console" for block in blocks(page))
]
ALL = [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages.pages()]
BUILT = ("{toctree}", "{eval-rst}")  # of Sphinx, which `make docs` runs
CHECKED = {  # blocks of text that other tests hold against what runs
    "demo.md": "tests/docs/test_generated.py",
    "names.md": "tests/docs/test_generated.py",
    "auditor.md": "test_the_protocol_is_what_a_program_speaks",
}


@pytest.mark.parametrize("page", RUN)
def test_commands_do_what_the_page_shows(page, tmp_path, request):
    variables = {}
    if needs(page) == "services":
        variables["DATABASE"] = request.getfixturevalue("server").url()
    run(page, tmp_path, **variables)


@pytest.mark.parametrize("page", ALL)
def test_every_block_is_run(page):
    """By doctest, by the test above, or by one that is named here."""
    for block in blocks(page):
        ran = (
            block.kind in ("console", *BUILT)
            or bool(block.file)
            or (block.kind == "python" and block.text.startswith(">>> "))
            or (block.kind == "text" and page.name in CHECKED)
        )
        assert ran, f"nobody runs the {block.kind or 'nameless'} block that begins {block.text[:60]!r}"


@pytest.mark.parametrize("page", ALL)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in anchors(there), f"{target}: no such heading"


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@functools.cache
def options():
    """Of every command."""
    sys.path.insert(0, str(ROOT / "docs"))
    from generated import walk

    return {
        path: {o for p in command.params for o in (*p.opts, *p.secondary_opts)} for path, command in walk()
    }


@pytest.mark.parametrize("page", ALL)
def test_commands_that_are_named_exist(page):
    """In sentences and tables as well: the command, and every option of it."""
    known = options()
    groups = {path[:1] for path in known} | {("attack",), ("store",)}
    text = page.read_text(encoding="utf-8")
    inline = re.findall(r"`(undeleted [^`\n]+(?:\n[^`\n]+)?)`", re.sub(r"```.*?```", "", text, flags=re.S))
    typed = [line for block in blocks(page) for line in re.findall(r"^\$ (undeleted .*)$", block.text, re.M)]
    for command in [*inline, *typed]:
        words = shlex.split(" ".join(command.split()), comments=True)[1:]
        path = next((tuple(words[:n]) for n in (2, 1) if tuple(words[:n]) in known), None)
        if path is None:
            placeholder = len(words) > 1 and (words[1].isupper() or words[1].startswith(("-", "…")))
            assert (
                words[0].startswith("-") or (tuple(words[:1]) in groups and placeholder) or len(words) == 1
            ), command
            continue
        for word in words:
            if word.startswith("--") and word != "--help":
                assert word.partition("=")[0] in known[path], f"{command}: no option {word}"


def test_targets_of_make_exist():
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in pages.pages():
        for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", made, re.M), f"{page.name}: make {target}"


def test_the_protocol_is_what_a_program_speaks():
    """The example in shell answers as the reference says."""
    [block] = [b for b in blocks(ROOT / "docs" / "reference" / "auditor.md") if b.kind == "text"]
    asked = [line[2:] for line in block.text.splitlines() if line.startswith("→ ")]
    answered = [line[2:] for line in block.text.splitlines() if line.startswith("← ")]
    done = subprocess.run(
        ["sh", ROOT / "examples" / "median.sh"], input="\n".join(asked) + "\n", capture_output=True, text=True
    )
    assert done.stdout.split() == "\n".join(answered).split()


def test_what_is_shown_is_compared():
    assert like("a 1\nb 2\n", "a 1\n…\n", noisy=False)
    assert like("a 1\nb 2\nc\n", "…\nb …\nc\n", noisy=False)
    assert not like("a 1\n", "a 2\n", noisy=False)
    assert like("a  1,234.5  [0, 9]\n", "a 7   [1, 2]\n", noisy=True)
    assert not like("a 1\n", "b 1\n", noisy=True)
    assert not like("a 1\nb 2\n", "a 1\n", noisy=False)


def test_every_test_that_a_page_names_exists():
    there = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)", there, re.M))
    named = {
        name
        for page in pages.pages()
        for name in re.findall(r"`(test_\w{20,})`", page.read_text(encoding="utf-8"))
    }
    assert len(named) >= 12
    assert named - defined == set()
