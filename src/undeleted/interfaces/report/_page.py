"""What our pages share: one HTML file, no request to anywhere, light and dark, on a phone and on paper."""

from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --bad: #a3201a; --good: #14663c; --care: #7a4a00; --line: #8884; }
:root { --one: #1f5fa8; --other: #b3561e; --soft: #8881; --paper: #fff; --ink: #1b1b1b; }
html { background: var(--paper); color: var(--ink); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; } pre, code { font-size: 13px; } pre { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
.wide { overflow-x: auto; }
.bad { color: var(--bad); } .good { color: var(--good); } .care { color: var(--care); }
figure { margin: 1.5rem 0; } svg, img { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) {
  :root { --bad: #ff9a90; --good: #7fdcab; --care: #f3c26b; --one: #8ab8f0; --other: #f0b08a; }
  :root { --paper: #15171a; --ink: #ececec; }
  a { color: #9cc7ff; }
}
@media print {
  :root { color-scheme: light; --bad: #a3201a; --good: #14663c; --care: #7a4a00; }
  :root { --paper: #fff; --ink: #000; } a { color: inherit; }
  body { font-size: 11pt; margin: 0; max-width: none; } figure, li, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; } .wide { overflow: visible; }
}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """A whole page; the browser itself refuses whatever would leave the machine."""
    policy = POLICY + ("; script-src 'unsafe-inline'" if script else "")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body><main>
{body}
</main>{f"<script>{script}</script>" if script else ""}</body></html>
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells as text; a table that is too wide is scrolled, with the keyboard as well."""
    top = "".join(f"<th scope=col>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    return scrolled(f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>", ", ".join(head))


def scrolled(content: str, label: str) -> str:
    """Something that may be wider than the page."""
    return f'<div class=wide role=region tabindex=0 aria-label="{escape(label)}">{content}</div>'
