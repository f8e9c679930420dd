"""How results are printed: the same facts as text or as JSON."""

import json
import sys
from typing import Annotated, Any, TypeAlias

import typer

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def print_json(result: Any) -> None:
    """JSON on stdout."""
    json.dump(result, sys.stdout, indent=2, ensure_ascii=False)
    print()


def print_facts(facts: dict[str, Any]) -> None:
    """One fact a line, values aligned."""
    width = max(len(name) for name in facts) + 2
    for name, value in facts.items():
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
        print(f"{name.replace('_', ' '):<{width}}{shown}")
