"""Charts of claims, in Vega-Lite, made with Altair (the extra `plots`).

Measured figures are points, predictions are lines.  Everybody can distinguish the colours (after Okabe and
Ito), also on a dark page.
"""

from collections.abc import Mapping, Sequence

from undeleted.foundations.types import Output
from undeleted.paper.claim import Picture

BLUE, RED, GREEN, GOLD, PINK = COLOURS = ("#0b7fc0", "#d55e00", "#009e73", "#b8860b", "#c0689a")
WIDTH, HEIGHT = 400, 240
Rows = Sequence[Mapping[str, Output]]


def curves(
    rows: Rows,
    x: str,
    y: str,
    by: str,
    *,
    caption: str,
    alt: str,
    log: str = "",
    theory: Rows = (),
    order: Sequence[str] = (),
    percent: bool = False,
    joined: bool = False,
) -> Picture:
    """Points by series, and theory as lines of the same colour; `log` names the axes that are logarithmic.

    Rows are `{x: …, y: …, by: …}` with the titles of the axes as keys.
    """
    import altair as a

    encoding = {
        "x": a.X("x:Q", title=x, scale=_scale("x" in log)),
        "y": a.Y("y:Q", title=y, scale=_scale("y" in log), axis=a.Axis(format="%") if percent else a.Axis()),
        "color": _colour(list(order or dict.fromkeys(str(row[by]) for row in [*rows, *theory]))),
    }
    measured = a.Chart(_values(rows, x, y, by))
    marks: Output = measured.mark_line(point=True) if joined else measured.mark_point(filled=True, size=55)
    drawn = marks.encode(**encoding)
    if theory:
        lines = a.Chart(_values(theory, x, y, by)).mark_line(strokeWidth=1.5)
        drawn = lines.encode(**encoding) + drawn
    return Picture(caption, alt, drawn.properties(width=WIDTH, height=HEIGHT).to_dict())


def bars(rows: Rows, x: str, y: str, by: str = "", *, caption: str, alt: str) -> Picture:
    """Horizontal bars, in the order of the rows; `by` colours them."""
    import altair as a

    names = list(dict.fromkeys(str(row[by]) for row in rows)) if by else []
    drawn = (
        a.Chart(_values(rows, x, y, by))
        .mark_bar()
        .encode(
            x=a.X("x:Q", title=x, stack=None),
            y=a.Y(
                "y:N",
                title=None,
                sort=list(dict.fromkeys(str(row[y]) for row in rows)),
                axis=a.Axis(labelLimit=260),
            ),
            color=_colour(names),
            **({"yOffset": a.YOffset("by:N", sort=names)} if by else {}),
        )
        .properties(width=WIDTH - 120, height=a.Step(16 if by else 24))
    )
    return Picture(caption, alt, drawn.to_dict())


def _values(rows: Rows, x: str, y: str, by: str) -> Output:
    import altair as a

    return a.InlineData(values=[{"x": row[x], "y": row[y]} | ({"by": row[by]} if by else {}) for row in rows])


def _colour(names: Sequence[str]) -> Output:
    import altair as a

    if len(names) < 2:
        return a.value(BLUE)
    return a.Color("by:N", title=None, scale=a.Scale(domain=list(names), range=COLOURS[: len(names)]))


def _scale(log: bool) -> Output:
    import altair as a

    return a.Scale(type="log") if log else a.Scale(zero=False)
