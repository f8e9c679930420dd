"""The reproduction as one HTML page: every claim with its verdict, figures and pictures."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from undeleted.interfaces.report._page import page as whole
from undeleted.interfaces.report._page import scrolled
from undeleted.interfaces.report.reproduction import Reproduction, claims
from undeleted.paper.claim import short

STYLE = """
.lead { font-size: 1.15rem; } .badge { font-weight: 600; white-space: nowrap; }
.badge::before { content: "✓ "; }
.care.badge::before { content: "✎ "; } .bad.badge::before { content: "✗ "; }
ol.claims { list-style: none; padding: 0; columns: 2 24rem; column-gap: 2.5rem; }
ol.claims li { display: flex; gap: .6rem; padding: .15rem 0; break-inside: avoid; }
ol.claims b { min-width: 3.6rem; } ol.claims span.badge { margin-left: auto; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
h2 { font-size: 1.25rem; margin-bottom: .2rem; } .where { margin-top: 0; }
blockquote { margin: .5rem 0; padding: .2rem 1rem; border-left: 4px solid var(--line); }
.correction { border-left: 4px solid var(--care); padding: .2rem 1rem; margin: 1rem 0; }
ul.figures { list-style: none; padding: 0; }
ul.figures li { padding: .4rem 0; border-bottom: 1px solid var(--line); }
ul.figures .numbers { display: block; } ul.figures code { display: block; overflow-wrap: anywhere; }
figure svg { overflow: visible; }
figure img { image-rendering: pixelated; width: 100%; } figcaption { font-size: .95rem; }
pre { background: var(--soft); padding: .5rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.survey th { font-weight: 600; } .survey thead th { writing-mode: vertical-rl; transform: rotate(180deg); }
.survey thead th:first-child { writing-mode: horizontal-tb; transform: none; vertical-align: bottom; }
@media (min-width: 50rem) {
  ul.figures li { display: grid; grid-template-columns: 1fr 19rem; column-gap: 1.5rem; }
  ul.figures code { grid-column: 1 / -1; }
}
@media print { nav { break-after: page; } section { break-before: auto; } }
"""
TONES = {"holds": "good", "holds with a correction": "care", "does not hold": "bad"}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "Arial, Liberation Sans, sans-serif",
    "padding": {"left": 24, "right": 16, "top": 4, "bottom": 4},
    "aria": False,
    "view": {"stroke": None},
    "axis": {"labelColor": "currentColor", "titleColor": "currentColor", "gridColor": "#8883"}
    | {"domainColor": "#888", "tickColor": "#888", "labelFontSize": 13, "titleFontSize": 13}
    | {"titleFontWeight": "normal", "labelFlush": False},
    "legend": {
        "labelColor": "currentColor",
        "orient": "top",
        "labelFontSize": 13,
        "labelLimit": 400,
        "columns": 1,
    },
    "title": {"color": "currentColor", "subtitleColor": "currentColor", "anchor": "start", "fontSize": 14},
}


def page(report: Reproduction) -> str:
    """The page; no request leaves the machine."""
    counts = report.summary
    total = len(report.results)
    what = "every claim" if total == len(claims()) else f"{total} of {len(claims())} claims"
    effort = "A quick run" if report.setting.quick else "A full run"
    said = ", ".join(f'<span class="{TONES[v]}">{n} {_verb(v, n)}</span>' for v, n in counts.items() if n)
    contents = "".join(
        f'<li><b><a href="#{name}">{name}</a></b> <span>{escape(result["title"])}</span> '
        f'<span class="badge {TONES[result["verdict"]]}">{_mark(result["verdict"])}</span></li>'
        for name, result in report.results.items()
    )
    sections = "\n".join(_section(report, name, result) for name, result in report.results.items())
    facts = report.as_json()
    there = facts["machine"]
    libraries = ", ".join(f"{name} {version}" for name, version in there["libraries"].items())
    body = f"""<h1>Protecting the Undeleted in Machine Unlearning, reproduced</h1>
<p class=lead>When a person asks to be deleted and a system retrains, the people who <em>stay</em> may be
exposed. Cohen, Kohen, Nissim and Stemmer (2026) prove it, define what safety for the undeleted means, and
give mechanisms that have it. This page runs {what} of their paper and says what came out.</p>
<p class=lead>{total} claim{"s" if total != 1 else ""}: {said or "none yet"}.</p>
<p>Every verdict is the outcome of assertions over the figures below it. A figure of chance is shown with its
95 % interval, and fails only where chance would explain it once in a million runs; where it must only exceed
a bound, the bound is far from where it is expected.</p>
<pre>{escape(report.command())}</pre>
<nav aria-label="claims"><ol class=claims>{contents}</ol></nav>
{sections}
<section><h2>How this page was made</h2>
<p>{effort} of undeleted {escape(facts["undeleted"])} (source {facts["code"]}) with seed {facts["seed"]}. The
same seed gives the same page, but for the seconds and for this machine:
<span class=machine>Python {there["python"]} on {there["system"]}, {there["cores"]} cores;
{escape(libraries)}; {sum(report.seconds.values()):.0f} seconds.</span></p></section>"""
    return whole("Protecting the Undeleted, reproduced", body, style=STYLE)


def _verb(verdict: str, n: int) -> str:
    if n == 1:
        return verdict
    return {"holds": "hold", "holds with a correction": "hold with a correction"}.get(verdict, "do not hold")


def _mark(verdict: str) -> str:
    return {"holds": "holds", "holds with a correction": "corrected"}.get(verdict, "does not hold")


def _section(report: Reproduction, name: str, result: Mapping[str, Any]) -> str:
    verdict = result["verdict"]
    correction = (
        f"<div class=correction><b>The correction.</b> {_text(result['correction'])}</div>"
        if verdict == "holds with a correction"
        else ""
    )
    note = f"<p>{_text(result['note'])}</p>" if result["note"] else ""
    figures = "".join(map(_figure, result["figures"]))
    pictures = "".join(_picture(f"{name}-{i}", p) for i, p in enumerate(result["pictures"]))
    return f"""<section id="{name}"><h2>{name}. {escape(result["title"])}
<span class="badge {TONES[verdict]}">{verdict}</span></h2>
<p class=where><small>{escape(result["where"])}</small></p>
<p><b>The paper says</b></p><blockquote>{_text(result["says"])}</blockquote>
{correction}
{pictures}
<p><b>What we measured</b></p><ul class=figures>{figures}</ul>
{_survey(result["table"])}{note}
<p><b>To run it alone</b> <small class=seconds>({report.seconds[name]:.1f} s)</small></p>
<pre>{escape(result["command"])}</pre></section>"""


def _figure(figure: Mapping[str, Any]) -> str:
    tone, mark = ("good", "✓") if figure["holds"] else ("care", "✎") if figure["literal"] else ("bad", "✗")
    said = {"✓": "as predicted", "✎": "the literal text fails here", "✗": "not as predicted"}[mark]
    uncertainty = (
        "" if figure["uncertainty"] == "exact" else f" <small>{escape(figure['uncertainty'])}</small>"
    )
    command = f"<code>{escape(figure['command'])}</code>" if figure["command"] else ""
    return (
        f"<li><span>{escape(figure['what'])}</span><span class=numbers>"
        f'<span class="{tone}" role=img aria-label="{said}">{mark}</span> '
        f"<b>{escape(short(figure['measured']))}</b>{uncertainty}, "
        f"predicted {escape(short(figure['predicted']))}</span>{command}</li>"
    )


def _picture(key: str, picture: Mapping[str, Any]) -> str:
    alt = escape(picture["alt"])
    if picture["png"]:
        drawn = f'<img alt="{alt}" src="data:image/png;base64,{picture["png"]}">'
    else:
        drawn = svg(picture["chart"], key).replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)
    return f"<figure>{drawn}<figcaption>{escape(picture['caption'])}</figcaption></figure>"


def svg(chart: Mapping[str, Any], key: str) -> str:
    """A Vega-Lite chart as an SVG whose names are its own, in the colours of the page."""
    import vl_convert

    spec = dict(chart) | {"config": CONFIG}
    drawn = str(vl_convert.vegalite_to_svg(spec))
    for name in dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawn)):
        drawn = drawn.replace(f'id="{name}"', f'id="{key}-{name}"').replace(
            f"url(#{name})", f"url(#{key}-{name})"
        )
    return re.sub(r' (xmlns(:\w+)?|role|aria-\w+)="[^"]*"', "", drawn)  # the picture as a whole has a label


def _survey(cells: list[Mapping[str, Any]]) -> str:
    """Definitions by curators: our answer, and the paper's where it gives one."""
    if not cells:
        return ""
    columns = list(dict.fromkeys(cell["curator"] for cell in cells))
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        rows.setdefault(cell["definition"], []).append(cell)
    head = "".join(f"<th scope=col>{escape(c)}</th>" for c in columns)
    body = "".join(
        f"<tr><th scope=row>{escape(name)}</th>{''.join(map(_cell, row))}</tr>" for name, row in rows.items()
    )
    top = f"<thead><tr><th scope=col>holds for</th>{head}</tr></thead>"
    table = scrolled(f"<table class=survey>{top}<tbody>{body}</tbody></table>", "the survey")
    how = "Bold where the paper says the same; plain where it says nothing. A table that is too wide scrolls."
    return f"<p>{how}</p>{table}"


def _cell(cell: Mapping[str, Any]) -> str:
    word = "yes" if cell["holds"] else "no"
    if cell["paper"] is None:
        return f"<td>{word}</td>"
    if cell["paper"] != cell["holds"]:
        return f"<td class=bad><b>{word}, and the paper says otherwise</b></td>"
    return f'<td class="{"good" if cell["holds"] else "bad"}"><b>{word}</b></td>'


def _text(text: str) -> str:
    """Our prose: *words* that are stressed."""
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", escape(text))
