"""`undeleted list`: what there is, read off the folders without importing anything."""

from typing import Annotated, Literal

import typer

from undeleted import registry
from undeleted.cli.output import AsJson, print_json

Kind = Literal[
    "mechanisms",
    "estimators",
    "leaky",
    "baselines",
    "attacks",
    "definitions",
    "subjects",
    "statistics",
    "engines",
]


def listing(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: AsJson = False) -> None:
    """List what there is of a kind; `subjects` are what `verify` takes."""
    folder = f"undeleted.{kind}"
    found = (
        _subjects()
        if kind == "subjects"
        else [
            {
                "name": name,
                "summary": registry.summary(folder, name),
                **(registry.constant(folder, name, "FACTS") or {}),
            }
            for name in registry.names(folder)
        ]
    )
    if json:
        print_json(found)
        return
    width = max(len(entry["name"]) for entry in found) + 2
    for entry in found:
        print(f"{entry['name']:<{width}}{entry['summary']}")
        for fact in ("claim", "controls", "learns", "predicts"):
            if fact in entry:
                print(f"{'':<{width}}{fact:<10}{entry[fact]}")


def _subjects() -> list[dict[str, str]]:
    """What `verify` takes, with the file that it comes from."""
    from undeleted.audit.subjects import MADE_OF, folder_of, names

    def summary(name: str) -> str:
        base = MADE_OF.get(name, (name, {}))[0]
        return registry.summary(folder_of(base), base)

    return [{"name": name, "summary": summary(name)} for name in names()]
