"""`undeleted list`: list components by reading the source folders, without importing them."""

from typing import Annotated, Literal

import typer

from undeleted.foundations import registry
from undeleted.interfaces.cli.output import renders
from undeleted.interfaces.report.result import Result

Kind = Literal[
    "mechanisms",
    "estimators",
    "leaky",
    "baselines",
    "attacks",
    "definitions",
    "claims",
    "small-worlds",
    "statistics",
    "engines",
]


@renders
def listing(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> Result:
    """List everything of a kind; `small-worlds` are the names that `verify` accepts."""
    listed = {"small-worlds": _small_worlds, "claims": _claims}
    entries = listed[kind]() if kind in listed else _of(registry.HOMES[kind])
    width = max(len(entry["name"]) for entry in entries) + 2
    lines = []
    for entry in entries:
        lines.append(f"{entry['name']:<{width}}{entry['summary']}")
        facts = (fact for fact in ("claim", "controls", "learns", "predicts", "where") if fact in entry)
        lines += [f"{'':<{width}}{fact:<10}{entry[fact]}" for fact in facts]
    return Result(entries, "\n".join(lines))


def _of(folder: str) -> list[dict[str, str]]:
    """The entries of a folder."""
    return [
        {
            "name": name,
            "summary": registry.summary(folder, name),
            **(registry.constant(folder, name, "FACTS") or {}),
        }
        for name in registry.names(folder)
    ]


def _claims() -> list[dict[str, str]]:
    """The claims that `reproduce` runs, in the order of the paper."""
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


def _small_worlds() -> list[dict[str, str]]:
    """The names that `verify` accepts, with the summary of the file that defines each."""
    from undeleted.verifying.small_worlds import VARIANTS, folder_of, names

    def summary(name: str) -> str:
        base = VARIANTS.get(name, (name, {}))[0]
        return registry.summary(folder_of(base), base)

    return [{"name": name, "summary": summary(name)} for name in names()]
