"""The spec as values: the data set, its columns, the budget, and what is published.

    [data]                     source, or connection and table; id, max_rows_per_person, excess
    [columns.NAME]             type = number | category | boolean | text, public bounds, rules for misfits
    [budget]                   epsilon, delta
    [publish.NAME]             kind = count | sum | mean | variance | histogram | quantiles | products | board
                               or a model: naive-bayes | linear-regression | logistic-regression | pca |
                               forest | k-means | recommender

Publications share the budget by weight.  With δ = 0 the shares add up; with δ > 0 they are shares of ρ
(zero-concentrated), which several publications share better.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from undeleted.curate.connections import keeps_a_secret
from undeleted.curate.publications import build, kinds
from undeleted.curate.spec._reader import Reader
from undeleted.errors import BadFile, BadSpec, UndeletedError
from undeleted.foundations.privacy import Budget, Privacy, Zcdp, split
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.schema import Boolean, Category, Column, Number, Schema, Text


@dataclass(frozen=True)
class Planned:
    """One publication as the spec asks for it, and where in the file it does."""

    kind: str
    columns: tuple[Column, ...]
    target: Column | None  # of a model that predicts
    options: dict[str, bool | int]  # of a model
    weight: float
    reader: Reader
    key: str  # of the columns

    def build(self, noise: Privacy | None, rows: int) -> Any:
        """The mechanism, with the noise that its share of the budget buys."""
        try:
            rest = {"noise": noise, "rows_per_person": rows}
            mechanism = build(self.kind, self.columns, self.target, self.options, **rest)
        except UndeletedError as error:
            self.reader.blame(error, self.key)
        try:
            _ = getattr(mechanism, "events", None)  # the noise, if it can be had
        except UndeletedError as error:
            self.reader.blame(error)
        return mechanism


@dataclass(frozen=True)
class Spec:
    """What to publish, of what, and at what price."""

    source: str
    schema: Schema
    budget: Budget
    mechanisms: dict[str, Any]  # every publication, with its share of the budget
    text: str  # as the file had it: a store keeps it, and notices when it changes
    connection: str | None = None  # of a database; the source is then the name of a table
    folder: Path = Path()  # what paths in the spec are relative to

    @classmethod
    def load(cls, path: str | Path) -> "Spec":
        """Read a file; the source in it is relative to it."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise BadFile(str(path), f"cannot be read ({error.strerror}).", "Check the path.") from None
        except UnicodeDecodeError:
            raise BadFile(str(path), "is not UTF-8 text.", "Save the spec as UTF-8.") from None
        spec = cls.parse(text, path)
        if spec.connection is not None or "://" in spec.source:
            return replace(spec, folder=path.parent)
        return replace(spec, source=str(path.parent / spec.source), folder=path.parent)

    @classmethod
    def parse(cls, text: str, path: Path = Path("spec.toml")) -> "Spec":
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = _line_in(str(error))
            if "DECIDE" in "".join(text.splitlines()[line - 1 : line]):
                problem = "this line still says DECIDE."
                raise BadSpec(
                    str(path), line, problem, "Decide it from what you know, not from the data."
                ) from None
            raise BadSpec(
                str(path), _line_in(str(error)), f"is not TOML: {error}.", "Correct that line."
            ) from None
        except (ValueError, RecursionError):
            raise BadSpec(
                str(path), 1, "holds a number or a nesting that cannot be.", "Correct the spec."
            ) from None
        try:
            return cls._read(Reader(path, text, table), text)
        except (OverflowError, RecursionError):
            raise BadSpec(str(path), 1, "holds a number that is too large.", "Correct the spec.") from None

    @classmethod
    def _read(cls, root: Reader, text: str) -> "Spec":
        data, budget = root.table("data"), root.table("budget")
        columns = {name: _column(name, reader) for name, reader in root.tables("columns").items()}
        planned = {name: _planned(reader, columns) for name, reader in root.tables("publish").items()}
        if not planned:
            root.fail("nothing is published.", 'Add a table such as [publish.people] with kind = "count".')
        root.finish()
        source, connection = _source(data)
        id_ = data.take("id", str)
        rows = data.take("max_rows_per_person", int, 1)
        excess = data.take("excess", str, "error")
        data.finish()
        try:
            schema = Schema(list(columns.values()), id=id_, rows_per_person=rows, excess=excess)
        except UndeletedError as error:
            wrong = "id" if id_ in columns else "excess" if "excess" in error.what else "max_rows_per_person"
            data.blame(error, wrong)
        epsilon, delta = budget.take("epsilon", float), budget.take("delta", float, 0.0)
        budget.finish()
        try:
            total = Budget(epsilon, delta)
        except UndeletedError as error:
            budget.blame(error, "delta" if "delta" in str(error) else "epsilon")
        return cls(source, schema, total, _mechanisms(planned, total, rows), text, connection)


