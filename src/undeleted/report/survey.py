"""The survey of definitions as one HTML page: a table, and every cell opens to its witness."""

import json
from collections.abc import Sequence
from html import escape

from undeleted.definitions._specimens import specimens
from undeleted.definitions._table import Cell, about

STYLE = """
:root { color-scheme: light dark; --yes: #1a7f4b; --no: #b3261e; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; }
thead th { font-weight: 600; writing-mode: vertical-rl; transform: rotate(180deg); }
thead th:first-child { writing-mode: horizontal-tb; transform: none; vertical-align: bottom; }
a { text-decoration: none; } a.yes { color: var(--yes); } a.no { color: var(--no); }
small { opacity: .75; white-space: nowrap; } td small { display: block; }
.differs { outline: 3px solid orange; }
details { border-top: 1px solid var(--line); padding: .4rem 0; } pre { overflow-x: auto; font-size: 13px; }
@media (prefers-color-scheme: dark) { :root { --yes: #6fd39b; --no: #ff8a80; } }
"""
SCRIPT = """
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target) { target.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", openTarget); openTarget();
"""


def page(cells: Sequence[Cell]) -> str:
    """The page; no request leaves the machine."""
    columns = list(dict.fromkeys(cell.specimen for cell in cells))
    rows: dict[str, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.definition, []).append(cell)
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in columns)
    body = "\n".join(
        f"<tr><th scope=row>{escape(name)}</th>{''.join(map(_cell, row))}</tr>" for name, row in rows.items()
    )
    decided = [cell for cell in cells if cell.agrees is not None]
    agreed = sum(bool(cell.agrees) for cell in decided)
    known = specimens()
    people = "".join(f"<li><b>{escape(c)}</b> {escape(known[c].about)}</li>" for c in columns)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Definitions of unlearning, run</title><style>{STYLE}</style></head><body>
<h1>Definitions of unlearning, run</h1>
<p>Every definition of the survey, asked about every curator in a small finite world. Each answer is computed
exactly, without looking at what the paper says; the paper's answer, where it gives one, stands behind it.
They agree in {agreed} of {len(decided)} cells that the paper decides. A cell opens to its witness.</p>
<table><thead><tr><th>holds for</th>{head}</tr></thead><tbody>
{body}
</tbody></table>
<h2>The curators</h2><ul>{people}</ul>
<h2>The definitions</h2>
{"".join(_section(name, row) for name, row in rows.items())}
<script>{SCRIPT}</script></body></html>
"""


def _cell(cell: Cell) -> str:
    said = "" if cell.claim is None else f" <small>paper: {_word(cell.claim)}</small>"
    kind = " class=differs" if cell.agrees is False else ""
    word = _word(cell.answer.holds)
    return f'<td{kind}><a class={word} href="#{_id(cell)}">{word}</a>{said}</td>'


def _section(name: str, row: Sequence[Cell]) -> str:
    facts = about(name)
    witnesses = "".join(_witness(cell) for cell in row)
    return (
        f"<h3>{escape(name)}</h3><p>{escape(facts['summary'])}<br><small>{escape(facts['source'])}</small></p>"
        f"<p><small>In the finite world: {escape(facts['simplified'])}</small></p>{witnesses}"
    )


def _witness(cell: Cell) -> str:
    distance = "infinite" if cell.answer.distance is None else str(cell.answer.distance)
    note = f" {escape(cell.answer.note)}" if cell.answer.note else ""
    shown = json.dumps(cell.answer.witness, indent=1, ensure_ascii=False)
    return (
        f'<details id="{_id(cell)}"><summary>{escape(cell.specimen)}: {_word(cell.answer.holds)}, '
        f"{escape(cell.answer.measure)} = {escape(distance)}{note}</summary>"
        f"<pre>{escape(shown)}</pre></details>"
    )


def _word(holds: bool) -> str:
    return "yes" if holds else "no"


def _id(cell: Cell) -> str:
    return f"{cell.definition}--{cell.specimen}"
