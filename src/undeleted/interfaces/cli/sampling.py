"""The command that draws synthetic rows."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from undeleted.errors import BadFile, BadUsage
from undeleted.interfaces.cli.curate import Store, store_at
from undeleted.interfaces.cli.output import bar, renders
from undeleted.interfaces.report.result import Result


@renders
def sample(
    name: Annotated[str, typer.Argument(help="A publication of kind synthetic.")],
    rows: Annotated[int, typer.Option(help="How many rows.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same release, seed and model give the same rows.")] = 0,
    model: Annotated[
        Literal["mixture", "tree"],
        typer.Option(help="mixture keeps counts best; tree is best for training models."),
    ] = "mixture",
    megabytes: Annotated[float, typer.Option(help="The largest junction tree, for --model tree.")] = 1.0,
    time_limit: Annotated[float, typer.Option(help="Seconds that a fit may take.")] = 600.0,
    out: Annotated[
        Path | None, typer.Option(help="A file: .csv, .parquet, .arrow or .json; else CSV is printed.")
    ] = None,
    store: Store = None,
) -> Result:
    """Draw synthetic rows from published marginals, as they are after all deletions.

    Nothing private is read: the model is computed from what is published, and costs nobody anything.  Rows
    have no intervals; `undeleted show NAME --where …` answers counting questions that do.
    """
    from undeleted.curate.curator import Curator
    from undeleted.interfaces.report.exporting import of_table

    form = "csv" if out is None else out.suffix.lower().removeprefix(".")
    if form not in ("csv", "parquet", "arrow", "json"):
        raise BadUsage(f"{out} names no format.", "End it with .csv, .parquet, .arrow or .json.")
    if out is not None and not out.parent.is_dir():
        raise BadFile(str(out), "cannot be written.", "Name a file in a folder that exists.")
    with Curator.open(store_at(store)) as curator:
        publication = curator.show(name)
    with bar("fitting", total=1.0) as progress:
        table = publication.sample(
            rows,
            seed=seed,
            model=model,
            megabytes=megabytes,
            seconds=time_limit,
            advance=lambda done: progress.set(done, "fitting"),
        )
    if out is None:
        return Result(json.loads(of_table(table, "json")), of_table(table, "csv").decode().rstrip("\n"))
    try:
        out.write_bytes(of_table(table, form))
    except OSError as error:
        problem = f"cannot be written ({(error.strerror or '').lower()})."
        raise BadFile(str(out), problem, "Name another file.") from None
    facts = {"written": str(out), "rows": rows, "version": publication.version, "model": model, "seed": seed}
    return Result(facts, facts | {"version": f"v{publication.version}"})
