"""The commands of daily use: init, publish, show, delete, status, check, export."""

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from undeleted.errors import BadFile, BadQuestion
from undeleted.interfaces.cli.output import AsJson, plain, print_facts, print_json, working

Store = Annotated[
    str | None,
    typer.Option(
        help="The store, a file or postgresql://…; else UNDELETED_STORE, else ./undeleted.db.",
        show_default=False,
    ),
]


RULES = {  # how values became codes
    1: "a column's values were judged together, as older versions did; see docs/reference/values.md",
    2: "each value was judged alone",
}


def store_at(given: str | None) -> str:
    return given or os.environ.get("UNDELETED_STORE") or "undeleted.db"


def init(
    table: Annotated[
        str, typer.Argument(help="A CSV, Parquet, JSON or SQLite file; or a table's name, with --connection.")
    ],
    connection: Annotated[
        str | None, typer.Option(help="A database: duckdb://…, postgresql://…, pyspark://…, or any of Ibis.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the draft goes.")] = Path("spec.toml"),
    json: AsJson = False,
) -> None:
    """Draft a spec from a table's column names and types; its bounds are yours to decide."""
    from undeleted.curate.files import columns_of
    from undeleted.curate.spec.draft import DECIDE, draft

    if out.exists():
        raise BadFile(str(out), "is there already; nothing was written.", "Name another file with --out.")
    if connection is None:
        columns = columns_of(table)
    else:
        from undeleted.curate.connections import keeps_a_secret, kinds_of

        if keeps_a_secret(connection):
            remedy = "Set PGPASSWORD, or keep it in an environment variable and say --connection '$NAME'."
            raise BadQuestion("a secret may stand in the connection, and the spec would keep it.", remedy)
        columns = kinds_of(connection, table, out.parent)
    text = draft(table, columns, out, connection)
    out.write_text(text, encoding="utf-8")
    facts = {
        "written": str(out),
        "columns": len(columns),
        "to_decide": text.count(f"= {DECIDE}") + text.count(f"[{DECIDE}]"),
    }
    print_json(facts) if json else print_facts(facts)


def publish(
    spec: Annotated[Path, typer.Argument(help="The spec; `undeleted init` drafts one.")],
    receipts: Annotated[
        Path | None,
        typer.Option(help="Write a signed receipt for every person here, with which they can leave."),
    ] = None,
    i_know: Annotated[
        bool, typer.Option("--i-know", help="Publish with a δ of 1/100 or more: you know what that means.")
    ] = False,
    store: Store = None,
    json: AsJson = False,
) -> None:
    """Publish what a spec says, once.  The same spec again shows what there is, and spends nothing.

    Receipts are the same every time; write them again for those who lost theirs.
    """
    from undeleted.curate.curator import Curator

    at = store_at(store)
    with _receipts_into(receipts) as write, Curator.from_spec(spec, at, i_know=i_know) as curator:
        status = curator.status()
        written = write(curator.receipts(spec)) if receipts is not None else None
    facts = {
        "publications": list(status.publications),
        "epsilon": status.epsilon,
        "delta": status.delta,
        "spent": status.spent,
        "left": status.left,
        "version": status.version,
        "already": curator.already,
        **({"receipts": str(receipts)} if written is not None else {}),
    }
    if json:
        print_json(facts)
        return
    listed = ", ".join(status.publications) + (" (already: nothing was spent)" if curator.already else "")
    told = {"published": listed, "version": status.version, "budget": _budget(status)}
    print_facts(told | ({"receipts": str(receipts)} if written is not None else {}))


