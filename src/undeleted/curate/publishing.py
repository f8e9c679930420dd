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
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms.grouped import Grouped
from undeleted.curate.mechanisms.noisy_marginals import MOST_CELLS
from undeleted.curate.publications import build, left_of, part_of, shares
from undeleted.curate.stores.sqlite import MEMORY
from undeleted.errors import BadBudget, BadColumns, BadSetting, BadUsage, BudgetSpent, WrongType
from undeleted.foundations.privacy import Budget, Privacy, as_noise
from undeleted.foundations.schema import Boolean, Column, GridColumn, Number, Schema, Text
from undeleted.foundations.schema.centred_codes import as_columns
from undeleted.foundations.schema.conditions import Condition
from undeleted.foundations.types import Given, Sink

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

    @property
    def title(self) -> str:
        """What it asks for, in words."""
        of = " and ".join(column.name for column in self.columns)
        by = " and ".join(column.name for column in self.by)
        words = [self.kind, of, f"by {by}" if by else "", f"where {self.where}" if self.where else ""]
        return " ".join(word for word in words if word)

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


def people(*, weight: float = 1.0) -> Request:
    """How many people there are; a person with several rows counts once."""
    return Request("people", weight=weight)


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


def synthetic(
    *columns: By,
    edges: Mapping[str, Sequence[Given]] | None = None,
    marginals: Sequence[Sequence[str]] = (),
    weight: float = 1.0,
) -> Request:
    """Marginals of all pairs of columns, or of those that are named, from which rows are drawn.

    `edges` are the public values at which bins of numbers and dates begin, by column.
    """
    flat = tuple(column for several in columns for column in as_columns(several))
    options = {"edges": dict(edges or {}), "marginals": list(map(list, marginals)), "most_cells": MOST_CELLS}
    return Request("synthetic", flat, weight=weight, options=options)


def publish(
    data: Given,
    requests: Mapping[str, Request] | Sequence[Request] | None = None,
    /,
    *,
    id: str,
    budget: float | Budget,
    store: str | Path = MEMORY,
    columns: Sequence[Column] = (),
    keep: Sequence[Column] = (),
    reserve: float = 0.0,
    rows_per_person: int = 1,
    excess: Literal["error", "drop"] = "error",
    grows: Growing | None = None,
    retain: Literal["records", "receipts", "tags"] = "records",
    capacity: int | None = None,
    receipts: str | Path | Sink | None = None,
    **named: Request,
) -> Curator:
    """Publish a table once, under one budget, and return its curator.

    The store is in memory unless you name a file: `store="people.db"`.  With the process, a store in memory
    is gone, and so is the budget that it cost.

    The table is a frame of pandas or polars, an Arrow table, a dict of columns, a list of dicts, a numpy
    record array, a DuckDB relation, an Ibis table, or the path of a file.  `columns` are further columns
    that conditions name.  `reserve` is the share of the budget that `publish_more` may spend later; `keep`
    are columns that the store keeps for it.  With `grows=Growing(every="day", horizon=365)` people may join
    later (`curator.add`, `curator.tick`): the budget then pays for all ticks together.

    With `retain="receipts"` the store keeps nothing about anybody, and bits for at most `capacity` receipts.
    `receipts` says where they go (a new file, a folder that ends with /, a function of each line): people
    leave with them, `curator.delete_with(line)`, and they cannot be written again.  With `retain="tags"` it
    keeps a tag of everybody's rows; they leave with their rows and their salt, `curator.delete_rows(…)`.

    >>> from undeleted.foundations.schema import Category
    >>> age, city = Number("age", min=0, max=120), Category("city", values=("Rome", "Oslo"))
    >>> people = {"pid": [str(i) for i in range(600)], "age": [30] * 600, "city": ["Rome", "Oslo"] * 300}
    >>> curator = publish(people, id="pid", budget=10.0, ages=mean(age, by=city, where="age >= 18"))
    >>> [(row["city"], round(row["estimate"])) for row in curator.show("ages").to_arrow().to_pylist()]
    [('Rome', 30), ('Oslo', 30)]
    """
    wanted = _wanted(requests, named)
    if not 0 <= reserve < 1:
        raise BadSetting(f"reserve = {reserve!r} is not a share below 1.", "Give such as 0.3.")
    schema = _schema(wanted, (*columns, *keep), id, int(rows_per_person), excess)
    whole = as_noise(budget)
    if not isinstance(whole, Budget):
        raise BadBudget("budget", budget, "a number (ε) or a Budget(epsilon, delta)")
    kept = [column.name for column in keep]
    curator = Curator(schema, whole, store, keep=kept, retain=retain, capacity=capacity)
    mechanisms = _mechanisms(wanted, part_of(whole, 1 - reserve), schema)
    if grows is None:
        curator.publish(_table(data, schema), mechanisms, receipts=receipts)
        return curator
    if reserve:
        problem = "reserve cannot be used for a table that grows: its budget pays for all ticks."
        raise BadSetting(problem, "Leave it out.")
    asked = {name: (request.kind, request.weight) for name, request in wanted.items()}
    grown = grows.all_of(mechanisms, asked)
    clock, leavers = grows.clock(), grows.budget_of_leavers
    curator.publish(_table(data, schema), grown, clock, leavers, receipts=receipts)
    return curator


