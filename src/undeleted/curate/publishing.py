"""From a data frame to answers in a few lines.

    publish(frame, id="person", budget=1, people=count(), ages=mean(age, by=city, where="age >= 18"))

Requests share the budget by weight, as publications of a spec do.  The columns that they name are the
schema; nothing about them is read from the data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from undeleted.curate import files
from undeleted.curate.curator import Curator
from undeleted.curate.mechanisms.grouped import Grouped
from undeleted.curate.publications import build, shares
from undeleted.curate.stores.sqlite import MEMORY
from undeleted.errors import BadBudget, BadColumns, BadSetting, BadUsage, WrongType
from undeleted.foundations.privacy import Budget, as_noise
from undeleted.foundations.schema import Boolean, Column, GridColumn, Number, Schema, Text
from undeleted.foundations.schema.centred_codes import as_columns
from undeleted.foundations.schema.conditions import Condition
from undeleted.foundations.types import Given

By: TypeAlias = GridColumn | Sequence[GridColumn]


@dataclass(frozen=True)
class Request:
    """A publication that is asked for; its noise follows from the budget and from the other requests."""

    kind: str
    columns: tuple[Column, ...] = ()
    by: tuple[GridColumn, ...] = ()
    where: str | None = None
    weight: float = 1.0
    options: Mapping[str, Given] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("columns", "by"):
            object.__setattr__(self, name, as_columns(getattr(self, name)))
        wrong = [c for c in (*self.columns, *self.by) if not isinstance(c, Column)]
        if wrong:
            remedy = 'Declare it first, such as Number("age", min=0, max=120).'
            kind = type(wrong[0]).__name__
            raise WrongType(f"{self.kind} takes declared columns, got a {kind}.", remedy)
        if self.where is not None and not isinstance(self.where, str):
            raise WrongType(
                f"where is a {type(self.where).__name__}, not a text.", 'Write such as "age >= 18".'
            )
        if not self.weight > 0:
            raise BadSetting(f"weight = {self.weight!r} is not positive.", "Omit it to use 1.")

    def mechanism(self, budget: Given, schema: Schema) -> Given:
        """The mechanism with this share of the budget."""
        rest = {"budget": budget, "rows_per_person": schema.rows_per_person}
        mechanism = build(self.kind, self.columns, None, self.options, **rest)
        if not self.by and self.where is None:
            return mechanism
        grid = tuple(column for column in schema.columns if not isinstance(column, Text))
        try:
            where = Condition(self.where, grid) if self.where is not None else None
        except BadSetting as error:
            remedy = f"{error.remedy} Declare others with columns=[…]."
            raise BadSetting(error.what, remedy) from None
        return Grouped(mechanism, self.by, where)


def count(*, by: By = (), where: str | None = None, weight: float = 1.0) -> Request:
    """How many records there are."""
    return Request("count", (), as_columns(by), where, weight)


def total(column: Number, *, by: By = (), where: str | None = None, weight: float = 1.0) -> Request:
    """The sum of a number."""
    return Request("sum", (column,), as_columns(by), where, weight)


def mean(column: Number | Boolean, *, by: By = (), where: str | None = None, weight: float = 1.0) -> Request:
    """The mean of a number, or the share of a boolean that is true."""
    return Request("mean", (column,), as_columns(by), where, weight)


def variance(column: Number, *, by: By = (), where: str | None = None, weight: float = 1.0) -> Request:
    """The variance of a number."""
    return Request("variance", (column,), as_columns(by), where, weight)


def quantiles(column: Number, *, by: By = (), where: str | None = None, weight: float = 1.0) -> Request:
    """Quantiles, ranges and the median of a number."""
    return Request("quantiles", (column,), as_columns(by), where, weight)


def share(column: Boolean, *, by: By = (), where: str | None = None, weight: float = 1.0) -> Request:
    """The share of a boolean that is true."""
    return Request("share", (column,), as_columns(by), where, weight)


def histogram(*columns: By, where: str | None = None, weight: float = 1.0) -> Request:
    """Counts by every combination of values: a cross-table."""
    flat = tuple(column for several in columns for column in as_columns(several))
    return Request("histogram", flat, (), where, weight)


def publish(
    data: Given,
    requests: Mapping[str, Request] | None = None,
    /,
    *,
    id: str,
    budget: float | Budget,
    store: str | Path = MEMORY,
    columns: Sequence[Column] = (),
    rows_per_person: int = 1,
    excess: Literal["error", "drop"] = "error",
    **named: Request,
) -> Curator:
    """Publish a table once, under one budget, and return its curator.

    The store is in memory unless you name a file: `store="people.db"`.  With the process, a store in memory
    is gone, and so is the budget that it cost.

    The table is a frame of pandas or polars, an Arrow table, a dict of columns, a list of dicts, a numpy
    record array, a DuckDB relation, an Ibis table, or the path of a file.  `columns` are further columns
    that conditions name.

    >>> from undeleted.foundations.schema import Category
    >>> age, city = Number("age", min=0, max=120), Category("city", values=("Rome", "Oslo"))
    >>> people = {"pid": [str(i) for i in range(600)], "age": [30] * 600, "city": ["Rome", "Oslo"] * 300}
    >>> curator = publish(people, id="pid", budget=10.0, ages=mean(age, by=city, where="age >= 18"))
    >>> [(row["city"], round(row["estimate"])) for row in curator.show("ages").to_arrow().to_pylist()]
    [('Rome', 30), ('Oslo', 30)]
    """
    wanted = dict(requests or {}) | named
    if not wanted:
        raise BadUsage("there is nothing to publish.", "Give requests by name, such as people=count().")
    wrong = [name for name, request in wanted.items() if not isinstance(request, Request)]
    if wrong:
        raise WrongType(f"{wrong[0]!r} is not a request.", "Give such as count() or mean(age).")
    known = dict.fromkeys((*columns, *(c for r in wanted.values() for c in (*r.columns, *r.by))))
    if not known:
        raise BadUsage("no column is declared.", 'Name one: columns=[Number("age", min=0, max=120)].')
    names = [column.name for column in known]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise BadColumns(twice, "declared in two ways.", "Declare each column once, and use it everywhere.")
    schema = Schema(list(known), id=id, rows_per_person=int(rows_per_person), excess=excess)
    whole = as_noise(budget)
    if not isinstance(whole, Budget):
        raise BadBudget("budget", budget, "a number (ε) or a Budget(epsilon, delta)")
    parts = shares(whole, {name: (request.kind, request.weight) for name, request in wanted.items()})
    mechanisms = {name: request.mechanism(parts.get(name), schema) for name, request in wanted.items()}
    curator = Curator(schema, whole, store)
    curator.publish(_table(data, schema), mechanisms)
    return curator


def _table(data: Given, schema: Schema) -> Given:
    """The data in a form that a curator takes."""
    if isinstance(data, str | Path):
        return files.read(str(data), schema)
    if hasattr(data, "collect") and hasattr(data, "lazy"):  # a lazy frame of polars
        return data.collect()
    if type(data).__module__.startswith(("duckdb", "_duckdb")):
        return data.to_arrow_table()
    if getattr(getattr(data, "dtype", None), "names", None):  # records of numpy
        return {name: data[name] for name in data.dtype.names}
    return data