@contextmanager
def _receipts_into(path: Path | None) -> Iterator[Callable[[Iterator[str]], int]]:
    """Refuse a file that cannot be written before anything is published; it comes whole or not at all."""
    if path is None:
        with working("publishing"):
            yield lambda lines: 0
        return
    import undeleted.curate.receipts  # noqa: F401  what it needs may not be installed

    if path.exists():
        raise BadFile(str(path), "is there already; nothing was published.", "Name another file.")
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); nothing was published."
        raise BadFile(str(path), problem, "Name a file in a folder that is there.") from None

    def write(lines: Iterator[str]) -> int:
        count = 0
        with bar("receipts") as progress:
            for count, line in enumerate(lines, start=1):
                file.write(line + "\n")
                if progress is not None and count % 100 == 0:
                    progress(100)
        file.flush()
        os.fsync(descriptor)
        os.replace(unfinished, path)
        return count

    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yield write
    finally:
        unfinished.unlink(missing_ok=True)


def show(
    name: Annotated[str | None, typer.Argument(help="A publication; all of them if none is named.")] = None,
    quantile: Annotated[
        float | None, typer.Option(help="Of quantiles: the value with this share below it.")
    ] = None,
    span: Annotated[
        tuple[float, float] | None,
        typer.Option("--range", help="Of quantiles: how many lie between the two."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Of a histogram: column=value, or column=low..high; several add up to a box."),
    ] = None,
    correlation: Annotated[tuple[str, str] | None, typer.Option(help="Of products: two columns.")] = None,
    regression: Annotated[
        str | None, typer.Option(help="Of products: the target; all others are features.")
    ] = None,
    predict: Annotated[
        Path | None,
        typer.Option(help="Of a model: predict every row of a CSV, Parquet, JSON or SQLite file."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the interval.")] = 0.95,
    store: Store = None,
    json: AsJson = False,
) -> None:
    """Show publications as they stand, each number with its interval; or predict from a model.

    Example: undeleted show model --predict rows.csv
    """
    from undeleted.curate.curator import Curator
    from undeleted.interfaces.report.questions import shown

    asked = {
        "quantile": quantile,
        "range": span,
        "where": where,
        "correlation": correlation,
        "regression": regression,
    }
    others = [option for option, value in asked.items() if value is not None and value != []]
    if name is None and (others or predict is not None):
        raise BadQuestion(
            "a question is for one publication.", "Name it, as in: undeleted show NAME --quantile 0.9."
        )
    if predict is not None:
        if others:
            raise BadQuestion(f"--predict and --{others[0]} are two questions.", "Ask one at a time.")
        with Curator.open(store_at(store)) as curator:
            _predict(name or "", curator.show(name or ""), predict, json)
        return
    with Curator.open(store_at(store)) as curator:
        names = [name] if name is not None else list(curator.publications)
        answers = [a for n in names for a in shown(n, curator.show(n), asked if name else {}, confidence)]
    if json:
        print_json(answers[0] if name is not None and len(answers) == 1 else answers)
        return
    width = max((len(_label(a)) for a in answers), default=0) + 2
    for answer in answers:
        print(f"{_label(answer):<{width}}{_interval(answer)}")


def _predict(name: str, publication: Any, source: Path, json: bool) -> None:
    """A line a row, from the release as it stands."""
    from undeleted.interfaces.report.questions import predictions

    found = predictions(publication, str(source))
    if json:
        print_json({"name": name, "version": publication.version, "predictions": found})
        return
    for row in found:
        value = row["prediction"]
        parts = value if isinstance(value, list) else [value]
        shown = "  ".join(
            f"{v:,.6g}" if isinstance(v, float) else "-" if v is None else str(v) for v in parts
        )
        chance = f"   ({row['probability']:.0%})" if "probability" in row else ""
        print(f"{row['row']:>6}  {shown}{chance}")


def delete(
    ids: Annotated[list[str] | None, typer.Argument(help="Whom to delete.")] = None,
    source: Annotated[Path | None, typer.Option("--from", help="A file with an id a line.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read ids from standard input, one a line.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if an id is not there.")] = False,
    unknown: Annotated[
        Path | None, typer.Option(help="Write the ids that are not there to this file, one a line.")
    ] = None,
    fold: Annotated[
        int | None,
        typer.Option(help="Hold deletions back until so many people have left, to hide each among them."),
    ] = None,
    fold_after: Annotated[
        str, typer.Option(help="At the latest this long after the first of them: 90s, 30m, 24h, 7d.")
    ] = "24h",
    store: Store = None,
    json: AsJson = False,
) -> int:
    """Delete people, exactly once and for good; ids that are not there are counted and change nothing.

    An id is text, byte for byte: of a line only its ending is left out.  An id that is not there may have
    been deleted before, or written in another way than in the table: --strict and --unknown tell.
    """
    from undeleted.curate.curator import Curator

    if sum((bool(ids), source is not None, stdin)) != 1:
        raise BadQuestion("whom to delete must be said in one way.", "Give ids, or --from FILE, or --stdin.")
    with Curator.open(store_at(store)) as curator:
        before = curator.status().version
        with _ids(ids, source) as people, _lines_into(unknown) as tell, bar("deleting") as progress:
            done = curator.delete(people, fold=fold_of(fold, fold_after), progress=progress, unknown=tell)
        left = curator.left
        pending = "" if done.erased else curator.store.how_to_erase
    if json:
        print_json(
            {
                "deleted": done.deleted,
                "unknown": done.unknown,
                "version": done.version,
                "erased": done.erased,
                "held": done.held,
            }
        )
        return int(strict and done.unknown > 0)
    facts: dict[str, Any] = {"deleted": f"{done.deleted:,} {'person' if done.deleted == 1 else 'people'}"}
    if done.unknown:
        where = f": {unknown}" if unknown is not None else ""
        ids_are = "id is" if done.unknown == 1 else "ids are"
        facts["unknown"] = f"{done.unknown:,} {ids_are} not there, or not any more{where}"
    if done.held:
        facts["held back"] = (
            f"{done.held:,} with those before; the publications follow when they are folded in"
        )
    facts["version"] = (
        f"v{before} → v{done.version}" if done.version != before else f"v{done.version}, unchanged"
    )
    facts["erased"] = f"pending: {pending}" if pending else "yes"
    facts["spent"] = f"ε 0   ({left:.4g} left)"
    print_facts(facts)
    return int(strict and done.unknown > 0)


def fold_of(people: int | None, after: str) -> Any:
    """--fold 100 --fold-after 24h as a rule; none if it is not asked for."""
    from undeleted.curate.stores import Fold

    seconds = seconds_of(after)
    if people is None:
        return None
    if people > 10**9:
        raise BadQuestion(f"--fold {people} would hold everybody back.", "Fold fewer people together.")
    if people < 2:
        raise BadQuestion(f"--fold {people} holds nobody back.", "Fold at least 2 people together.")
    return Fold(people, seconds)


def seconds_of(text: str) -> int:
    """90s, 30m, 24h or 7d."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    number, unit = text[:-1], text[-1:]
    if unit not in units or not (number.isascii() and number.isdigit()):
        raise BadQuestion(f"{text!r} is not a time.", "Say such as 90s, 30m, 24h or 7d.")
    if int(number) > 36_500:
        raise BadQuestion(f"{text!r} is longer than anybody waits.", "Say such as 90s, 30m, 24h or 7d.")
    return int(number) * units[unit]


def status(store: Store = None, json: AsJson = False) -> None:
    """What is published, what it has cost, and whether something waits to be erased."""
    from undeleted.curate.curator import Curator

    with Curator.open(store_at(store)) as curator:
        found, at, pending = curator.status(), curator.store.path, curator.store.how_to_erase
        kinds = {name: type(curator.store.mechanisms[name]).__name__ for name in found.publications}
    facts = {
        "store": at,
        "publications": kinds,
        "version": found.version,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "spent": found.spent,
        "left": found.left,
        "erasure_pending": found.erasure_pending,
        "held": found.held,
    }
    if json:
        print_json(facts)
        return
    shown = {
        "store": at,
        "version": f"v{found.version}",
        "budget": _budget(found),
        "noise": "as at publication: deletions add none",
        "erasure": f"pending: {pending}" if found.erasure_pending else "nothing waits to be erased",
        "folding": f"held back: {found.held:,}" if found.held else "no deletion is held back",
    }
    print_facts(shown | {f"· {name}": kind for name, kind in kinds.items()})


def check(store: Store = None, json: AsJson = False) -> int:
    """Check that a store is whole: its format, its integrity, and that the noise is what was drawn."""
    from undeleted.curate.curator import Curator

    with Curator.open(store_at(store)) as curator, working("checking"):
        problems, rule = curator.check(), curator.store.rule
    if json:
        print_json({"whole": not problems, "problems": problems, "rule": rule})
    else:
        listed = {f"problem {i}": p for i, p in enumerate(problems, start=1)}
        print_facts({"whole": not problems, "rule": f"{rule}: {RULES.get(rule, 'unknown')}"} | listed)
    return int(bool(problems))


def export(
    name: Annotated[str, typer.Argument(help="A publication.")],
    form: Annotated[Literal["json", "csv", "parquet"], typer.Option("--format", help="The form.")] = "json",
    out: Annotated[
        Path | None, typer.Option(help="Where it goes; standard output if it is not said.")
    ] = None,
    store: Store = None,
) -> None:
    """Write a publication's state, cell by cell, as it stands."""
    from undeleted.curate.curator import Curator
    from undeleted.interfaces.cli.exporting import written

    with Curator.open(store_at(store)) as curator:
        publication = curator.show(name)
        rows = publication.mechanism.rows(publication.release)
    data = written(name, publication.version, rows, form)
    if out is not None:
        out.write_bytes(data)
        return
    if form == "parquet" and sys.stdout.isatty():
        raise BadQuestion("parquet is not for a terminal.", "Name a file with --out.")
    sys.stdout.buffer.write(data)


def _label(answer: dict[str, Any]) -> str:
    return plain(str(answer["name"]) + (f", {answer['of']}" if "of" in answer else ""))


def _interval(answer: dict[str, Any]) -> str:
    if answer["confidence"] is None:
        return f"{plain(str(answer['estimate']))}   v{answer['version']}"
    ends = {"estimate": "unknown", "low": "−∞", "high": "∞"}
    value, low, high = (ends[k] if answer[k] is None else f"{answer[k]:,.6g}" for k in ends)
    return f"{value}   [{low}, {high}] at {answer['confidence']:.0%}   v{answer['version']}"


def _budget(status: Any) -> str:
    delta = f", δ = {status.delta:g}" if status.delta else ""
    return f"ε = {status.epsilon:g}{delta}; {status.spent:.4g} spent, {status.left:.4g} left"


@contextmanager
def _ids(ids: list[str] | None, source: Path | None) -> Iterator[Any]:
    """Ids from arguments, a file or standard input, byte for byte; empty lines do not count."""
    if ids:
        yield ids
        return
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
        raise BadFile(name, "cannot be read.", "Give a text file with an id a line.") from None


def _lines(file: Iterable[str]) -> Iterator[str]:
    """Lines without their endings, and with everything else."""
    for line in file:
        text = line.removesuffix("\n").removesuffix("\r")
        if text:
            yield text


@contextmanager
def _lines_into(path: Path | None) -> Iterator[Callable[[str], object] | None]:
    """Write lines to a new file, for its owner alone: they may be names of people."""
    if path is None:
        yield None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); nobody was deleted."
        raise BadFile(str(path), problem, "Name a new file in a folder that is there.") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        yield lambda line: file.write(line + "\n")


@contextmanager
def bar(doing: str) -> Iterator[Callable[[int], None] | None]:
    """A bar of people on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=None)
        yield lambda done: progress.advance(task, done)
