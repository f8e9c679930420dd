"""Answers as a notebook shows them: a table with a bar for every estimate, and a line for its interval."""

import math
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from undeleted.foundations.digits import in_digits
from undeleted.foundations.types import Given, Json

if TYPE_CHECKING:
    from jinja2 import Template

MOST_ROWS = 200
NUMBERS = ("estimate", "low", "high")
_TEMPLATE = """<table>
<thead><tr>{% for name in names %}<th>{{ name }}</th>{% endfor %}
{% if bars %}<th></th>{% endif %}</tr></thead>
<tbody>{% for row, bar in rows %}
<tr>{% for name in names %}<td>{{ shown(name, row.get(name)) }}</td>{% endfor %}
{% if bars %}<td style="min-width: 12em">{% if bar %}
<div style="position: relative; height: 1em">
<div style="position: absolute; left: {{ bar.from }}%; width: {{ bar.wide }}%; height: 1em; \
background: #7aa6c2"></div>
<div style="position: absolute; left: {{ bar.low }}%; width: {{ bar.span }}%; top: 0.45em; height: 0.1em; \
background: #222"></div>
</div>{% endif %}</td>{% endif %}</tr>{% endfor %}
</tbody></table>{% if more %}<p>{{ more }} more rows</p>{% endif %}"""


def as_html(table: Iterable[Json]) -> str:
    """Rows of answers as HTML; every text is escaped.

    >>> "<td>&lt;b&gt;</td>" in as_html([{"of": "<b>", "estimate": 3, "low": 1, "high": 5}])
    True
    """
    rows = list(table)
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown = rows[:MOST_ROWS]
    bars = _bars(shown)
    written: str = _template().render(
        names=names,
        rows=list(zip(shown, bars, strict=True)),
        bars=any(bars),
        more=len(rows) - len(shown),
        shown=_shown,
    )
    return written


def _shown(name: str, value: Given) -> str:
    """A cell as people write it: numbers of an answer with separators, labels as they are."""
    if value is None:
        return ""
    measured = name in NUMBERS and isinstance(value, int | float) and math.isfinite(value)
    return in_digits(value) if measured else str(value)


def _bars(rows: list[Json]) -> list[dict[str, float] | None]:
    """Where bars and intervals lie, in percent of the widest; none for dates, texts and open intervals."""

    def numbers(row: Json) -> tuple[float, float, float] | None:
        three = tuple(row.get(key) for key in ("estimate", "low", "high"))
        plain = all(isinstance(x, int | float) and not isinstance(x, bool) for x in three)
        return three if plain else None  # type: ignore[return-value]

    there = [three for row in rows if (three := numbers(row)) is not None]
    low = min((min(0.0, *three) for three in there), default=0.0)
    high = max((max(0.0, *three) for three in there), default=0.0)
    if high == low:
        return [None] * len(rows)

    def place(x: float) -> float:
        return round(100 * (x - low) / (high - low), 2)

    def bar(row: Json) -> dict[str, float] | None:
        three = numbers(row)
        if three is None:
            return None
        value, least, most = three
        first = min(0.0, value)
        return {
            "from": place(first),
            "wide": place(max(0.0, value)) - place(first),
            "low": place(least),
            "span": place(most) - place(least),
        }

    return [bar(row) for row in rows]


@cache
def _template() -> "Template":
    from jinja2 import Environment

    environment: Given = Environment(autoescape=True)
    made: Template = environment.from_string(_TEMPLATE)
    return made
