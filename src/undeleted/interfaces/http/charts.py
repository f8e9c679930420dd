"""Publications and attacks in Vega-Lite.  Colours are names, such as @one, which page.js replaces."""

from collections.abc import Iterable, Mapping, Sequence

from undeleted.foundations.types import Given, Json

Spec = Json
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def intervals(answers: Sequence[Mapping[str, Given]]) -> Spec | None:
    """Every number of a publication with its interval."""
    rows = [
        {
            "of": a.get("of") or a["name"],
            "estimate": a["estimate"],
            "low": a["low"] if a["low"] is not None else a["estimate"],
            "high": a["high"] if a["high"] is not None else a["estimate"],
        }
        for a in answers
        if isinstance(a["estimate"], int | float)
    ]
    if not rows:
        return None
    many = len(rows) > 24
    across = {
        "field": "of",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labels": not many, "ticks": not many, "labelLimit": 170},
    }
    along = {"type": "quantitative", "scale": {"zero": False, "nice": True, "padding": 8}, "title": None}
    return _spec(
        rows,
        18 * min(len(rows), 24) + 12 if not many else 8 * min(len(rows), 60),
        [
            _layer(
                "rule",
                {"color": "@one", "strokeWidth": 6, "opacity": 0.35},
                y=across,
                x=along | {"field": "low"},
                x2={"field": "high"},
            ),
            _layer(
                "point",
                {"filled": True, "size": 60, "color": "@one", "opacity": 1},
                y=across,
                x=along | {"field": "estimate"},
            ),
        ],
    )


def widths(past: Iterable[tuple[int, float]]) -> Spec | None:
    """How wide the interval was, version by version."""
    rows = [{"version": version, "error": width} for version, width in past]
    if len(rows) < 2:
        return None
    top = max(row["error"] for row in rows) or 1.0
    return _spec(
        rows,
        60,
        [
            _layer(
                "line",
                {"color": "@other", "interpolate": "step-after", "point": {"color": "@other", "size": 20}},
                x={
                    "field": "version",
                    "type": "quantitative",
                    "title": "version",
                    "axis": {"tickMinStep": 1, "format": "d", "tickCount": 5},
                    "scale": {"zero": False},
                },
                y={
                    "field": "error",
                    "type": "quantitative",
                    "title": None,
                    "axis": {"tickCount": 3},
                    "scale": {"domain": [0, 1.3 * top]},
                },
            )
        ],
    )


LINES = 6  # that a chart by tick can tell apart


def by_tick(answers: Sequence[Mapping[str, Given]]) -> Spec | None:
    """Every number of a publication at the end of every tick, with its interval."""
    rows = [
        {
            "tick": a["labels"]["tick"],
            "of": ", ".join(str(v) for k, v in a["labels"].items() if k != "tick") or a["name"],
            **{end: a[end] if a[end] is not None else a["estimate"] for end in ("estimate", "low", "high")},
        }
        for a in answers
        if isinstance(a["estimate"], int | float) and "tick" in a.get("labels", {})
    ]
    names = list(dict.fromkeys(row["of"] for row in rows))
    if len({row["tick"] for row in rows}) < 2 or len(names) > LINES:
        return None
    across = {
        "field": "tick",
        "type": "quantitative",
        "title": "tick",
        "axis": {"tickMinStep": 1, "format": "d"},
    }
    along = {"type": "quantitative", "scale": {"zero": False}, "title": None, "axis": {"format": "~s"}}
    several: Json = {"strokeDash": {"field": "of", "title": None}} if len(names) > 1 else {}
    band = {"detail": {"field": "of"}} if several else {}
    return _spec(
        rows,
        120,
        [
            _layer(
                "area",
                {"color": "@one", "opacity": 0.25},
                x=across,
                y=along | {"field": "low"},
                y2={"field": "high"},
                **band,
            ),
            _layer("line", {"color": "@one"}, x=across, y=along | {"field": "estimate"}, **several),
        ],
    )


def people(
    rows: Sequence[Mapping[str, Given]], kinds: Mapping[str, str], marks: Sequence[Mapping[str, Given]]
) -> Spec:
    """People on a line, coloured by what is known about them, and the curator's output."""
    place = {
        "field": "value",
        "type": "quantitative",
        "title": "value",
        "axis": {"format": "~s", "tickCount": 5},
    }
    row = {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 90}}
    return _spec(
        rows,
        140,
        [
            _layer("tick", {"thickness": 2, "size": 26}, x=place, y=row, color=_by_kind(kinds)),
            {
                "data": {"values": list(marks)},
                **_layer("rule", {"color": "@ink", "strokeWidth": 1, "strokeDash": [4, 3]}, x=place),
            },
        ],
    )


def walk(
    path: Sequence[Mapping[str, Given]], shown: Sequence[Mapping[str, Given]], kinds: Mapping[str, str]
) -> Spec:
    """The boundary between two means as points leave, and the people near it."""
    span = {"domain": [420_000, 580_000], "nice": False, "clamp": True}  # the same on both sides
    place = {
        "field": "value",
        "type": "quantitative",
        "scale": span,
        "title": "value",
        "axis": {"format": "~s", "tickCount": 5},
    }
    down = {"field": "deletions", "type": "quantitative", "sort": "descending", "title": "deletions"}
    return _spec(
        path,
        170,
        [
            _layer(
                "line", {"color": "@one", "strokeWidth": 1.5}, x=place, y=down, order={"field": "deletions"}
            ),
            {
                "data": {"values": list(shown)},
                **_layer(
                    "tick", {"thickness": 2, "size": 20, "yOffset": 0}, x=place, y=down, color=_by_kind(kinds)
                ),
            },
        ],
    )


def _by_kind(kinds: Mapping[str, str]) -> Spec:
    """A colour for every kind of person."""
    return {
        "field": "who",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(kinds), "range": list(kinds.values())},
        "legend": {"orient": "bottom", "columns": 2, "labelLimit": 200},
    }


def _layer(mark: str, options: Mapping[str, Given], **encoding: Given) -> Spec:
    return {"mark": {"type": mark, **options}, "encoding": encoding}


def _spec(rows: Sequence[Mapping[str, Given]], height: int, layers: Sequence[Spec]) -> Spec:
    return {"$schema": SCHEMA, "height": height, "data": {"values": list(rows)}, "layer": list(layers)}
