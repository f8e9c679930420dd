"""A first spec, from the names and types of columns alone.

Bounds and categories are left for a person to decide: values taken from the data would be published without
noise.  The draft does not parse until every one of them is filled in, so none can be forgotten.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from undeleted.errors import NotFound

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


def draft(
    source: str,
    columns: Mapping[str, str],
    spec: Path,
    connection: str | None = None,
    person: str | None = None,
) -> str:
    """The text of a spec; whatever a person must decide is marked DECIDE.

    `person` is the column that says whose record it is.  It is never guessed: a wrong guess would merge
    people, or count one person several times.
    """
    if person is not None and person not in columns:
        raise NotFound(f"there is no column {person!r}.", f"The columns: {', '.join(columns)}.")
    whose = _text(person) if person is not None else DECIDE
    lines = [
        "# What is published about this table, and its budget.  Replace every DECIDE: bounds and categories",
        "# are public, so they must come from what you know, not from the data.",
        "",
        "[data]",
        *_where(source, spec, connection),
        f"id = {whose}                  # the column that says whose record it is"
        + ("" if person is not None else "; remove its [columns.…] below"),
        "max_rows_per_person = 1",
        'excess = "error"'
        + ("" if connection else '             # or "drop": keep the first rows of a person'),
        "",
        "[budget]",
        f"epsilon = {DECIDE}             # for example 1.0; smaller is more private",
        "delta = 0                    # 0 is pure differential privacy; or for example 1e-6",
        "",
    ]
    numbers = []
    for name, kind in columns.items():
        if name == person:
            continue
        lines += [f"[columns.{_key(name)}]", *_column(kind), ""]
        if kind.split("(")[0] in (*_WHOLE, *_REAL):
            numbers.append(name)
    lines += ["[publish.people]", 'kind = "count"', ""]
    for name in numbers[:2]:
        lines += [f"[publish.{_key('mean ' + name)}]", 'kind = "mean"', f"column = {_text(name)}", ""]
    lines += [
        "# [publish.table]                   # a cross-table with a cell for every combination",
        '# kind = "histogram"',
        '# columns = ["…", "…"]',
        "#",
        '# by = ["city"] publishes it for every group; where = "age >= 18" counts only those who fit',
        "# kinds: count; with `column`: sum, mean, share, variance, quantiles, board; with `columns`:",
        "# histogram, products (correlations and regressions); with `features` and `target`: naive-bayes,",
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
    if "://" in source:
        return source
    return os.path.relpath(Path(source).resolve(), spec.resolve().parent)


def _text(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _text(name)
