"""Where in a TOML file a key stands, so that an error can point at it."""

import re
import tomllib
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]
_HEADER = re.compile(r"^\s*\[{1,2}(?P<name>[^\[\]]+)\]{1,2}\s*(#.*)?$")
_KEY = re.compile(
    r"""^\s*(?P<name>(?:[\w\-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w\-]+|"[^"]*"|'[^']*'))*)\s*="""
)


def line_of(text: str, path: Path) -> int:
    """The line of a key, of the table that should have it, or 1."""
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
    """The one path of keys in a line of TOML."""
    try:
        value: Any = tomllib.loads(toml)
    except tomllib.TOMLDecodeError:
        return ()
    path: Path = ()
    while isinstance(value, dict) and value:
        [(key, value)] = value.items()
        path += (key,)
    return path
