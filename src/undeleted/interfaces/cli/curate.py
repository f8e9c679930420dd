"""The commands of daily use: show, delete, status, check, export."""

import codecs
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from undeleted.errors import BadFile, BadReceipt, BadSetting, BadUsage, FalseReceipt, VoidReceipt
from undeleted.foundations.types import Given, Json, Sink
from undeleted.interfaces.cli.durations import seconds_of
from undeleted.interfaces.cli.output import bar, renders, working
from undeleted.interfaces.report.result import Result

Store = Annotated[
    str | None,
    typer.Option(
        help="The store: a file or postgresql://…; by default UNDELETED_STORE, then ./undeleted.db.",
        show_default=False,
    ),
]
Rows = Annotated[
    Path | None, typer.Option(help="For a model: predict every row of a CSV, Parquet, JSON or SQLite file.")
]
# how people are named who leave
IdColumn = Annotated[
    str,
    typer.Option(help="The file of --from is a table (CSV, Parquet, JSON, SQLite); this column has the ids."),
]
Receipts = Annotated[
    Path | None,
    typer.Option(
        help="Delete the people with the receipts in this file (one a line), or in all files of a folder."
    ),
]
Certificates = Annotated[
    Path | None, typer.Option(help="With --receipts: write a certificate for each to this new file.")
]
Leavers = Annotated[
    Path | None,
    typer.Option(help='In a store of tags (retain = "tags"): a table with all rows of the people to delete.'),
]
Salts = Annotated[
    Path | None,
    typer.Option(
        help="With --rows: the people's salts, as `publish` wrote them; else the table has a column salt."
    ),
]
Unknown = Annotated[Path | None, typer.Option(help="Write the unknown ids to this file, one per line.")]
FoldAt = Annotated[
    int | None,
    typer.Option(
        help="Update the publications only when this many people have left, to hide each among them."
    ),
]
FoldAfter = Annotated[
    str, typer.Option(help="Update at the latest this long after the first deletion: 90s, 30m, 24h, 7d.")
]


def store_at(given: str | None) -> str:
    return given or os.environ.get("UNDELETED_STORE") or "undeleted.db"