def _schema(
    wanted: Mapping[str, Request],
    further: Sequence[Column],
    person: str,
    rows_per_person: int,
    excess: Literal["error", "drop"],
) -> Schema:
    """The schema of all columns that are used or named."""
    known = dict.fromkeys((*further, *(c for r in wanted.values() for c in (*r.columns, *r.by))))
    if not known:
        raise BadUsage("no column is declared.", 'Name one: columns=[Number("age", min=0, max=120)].')
    names = [column.name for column in known]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise BadColumns(twice, "declared in two ways.", "Declare each column once, and use it everywhere.")
    return Schema(list(known), id=person, rows_per_person=rows_per_person, excess=excess)


def publish_more(
    curator: Curator,
    requests: Mapping[str, Request] | Sequence[Request] | None = None,
    /,
    *,
    share: float | None = None,
    **named: Request,
) -> None:
    """Publish further statistics of the people who are still there, from the store's own records.

    `share` is a share of the whole budget; without it, everything that is left is spent.

    >>> age = Number("age", min=0, max=120)
    >>> people = {"pid": [str(i) for i in range(600)], "age": [30] * 600}
    >>> curator = publish(people, id="pid", budget=10.0, people=count(), keep=[age], reserve=0.5)
    >>> publish_more(curator, ages=mean(age))
    >>> curator.publications, curator.left, round(curator.show("ages").estimate().value)
    (('people', 'ages'), 0.0, 30)
    """
    wanted = _wanted(requests, named)
    if share is not None and not 0 < share <= 1:
        raise BadSetting(f"share = {share!r} is not a share of the budget.", "Give such as 0.3.")
    left = left_of(curator.budget, curator.events) if share is None else part_of(curator.budget, share)
    if left is None:
        raise BudgetSpent(next(iter(wanted)), 0.0, 0.0, curator.budget.epsilon)
    curator.publish_more(_mechanisms(wanted, left, curator.schema))


def _wanted(
    requests: Mapping[str, Request] | Sequence[Request] | None, named: Mapping[str, Request]
) -> dict[str, Request]:
    """Requests by name; those of a list are named after what they ask for, such as "mean age by city"."""
    if requests is None or isinstance(requests, Mapping):
        wanted = dict(requests or {})
    else:
        listed = list(requests) if isinstance(requests, Sequence) else [requests]
        wanted = {r.title if isinstance(r, Request) else str(i): r for i, r in enumerate(listed)}
        if len(wanted) < len(listed):
            raise BadUsage("two requests ask for the same.", "Name them: ages=mean(age).")
    wanted |= named
    if not wanted:
        raise BadUsage("there is nothing to publish.", "Give requests by name, such as people=count().")
    wrong = [name for name, request in wanted.items() if not isinstance(request, Request)]
    if wrong:
        raise WrongType(f"{wrong[0]!r} is not a request.", "Give such as count() or mean(age).")
    return wanted


def _mechanisms(wanted: Mapping[str, Request], budget: Privacy, schema: Schema) -> dict[str, Given]:
    """The mechanisms that are asked for, each with its share."""
    parts = shares(budget, {name: (request.kind, request.weight) for name, request in wanted.items()})
    return {name: request.mechanism(parts.get(name), schema) for name, request in wanted.items()}


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
