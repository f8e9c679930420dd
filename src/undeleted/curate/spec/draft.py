"""A first spec, from the names and declared types of columns; from values only if somebody asks to peek.

Bounds and categories are left for a person to decide: values taken from the data would be published without
noise.  The draft does not parse until every one of them is filled in, so none can be forgotten.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from undeleted.curate.spec.peek import Guess
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
_DATES = {"DATE": "day", "MONTH": "month", "TIMESTAMP": "second", "TIMESTAMP WITH TIME ZONE": "second"}
_DATES |= {f"TIMESTAMP_{unit}": "second" for unit in ("S", "MS", "NS")}
_AS = {  # types for the guesses
    "number": "BIGINT",
    "decimal": "DOUBLE",
    "money": "MONEY",
    "date": "DATE",
    "month": "MONTH",
    "time": "TIMESTAMP",
    "boolean": "BOOLEAN",
    "category": "VARCHAR",
    "text": "TEXT",
}
UNDECLARED = [
    "# The file declares no types: choose one for every column, or remove the column.",
    '#   type = "number"    with min, max, step and out_of_range = "clamp", "error" or "drop"',
    '#   type = "date"      with min, max such as 2020-01-31, and grain = "day", "month" or "second"',
    '#   type = "category"  with values = ["…", "…"]',
    '#   type = "boolean"   true and false, yes and no, 1 and 0',
    "# `undeleted init --peek` reads values and guesses the types.",
]
PEEKED = [
    "# The types were guessed from values (--peek): this draft rests on private data.  Check every guess,",
    "# and do not publish the draft.",
]

OTHER_KINDS = (
    "# [publish.table]                   # a cross-table with a cell for every combination",
    '# kind = "histogram"',
    '# columns = ["…", "…"]',
    "#",
    '# by = ["city"] publishes it for every group; where = "age >= 18" counts only those who fit',
    "# kinds: people; count; with `column`: sum, mean, share, variance, quantiles, board; `columns`:",
    "# histogram, products (correlations and regressions); with `features` and `target`: naive-bayes,",
    "# linear-regression, logistic-regression, forest; with `features`: pca, k-means, recommender",
    "# `weight = 2` gives a publication twice the share of the budget",
)


def draft(
    source: str,
    columns: Mapping[str, str],
    spec: Path,
    connection: str | None = None,
    person: str | None = None,
    guesses: Mapping[str, Guess] | None = None,
) -> str:
    """The text of a spec; whatever a person must decide is marked DECIDE.

    `person` is the column that says whose record it is.  It is never guessed: a wrong guess would merge
    people, or count one person several times.  With `guesses` from the values, the draft says so.
    """
    if person is not None and person not in columns:
        near = get_close_matches(person.lower(), [name.lower() for name in columns], n=1)
        meant = [name for name in columns if near and name.lower() == near[0]]
        hint = f"Did you mean {meant[0]!r}? " if meant else ""
        raise NotFound(f"there is no column {person!r}.", f"{hint}The columns: {', '.join(columns)}.")
    whose = _text(person) if person is not None else DECIDE
    lines = [
        "# What is published about this table, and its budget.  Replace every DECIDE: bounds and categories",
        "# are public, so they must come from what you know, not from the data.",
        *(PEEKED if guesses else UNDECLARED if "" in columns.values() else []),
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
    columns = {name: kind for name, kind in columns.items() if name != person}
    lines += [
        line for name, kind in columns.items() for line in _declared(name, kind, (guesses or {}).get(name))
    ]
    lines += ["[publish.people]", 'kind = "people"             # each person once; "count" counts rows', ""]
    numbers = [
        name for name, kind in columns.items() if _kind(kind, (guesses or {}).get(name)) in (*_WHOLE, *_REAL)
    ]
    for name in numbers[:2]:
        lines += [f"[publish.{_key('mean ' + name)}]", 'kind = "mean"', f"column = {_text(name)}", ""]
    return "\n".join([*lines, *OTHER_KINDS]) + "\n"


def _declared(name: str, kind: str, guess: Guess | None) -> list[str]:
    """The lines of a column, with what was guessed of it."""
    because = [f"# guessed from the values: {guess.why}"] if guess is not None else []
    if guess is not None and guess.unique:
        because.append("# no value occurs twice: it may be the id, or identify people; publish it nowhere")
    return [*because, f"[columns.{_key(name)}]", *_column(_AS[guess.type] if guess is not None else kind), ""]


def _kind(kind: str, guess: Guess | None) -> str:
    """A column's declared type, or the one that was guessed, without its parameters."""
    return (_AS[guess.type] if guess is not None else kind).split("(")[0]


def _where(source: str, spec: Path, connection: str | None) -> list[str]:
    if connection is None:
        return [f"source = {_text(_relative(source, spec))}"]
    return [f"connection = {_text(connection)}", f"table = {_text(source)}"]


def _column(kind: str) -> list[str]:
    kind = kind.split("(")[0]
    if not kind:
        return [f"type = {DECIDE}                # see above", 'missing = "error"            # or "drop"']
    if kind in _DATES:
        return [
            'type = "date"',
            f"grain = {_text(_DATES[kind])}",
            f"min = {DECIDE}                 # such as 2020-01-31",
            f"max = {DECIDE}",
            'out_of_range = "clamp"       # or "error", "drop"',
            'missing = "error"            # or "drop"',
        ]
    if kind == "MONEY":
        return [
            *_column("DOUBLE")[:-1],
            'not_a_number = "error"       # signs and thousands separators are not read: remove them first',
            'missing = "error"            # or "drop"',
        ]
    if kind == "TEXT":
        return [
            'type = "text"                # for a board; publish it nowhere else',
            'missing = "error"            # or "drop"',
        ]
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
