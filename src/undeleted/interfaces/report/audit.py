"""An audit as one HTML page: the verdict, its basis, and the worlds side by side."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from undeleted.auditing.verdict import Verdict
from undeleted.auditing.witness import MARK, write
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.report._page import page as full_page

WIDTH, HEIGHT, PAD = 640, 240, 48
MOST_SERIES = 4
MOST_SHOWN = 20  # people whose inferred values are listed
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


def write_page(verdict: Verdict, path: Path, *, replay: str | None, redact: bool) -> None:
    """Write the page; only its owner can read it if the audit used real values."""
    write(path, page(verdict, replay=replay, redact=redact), private=verdict.real_values)


def page(verdict: Verdict, *, replay: str | None = None, redact: bool = False) -> str:
    """Return the page; it makes no network request."""
    facts = verdict.as_json()
    return full_page(
        "audit.html",
        verdict=verdict,
        target=verdict.target.name,
        tone="bad" if verdict.broken else "good",
        real=verdict.real_values and not redact,
        mark=MARK,
        why=verdict.argument or facts["smallest_leak_that_would_have_been_seen"],
        notes=[text for text in (*verdict.indications, verdict.rounding or "") if text],
        tried=[[a["attack"], a["kind"], a["result"]] for a in verdict.attacks],
        findings=[] if redact else [NOTHING | _finding(finding) for finding in verdict.findings],
        about=[[k.replace("_", " "), _text(facts[k])] for k in ABOUT],
        replay=replay,
        width=WIDTH,
        pad=PAD,
    )


NOTHING: Json = dict.fromkeys(("worlds", "left", "head", "rows", "more", "plot", "raw", "bars"))


def _finding(finding: Mapping[str, Given]) -> Json:
    match finding["kind"]:
        case "collision" | "rounding":
            how = " by rounding" if finding["kind"] == "rounding" else ""
            title = f"Two worlds with the same first output, distinguished{how}"
            transcripts = [finding["outputs"]["one"], finding["outputs"]["other"]]
            return {"title": title, "worlds": _worlds(finding)} | _plot(transcripts)
        case "statistics":
            was = finding["was"]
            bars = [
                _bar("advantage with the updates, at least", was["advantage_at_least"]),
                _bar("distance of the first outputs, at most", was["first_output_distance_at_most"]),
            ]
            title = "Two worlds distinguished by their updates"
            return {"title": title, "worlds": _worlds(finding), "bars": bars}
        case "exposure":
            exposed = f"{finding['exposed']} of {finding['of']} people who stayed"
            claims = list(finding["claims"].items())
            return {
                "title": f"Inferred by {finding['attack']}: {exposed}",
                "head": ["person", "inferred value"],
                "rows": [[k, _text(v)] for k, v in claims[:MOST_SHOWN]],
                "more": len(claims[MOST_SHOWN:]),
            }
        case "forgets":
            return {
                "title": "It does not forget",
                "left": f"{len(finding['deleted'])} of {len(finding['records'])} people left.",
                "head": ["after the deletion", "from scratch, without the deleted"],
                "rows": [[_text(finding["after_deletion"]), _text(finding["from_scratch"])]],
            }
    return {"title": str(finding["kind"])}


def _worlds(finding: Mapping[str, Given]) -> Json:
    """Both worlds in one table, with the differences marked and the deletion of each row."""
    gone = {name: i + 1 for i, batch in enumerate(finding["batches"]) for name in batch}
    names = [k for k in finding["one"][0] if k != "id"]
    rows = [
        {
            "id": a["id"],
            "one": [_text(a[n]) for n in names],
            "other": [{"text": _text(b[n]), "differs": a[n] != b[n]} for n in names],
            "note": f"the attacker's, deletion {gone[a['id']]}" if a["id"] in gone else "stays",
        }
        for a, b in zip(finding["one"], finding["other"], strict=True)
    ]
    return {"head": ["person", *names, *(f"{n} (other)" for n in names), ""], "rows": rows}


def _plot(transcripts: Sequence[Sequence[Given]]) -> Json:
    """The first numbers of the outputs, after every deletion, in both worlds; as text if there are none."""
    arrays = [[_numbers_of(z) for z in t] for t in transcripts]
    if len({len(z) for t in arrays for z in t}) != 1 or not arrays[0][0]:
        return {"raw": json.dumps(transcripts, ensure_ascii=False)[:4000]}
    moving = [j for j in range(len(arrays[0][0])) if any(a[j] != b[j] for a, b in zip(*arrays, strict=True))]
    shown = moving[:MOST_SERIES] or [0]
    values = [float(z[j]) for t in arrays for z in t for j in shown]
    low, high = min(values), max(values)
    high = high if high > low else low + 1
    steps = len(arrays[0])

    def at(i: int, value: float) -> tuple[float, float]:
        x = PAD + (WIDTH - 2 * PAD) * (i / max(1, steps - 1))
        return round(x, 1), round(HEIGHT - PAD - (HEIGHT - 2 * PAD) * (value - low) / (high - low), 1)

    plot = {
        "width": WIDTH,
        "height": HEIGHT,
        "pad": PAD,
        "low": f"{low:.6g}",
        "high": f"{high:.6g}",
        "ticks": [{"x": at(i, low)[0]} for i in range(steps)],
        "ends": [{"y": at(0, v)[1], "text": f"{v:.6g}"} for v in (low, high)],
        "lines": [
            {"which": which, "points": [at(i, float(z[j])) for i, z in enumerate(transcript)]}
            for which, transcript in zip(("one", "other"), arrays, strict=True)
            for j in shown
        ],
    }
    return {"plot": plot}


def _bar(name: str, value: float) -> Json:
    """A probability from 0 to 1 as a bar."""
    length = f"{max(0.0, min(1.0, value)) * (WIDTH - 2 * PAD):.1f}"
    return {"name": name, "text": f"{value:.3g}", "length": length}


def _text(value: Given) -> str:
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


def _numbers_of(output: Given) -> list[float]:
    """Return the numbers in an output, in order, and skip everything else."""
    if isinstance(output, list | tuple):
        return [v for part in output for v in _numbers_of(part)]
    return [float(output)] if isinstance(output, int | float) else []
