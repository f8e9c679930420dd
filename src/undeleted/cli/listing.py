"""`undeleted list`: what there is, read off the folders without importing anything."""

from typing import Annotated, Literal

import typer

from undeleted import registry
from undeleted.cli.output import AsJson, print_json

Kind = Literal["mechanisms", "leaky", "baselines", "attacks", "statistics", "engines"]


def listing(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: AsJson = False) -> None:
    """List mechanisms, leaky ones, baselines, attacks, statistics or engines."""
    folder = f"undeleted.{kind}"
    found = {name: registry.summary(folder, name) for name in registry.names(folder)}
    if json:
        print_json([{"name": name, "summary": summary} for name, summary in found.items()])
        return
    width = max(len(name) for name in found) + 2
    for name, summary in found.items():
        print(f"{name:<{width}}{summary}")
