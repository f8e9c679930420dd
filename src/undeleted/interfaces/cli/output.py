"""How results are printed: the same facts as text or as JSON."""

import json
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from undeleted.errors import BadFile

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def working(text: str) -> AbstractContextManager[Any]:
    """A sign of life on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def require_page(html: Path | None) -> None:
    """Refuse a page that cannot be written before the work begins."""
    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise BadFile(str(html), "cannot be written.", "Name a file in a folder that is there.")


def plain(text: str) -> str:
    """A text that somebody else wrote, as it may be printed: no character in it commands the terminal.

    >>> plain("good\x1b[2J news")
    'good\\\\x1b[2J news'
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def print_json(result: Any) -> None:
    """JSON on stdout; what commands a terminal is escaped in it."""
    text = json.dumps(result, indent=2, ensure_ascii=False)
    print(re.sub(r"[\x7f-\x9f\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text))


def print_facts(facts: dict[str, Any]) -> None:
    """One fact a line, values aligned."""
    width = max(len(name) for name in facts) + 2
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):<{width}}{_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, dict):
        return ", ".join(f"{_shown(v)} {k.replace('_', ' ')}" for k, v in value.items())
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
