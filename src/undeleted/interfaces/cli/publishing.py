"""The commands that start: draft a spec, see what it would publish, publish it, and publish more later."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from undeleted.errors import BadFile, BadSetting, BadUsage
from undeleted.foundations.types import Json
from undeleted.interfaces.cli.curate import Store, store_at
from undeleted.interfaces.cli.output import bar, renders, working
from undeleted.interfaces.report.result import Result, aligned, plain

Receipts = Annotated[
    str | None,
    typer.Option(
        help="Write a signed receipt (or, for tags, a salt) for every person to this new file, or one each "
        "into a new FOLDER/; people leave with it."
    ),
]
IKnow = Annotated[
    bool, typer.Option("--i-know", help="Publish although δ is 1/100 or more; you know what that means.")
]
AboutRows = Annotated[
    int | None,
    typer.Option(help="About how many rows there are: for the expected intervals, and for warnings before."),
]
More = Annotated[
    bool,
    typer.Option(
        "--more", help="Publish the further publications of this file, paid from the remaining budget."
    ),
]


@renders
def init(
    table: Annotated[
        str, typer.Argument(help="A CSV, Parquet, JSON or SQLite file; or a table's name, with --connection.")
    ],
    connection: Annotated[
        str | None, typer.Option(help="A database: duckdb://…, postgresql://…, pyspark://…, or any Ibis URL.")
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(help="The column that says whose record it is; it is never guessed."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The file for the draft.")] = Path("spec.toml"),
    peek: Annotated[
        bool,
        typer.Option("--peek", help="Read values too, to guess types; the draft then rests on private data."),
    ] = False,
) -> Result:
    """Draft a spec from a table's column names and declared types; you choose the bounds.

    No value is read, unless you ask to --peek.  CSV and JSON declare no types.
    """
    from undeleted.curate.files import columns_of
    from undeleted.curate.spec.draft import DECIDE, draft
    from undeleted.curate.spec.peek import Guess, in_words
    from undeleted.curate.spec.peek import peek as guessed

    if out.exists():
        raise BadFile(str(out), "already exists; nothing was written.", "Name another file with --out.")
    guesses: dict[str, Guess] = {}
    if connection is None:
        columns = columns_of(table)
        if peek:
            guesses = {name: g for name, g in guessed(table).items() if name != id}
    else:
        if peek:
            problem = "--peek reads files; the columns of a database have declared types."
            raise BadUsage(problem, "Leave out --peek.")
        from undeleted.curate.connections import kinds_of, may_contain_secret

        if may_contain_secret(connection):
            remedy = "Set PGPASSWORD, or put the URL into an environment variable: --connection '$NAME'."
            raise BadUsage("the connection may contain a secret, which the spec would store.", remedy)
        columns = kinds_of(connection, table, out.parent)
    text = draft(table, columns, out, connection, id, guesses)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        problem = f"cannot be written ({(error.strerror or '').lower()})."
        raise BadFile(str(out), problem, "Name a file in a folder that exists.") from None
    to_decide = text.count(f"= {DECIDE}") + text.count(f"[{DECIDE}]")
    facts: Json = {"written": str(out), "columns": len(columns), "to_decide": to_decide}
    if not guesses:
        return Result(facts)
    words = in_words(guesses)
    below = "the draft rests on private data: check every guess, and do not publish it"
    return Result(
        facts | {"guesses": words},
        facts,
        "\n".join([aligned({plain(name): plain(word) for name, word in words.items()}), below]),
    )


@renders
def plan(
    spec: Annotated[Path, typer.Argument(help="The spec; `undeleted init` drafts one.")],
    rows: Annotated[int, typer.Option(help="About how many rows the table has; it is not read.")] = 10_000,
) -> Result:
    """Show what a spec would publish, before anything is read or spent: ε, cells and expected intervals."""
    from undeleted.curate.spec import Spec
    from undeleted.interfaces.report.plan import plan as planned

    return planned(Spec.load(spec), rows)


@renders
def publish(
    spec: Annotated[Path, typer.Argument(help="The spec; `undeleted init` drafts one.")],
    receipts: Receipts = None,
    i_know: IKnow = False,
    rows: AboutRows = None,
    more: More = False,
    store: Store = None,
) -> Result:
    """Publish what a spec describes, once.  Running it again shows what is published, and spends nothing.

    It shows the intervals to expect: for --rows, or else for the noisy count.  You can write receipts again:
    a person's receipt is always the same.  With retain = "receipts" in the spec you cannot: the store keeps
    no records, and the receipts of the first run are the only ones.  With --more, further publications are
    computed from the store's own records, and paid from what is left of the budget.
    """
    from undeleted.curate.curator import Curator
    from undeleted.curate.spec import Spec
    from undeleted.interfaces.report.plan import drowned, summary
    from undeleted.interfaces.report.store_results import (
        budget_facts,
        budget_in_words,
        ticks_in_words,
        ticks_of,
    )

    at = store_at(store)
    if rows is not None and rows < 1:
        raise BadSetting(f"--rows {rows} is not a number of rows.", "Give about how many rows there are.")
    if more:
        if receipts is not None:
            raise BadUsage("--receipts cannot be combined with --more.", "Receipts do not change.")
        return _publish_more(spec, at, rows)
    wanted = Spec.load(spec)
    if rows is not None:
        for line in drowned(wanted, rows):
            print(f"warning: {line}", file=sys.stderr)
    issues = wanted.retain != "records"  # receipts are all that is left of the records: they come first
    with (
        receipts_into(None if issues or receipts is None else Path(receipts)) as write,
        bar("receipts") as progress,
        Curator.from_spec(
            wanted,
            at,
            i_know=i_know,
            receipts=receipts if issues else None,
            progress=progress.advance,
        ) as curator,
    ):
        facts = budget_facts(curator) | {"already": curator.already}
        if receipts is not None:
            if not issues:
                write(curator.receipts(wanted))
            facts["receipts"] = receipts
        expected, said = summary(curator, rows)
        ticks = ticks_of(curator)
    listed = ", ".join(facts["publications"]) + (" (earlier: nothing was spent)" if curator.already else "")
    text = {"published": listed, "version": facts["version"], "budget": budget_in_words(facts)}
    if ticks is not None:
        facts["ticks"], text["ticks"] = ticks, ticks_in_words(ticks)
    text |= {name: facts[name] for name in ("receipts",) if name in facts}
    return Result(facts | expected, text, said)


def _publish_more(spec: Path, store: str, rows: int | None) -> Result:
    """Publish further tables of a spec, once; the same file again spends nothing."""
    from undeleted.curate.curator import Curator
    from undeleted.curate.publications import left_of
    from undeleted.curate.spec import Spec, read_text
    from undeleted.errors import BudgetSpent
    from undeleted.interfaces.report.plan import summary
    from undeleted.interfaces.report.store_results import budget_facts, budget_in_words

    with Curator.open(store) as curator, working("publishing"):
        earlier = list(curator.store.facts.get("more", []))
        already = read_text(spec) in earlier
        if not already:
            left = left_of(curator.budget, curator.events)
            if left is None:
                raise BudgetSpent(str(spec), 0.0, 0.0, curator.budget.epsilon)
            mechanisms, text = Spec.more(spec, curator.schema, left, curator.budget)
            curator.publish_more(mechanisms, {"more": [*earlier, text]})
        facts = budget_facts(curator) | {"already": already}
        expected, said = summary(curator, rows)
    listed = ", ".join(facts["publications"]) + (" (earlier: nothing was spent)" if already else "")
    text_facts = {"published": listed, "version": facts["version"], "budget": budget_in_words(facts)}
    return Result(facts | expected, text_facts, said)


@contextmanager
def receipts_into(path: Path | None) -> Iterator[Callable[[Iterator[str]], None]]:
    """Refuse a file that cannot be written before anything is published; it is complete or not there."""
    if path is None:
        with working("publishing"):
            yield lambda lines: None
        return
    import undeleted.curate.receipts  # noqa: F401  fail now if its dependencies are missing
    from undeleted.curate.durable import atomic

    if path.exists():
        raise BadFile(str(path), "already exists; nothing was done.", "Name another file.")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(atomic(path, private=True))
        except OSError as error:
            problem = f"cannot be written ({error.strerror}); nothing was done."
            raise BadFile(str(path), problem, "Name a file in a folder that exists.") from None

        def write(lines: Iterator[str]) -> None:
            with bar("receipts") as progress:
                for count, line in enumerate(lines, start=1):
                    file.write(line + "\n")
                    progress.advance(int(count % 100 == 0) * 100)

        yield write
