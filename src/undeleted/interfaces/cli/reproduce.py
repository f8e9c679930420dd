"""`undeleted reproduce`: every claim of the paper, run, measured and drawn."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from undeleted.errors import BadQuestion
from undeleted.interfaces.cli.output import AsJson, print_json

EPILOG = """
[bold]Examples[/bold]

undeleted reproduce --quick --out report

undeleted reproduce --out report --seed 11

undeleted reproduce --only P6 --only M5 --quick --out some --json
"""


def reproduce(
    out: Annotated[Path, typer.Option(help="The folder of the page, index.html, and of report.json.")] = Path(
        "report"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: a minute instead of some five.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="A claim to run, such as P6; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same report.")] = 7,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a report that was made otherwise.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Run every claim of the paper; write one page that opens offline, and report.json.

    A run that was stopped goes on where it was; claims that are named by --only are run anew.
    Exit code 1 if a claim does not hold.
    """
    from undeleted.interfaces.report.reproduction import Reproduction, chosen
    from undeleted.interfaces.report.reproduction_page import page
    from undeleted.paper.claim import Setting

    wanted = chosen(only or [])
    for library in ("altair", "PIL", "vl_convert"):
        if importlib.util.find_spec(library) is None:
            raise BadQuestion(
                f"the pictures of the report need {library}.",
                "Install it with `pip install 'undeleted[plots]'`.",
            )
    report = Reproduction.open(out, Setting(quick, seed), overwrite=overwrite)
    kept = [] if only else report.kept(wanted)
    if kept:
        print(f"{len(kept)} of {len(wanted)} claims were there already", file=sys.stderr)
    try:
        for name in _progress(wanted, kept):
            result = report.results[name] if name in kept else report.add(name)
            if not json:
                print(f"{name:<7} {result['verdict']:<24} {result['title']}", flush=True)
    except KeyboardInterrupt:
        print("stopped; the same command goes on where it was", file=sys.stderr)
        raise
    written = report.write_page(page)
    if json:
        print_json(_without_pictures(report.as_json()) | {"page": str(written)})
    else:
        counts = Counter(report.results[name]["verdict"] for name in wanted)
        print(
            "\n" + "  ".join(f"{counts[verdict]} {verdict}" for verdict in report.summary if counts[verdict])
        )
        print(f"written  {written}")
    return int(any(result["verdict"] == "does not hold" for result in report.results.values()))


def _without_pictures(report: dict[str, Any]) -> dict[str, Any]:
    """The figures alone; pictures and tables are in report.json."""
    claims = {
        name: {key: value for key, value in result.items() if key not in ("pictures", "table")}
        for name, result in report["claims"].items()
    }
    return report | {"claims": claims}


def _progress(names: list[str], kept: list[str]) -> Iterator[str]:
    """A bar over the claims on a terminal; silence in a pipe."""
    if not sys.stderr.isatty():
        yield from names
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reproducing", total=len(names) - len(kept))
        for name in names:
            bar.update(task, description=f"reproducing {name}")
            yield name
            bar.advance(task, int(name not in kept))
