"""Find the line of a key in a TOML file, so that an error can point at it."""

import re
import tomllib
from typing import TypeAlias

from undeleted.foundations.types import Given

Path: TypeAlias = tuple[str, ...]
_HEADER = re.compile(r"^\s*\[{1,2}(?P<name>[^\[\]]+)\]{1,2}\s*(#.*)?$")
_KEY = re.compile(
    r"""^\s*(?P<name>(?:[\w\-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w\-]+|"[^"]*"|'[^']*'))*)\s*="""
)


def line_of(text: str, path: Path) -> int:
    """The line of a key, else of the table that should have it, else 1."""
    best, line = 0, 1
    here: Path = ()
    for number, content in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(content)
        if header:
            here = _keys(f"[{header['name']}]")
            at = here
        else:
            key = _KEY.match(content)
            if key is None:
                continue
            at = here + _keys(f"{key['name']} = 0")
        if at == path[: len(at)] and len(at) > best:
            best, line = len(at), number
    return line


def _keys(toml: str) -> Path:
    """The path of keys in a line of TOML."""
    try:
        value: Given = tomllib.loads(toml)
    except tomllib.TOMLDecodeError:
        return ()
    path: Path = ()
    while isinstance(value, dict) and value:
        [(key, value)] = value.items()
        path += (key,)
    return path