@renders
def show(
    name: Annotated[str | None, typer.Argument(help="A publication; all of them by default.")] = None,
    quantile: Annotated[
        float | None, typer.Option(help="For quantiles: the value with this share below it.")
    ] = None,
    span: Annotated[
        tuple[str, str] | None,
        typer.Option("--range", help="For quantiles: the count between the two."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="For a histogram: column=value or column=low..high; several select a box."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Histogram: a column to show it by; several give a cross-table.")
    ] = None,
    correlation: Annotated[tuple[str, str] | None, typer.Option(help="For products: two columns.")] = None,
    regression: Annotated[
        str | None, typer.Option(help="For products: the target; all other columns are features.")
    ] = None,
    tick: Annotated[
        str | None,
        typer.Option(help="For a table that grows: the totals at the end of this tick (0, 1, …), or `all`."),
    ] = None,
    predict: Rows = None,
    confidence: Annotated[float, typer.Option(help="The confidence of the intervals.")] = 0.95,
    store: Store = None,
) -> Result:
    """Show the current publications, each number with its interval; or predict with a model.

    Example: undeleted show model --predict rows.csv
    """
    from undeleted.curate.curator import Curator
    from undeleted.interfaces.report.questions import answers_as_text, shown

    asked = {
        "quantile": quantile,
        "range": span and tuple(map(_end, span)),
        "where": where,
        "by": by,
        "correlation": correlation,
        "regression": regression,
        "tick": tick,
    }
    others = [option for option, value in asked.items() if value is not None and value != []]
    if name is None and (others or predict is not None):
        raise BadUsage(
            "this question needs one publication.",
            f"Name it: undeleted show NAME --{(others or ['predict'])[0]} …",
        )
    if predict is not None:
        if others:
            raise BadUsage(f"--predict and --{others[0]} cannot be combined.", "Ask one at a time.")
        with Curator.open(store_at(store)) as curator:
            return _predictions(name or "", curator.show(name or ""), predict)
    with Curator.open(store_at(store)) as curator:
        names = [name] if name is not None else list(curator.publications)
        answers = [a for n in names for a in shown(n, curator.show(n), asked if name else {}, confidence)]
    single = name is not None and len(answers) == 1 and tick != "all"
    return Result(answers[0] if single else answers, answers_as_text(answers))


def _end(text: str) -> float | str:
    """An end of a range: a number, or a date as it is written."""
    try:
        return float(text)
    except ValueError:
        return text


def _predictions(name: str, publication: Given, source: Path) -> Result:
    """One line per row, from the current release."""
    from undeleted.foundations.digits import in_digits
    from undeleted.interfaces.report.questions import predicted

    rows = predicted(publication, str(source))
    lines = []
    for row in rows:
        value = row["prediction"]
        parts = value if isinstance(value, list) else [value]
        shown = "  ".join(
            in_digits(v) if isinstance(v, float) else "-" if v is None else str(v) for v in parts
        )
        chance = f"   ({row['probability']:.0%})" if "probability" in row else ""
        lines.append(f"{row['row']:>6}  {shown}{chance}")
    facts = {"name": name, "version": publication.version, "predictions": rows}
    return Result(facts, "\n".join(lines))


@renders
def delete(
    ids: Annotated[list[str] | None, typer.Argument(help="The ids of the people to delete.")] = None,
    source: Annotated[Path | None, typer.Option("--from", help="A file with one id per line.")] = None,
    column: IdColumn = "",
    stdin: Annotated[bool, typer.Option("--stdin", help="Read ids from stdin, one per line.")] = False,
    receipts: Receipts = None,
    certificates: Certificates = None,
    rows: Leavers = None,
    salts: Salts = None,
    where: Annotated[str, typer.Option(help="Not possible: it would read the data.", hidden=True)] = "",
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if an id is unknown.")] = False,
    unknown: Unknown = None,
    fold: FoldAt = None,
    fold_after: FoldAfter = "24h",
    store: Store = None,
) -> Result:
    """Delete people permanently, each exactly once; unknown ids are counted and change nothing.

    Ids are compared byte for byte; only the line ending is removed.  An unknown id may have been deleted
    before, or may be spelled differently in the table: --strict and --unknown report such ids.
    """
    from undeleted.curate.curator import Curator

    if where:
        problem = "--where would read the data of those who stay, to find out who leaves."
        raise BadUsage(problem, "Ask the source for the ids, and give them with --from.")
    if sum((bool(ids), source is not None, stdin, receipts is not None, rows is not None)) != 1:
        remedy = "Give ids, or --from FILE, or --stdin, or --receipts FILE, or --rows FILE."
        raise BadUsage("the people to delete must come from exactly one place.", remedy)
    for wrong, problem, remedy in (
        (salts and not rows, "--salts belong to the rows of --rows.", "Add --rows FILE."),
        (receipts and unknown, "--unknown lists ids, and receipts have none.", "Leave it out."),
        (certificates and not receipts, "a certificate is for a receipt.", "Add --receipts FILE."),
        (column and not source, "--column names a column of the file of --from.", "Add --from FILE."),
    ):
        if wrong:
            raise BadUsage(problem, remedy)
    with Curator.open(store_at(store)) as curator:
        before = curator.status().version
        if receipts is not None:
            done = delete_with(curator, receipts, certificates, fold_of(fold, fold_after))
        elif rows is not None:
            by_person = None if salts is None else _salts_of(salts)
            with _lines_into(unknown) as record, bar("deleting") as progress:
                done = curator.delete_rows(
                    rows,
                    by_person,
                    fold=fold_of(fold, fold_after),
                    progress=progress.advance,
                    unknown=record,
                )
        else:
            with (
                _ids(ids, source, column) as people,
                _lines_into(unknown) as record,
                bar("deleting") as progress,
            ):
                rules: Json = {"progress": progress.advance, "unknown": record}
                done = curator.delete(people, fold=fold_of(fold, fold_after), **rules)
        left = curator.left
        waits = not done.erased and (done.deleted or not curator.store.keeps_leavers)
        pending = curator.store.why_pending if waits else ""
    named = "receipt" if receipts is not None else "id" if rows is None else "person"
    return _deleted(done, before, left, pending, unknown, named, code=int(strict and done.unknown > 0))


def delete_with(curator: Given, receipts: Path, certificates: Path | None, fold: Given) -> Given:
    """Delete the people of a file of receipts, or of a folder with a file each; all are checked first."""
    given, places = list[str](), list[tuple[Path, int]]()
    for file in sorted(receipts.iterdir()) if receipts.is_dir() else [receipts]:
        with _lines_of(file) as lines:
            for number, line in enumerate(lines, start=1):
                given.append(line)
                places.append((file, number))
    if not given:
        raise BadFile(str(receipts), "holds no receipt.", "Give a file with one receipt a line.")
    with _lines_into(certificates) as write, bar("deleting", len(given)) as progress:
        try:
            done = curator.delete_with(given, fold=fold, progress=progress.advance)
        except (BadReceipt, FalseReceipt, VoidReceipt) as error:
            file, number = places[error.position]
            raise BadFile(str(file), f"line {number}: {error.what}", error.remedy) from None
        if write is not None:
            for line in given:
                write(curator.certificate(line))
    return done


def _salts_of(path: Path) -> dict[str, str]:
    """People's salts, from the lines of JSON that `publish` wrote."""
    salts: dict[str, str] = {}
    with _lines_of(path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                given = json.loads(line)
                person, salt = given["person"], given["salt"]
                well_formed = isinstance(person, str) and len(bytes.fromhex(salt)) > 0
            except (ValueError, KeyError, TypeError, RecursionError):
                well_formed = False
            if not well_formed:
                remedy = 'Each line is {"person": "…", "salt": "…"}, as `publish` wrote it.'
                raise BadFile(str(path), f"line {number} is not a salt.", remedy)
            if salts.setdefault(person, salt) != salt:
                problem = f"line {number} has another salt for a person of an earlier line."
                raise BadFile(str(path), problem, "Give the file as `publish` wrote it.")
    return salts


def _deleted(
    done: Given, before: int, left: float, pending: str, unknown: Path | None, named: str, *, code: int
) -> Result:
    """What a deletion did, in words."""
    facts = {
        "deleted": done.deleted,
        "unknown": done.unknown,
        "version": done.version,
        "erased": done.erased,
        "held": done.held,
    }
    text: Json = {"deleted": f"{done.deleted:,} {'person' if done.deleted == 1 else 'people'}"}
    if done.unknown:
        where = f": {unknown}" if unknown is not None else ""
        text["unknown"] = f"{done.unknown:,} {_unknown_in_words(named, done.unknown)}{where}"
    if done.held:
        text["held back"] = f"{done.held:,} in total; the publications change when they are folded in"
    moved = done.version != before
    text["version"] = f"v{before} → v{done.version}" if moved else f"v{done.version}, unchanged"
    if done.deleted or pending:
        text["erased"] = f"pending: {pending}" if pending else "yes"
        text["spent"] = f"ε 0   ({left:.4g} left)"
    return Result(facts, text, code=code)


def _unknown_in_words(named: str, count: int) -> str:
    one = count == 1
    if named == "receipt":
        return "receipt was used before" if one else "receipts were used before"
    if named == "person":
        who = "person has" if one else "people have"
        return f"{who} not these rows and this salt in the store (never, or no longer)"
    return f"{'id is' if one else 'ids are'} not in the store (never there, or deleted)"


def fold_of(people: int | None, after: str) -> Given:
    """Return the rule of --fold and --fold-after; None without --fold."""
    from undeleted.curate.stores import Fold

    seconds = seconds_of(after)
    if people is None:
        return None
    if people > 10**9:
        raise BadSetting(f"--fold {people} would hold everybody back.", "Fold fewer people together.")
    if people < 2:
        raise BadSetting(f"--fold {people} holds nobody back.", "Fold at least 2 people together.")
    return Fold(people, seconds)


@renders
def status(store: Store = None) -> Result:
    """Show what is published, the budget spent, and whether an erasure is pending."""
    from undeleted.curate.curator import Curator
    from undeleted.interfaces.report.store_results import status_result

    with Curator.open(store_at(store)) as curator:
        return status_result(curator)


@renders
def check(
    since: Annotated[
        Path | None,
        typer.Option(
            help="A store without records: refuse an older copy. The file holds the last certificates given."
        ),
    ] = None,
    store: Store = None,
) -> Result:
    """Check that a store is intact: its format, its integrity, and that the noise is what was drawn.

    Without records the noise cannot be checked, nor whether an older copy was put in the store's place: for
    that, keep the last certificate of deletion outside of the store, and give it with --since.
    """
    from undeleted.curate.curator import Curator
    from undeleted.interfaces.report.store_results import check_result

    with Curator.open(store_at(store)) as curator, working("checking"):
        if since is None:
            return check_result(curator.check(), curator.store)
        with _lines_of(since) as lines:
            given = list(lines)
        if not given:
            raise BadFile(str(since), "holds no certificate.", "Give a file with one certificate a line.")
        return check_result(curator.check(since=given), curator.store, since=True)


def export(
    name: Annotated[str | None, typer.Argument(help="A publication; all of them by default.")] = None,
    form: Annotated[
        Literal["json", "csv", "parquet", "arrow"], typer.Option("--format", help="The format.")
    ] = "json",
    out: Annotated[Path | None, typer.Option(help="The output file; standard output by default.")] = None,
    cells: Annotated[
        bool,
        typer.Option(
            "--cells", help="The noisy cells themselves; for a table that grows, its published rows."
        ),
    ] = False,
    quantile: Annotated[float | None, typer.Option(help="As for show, of one publication.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="As for show, of one publication.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="As for show, of one publication.")] = None,
    tick: Annotated[str | None, typer.Option(help="As for show, of one publication.")] = None,
    confidence: Annotated[float, typer.Option(help="The confidence of the intervals.")] = 0.95,
    store: Store = None,
) -> None:
    """Write answers as a table: labels, estimate, interval, confidence, version."""
    from undeleted.curate.curator import Curator
    from undeleted.interfaces.report.exporting import exported

    asked = {"quantile": quantile, "where": where, "by": by, "tick": tick}
    if name is None and (cells or any(value not in (None, []) for value in asked.values())):
        raise BadUsage("this needs one publication.", "Name it, as in: undeleted export NAME --by city.")
    if out is not None and not out.parent.is_dir():
        raise BadFile(str(out), "cannot be written.", "Name a file in a folder that exists.")
    with Curator.open(store_at(store)) as curator:
        publications = curator.show() if name is None else {name: curator.show(name)}
    data = exported(publications, form, cells=cells, confidence=confidence, asked=asked)
    if out is not None:
        out.write_bytes(data)
        return
    if form in ("parquet", "arrow") and sys.stdout.isatty():
        raise BadUsage(f"{form} cannot be printed on a terminal.", "Name a file with --out.")
    sys.stdout.buffer.write(data)


@contextmanager
def _ids(ids: list[str] | None, source: Path | None, column: str = "") -> Iterator[Given]:
    """Ids from arguments, a file or standard input, byte for byte; empty lines are skipped."""
    if ids:
        yield ids
        return
    if source is not None and (column or _is_table(source)):
        from undeleted.curate.files import ids_of

        if not column:
            problem = f"{source} is a table, and ids are in one of its columns."
            raise BadUsage(problem, "Name the column: --column person.")
        yield ids_of(str(source), column)
        return
    with _lines_of(source) as lines:
        yield lines


@contextmanager
def _lines_of(source: Path | None) -> Iterator[Iterator[str]]:
    """The lines of a text file, or of standard input."""
    try:
        if source is None:
            yield _lines(codecs.iterdecode(sys.stdin.buffer, "utf-8-sig"))
        else:
            with source.open(encoding="utf-8-sig", newline="\n") as file:
                yield _lines(file)
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.filename != str(source):
            raise
        name = "standard input" if source is None else str(source)
        why = (error.strerror or "").lower() if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadFile(name, f"cannot be read ({why}).", "Give UTF-8 text, one entry per line.") from None


def ids_in(source: Path, column: str = "") -> list[str]:
    """All ids of a file with one per line, or of a column of a table."""
    with _ids(None, source, column) as people:
        return list(people)


def _is_table(source: Path) -> bool:
    """Whether a file of ids is a table by its name: its first line or its structure names columns."""
    from undeleted.curate.files import KINDS

    return source.suffix.lower() in KINDS


def _lines(file: Iterable[str]) -> Iterator[str]:
    """Yield non-empty lines without their endings and otherwise unchanged."""
    for line in file:
        text = line.removesuffix("\n").removesuffix("\r")
        if text:
            yield text


@contextmanager
def _lines_into(path: Path | None) -> Iterator[Sink | None]:
    """Write lines to a new file that only its owner can read: they may be people's names."""
    if path is None:
        yield None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); nobody was deleted."
        raise BadFile(str(path), problem, "Name a new file in a folder that exists.") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:

        def write(line: str) -> None:
            file.write(line + "\n")

        yield write
