"""A first spec, from the names and types of columns alone.

Bounds and categories are left for a person to decide: values read off the data would be published without
noise.  The draft does not parse until every one of them is filled in, so none can be forgotten.
"""

from collections.abc import Mapping
from pathlib import Path

DECIDE = "DECIDE"
_WHOLE = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)
_REAL = ("FLOAT", "DOUBLE", "DECIMAL")


def draft(source: str, columns: Mapping[str, str], spec: Path, connection: str | None = None) -> str:
    """The text of a spec; what a person must decide says so."""
    names = list(columns)
    likely = next(
        (n for n in names if n.lower() in ("id", "person", "user_id", "person_id", "uuid")), names[0]
    )
    lines = [
        "# What is published of this table, and at what price.  Replace every DECIDE: bounds and categories",
        "# are public, so they must come from what you know, not from the data.",
        "",
        "[data]",
        *_where(source, spec, connection),
        f"id = {_text(likely)}                 # whose record it is",
        "max_rows_per_person = 1",
        'excess = "error"'
        + ("" if connection else '             # or "drop": keep the first rows of a person'),
        "",
        "[budget]",
        f"epsilon = {DECIDE}             # such as 1.0; smaller is more private",
        "delta = 0                    # 0 is pure differential privacy; or such as 1e-6",
        "",
    ]
    numbers = []
    for name, kind in columns.items():
        if name == likely:
            continue
        lines += [f"[columns.{_key(name)}]", *_column(kind), ""]
        if kind.split("(")[0] in (*_WHOLE, *_REAL):
            numbers.append(name)
    lines += ["[publish.people]", 'kind = "count"', ""]
    for name in numbers[:2]:
        lines += [f"[publish.{_key('mean ' + name)}]", 'kind = "mean"', f"column = {_text(name)}", ""]
    lines += [
        "# kinds: count; with `column`: sum, mean, variance, quantiles, board; with `columns`: histogram,",
        "# products (correlations and regressions); with `features` and `target`: naive-bayes,",
        "# linear-regression, logistic-regression, forest; with `features`: pca, k-means, recommender",
        "# `weight = 2` gives a publication twice the share of the budget",
    ]
    return "\n".join(lines) + "\n"


def _where(source: str, spec: Path, connection: str | None) -> list[str]:
    if connection is None:
        return [f"source = {_text(_relative(source, spec))}"]
    return [f"connection = {_text(connection)}", f"table = {_text(source)}"]


def _column(kind: str) -> list[str]:
    kind = kind.split("(")[0]
    if kind in _WHOLE:
        return [
            'type = "number"',
            f"min = {DECIDE}",
            f"max = {DECIDE}",
            'out_of_range = "clamp"       # or "error", "drop"',
            'missing = "error"            # or "drop"',
        ]
    if kind in _REAL:
        return [
            'type = "number"',
            f"min = {DECIDE}",
            f"max = {DECIDE}",
            f"step = {DECIDE}                # the grid; sums are exact on it",
            'out_of_range = "clamp"       # or "error", "drop"',
            'off_grid = "round"           # or "error", "drop"',
            'missing = "error"            # or "drop"',
        ]
    if kind == "BOOLEAN":
        return ['type = "boolean"', 'missing = "error"            # or "drop"']
    return [
        'type = "category"',
        f"values = [{DECIDE}]",
        'unknown = "error"            # or "drop", or "other" with other = "one of the values"',
        'missing = "error"            # or "drop"',
    ]


def _relative(source: str, spec: Path) -> str:
    path = Path(source)
    try:
        return str(path.resolve().relative_to(spec.resolve().parent))
    except ValueError:
        return str(path)


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _text(name)
