"""`undeleted reproduce`: every claim of the paper, run, measured and drawn."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from undeleted.errors import MissingExtra
from undeleted.foundations.types import Json
from undeleted.interfaces.cli.output import AsJson, bar
from undeleted.interfaces.report.result import Result

EPILOG = """
[bold]Examples[/bold]

undeleted reproduce --quick --out report

undeleted reproduce --out report --seed 11

undeleted reproduce --only P6 --only M5 --quick --out some --json
"""


def reproduce(
    out: Annotated[Path, typer.Option(help="The folder for index.html and report.json.")] = Path("report"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: a minute instead of about five.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="A claim to run, such as P6; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same report.")] = 7,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a report that another code, seed or effort made.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Run every claim of the paper; write one page that opens offline, and report.json.

    A stopped run continues where it was; claims named by --only run again.
    Exit code 1 if a claim does not hold.
    """
    from undeleted.interfaces.report.reproduction import Reproduction, chosen
    from undeleted.interfaces.report.reproduction_page import page
    from undeleted.paper.claim import Setting

    wanted = chosen(only or [])
    for library in ("altair", "PIL", "vl_convert"):
        if importlib.util.find_spec(library) is None:
            raise MissingExtra("a picture of the report", library, "plots")
    report = Reproduction.open(out, Setting(quick, seed), overwrite=overwrite)
    kept = [] if only else report.kept(wanted)
    if kept:
        print(f"{len(kept)} of {len(wanted)} claims were already done", file=sys.stderr)
    try:
        with bar("reproducing", total=len(wanted) - len(kept)) as progress:
            for name in wanted:
                progress.advance(0, f"reproducing {name}")
                result = report.results[name] if name in kept else report.add(name)
                if not json:
                    print(f"{name:<7} {result['verdict']:<24} {result['title']}", flush=True)
                progress.advance(int(name not in kept))
    except KeyboardInterrupt:
        print("stopped; run the same command again to continue", file=sys.stderr)
        raise
    written = report.write_page(page)
    if json:
        print(Result(_without_pictures(report.as_json()) | {"page": str(written)}).as_json())
    else:
        counts = Counter(report.results[name]["verdict"] for name in wanted)
        print(
            "\n" + "  ".join(f"{counts[verdict]} {verdict}" for verdict in report.summary if counts[verdict])
        )
        print(f"written  {written}")
    return int(any(result["verdict"] == "does not hold" for result in report.results.values()))


def _without_pictures(report: Json) -> Json:
    """The report without pictures and tables, which are in report.json."""
    claims = {
        name: {key: value for key, value in result.items() if key not in ("pictures", "table")}
        for name, result in report["claims"].items()
    }
    return report | {"claims": claims}
