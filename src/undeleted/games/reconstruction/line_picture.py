"""A chart of two means as points are deleted: the moving boundary, and the people it exposed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from undeleted.foundations.arrays import Array
from undeleted.games.reconstruction.pictures import require_writable

if TYPE_CHECKING:
    import altair as alt


class HasCentres(Protocol):
    """Two means at one moment."""

    @property
    def centres(self) -> tuple[float, float]:
        """The two centres."""


def line_picture(path: str, others: Array, states: Sequence[HasCentres], claims: Mapping[int, int]) -> None:
    """Write the chart to a file."""
    target = require_writable(path, "altair")
    chart = line_chart(others, states, claims)
    if target.suffix == ".html":
        chart.save(target, inline=True)
    else:
        chart.save(target)


def line_chart(others: Array, states: Sequence[HasCentres], claims: Mapping[int, int]) -> "alt.VConcatChart":
    """The boundary after every deletion, those who stayed near it, and those who were read off."""
    import altair as alt

    walk = [{"deletions": i, "value": sum(s.centres) / 2} for i, s in enumerate(states)]
    low, high = min(w["value"] for w in walk), max(w["value"] for w in walk)
    pad = 0.05 * (high - low) + 1
    near = [int(v) for v in others if low - pad <= v <= high + pad]
    exposed = set(claims.values())
    dots = [{"value": v, "who": "read off exactly" if v in exposed else "stayed hidden"} for v in near]
    scale = alt.Scale(domain=[low - pad, high + pad])
    path_of = alt.Chart(alt.InlineData(values=walk)).mark_line(color="#4c78a8", strokeWidth=1)
    first, last = ("{:,.1f} and {:,.1f}".format(*s.centres) for s in (states[0], states[-1]))
    title = alt.Title(
        "The boundary between the two means moves as points are deleted",
        subtitle=f"first centres {first}, last centres {last}; {len(claims)} people read off",
    )
    line = path_of.encode(
        x=alt.X("value:Q", scale=scale, title="value"),
        y=alt.Y("deletions:Q", sort="descending"),
        order="deletions:Q",
    ).properties(width=440, height=220, title=title)
    ticks = alt.Chart(alt.InlineData(values=dots)).mark_tick(thickness=2, size=30)
    people = ticks.encode(
        x=alt.X("value:Q", scale=scale, title="people who stayed"),
        color=alt.Color(
            "who:N",
            title=None,
            scale=alt.Scale(domain=["read off exactly", "stayed hidden"], range=["#d55e00", "#999"]),
        ),
    ).properties(width=440, height=50)
    return alt.vconcat(line, people)
