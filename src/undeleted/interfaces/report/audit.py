"""An audit as one HTML page: the verdict, what it rests on, and the worlds drawn side by side."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from undeleted.audit.verdict import Verdict
from undeleted.audit.witness import MARK, write
from undeleted.interfaces.report._page import page as whole
from undeleted.interfaces.report._page import scrolled, table

STYLE = """
h1 { font-size: 1.5rem; }
.verdict { font-size: 1.25rem; border-left: 6px solid; padding: .4rem 1rem; margin: 1rem 0; }
.marked { background: #ffd54f55; } svg text { fill: currentColor; font: 12px system-ui, sans-serif; }
.one { stroke: var(--one); fill: none; } .other { stroke: var(--other); fill: none; stroke-dasharray: 6 3; }
.dot-one { fill: var(--one); } .dot-other { fill: var(--other); } .axis { stroke: var(--line); }
.real { border: 3px solid var(--bad); padding: .5rem 1rem; }
"""
WIDTH, HEIGHT, PAD = 640, 240, 48
MOST_SERIES = 4


def write_page(verdict: Verdict, path: Path, *, replay: str | None, redact: bool) -> None:
    """Write the page; for its owner alone if it holds real values."""
    write(path, page(verdict, replay=replay, redact=redact), private=verdict.real_values)


def page(verdict: Verdict, *, replay: str | None = None, redact: bool = False) -> str:
    """The page; no request leaves the machine."""
    facts = verdict.as_json()
    tone = "bad" if verdict.broken else "good"
    real = verdict.real_values and not redact
    findings = "" if redact else "".join(map(_finding, verdict.findings))
    bound = f", δ ≥ {verdict.delta:.3g}" if verdict.delta is not None else ""
    why = escape(verdict.argument or facts["smallest_leak_that_would_have_been_seen"])
    lead = "" if verdict.broken else "The smallest leak that would have been seen: "
    forgets = verdict.forgets
    notes = "".join(f"<li>{escape(i)}</li>" for i in (*verdict.indications, verdict.rounding or "") if i)
    assumed = "".join(f"<li>{escape(a)}</li>" for a in verdict.assumptions)
    again = f"<pre>{escape(replay)}</pre>" if replay else ""
    body = f"""<h1>Audit of <code>{escape(verdict.target.name)}</code></h1>
{f'<p class="real"><b>This page holds {escape(MARK)}.</b></p>' if real else ""}
<p>Does honouring deletions expose the people who stay?</p>
<p class="verdict {tone}"><b>{escape(verdict.undeleted)}</b>{bound}</p>
<p>{lead}{why}</p>
{f"<h2>Assuming</h2><ul>{assumed}</ul>" if assumed else ""}
<p>Does it forget those who leave?</p>
<p class="verdict {"bad" if forgets.verdict == "no" else "good" if forgets.verdict == "yes" else ""}">
<b>{escape(forgets.verdict)}</b>: {escape(forgets.why)}</p>
{f"<h2>Worth knowing</h2><ul>{notes}</ul>" if notes else ""}
<h2>What was tried</h2>
{table(["attack", "kind", "result"], [[a["attack"], a["kind"], a["result"]] for a in verdict.attacks])}
{findings}
<h2>How</h2>
{table(["fact", "value"], [[k.replace("_", " "), _text(facts[k])] for k in ABOUT])}
{again}
<p>An audit never says "secure": what no attack here broke may still be broken by another.</p>"""
    return whole(f"Audit of {verdict.target.name}", body, style=STYLE)


ABOUT = (
    "settings",
    "records",
    "sees",
    "digits",
    "versions",
    "randomised",
    "confidence",
    "calls",
    "seed",
    "seconds",
)


def _finding(finding: Mapping[str, Any]) -> str:
    match finding["kind"]:
        case "collision" | "rounding":
            title = "Two worlds with the same first output, told apart"
            if finding["kind"] == "rounding":
                title += " by rounding"
            drawn = _plot([finding["outputs"]["one"], finding["outputs"]["other"]])
            return f"<h2>{title}</h2>{_worlds(finding)}{drawn}"
        case "statistics":
            was = finding["was"]
            bars = [
                ("advantage with the updates, at least", was["advantage_at_least"]),
                ("distance of the first outputs, at most", was["first_output_distance_at_most"]),
            ]
            return f"<h2>Two worlds told apart by their updates</h2>{_worlds(finding)}{_bars(bars)}"
        case "exposure":
            some = list(finding["claims"].items())[:20]
            listed = table(["person", "read off"], [[k, _text(v)] for k, v in some])
            more = (
                f"<p>and {len(finding['claims']) - len(some)} more</p>"
                if len(finding["claims"]) > len(some)
                else ""
            )
            heading = f"{finding['attack']}: {finding['exposed']} of {finding['of']} people who stayed"
            return f"<h2>Read off: {escape(heading)}</h2>{listed}{more}"
        case "forgets":
            shown = table(
                ["after the deletion", "afresh, without the deleted"],
                [[_text(finding["after_deletion"]), _text(finding["afresh"])]],
            )
            left = f"{len(finding['deleted'])} of {len(finding['records'])} people left."
            return f"<h2>It does not forget</h2><p>{left}</p>{shown}"
    return ""


def _worlds(finding: Mapping[str, Any]) -> str:
    """Both worlds in one table; where they differ is marked, and whose rows are deleted when."""
    gone = {name: i + 1 for i, batch in enumerate(finding["batches"]) for name in batch}
    names = [k for k in finding["one"][0] if k != "id"]
    head = "".join(
        f"<th scope=col>{escape(h)}</th>" for h in ["person", *names, *(f"{n} (other)" for n in names), ""]
    )
    body = []
    for a, b in zip(finding["one"], finding["other"], strict=True):
        cells = "".join(f"<td>{escape(_text(a[n]))}</td>" for n in names)
        cells += "".join(
            f"<td{' class=marked' if a[n] != b[n] else ''}>{escape(_text(b[n]))}</td>" for n in names
        )
        note = f"the attacker's, deletion {gone[a['id']]}" if a["id"] in gone else "stays"
        body.append(f"<tr><th scope=row>{escape(str(a['id']))}</th>{cells}<td>{note}</td></tr>")
    rows = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return scrolled(rows, "the two worlds")


def _plot(transcripts: Sequence[Sequence[Any]]) -> str:
    """The first numbers of the outputs, after every deletion, in both worlds."""
    arrays = [[_numbers_of(z) for z in t] for t in transcripts]
    if len({len(z) for t in arrays for z in t}) != 1 or not arrays[0][0]:
        return f"<pre>{escape(json.dumps(transcripts, ensure_ascii=False)[:4000])}</pre>"
    moving = [j for j in range(len(arrays[0][0])) if any(a[j] != b[j] for a, b in zip(*arrays, strict=True))]
    shown = moving[:MOST_SERIES] or [0]
    values = [float(z[j]) for t in arrays for z in t for j in shown]
    low, high = min(values), max(values)
    high = high if high > low else low + 1
    steps = len(arrays[0])

    def at(i: int, value: float) -> tuple[float, float]:
        x = PAD + (WIDTH - 2 * PAD) * (i / max(1, steps - 1))
        return round(x, 1), round(HEIGHT - PAD - (HEIGHT - 2 * PAD) * (value - low) / (high - low), 1)

    drawn = []
    for which, transcript in zip(("one", "other"), arrays, strict=True):
        for j in shown:
            points = [at(i, float(z[j])) for i, z in enumerate(transcript)]
            line = " ".join(f"{x},{y}" for x, y in points)
            drawn.append(f'<polyline class="{which}" stroke-width="2" points="{line}"/>')
            drawn += [f'<circle class="dot-{which}" cx="{x}" cy="{y}" r="4"/>' for x, y in points]
    ticks = "".join(
        f'<text x="{at(i, low)[0]}" y="{HEIGHT - PAD + 20}" text-anchor="middle">{i}</text>'
        for i in range(steps)
    )
    ends = "".join(
        f'<text x="{PAD - 6}" y="{at(0, v)[1] + 4}" text-anchor="end">{v:.6g}</text>' for v in (low, high)
    )
    label = f"What is published after each deletion, in one world and the other, from {low:.6g} to {high:.6g}"
    return f"""<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">
<line class="axis" x1="{PAD}" x2="{WIDTH - PAD}" y1="{HEIGHT - PAD}" y2="{HEIGHT - PAD}"/>{ticks}{ends}
<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">deletions</text>{"".join(drawn)}
<text x="{PAD}" y="16" class="dot-one">― one world</text>
<text x="{PAD + 110}" y="16" class="dot-other">- - the other</text>
</svg><figcaption>What is published: the same at first, then not.</figcaption></figure>"""


def _bars(bars: Sequence[tuple[str, float]]) -> str:
    """Probabilities from 0 to 1."""
    drawn = []
    for i, (name, value) in enumerate(bars):
        y, width = 20 + 44 * i, max(0.0, min(1.0, value)) * (WIDTH - 2 * PAD)
        kind = ("one", "other")[i % 2]
        drawn.append(
            f'<text x="{PAD}" y="{y}">{escape(name)}: {value:.3g}</text>'
            f'<rect class="dot-{kind}" x="{PAD}" y="{y + 6}" width="{width:.1f}" height="14"/>'
        )
    label = "; ".join(f"{name} {value:.3g}" for name, value in bars)
    high = 30 + 44 * len(bars)
    return f"""<figure><svg viewBox="0 0 {WIDTH} {high}" role="img" aria-label="{escape(label)}">
{"".join(drawn)}</svg>
<figcaption>Half of what the first exceeds the second by is a lower bound on δ.</figcaption></figure>"""


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, dict) and value.keys() == {"low", "high"}:
        return f"{value['low']:g} to {value['high']:g}"
    if isinstance(value, dict):
        return ", ".join(f"{k} = {_text(v)}" for k, v in value.items()) or "–"
    if value is None:
        return "–"
    shown = str(value) if isinstance(value, int | str) else json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 300 else shown[:299] + "…"


def _numbers_of(output: Any) -> list[float]:
    """The numbers in an output, whatever stands between them."""
    if isinstance(output, list | tuple):
        return [v for part in output for v in _numbers_of(part)]
    return [float(output)] if isinstance(output, int | float) else []
