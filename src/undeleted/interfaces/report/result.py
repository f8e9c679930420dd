"""A result with two faces: JSON for programs, text for people.

Commands and addresses build a `Result`; how it looks is decided here alone.
"""

import json
import re
from dataclasses import dataclass

from undeleted.foundations.digits import in_digits
from undeleted.foundations.types import Given, Json


@dataclass(frozen=True)
class Result:
    """What a command reports: its facts, how people read them, and its exit code.

    >>> print(Result({"erased": True, "held_back": 1200}).as_text())
    erased     yes
    held back  1,200
    """

    facts: Json | list[Json]
    text: Json | str | None = None  # facts in words, or lines; by default the facts themselves
    below: str = ""  # a paragraph under the facts
    code: int = 0

    def as_json(self) -> str:
        """The facts as JSON, with terminal control characters escaped."""
        text = json.dumps(self.facts, indent=2, ensure_ascii=False)
        return re.sub(r"[\x7f-\x9f\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)

    def as_text(self) -> str:
        """The facts as text: one per line, with the values aligned."""
        shown = self.facts if self.text is None else self.text
        lines = shown if isinstance(shown, str) else aligned(shown)
        return lines + (f"\n\n{self.below}" if self.below else "")


def aligned(facts: Given) -> str:
    """One fact per line, with the values aligned."""
    width = max(len(name) for name in facts) + 2
    return "\n".join(f"{name.replace('_', ' '):<{width}}{shown(value)}" for name, value in facts.items())


def shown(value: Given) -> str:
    """A value as people read it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, dict):
        return ", ".join(f"{shown(v)} {k.replace('_', ' ')}" for k, v in value.items())
    if isinstance(value, float):
        return in_digits(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(rows: list[list[str]]) -> str:
    """Rows of text with every column but the last aligned.

    >>> print(table([["ages", "40"], ["mean age", "41"]]))
    ages      40
    mean age  41
    """
    widths = [max((len(row[i]) for row in rows if i < len(row) - 1), default=0) + 2 for i in range(99)]
    return "\n".join("".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=False)).rstrip() for row in rows)


def plain(text: str) -> str:
    """Escape the control characters of a text by somebody else, so that it is safe on a terminal.

    >>> plain("good\x1b[2J news")
    'good\\\\x1b[2J news'
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
