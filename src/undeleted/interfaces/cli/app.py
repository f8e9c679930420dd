"""The commands, grouped as in the help.  Heavy imports are deferred until a command runs."""

from typing import Annotated

import typer

import undeleted
from undeleted.foundations.types import Given
from undeleted.interfaces.cli import (
    access,
    attack,
    audit,
    curate,
    definitions,
    demo,
    growing,
    listing,
    publishing,
    reproduce,
    sampling,
    serving,
    stores,
    verify,
)

EPILOG = """
[bold]Examples[/bold]

undeleted demo

undeleted attack median-walk --n 1001 --controlled 64

undeleted attack median-walk --against noisy-histogram --json

undeleted audit sklearn.cluster:KMeans --set n_clusters=2

undeleted verify retrain-median --domain 2 --n 3 --k 1

undeleted definitions show garg-2020 --on exact-sum

undeleted reproduce --quick --out report

undeleted serve --demo

undeleted list mechanisms
"""


CURATE: dict[Given, str] = {
    publishing.init: "init people.csv --id person --out spec.toml · "
    "undeleted init public.people --id person --connection postgresql://reader@host/db",
    publishing.plan: "plan spec.toml --rows 20000",
    publishing.publish: "publish spec.toml --store people.db --receipts receipts.jsonl",
    curate.show: "show ages --quantile 0.9",
    curate.delete: "delete p00017 p00042",
    growing.add: "add joined-today.csv --store people.db · "
    "undeleted add public.signups --connection postgresql://reader@host/db --watermark batch",
    growing.tick: "tick --store people.db",
    growing.correct: "correct corrections.csv --store people.db",
    curate.status: "status --json",
    curate.check: "check --store people.db",
    curate.export: "export ages --format csv --out ages.csv",
    sampling.sample: "sample rows --rows 10000 --out people.parquet",
    stores.backup: "backup people.backup --store people.db",
    stores.restore: "restore people.backup --leavers left-since.txt --store people.db",
}


def build(arguments: list[str]) -> typer.Typer:
    """Build the application; of the attacks, only the one named in the arguments is imported."""
    app = typer.Typer(
        name="undeleted",
        rich_markup_mode="rich",
        add_completion=False,
        epilog=EPILOG,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    app.command(name="demo", rich_help_panel="Start here", epilog="Example: undeleted demo --seed 11")(
        demo.demo
    )
    for command, example in CURATE.items():
        app.command(name=command.__name__, rich_help_panel="Curate", epilog=f"Example: undeleted {example}")(
            command
        )
    app.add_typer(stores.group(), name="store", rich_help_panel="Curate")
    app.command(name="serve", rich_help_panel="Serve", epilog=serving.EPILOG)(serving.serve)
    app.add_typer(access.keys_group(), name="key", rich_help_panel="Serve")
    app.add_typer(access.receipts_group(), name="receipt", rich_help_panel="Serve")
    app.command(name="audit", rich_help_panel="Audit", epilog=audit.EPILOG)(audit.audit)
    app.command(name="replay", rich_help_panel="Audit", epilog=audit.REPLAY_EPILOG)(audit.replay)
    app.command(name="verify", rich_help_panel="Audit", epilog=verify.EPILOG)(verify.verify)
    app.add_typer(attack.group(arguments), name="attack", rich_help_panel="Research")
    app.add_typer(definitions.group(), name="definitions", rich_help_panel="Research")
    app.command(name="reproduce", rich_help_panel="Research", epilog=reproduce.EPILOG)(reproduce.reproduce)
    app.command(name="list", rich_help_panel="Research", epilog="Example: undeleted list mechanisms --json")(
        listing.listing
    )
    return app


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=lambda v: _show_version() if v else None, is_eager=True)
    ] = False,
) -> None:
    """Honour deletions without exposing the people who stay."""


def _show_version() -> None:
    print(f"undeleted {undeleted.__version__}")
    raise typer.Exit
