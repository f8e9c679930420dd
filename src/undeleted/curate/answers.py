"""Answers as tables: a row per answer, with its labels, estimate, interval, confidence and version.

Everything that shows or exports a publication starts here, so that frames, files and the service agree.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from undeleted.curate.publications import kinds_that_answer, kinds_that_predict
from undeleted.curate.releases.publishable import Answers
from undeleted.errors import BadQuestion
from undeleted.foundations.schema import Schema, Table
from undeleted.foundations.types import Given, Json

if TYPE_CHECKING:
    import pyarrow as pa

LAST = ("estimate", "low", "high", "confidence", "version")
DATES = {name: f"{name} (date)" for name in ("estimate", "low", "high")}
RESERVED = ("publication", *LAST)  # a column of this name is shown as `low (label)`


def answers(mechanism: Given, release: Given, asked: Mapping[str, Given], confidence: float) -> Answers:
    """A label and an estimate for each answer: to the questions, or all that it says by itself."""
    questions = {name: value for name, value in asked.items() if value not in (None, [], ())}
    for name in questions:
        if name not in mechanism.questions:
            wanted = " or ".join(kinds_that_answer(name))
            if name == "tick":
                problem = "a table that does not grow has no ticks."
                raise BadQuestion(problem, "Ask without one.")
            if not wanted:
                raise BadQuestion(f"there is no question {name!r}.", f"It answers: {_known(mechanism)}.")
            problem = f"only publications of kind {wanted} answer {name}."
            raise BadQuestion(problem, "Name such a publication.")
    yield from mechanism.answers(release, questions, confidence)


def rows(name: str, version: int, answered: Answers, confidence: float) -> Iterator[Json]:
    """A row per answer: the publication, the labels, then the numbers; an infinite end is None."""
    for label, estimate in answered:
        named = ({"of": label} if label else {}) if isinstance(label, str) else label
        labels = {f"{key} (label)" if key in RESERVED else key: value for key, value in named.items()}
        number = hasattr(estimate, "low")
        yield {
            "publication": name,
            **labels,
            "estimate": _finite(estimate.shown(estimate.value)) if number else estimate,
            "low": _finite(estimate.shown(estimate.low)) if number else None,
            "high": _finite(estimate.shown(estimate.high)) if number else None,
            "confidence": confidence if number else None,
            "version": version,
        }


def predictions(publication: Given, table: Table) -> list[Json]:
    """A prediction for every row on the grid, from a current release; None where a feature is missing."""
    mechanism = publication.mechanism
    there = table.complete(mechanism.over)
    codes = np.column_stack([table.codes[c.name].astype(np.int64) for c in mechanism.over])
    predicted = mechanism.predictions(publication.release, codes)
    return [{"row": i, **(predicted[i] if known else {"prediction": None})} for i, known in enumerate(there)]


def features_of(publication: Given) -> Schema:
    """The columns that a model predicts from; anything else is refused."""
    if publication.mechanism.kind not in kinds_that_predict():
        remedy = f"Name a publication of kind {', '.join(kinds_that_predict())}."
        raise BadQuestion("only models predict.", remedy)
    return Schema(list(publication.mechanism.over))


def as_arrow(table: Iterable[Json]) -> "pa.Table":
    """Rows as an Arrow table; a label that a row does not have is missing there.

    >>> as_arrow([{"publication": "ages", "sex": "f", "estimate": 3, "version": 1}]).column_names
    ['publication', 'sex', 'estimate', 'version']
    """
    import pyarrow as pa

    listed = _apart(list(table))
    return pa.table({name: _column([row.get(name) for row in listed]) for name in in_order(listed)})


def in_order(rows: list[Json]) -> list[str]:
    """The columns of rows of answers: their labels as they come, then the numbers."""
    last = (*LAST, *DATES.values())
    labels = dict.fromkeys(key for row in rows for key in row if key not in last)
    return [*labels, *(key for key in last if any(key in row for row in rows))]


def _apart(rows: list[Json]) -> list[Json]:
    """Where dates stand among numbers, their columns have names of their own: a column has one type."""
    is_number = [isinstance(row.get("estimate"), int | float | None) for row in rows]
    if all(is_number) or not any(is_number):
        return rows
    return [
        row if number else {DATES.get(key, key): value for key, value in row.items()}
        for row, number in zip(rows, is_number, strict=True)
    ]


def _column(values: list[Given]) -> "pa.Array":
    """A column of one type: labels of several types become text, and numbers floating point."""
    import pyarrow as pa

    there = {type(value) for value in values if value is not None}
    if there <= {int, float} and there != {int}:
        return pa.array([None if v is None else float(v) for v in values], type=pa.float64())
    if len(there) > 1:
        return pa.array([None if v is None else str(v) for v in values], type=pa.string())
    return pa.array(values)


def _known(mechanism: Given) -> str:
    return ", ".join(mechanism.questions) or "no questions"


def _finite(number: Given) -> Given:
    """Files and JSON have no infinity."""
    return None if isinstance(number, float) and not math.isfinite(number) else number
