"""The survey of definitions as one HTML page: a table, and every cell opens to its witness."""

import json
from collections.abc import Sequence
from html import escape

from undeleted.interfaces.report._page import page as whole
from undeleted.interfaces.report._page import scrolled
from undeleted.paper.specimens import specimens
from undeleted.paper.survey_table import Cell, about

STYLE = """
body { max-width: 76rem; }
thead th { font-weight: 600; writing-mode: vertical-rl; transform: rotate(180deg); }
thead th:first-child { writing-mode: horizontal-tb; transform: none; vertical-align: bottom; }
a.yes { color: var(--good); } a.no { color: var(--bad); }
small { white-space: nowrap; } td small { display: block; }
.differs { outline: 3px solid orange; }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
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
    rows_of = f"""<table><thead><tr><th scope=col>holds for</th>{head}</tr></thead><tbody>
{body}
</tbody></table>"""
    text = f"""<h1>Definitions of unlearning, run</h1>
<p>Every definition of the survey, asked about every curator in a small finite world. Each answer is computed
exactly, without looking at what the paper says; the paper's answer, where it gives one, stands behind it.
They agree in {agreed} of {len(decided)} cells that the paper decides. A cell opens to its witness.</p>
{scrolled(rows_of, "definitions and curators")}
<h2>The curators</h2><ul>{people}</ul>
<h2>The definitions</h2>
{"".join(_section(name, row) for name, row in rows.items())}"""
    return whole("Definitions of unlearning, run", text, style=STYLE, script=SCRIPT)


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
