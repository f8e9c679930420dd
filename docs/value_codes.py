"""Generate the page that says which code each value gets; `docs/generated.py` writes it."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from undeleted.errors import RejectedValue
from undeleted.foundations.schema import Boolean, Category, Number
from undeleted.foundations.schema.values import Written

HEAD = """# Values and their codes

Generated from the code; do not edit.

A value's code depends on that value and on the column as it was declared, and on nothing else: not on the
other rows, not on the type that a column happens to have, not on the file's format or the engine. Files are
read as they are written; no type is ever inferred. So another person in a table changes nobody else's code.

- **Missing**: nothing, the empty text, NaN, and the null values of pandas, Arrow and databases. A JSON
  object without the column's key has a missing value there.
- **A number** is an integer or a decimal as it is. A float is the shortest decimal that its own type
  prints, so that 0.1 is one tenth in a CSV, a data frame, Parquet and a database. A text is a number if it
  is written as one. Booleans, dates and bytes are not numbers.
- **A category** is compared as text: a text as it is written, a number in plain decimals (7.0 is `7`), true
  and false, dates and times in ISO 8601 to the microsecond, in UTC if they have a zone. A text that looks
  like a number stays as it is written: `7.0` in a CSV is not `7`.
- **An id** is the text that was written, byte for byte; an integer that is not a text is written in
  decimals.

A value that does not fit follows the rule of its column. **Only the rule `error`, which is the default,
makes one person's value refuse a whole table**; an observer may learn from a refusal that somebody's value
does not fit. With `drop`, `clamp`, `round` and `other` no value does this. Apart from the rules, a table is
refused if a row has no id, if a person has more rows than the cap (with `excess = "error"`), or if the file
itself is broken: a row of a CSV with too few or too many fields, line endings of two kinds, a row of more
than 16 MiB, text that is not UTF-8, invalid JSON.

Grids and categories beyond 2⁵³ refuse columns that may have lost digits before we read them: numpy's,
Arrow's and polars' floats, and all of pandas' own types except nullable integers and texts, whatever they
contain now. Pass them as Arrow integers, as nullable integers (`Int64`, `int64[pyarrow]`), or as text. We
cannot undo what numpy or pandas converts before we see it: numpy gives all elements of an array one type
(`np.array([1, "x"])` contains texts), and pandas prints a float32 beside a float64 with more digits. A list,
an Arrow table or an object array keeps values as they are.

"""
COLUMNS = {
    "`min=0 max=120`": Number("x", min=0, max=120),
    "`min=0 max=1 step=0.1`": Number("x", min=0, max=1, step="0.1"),
    "the same, `clamp` and `round`": Number(
        "x", min=0, max=1, step="0.1", out_of_range="clamp", off_grid="round"
    ),
    '`values=["7", "x", "true"]`': Category("x", values=("7", "x", "true")),
    "`boolean`": Boolean("x"),
}
VALUES: Sequence[tuple[str, Any]] = [
    ("nothing, an empty field, `null`", None),
    ("`7` in a CSV", "7"),
    ("`7.0` in a CSV", "7.0"),
    ("`07` in a CSV", "07"),
    ("`1e0` in a CSV", "1e0"),
    ("`x` in a CSV", "x"),
    ("`true` in a CSV", "true"),
    ("`Yes` in a CSV", "Yes"),
    ("`7` in JSON", Written("7")),
    ("`7.0` in JSON", Written("7.0")),
    ("`true` in JSON", True),
    ("the integer 7", 7),
    ("the float 7.0", 7.0),
    ("the float 0.1", 0.1),
    ("the 32-bit float 0.1", np.float32(0.1)),
    ("the float 0.1 + 0.2 = 0.30000000000000004", 0.1 + 0.2),
    ("the decimal 0.10", Decimal("0.10")),
    ("the float 0.25", 0.25),
    ("the integer 2⁵³ + 1", 2**53 + 1),
    ("NaN", float("nan")),
    ("infinity", float("inf")),
    ("a date", date(2020, 1, 1)),
    ("a time with a zone", datetime(2020, 1, 1, 9, tzinfo=UTC)),
    ("bytes", b"7"),
]


def page() -> str:
    lines = [
        HEAD + "| as written | " + " | ".join(COLUMNS) + " |",
        "|---|" + "---|" * len(COLUMNS),
    ]
    for written, value in VALUES:
        lines.append(f"| {written} | " + " | ".join(_code_or_rule(c, value) for c in COLUMNS.values()) + " |")
    return "\n".join(lines) + "\n"


def _code_or_rule(column: Any, value: Any) -> str:
    """Return the code, or the rule that the value breaks."""
    try:
        return str(int(column.encode([value])[0][0]))
    except RejectedValue as error:
        rules = {
            "present": "missing",
            "numbers": "not a number",
            "lie in": "out of range",
            "multiple": "off grid",
        }
        rules |= {"categories": "unknown", "true or false": "unknown"}
        return next(f"*{rule}*" for words, rule in rules.items() if words in error.rule)
