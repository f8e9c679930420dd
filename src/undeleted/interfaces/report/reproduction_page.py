"""The reproduction as one HTML page: every claim with its verdict, figures and pictures."""

import re
from collections.abc import Mapping

from markupsafe import Markup, escape

from undeleted.foundations.types import Given, Json
from undeleted.interfaces.report._page import page as full_page
from undeleted.interfaces.report.reproduction import Reproduction, claims
from undeleted.paper.claim import short

WORDS = {  # of a verdict: its tone, its mark in the contents, its plural
    "holds": ("good", "holds", "hold"),
    "holds with a correction": ("care", "corrected", "hold with a correction"),
    "does not hold": ("bad", "does not hold", "do not hold"),
}
MARKS = {
    "good": ("✓", "as predicted"),
    "care": ("✎", "the literal text fails here"),
    "bad": ("✗", "not as predicted"),
}
CONFIG: Json = {
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
    """Return the page; it makes no network request."""
    facts, total = report.as_json(), len(report.results)
    counts = [
        {"n": n, "tone": WORDS[verdict][0], "verb": verdict if n == 1 else WORDS[verdict][2]}
        for verdict, n in report.summary.items()
        if n
    ]
    return full_page(
        "reproduction.html",
        what="every claim" if total == len(claims()) else f"{total} of {len(claims())} claims",
        counts=counts,
        command=report.command(),
        claims=[_claim(report, name, result) for name, result in report.results.items()],
        quick=report.setting.quick,
        facts=facts,
        libraries=", ".join(f"{name} {version}" for name, version in facts["machine"]["libraries"].items()),
        seconds=sum(report.seconds.values()),
    )


def _claim(report: Reproduction, name: str, result: Mapping[str, Given]) -> Json:
    tone, mark, _ = WORDS[result["verdict"]]
    return dict(result) | {
        "name": name,
        "tone": tone,
        "mark": mark,
        "figures": [_figure(figure) for figure in result["figures"]],
        "pictures": [
            {"caption": p["caption"], "drawn": _drawn(f"{name}-{i}", p)}
            for i, p in enumerate(result["pictures"])
        ],
        "table": _table(result["table"]),
        "seconds": report.seconds[name],
    }


def _figure(figure: Mapping[str, Given]) -> Json:
    tone = "good" if figure["holds"] else "care" if figure["literal"] else "bad"
    mark, said = MARKS[tone]
    words = {"measured": short(figure["measured"]), "predicted": short(figure["predicted"])}
    return dict(figure) | words | {"tone": tone, "mark": mark, "said": said}


def _drawn(key: str, picture: Mapping[str, Given]) -> Markup:
    alt = escape(picture["alt"])
    if picture["png"]:
        return Markup('<img alt="{}" src="data:image/png;base64,{}">').format(alt, picture["png"])
    return Markup(svg(picture["chart"], key).replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1))


def svg(chart: Mapping[str, Given], key: str) -> str:
    """Render a Vega-Lite chart as an SVG with unique ids, in the colours of the page."""
    import vl_convert

    spec = dict(chart) | {"config": CONFIG}
    drawn = str(vl_convert.vegalite_to_svg(spec))
    for name in dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawn)):
        drawn = drawn.replace(f'id="{name}"', f'id="{key}-{name}"').replace(
            f"url(#{name})", f"url(#{key}-{name})"
        )
    return re.sub(r' (xmlns(:\w+)?|role|aria-\w+)="[^"]*"', "", drawn)  # the figure has its own label


def _table(cells: list[Mapping[str, Given]]) -> Json | None:
    """Definitions by curators: our answer, and the paper's where it gives one."""
    rows: dict[str, list[Mapping[str, Given]]] = {}
    for cell in cells:
        rows.setdefault(cell["definition"], []).append(cell)
    return (
        {"columns": list(dict.fromkeys(cell["curator"] for cell in cells)), "rows": rows} if cells else None
    )
