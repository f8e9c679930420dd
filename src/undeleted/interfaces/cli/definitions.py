"""`undeleted definitions`: the survey as a table, and every cell with its witness."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from undeleted.interfaces.cli.output import AsJson, print_json, require_page, working

MARKS = {True: "✓", False: "✗", None: "–"}


def group() -> typer.Typer:
    app = typer.Typer(
        help="Definitions of unlearning as running code: which curators satisfy which, with witnesses.",
        epilog="Examples: undeleted definitions --html survey.html · "
        "undeleted definitions show garg-2020 --on exact-sum",
    )
    app.callback(invoke_without_command=True)(table)
    app.command(name="show", epilog="Example: undeleted definitions show garg-2020 --on exact-sum")(show)
    return app


def table(
    context: typer.Context,
    html: Annotated[Path | None, typer.Option(help="Write the table as a page that opens offline.")] = None,
    json: AsJson = False,
) -> int:
    """Ask every definition about every curator.

    Exit code 1 if an answer differs from the paper's.
    """
    if context.invoked_subcommand is not None:
        return 0
    require_page(html)
    from undeleted.paper.survey_table import survey

    cells = survey(each=_progress)
    if html is not None:
        from undeleted.interfaces.report.survey import page

        html.write_text(page(cells), encoding="utf-8")
    if json:
        print_json([cell.as_json() for cell in cells])
    else:
        _show_table(cells)
        if html is not None:
            print(f"\nwritten    {html}")
    return int(any(cell.agrees is False for cell in cells))


def show(
    definition: Annotated[str, typer.Argument(help="A definition; `undeleted list definitions` shows them.")],
    on: Annotated[str, typer.Option(help="A curator of the table.")],
    json: AsJson = False,
) -> int:
    """One cell: what the definition asks for, our answer, the paper's, and the witness."""
    from undeleted.paper.specimens import specimen
    from undeleted.paper.survey_table import about, ask

    facts = about(definition)
    chosen = specimen(on)
    with working(f"asking {definition} about {on}"):
        cell = ask(definition, chosen)
    if json:
        print_json(facts | cell.as_json())
        return 0
    claim = {True: "it holds", False: "it does not", None: "nothing about this"}[cell.claim]
    distance = "infinite" if cell.answer.distance is None else str(cell.answer.distance)
    print(f"{definition}   {facts['summary']}")
    print(f"source        {facts['source']}")
    print(f"simplified    {facts['simplified']}")
    print(f"curator       {on}: {chosen.about} ({chosen.n} people on {len(chosen.domain)} values)")
    verdict = "holds" if cell.answer.holds else "does not hold"
    print(f"we find       it {verdict}: {cell.answer.measure} = {distance} (asked: ≤ {cell.answer.asked})")
    if cell.answer.note:
        print(f"              {cell.answer.note}")
    print(f"the paper     {claim}")
    print("witness" if not cell.answer.holds else "closest")
    _show_witness(cell.answer.witness)
    return 0


def _show_table(cells: list[Any]) -> None:
    columns = list(dict.fromkeys(cell.specimen for cell in cells))
    letters = dict(zip(columns, "abcdefghijklmnopqrstuvwxyz", strict=False))
    width = max(len(cell.definition) for cell in cells) + 2
    print(f"{'':<{width}}{'  '.join(f'{letters[c]} ' for c in columns)}")
    rows: dict[str, list[Any]] = {}
    for cell in cells:
        rows.setdefault(cell.definition, []).append(cell)
    for name, row in rows.items():
        marks = "  ".join(MARKS[c.answer.holds] + MARKS[c.claim] for c in row)
        print(f"{name:<{width}}{marks}")
    print("\nfirst mark: computed here; second: what the paper says (– nothing)")
    print("\n".join(f"{letters[c]}  {c}" for c in columns))
    decided = [c for c in cells if c.agrees is not None]
    differing = [c for c in decided if not c.agrees]
    print(f"\nthe paper decides {len(decided)} of {len(cells)} cells; {len(decided) - len(differing)} agree")
    for cell in differing:
        print(f"differs: undeleted definitions show {cell.definition} --on {cell.specimen}")


def _show_witness(witness: dict[str, Any]) -> None:
    for name, value in witness.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            print(f"  {name}")
            for entry in value[:12]:
                print("    " + "   ".join(f"{k} {v}" for k, v in entry.items()))
            if len(value) > 12:
                print(f"    … {len(value) - 12} more with --json")
        elif isinstance(value, dict):
            print(f"  {name}")
            for key, inner in value.items():
                print(f"    {key}: {inner}")
        else:
            print(f"  {name:<12}  {value}")


def _progress(pairs: Iterator[Any], total: int) -> Iterator[Any]:
    """A bar on a terminal; silence in a pipe."""
    if not sys.stderr.isatty():
        yield from pairs
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(pairs, total=total, description="asking", console=Console(stderr=True))
