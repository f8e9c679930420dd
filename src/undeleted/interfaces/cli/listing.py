"""`undeleted list`: what there is, read off the folders without importing anything."""

from typing import Annotated, Literal

import typer

from undeleted.foundations import registry
from undeleted.interfaces.cli.output import AsJson, print_json

Kind = Literal[
    "mechanisms",
    "estimators",
    "leaky",
    "baselines",
    "attacks",
    "definitions",
    "claims",
    "subjects",
    "statistics",
    "engines",
]


def listing(kind: Annotated[Kind, typer.Argument(help="What to list.")], json: AsJson = False) -> None:
    """List what there is of a kind; `subjects` are what `verify` takes."""
    listed = {"subjects": _subjects, "claims": _claims}
    found = listed[kind]() if kind in listed else _of(registry.HOMES[kind])
    if json:
        print_json(found)
        return
    width = max(len(entry["name"]) for entry in found) + 2
    for entry in found:
        print(f"{entry['name']:<{width}}{entry['summary']}")
        for fact in ("claim", "controls", "learns", "predicts", "where"):
            if fact in entry:
                print(f"{'':<{width}}{fact:<10}{entry[fact]}")


def _of(folder: str) -> list[dict[str, str]]:
    """What a folder holds."""
    return [
        {
            "name": name,
            "summary": registry.summary(folder, name),
            **(registry.constant(folder, name, "FACTS") or {}),
        }
        for name in registry.names(folder)
    ]


def _claims() -> list[dict[str, str]]:
    """What `reproduce` runs, in the order of the paper."""
    from undeleted.interfaces.report.reproduction import FOLDER, claims, file_of

    return [
        {
            "name": name,
            "summary": registry.summary(FOLDER, file_of(name)),
            "where": registry.constant(FOLDER, file_of(name), "WHERE"),
            "says": registry.constant(FOLDER, file_of(name), "SAYS"),
        }
        for name in claims()
    ]


def _subjects() -> list[dict[str, str]]:
    """What `verify` takes, with the file that it comes from."""
    from undeleted.verify.small_worlds import MADE_OF, folder_of, names

    def summary(name: str) -> str:
        base = MADE_OF.get(name, (name, {}))[0]
        return registry.summary(folder_of(base), base)

    return [{"name": name, "summary": summary(name)} for name in names()]
