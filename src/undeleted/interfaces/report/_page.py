"""Pages from Jinja templates: one HTML file without network requests, for screen, phone and print."""

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from undeleted.foundations.types import Given


def page(template: str, **facts: Given) -> str:
    """Return a complete page; its policy makes the browser block every network request."""
    return _environment().get_template(template).render(facts)


def prose(text: str) -> Markup:
    """Escape our prose, and turn *words* into emphasis.

    >>> print(prose("n < k, *always*"))
    n &lt; k, <em>always</em>
    """
    return Markup(re.sub(r"\*([^*]+)\*", r"<em>\1</em>", str(escape(text))))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["prose"] = prose
    return environment
