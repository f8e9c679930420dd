"""`undeleted definitions`: the survey as a table, and every cell with its witness."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from undeleted.foundations.types import Given, Json
from undeleted.interfaces.cli.output import AsJson, bar, renders, require_page, working
from undeleted.interfaces.report.result import Result

Page: TypeAlias = Annotated[
    Path | None, typer.Option("--html", help="Write the table as a page that opens offline.")
]
MARKS = {True: "✓", False: "✗", None: "–"}


def group() -> typer.Typer:
    app = typer.Typer(
        help="Definitions of unlearning as code: which curators satisfy which definition, with witnesses.",
        epilog="Examples: undeleted definitions --html survey.html · "
        "undeleted definitions show garg-2020 --on exact-sum",
    )
    app.callback(invoke_without_command=True)(overview)
    app.command(name="show", epilog="Example: undeleted definitions show garg-2020 --on exact-sum")(show)
    return app


def overview(
    context: typer.Context,
    html: Page = None,
    json: AsJson = False,
) -> int:
    """Evaluate every definition on every curator.

    Exit code 1 if an answer differs from the paper's.
    """
    return 0 if context.invoked_subcommand is not None else table(html, json=json)


@renders
def table(html: Path | None) -> Result:
    """The whole table, and the page if one is asked for."""
    require_page(html)
    from undeleted.paper.survey_table import survey

    cells = survey(each=_progress)
    text = _table(cells)
    if html is not None:
        from undeleted.interfaces.report.survey import page

        html.write_text(page(cells), encoding="utf-8")
        text += f"\n\nwritten    {html}"
    differs = any(cell.agrees is False for cell in cells)
    return Result([cell.as_json() for cell in cells], text, code=int(differs))


@renders
def show(
    definition: Annotated[str, typer.Argument(help="A definition; `undeleted list definitions` shows them.")],
    on: Annotated[str, typer.Option(help="A curator of the table.")],
) -> Result:
    """Show one cell: what the definition requires, our answer, the paper's answer, and the witness."""
    from undeleted.paper.specimens import specimen
    from undeleted.paper.survey_table import about, ask

    facts = about(definition)
    chosen = specimen(on)
    with working(f"evaluating {definition} on {on}"):
        cell = ask(definition, chosen)
    claim = {True: "it holds", False: "it does not", None: "nothing about this"}[cell.claim]
    distance = "infinite" if cell.answer.distance is None else str(cell.answer.distance)
    verdict = "holds" if cell.answer.holds else "does not hold"
    text = {
        definition: facts["summary"],
        "source": facts["source"],
        "simplified": facts["simplified"],
        "curator": f"{on}: {chosen.about} ({chosen.n} people on {len(chosen.domain)} values)",
        "we find": f"it {verdict}: {cell.answer.measure} = {distance} (required: ≤ {cell.answer.asked})",
        **({"note": cell.answer.note} if cell.answer.note else {}),
        "the paper": claim,
    }
    below = [("closest" if cell.answer.holds else "witness"), *_witness(cell.answer.witness)]
    return Result(facts | cell.as_json(), text, "\n".join(below))


def _table(cells: list[Given]) -> str:
    columns = list(dict.fromkeys(cell.specimen for cell in cells))
    letters = dict(zip(columns, "abcdefghijklmnopqrstuvwxyz", strict=False))
    width = max(len(cell.definition) for cell in cells) + 2
    lines = [f"{'':<{width}}{'  '.join(f'{letters[c]} ' for c in columns)}"]
    rows: dict[str, list[Given]] = {}
    for cell in cells:
        rows.setdefault(cell.definition, []).append(cell)
    for name, row in rows.items():
        marks = "  ".join(MARKS[c.answer.holds] + MARKS[c.claim] for c in row)
        lines.append(f"{name:<{width}}{marks}")
    lines += ["", "first mark: computed here; second: what the paper says (– nothing)"]
    lines += [f"{letters[c]}  {c}" for c in columns]
    decided = [c for c in cells if c.agrees is not None]
    differing = [c for c in decided if not c.agrees]
    agree = len(decided) - len(differing)
    lines += ["", f"the paper decides {len(decided)} of {len(cells)} cells; {agree} agree"]
    lines += [f"differs: undeleted definitions show {c.definition} --on {c.specimen}" for c in differing]
    return "\n".join(lines)


def _witness(witness: Json) -> Iterator[str]:
    for name, value in witness.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"  {name}"
            for entry in value[:12]:
                yield "    " + "   ".join(f"{k} {v}" for k, v in entry.items())
            if len(value) > 12:
                yield f"    … {len(value) - 12} more with --json"
        elif isinstance(value, dict):
            yield f"  {name}"
            yield from (f"    {key}: {inner}" for key, inner in value.items())
        else:
            yield f"  {name:<12}  {value}"


def _progress(pairs: Iterator[Given], total: int) -> Iterator[Given]:
    with bar("evaluating", total) as progress:
        for pair in pairs:
            yield pair
            progress.advance()
