"""`undeleted attack NAME`: one command per file in `attacks/`, made from the signature of its `run`."""

import importlib
import inspect
from collections.abc import Callable
from typing import Annotated, get_args, get_type_hints

import typer

from undeleted.errors import UnknownName
from undeleted.foundations import registry
from undeleted.foundations.types import Given
from undeleted.interfaces.cli.output import renders, working
from undeleted.interfaces.report.result import Result

FOLDER = "undeleted.games.attacks"


def group(arguments: list[str]) -> typer.Typer:
    """The attacks as subcommands; only the one named in the arguments is imported."""
    chosen = [word for word in arguments[1:2] if arguments[0] == "attack" and not word.startswith("-")]
    if chosen and chosen[0] not in registry.names(FOLDER):
        raise UnknownName("attacks", chosen[0], registry.names(FOLDER))
    app = typer.Typer(
        help="Run an attack of the paper against a curator.",
        epilog="Example: undeleted attack median-walk --n 1001 --controlled 64 --json",
    )
    for name in registry.names(FOLDER):
        run = _run_of(name) if name in chosen else lambda: None
        app.command(
            name=name, help=registry.summary(FOLDER, name), epilog=f"Example: undeleted attack {name} --json"
        )(run)
    return app


def _run_of(name: str) -> Callable[..., int | None]:
    """A command with an option for every parameter of the attack's `run`, and --json."""
    run = importlib.import_module(f"{FOLDER}.{name.replace('-', '_')}").run
    hints = get_type_hints(run, include_extras=True)

    def command(**parameters: Given) -> Result:
        with working(f"running {name}"):
            return Result(run(**parameters))

    options = [
        inspect.Parameter(p.name, p.kind, default=p.default, annotation=_option(hints[p.name]))
        for p in inspect.signature(run).parameters.values()
    ]
    return renders(command, options)


def _option(hint: Given) -> Given:
    kind, text = get_args(hint)
    return Annotated[
        kind, typer.Option(help=f"{text[:1].upper() if text.isascii() else text[:1]}{text[1:]}.")
    ]
