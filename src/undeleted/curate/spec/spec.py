"""The spec as values: the data set, its columns, the budget, and what is published.

    [data]                     source, or connection and table; id, max_rows_per_person, excess
                               retain = records | receipts | tags, capacity (for the last two)
    [columns.NAME]             type = number | date | category | boolean | text, public bounds, rules
                               keep = ["column", …]: for later publications
    [budget]                   epsilon, delta, reserve (the share that is left for later publications)
    [publish.NAME]             kind = people | count | sum | mean | share | variance | histogram | quantiles |
                               products | board
                               by = ["column", …], where = "age >= 18 and married"
                               or a model: naive-bayes | linear-regression | logistic-regression | pca |
                               forest | k-means | recommender
    [arrivals]                 the table grows: every = hour | day | week | month | manual, horizon (in ticks)
                               noise = auto | factorization | cohorts | tree, max_corrections
                               leavers = shown | hidden, leavers_epsilon, leavers_delta

Publications share the budget by weight.  With δ = 0 the shares add up; with δ > 0 they are shares of ρ
(zero-concentrated), which is a better way to divide a budget among several publications.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

from undeleted.curate.connections import may_contain_secret
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms.grouped import Grouped
from undeleted.curate.mechanisms.noisy_count import NoisyCount
from undeleted.curate.publications import build, kinds, part_of, shares
from undeleted.curate.spec._reader import Reader
from undeleted.errors import BadFile, BadSpec, UndeletedError
from undeleted.foundations.coins import NoNoise
from undeleted.foundations.privacy import Budget, Privacy
from undeleted.foundations.schema import Boolean, Category, Column, Date, Number, Schema, Text
from undeleted.foundations.schema.conditions import Condition
from undeleted.foundations.schema.first_row import FIRST
from undeleted.foundations.types import Given, Json


@dataclass(frozen=True)
class Planned:
    """One publication that the spec requests, and its place in the file."""

    kind: str
    columns: tuple[Column, ...]
    target: Column | None  # of a model that predicts
    options: Json  # of a model, or of synthetic rows
    weight: float
    reader: Reader
    key: str  # of the columns
    by: tuple[Given, ...] = ()  # declared columns; a text is refused when it is built
    where: Condition | None = None

    def grown(self, mechanism: Given, growing: Growing, departures: Given) -> Given:
        """The mechanism over a table that grows."""
        try:
            return growing.of(mechanism, departures)
        except UndeletedError as error:
            self.reader.blame(error, "kind" if "is not a total" in error.what else "")

    def build(self, budget: Privacy | None, rows: int) -> Given:
        """The mechanism, with the noise that its share of the budget requires."""
        try:
            rest = {"budget": budget, "rows_per_person": rows}
            mechanism = build(self.kind, self.columns, self.target, self.options, **rest)
        except UndeletedError as error:
            self.reader.blame(error, self.key)
        if self.by or self.where is not None:
            try:
                mechanism = Grouped(mechanism, self.by, self.where)
            except UndeletedError as error:
                self.reader.blame(error, "by" if self.by else "where")
        try:
            _ = getattr(mechanism, "events", None)  # computes the noise, or raises
        except UndeletedError as error:
            self.reader.blame(error)
        return mechanism


@dataclass(frozen=True)
class Spec:
    """What to publish, from which data, and with which budget."""

    source: str
    schema: Schema
    budget: Budget
    mechanisms: Json  # every publication, with its share of the budget
    text: str  # the text of the file: a store keeps it, and notices when it changes
    connection: str | None = None  # of a database; the source is then the name of a table
    folder: Path = Path()  # what paths in the spec are relative to
    keep: tuple[str, ...] = ()  # columns that records keep for later publications
    growing: Growing | None = None  # how the table grows, if it does
    retain: str = "records"  # what the store keeps about people: records, bits for their receipts, or tags
    capacity: int | None = None  # for how many people there is room, without records

    @classmethod
    def load(cls, path: str | Path) -> "Spec":
        """Read a file; the `source` in it is relative to the file's folder."""
        path = Path(path)
        spec = cls.parse(read_text(path), path)
        if spec.connection is not None or "://" in spec.source:
            return replace(spec, folder=path.parent)
        return replace(spec, source=str(path.parent / spec.source), folder=path.parent)

    @classmethod
    def parse(cls, text: str, path: Path = Path("spec.toml")) -> "Spec":
        root = _root(text, path)
        try:
            return cls._read(root, text)
        except (OverflowError, RecursionError):
            raise BadSpec(str(path), 1, "contains a number that is too large.", "Correct the spec.") from None

    @classmethod
    def _read(cls, root: Reader, text: str) -> "Spec":
        if "data" not in root and "publish" in root:
            remedy = "Add [data]; or, for further publications of a store, use `publish --more`."
            root.fail("the spec needs `data`, a table.", remedy)
        data, budget = root.table("data"), root.table("budget")
        columns = {name: _column(name, reader) for name, reader in root.tables("columns").items()}
        planned = {name: _planned(reader, columns) for name, reader in root.tables("publish").items()}
        arrivals = root.optional_table("arrivals")
        growing = _growing(arrivals) if arrivals is not None else None
        root.finish()
        if not planned:
            root.fail("nothing is published.", 'Add a table such as [publish.people] with kind = "count".')
        source, connection = _source(data)
        id_ = data.take("id", str)
        rows = data.take("max_rows_per_person", int, 1)
        excess = data.take("excess", str, "error")
        keep = _kept(data, columns)
        retain, capacity = data.take("retain", str, "records"), data.take("capacity", int, None)
        data.finish()
        try:
            counted = [FIRST] if any(p.kind == "people" for p in planned.values()) else []
            declared = [*columns.values(), *counted]
            schema = Schema(declared, id=id_, rows_per_person=rows, excess=excess)
        except UndeletedError as error:
            wrong = "id" if id_ in columns else "excess" if "excess" in error.what else "max_rows_per_person"
            data.blame(error, wrong)
        epsilon, delta = budget.take("epsilon", float), budget.take("delta", float, 0.0)
        reserve = budget.take("reserve", float, 0.0)
        budget.finish()
        if not 0 <= reserve < 1:
            remedy = "Give the share that is kept for later publications, such as 0.3."
            budget.fail(f"`reserve` must be at least 0 and below 1, got {reserve:g}.", remedy, "reserve")
        if growing is not None and reserve:
            problem = "`reserve` cannot be used with [arrivals]: the budget pays for all ticks."
            budget.fail(problem, "Remove that line.", "reserve")
        try:
            total = Budget(epsilon, delta)
        except UndeletedError as error:
            budget.blame(error, "delta" if "delta" in str(error) else "epsilon")
        mechanisms = _mechanisms(planned, part_of(total, 1 - reserve), rows)
        if growing is not None:
            mechanisms = _grown(mechanisms, planned, growing)
        rules = {"keep": keep, "growing": growing, "retain": retain, "capacity": capacity}
        return cls(source, schema, total, mechanisms, text, connection, **rules)

    @staticmethod
    def more(path: str | Path, schema: Schema, left: Privacy, total: Budget) -> tuple[Json, str]:
        """Read further publications of columns that are declared already: [publish.NAME] tables alone.

        `[budget]` may name a `share` of the whole budget; without it, they spend what is left.
        """
        text = read_text(path)
        root = _root(text, Path(path))
        columns = {column.name: column for column in schema.columns}
        planned = {name: _planned(reader, columns) for name, reader in root.tables("publish").items()}
        if not planned:
            root.fail("nothing is published.", 'Add a table such as [publish.people] with kind = "count".')
        budget = root.table("budget") if "budget" in root else None
        root.finish()
        if budget is not None:
            share = budget.take("share", float)
            budget.finish()
            if not 0 < share <= 1:
                remedy = "Give a share of the whole budget, such as 0.3."
                budget.fail(f"`share` must be above 0 and at most 1, got {share:g}.", remedy, "share")
            left = part_of(total, share)
        return _mechanisms(planned, left, schema.rows_per_person), text


