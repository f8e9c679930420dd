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
from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.mechanisms.grown_range_counts import GrownRangeCounts
from undeleted.curate.mechanisms.noisy_count import NoisyCount
from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.curate.mechanisms.noisy_mean import NoisyMean
from undeleted.curate.mechanisms.noisy_products import NoisyProducts
from undeleted.curate.mechanisms.noisy_sum import NoisySum
from undeleted.curate.mechanisms.noisy_variance import NoisyVariance
from undeleted.curate.mechanisms.range_counts import RangeCounts
from undeleted.curate.spec._reader import Reader
from undeleted.curate.spec.models import ALONE, MODELS, OPTIONS, model
from undeleted.errors import BadFile, BadSpec, UndeletedError
from undeleted.foundations.privacy import Budget, Privacy, Zcdp, split
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.schema import Boolean, Category, Column, Number, Schema, Text

WHOLE_TREE = 2**16  # up to so many values range counts are complete; beyond, the tree grows where people are
ONE_COLUMN: dict[str, Any] = {"sum": NoisySum, "mean": NoisyMean, "variance": NoisyVariance}
KINDS = ("count", *ONE_COLUMN, "histogram", "quantiles", "products", "board", *MODELS)


@dataclass(frozen=True)
class Planned:
    """One publication as the spec asks for it."""

    name: str
    kind: str
    columns: tuple[Column, ...]
    weight: float
    target: Column | None = None  # of a model that predicts
    options: tuple[tuple[str, bool | int], ...] = ()  # of a model


@dataclass(frozen=True)
class Spec:
    """What to publish, of what, and at what price."""

    source: str
    schema: Schema
    budget: Budget
    planned: tuple[Planned, ...]
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
        planned = tuple(_planned(name, reader, columns) for name, reader in root.tables("publish").items())
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
        spec = cls(source, schema, total, planned, text, connection)
        readers = root.tables("publish")
        for name, mechanism in spec.mechanisms().items():
            try:
                _ = getattr(mechanism, "events", None)  # the noise that the budget buys, if it can be had
            except UndeletedError as error:
                readers[name].blame(error)
        return spec

    def mechanisms(self) -> dict[str, Any]:
        """Every publication with its share of the budget."""
        noisy = [p for p in self.planned if p.kind != "board"]
        whole: Privacy = self.budget if self.budget.delta == 0 else Zcdp(rho_for(self.budget))
        shares = dict(zip(noisy, split(whole, [p.weight for p in noisy]), strict=True)) if noisy else {}
        return {p.name: _mechanism(p, shares.get(p), self.schema.rows_per_person) for p in self.planned}


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


def _planned(name: str, reader: Reader, columns: Mapping[str, Column]) -> Planned:
    kind = reader.take("kind", str)
    if kind not in KINDS:
        reader.fail(f"there is no kind of publication {kind!r}.", f"Kinds: {', '.join(KINDS)}.", "kind")
    named: list[Any] = []
    several = "columns" if kind in ("histogram", "products") else "features" if kind in MODELS else None
    key = several or "column"
    if kind != "count":
        given = reader.take(key, list if several else str)
        named = given if isinstance(given, list) else [given]
    target = reader.take("target", str) if kind in MODELS and kind not in ALONE else None
    usual = OPTIONS.get(kind, {})
    options = tuple((name, reader.take(name, type(value), value)) for name, value in usual.items())
    weight = reader.take("weight", float, 1.0)
    reader.finish()
    if kind != "count" and (not named or len(set(map(str, named))) < len(named)):
        reader.fail(f"`{key}` must name at least one column, each once.", "Correct that line.", key)
    for line, column in [*((key, c) for c in named), *([("target", target)] if target is not None else [])]:
        if not isinstance(column, str) or column not in columns:
            known = ", ".join(columns) or "none"
            reader.fail(f"there is no column {column!r}.", f"Declared columns: {known}.", line)
    if not weight > 0:
        reader.fail(f"`weight` must be positive, got {weight:g}.", "Leave it out for 1.", "weight")
    predicted = None if target is None else columns[target]
    over = tuple(columns[column] for column in named)
    planned = Planned(name, kind, over, float(weight), predicted, options)
    try:
        _mechanism(planned, Budget(1.0), 1)
    except UndeletedError as error:
        reader.blame(error, key)
    except (TypeError, AttributeError):
        wanted = "text" if kind == "board" else "numbers"
        reader.fail(
            f"{kind} cannot be made of {', '.join(map(repr, named))}.", f"Choose a column of {wanted}.", key
        )
    return planned


def _mechanism(planned: Planned, noise: Any, rows: int) -> Any:
    """The mechanism of a publication."""
    first = planned.columns[0] if planned.columns else None
    if planned.kind in MODELS:
        return model(planned.kind, planned.columns, planned.target, dict(planned.options), noise, rows)
    match planned.kind:
        case "count":
            return NoisyCount(noise, rows_per_person=rows)
        case "histogram":
            return NoisyHistogram(planned.columns, noise, rows_per_person=rows)  # type: ignore[arg-type]
        case "products":
            return NoisyProducts(planned.columns, noise, rows_per_person=rows)  # type: ignore[arg-type]
        case "board":
            if not isinstance(first, Text):
                raise TypeError
            return BulletinBoard(first)
    if not isinstance(first, Number):
        raise TypeError
    if planned.kind == "quantiles":
        kind = RangeCounts if first.cells <= WHOLE_TREE else GrownRangeCounts
        return kind(first, noise, rows_per_person=rows)
    return ONE_COLUMN[planned.kind](first, noise, rows_per_person=rows)


def _line_in(message: str) -> int:
    words = message.replace(",", " ").split()
    return next((int(w) for before, w in pairwise(words) if before == "line" and w.isdigit()), 1)