def _mechanisms(planned: Mapping[str, Planned], budget: Budget, rows: int) -> dict[str, Any]:
    """Every publication with its share of the budget; each is built once."""
    noisy = {name: p.weight for name, p in planned.items() if kinds()[p.kind][0][0].noisy}
    whole: Privacy = budget if budget.delta == 0 else Zcdp(rho_for(budget))
    shares = dict(zip(noisy, split(whole, list(noisy.values())), strict=True)) if noisy else {}
    return {name: p.build(shares.get(name), rows) for name, p in planned.items()}


def _source(data: Reader) -> tuple[str, str | None]:
    """A file, or a table of a database by connection and name; a store keeps the spec, so no password."""
    connection = data.take("connection", str, None)
    if connection is None:
        data.refuse(
            "table", "`table` is of a database, and no `connection` is named.", "Name one, or a `source`."
        )
        return data.take("source", str), None
    table = data.take("table", str)
    data.refuse("source", "a table in a database has no `source`.", "Remove that line.")
    if keeps_a_secret(connection):
        remedy = 'Set PGPASSWORD, or say connection = "$NAME" and keep it in that environment variable.'
        data.fail("a secret may stand in `connection`, and a store keeps its spec.", remedy, "connection")
    return table, connection


def _column(name: str, reader: Reader) -> Column:
    kind = reader.take("type", str)
    missing = reader.take("missing", str, "error")
    try:
        column = _declared(name, kind, missing, reader)
    except UndeletedError as error:
        if isinstance(error, BadSpec):
            raise
        reader.blame(error)
    reader.finish()
    return column


def _declared(name: str, kind: str, missing: Any, reader: Reader) -> Column:
    match kind:
        case "number":
            rules = {
                "out_of_range": reader.take("out_of_range", str, "error"),
                "off_grid": reader.take("off_grid", str, "error"),
                "not_a_number": reader.take("not_a_number", str, "error"),
            }
            low, high, step = (
                reader.take("min", float),
                reader.take("max", float),
                reader.take("step", float, 1),
            )
            return Number(name, min=low, max=high, step=step, missing=missing, **rules)
        case "category":
            values = reader.take("values", list)
            unknown, other = reader.take("unknown", str, "error"), reader.take("other", str, None)
            return Category(name, values=tuple(values), unknown=unknown, other=other, missing=missing)
        case "boolean":
            return Boolean(name, missing=missing, unknown=reader.take("unknown", str, "error"))
        case "text":
            most, too_long = reader.take("max_length", int, 10_000), reader.take("too_long", str, "error")
            return Text(name, max_length=most, missing=missing, too_long=too_long)
    reader.fail(f"there is no column type {kind!r}.", "Types: number, category, boolean, text.", "type")


def _planned(reader: Reader, columns: Mapping[str, Column]) -> Planned:
    kind = reader.take("kind", str)
    if kind not in kinds():
        reader.fail(f"there is no kind of publication {kind!r}.", f"Kinds: {', '.join(kinds())}.", "kind")
    takes = kinds()[kind][0][0]
    key, named = takes.columns, list[Any]()
    if key:
        given = reader.take(key, str if key == "column" else list)
        named = given if isinstance(given, list) else [given]
    target = reader.take("target", str) if takes.target else None
    options = {name: reader.take(name, type(value), value) for name, value in takes.options.items()}
    weight = reader.take("weight", float, 1.0)
    reader.finish()
    if key and (not named or len(set(map(str, named))) < len(named)):
        reader.fail(f"`{key}` must name at least one column, each once.", "Correct that line.", key)
    for line, column in [*((key, c) for c in named), *([("target", target)] if target is not None else [])]:
        if not isinstance(column, str) or column not in columns:
            known = ", ".join(columns) or "none"
            reader.fail(f"there is no column {column!r}.", f"Declared columns: {known}.", line)
    if not weight > 0:
        reader.fail(f"`weight` must be positive, got {weight:g}.", "Leave it out for 1.", "weight")
    predicted = None if target is None else columns[target]
    over = tuple(columns[column] for column in named)
    return Planned(kind, over, predicted, options, float(weight), reader, key)


def _line_in(message: str) -> int:
    words = message.replace(",", " ").split()
    return next((int(w) for before, w in pairwise(words) if before == "line" and w.isdigit()), 1)