def read_text(path: str | Path) -> str:
    """The text of a spec."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadFile(str(path), f"cannot be read ({error.strerror}).", "Check the path.") from None
    except UnicodeDecodeError:
        raise BadFile(str(path), "is not UTF-8 text.", "Save the spec as UTF-8.") from None


def _root(text: str, path: Path) -> Reader:
    """The tables of a spec's text."""
    try:
        return Reader(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        line = _line_in(str(error))
        if "DECIDE" in "".join(text.splitlines()[line - 1 : line]):
            problem, remedy = (
                "this line still says DECIDE.",
                "Choose it from what you know, not from the data.",
            )
            raise BadSpec(str(path), line, problem, remedy) from None
        raise BadSpec(str(path), line, f"is not TOML: {error}.", "Correct that line.") from None
    except (ValueError, RecursionError):
        problem = "contains an invalid number, or nesting that is too deep."
        raise BadSpec(str(path), 1, problem, "Correct the spec.") from None


def _kept(data: Reader, columns: Mapping[str, Column]) -> tuple[str, ...]:
    keep = data.take("keep", list, [])
    for name in keep:
        if not isinstance(name, str) or name not in columns or isinstance(columns[name], Text):
            remedy = _choices(str(name), "Declared columns", columns)
            data.fail(f"there is no column {name!r} with a grid.", remedy, "keep")
    return tuple(keep)


def _mechanisms(planned: Mapping[str, Planned], budget: Privacy, rows: int) -> Json:
    """Every publication with its share of the budget; each is built once."""
    parts = shares(budget, {name: (p.kind, p.weight) for name, p in planned.items()})
    return {name: p.build(parts.get(name), rows) for name, p in planned.items()}


def _growing(arrivals: Reader) -> Growing:
    """How the table grows."""
    every, horizon = arrivals.take("every", str), arrivals.take("horizon", int)
    noise, corrections = arrivals.take("noise", str, "auto"), arrivals.take("max_corrections", int, 0)
    leavers = arrivals.take("leavers", str, "shown")
    if leavers not in ("shown", "hidden"):
        remedy = "Choose shown (at once) or hidden (at ticks, under noise)."
        arrivals.fail(f"`leavers` is not a rule: {leavers!r}.", remedy, "leavers")
    hides: Budget | None = None
    if leavers == "hidden":
        epsilon, delta = arrivals.take("leavers_epsilon", float), arrivals.take("leavers_delta", float, 0.0)
        try:
            hides = Budget(epsilon, delta)
        except UndeletedError as error:
            arrivals.blame(error, "leavers_delta" if "delta" in error.what else "leavers_epsilon")
    else:
        for key in ("leavers_epsilon", "leavers_delta"):
            if arrivals.take(key, float, None) is not None:
                arrivals.fail(f'`{key}` needs leavers = "hidden".', "Add it, or remove that line.", key)
    arrivals.finish()
    try:
        growing = Growing(every, horizon, noise, corrections, hides)
        growing.of(NoisyCount(NoNoise()))
    except UndeletedError as error:
        named = ("every", "horizon", "noise", "max_corrections")
        key = next((key for key in named if error.what.startswith(key) or f" {key} " in error.what), "every")
        arrivals.blame(error, key)
    return growing


def _grown(mechanisms: Json, planned: Mapping[str, Planned], growing: Growing) -> Json:
    """The mechanisms over the table as it grows."""
    departures = growing.departures({name: (p.kind, p.weight) for name, p in planned.items()})
    return {name: p.grown(mechanisms[name], growing, departures.get(name)) for name, p in planned.items()}


def _source(data: Reader) -> tuple[str, str | None]:
    """A file, or a table and its connection; a store keeps the spec, so the connection has no password."""
    connection = data.take("connection", str, None)
    if connection is None:
        data.refuse(
            "table", "`table` needs a `connection`, and there is none.", "Add one, or give a `source`."
        )
        return data.take("source", str), None
    table = data.take("table", str)
    data.refuse("source", "a table in a database has no `source`.", "Remove that line.")
    if may_contain_secret(connection):
        remedy = 'Set PGPASSWORD, or write connection = "$NAME" and set that environment variable.'
        data.fail("`connection` may contain a secret, and a store keeps its spec.", remedy, "connection")
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


def _declared(name: str, kind: str, missing: Given, reader: Reader) -> Column:
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
        case "date":
            bounds = {key: reader.take(key, date | str) for key in ("min", "max")}
            rules = {
                "out_of_range": reader.take("out_of_range", str, "error"),
                "not_a_number": reader.take("not_a_date", str, "error"),
            }
            return Date(name, **bounds, grain=reader.take("grain", str, "day"), missing=missing, **rules)
        case "category":
            values = reader.take("values", list)
            unknown, other = reader.take("unknown", str, "error"), reader.take("other", str, None)
            return Category(name, values=tuple(values), unknown=unknown, other=other, missing=missing)
        case "boolean":
            return Boolean(name, missing=missing, unknown=reader.take("unknown", str, "error"))
        case "text":
            most, too_long = reader.take("max_length", int, 10_000), reader.take("too_long", str, "error")
            return Text(name, max_length=most, missing=missing, too_long=too_long)
    types = ("number", "date", "category", "boolean", "text")
    reader.fail(f"there is no column type {kind!r}.", _choices(kind, "Types", types), "type")


def _planned(reader: Reader, columns: Mapping[str, Column]) -> Planned:
    kind = reader.take("kind", str)
    if kind not in kinds():
        reader.fail(f"there is no kind of publication {kind!r}.", _choices(kind, "Kinds", kinds()), "kind")
    takes = kinds()[kind][0][0]
    key, named = takes.columns, list[Given]()
    if key:
        given = reader.take(key, str if key == "column" else list)
        named = given if isinstance(given, list) else [given]
    target = reader.take("target", str) if takes.target else None
    options = {name: reader.take(name, type(value), value) for name, value in takes.options.items()}
    weight = reader.take("weight", float, 1.0)
    groups, where = reader.take("by", list, []), reader.take("where", str, None)
    reader.finish()
    if key and (not named or len(set(map(str, named))) < len(named)):
        reader.fail(f"`{key}` must name at least one column, each once.", "Correct that line.", key)
    lines = [(key, named), ("target", [target] if target is not None else []), ("by", groups)]
    for line, column in ((line, column) for line, several in lines for column in several):
        if not isinstance(column, str) or column not in columns:
            remedy = _choices(str(column), "Declared columns", columns)
            reader.fail(f"there is no column {column!r}.", remedy, line)
    if not weight > 0:
        reader.fail(f"`weight` must be positive, got {weight:g}.", "Omit it to use 1.", "weight")
    predicted = None if target is None else columns[target]
    over, by = tuple(columns[column] for column in named), tuple(columns[column] for column in groups)
    condition = _condition(where, columns, reader) if where is not None else None
    return Planned(kind, over, predicted, options, float(weight), reader, key, by, condition)


def _condition(text: str, columns: Mapping[str, Column], reader: Reader) -> Condition:
    try:
        return Condition(text, tuple(c for c in columns.values() if not isinstance(c, Text)))
    except UndeletedError as error:
        reader.blame(error, "where")


def _choices(given: str, called: str, known: Iterable[str]) -> str:
    """What there is to choose from, with the nearest first."""
    listed = list(known)
    near = get_close_matches(given, listed, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"{hint}{called}: {', '.join(listed) or 'none'}."


def _line_in(message: str) -> int:
    words = message.replace(",", " ").split()
    return next((int(w) for before, w in pairwise(words) if before == "line" and w.isdigit()), 1)
