"""Words that we no longer use, and what we write instead: `make lint` refuses them in code, pages and docs.

The words and their replacements are the second table of the glossary in CONTRIBUTING.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = ("src/undeleted", "docs", "README.md", "CONTRIBUTING.md", "examples", "benchmarks")
KINDS = {".py", ".md", ".html", ".toml", ".conf"}
LEFT_OUT = ("_build", "vendor", "results", "out")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.M)


def retired() -> dict[str, str]:
    """The words of the table, and what to write instead."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("### Retired words")[2].partition("\n## ")[0]
    rows = ROW.findall(table)[1:]  # without the head
    return {word.strip(): instead.strip() for words, instead in rows for word in words.split(",")}


def uses(text: str, words: dict[str, str]) -> list[tuple[int, str]]:
    """The lines of a text with a retired word, in prose, in a message or as a name."""
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(?![\w-])", re.I)
    return [
        (number, match[1].lower())
        for number, line in enumerate(text.splitlines(), start=1)
        for match in pattern.finditer(line)
    ]


def files() -> list[Path]:
    """Everything that people read."""
    paths = [
        p
        for place in PLACES
        for p in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    ]
    kept = (p for p in paths if p.suffix in KINDS and not set(p.parts) & set(LEFT_OUT))
    return sorted(kept)


def main() -> int:
    words, wrong = retired(), 0
    for path in files():
        text = path.read_text(encoding="utf-8")
        if path.name == "CONTRIBUTING.md":
            text = text.partition("### Retired words")[0]
        for number, word in uses(text, words):
            print(f"{path.relative_to(ROOT)}:{number}: {word!r} is retired; write: {words[word]}")
            wrong += 1
    print(f"{len(words)} retired words, {wrong} uses")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
