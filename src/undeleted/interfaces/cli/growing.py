"""The commands of a table that grows: take people in, close ticks, correct records."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from undeleted.errors import BadUsage
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.cli.curate import Store, store_at
from undeleted.interfaces.cli.output import renders, working
from undeleted.interfaces.cli.publishing import receipts_into
from undeleted.interfaces.report.result import Result


@renders
def add(
    source: Annotated[
        str,
        typer.Argument(
            help="A CSV, Parquet, JSON or SQLite file; or a table's name, with --connection.",
            show_default=False,
        ),
    ],
    connection: Annotated[
        str, typer.Option(help="A database with the table: postgresql://…, duckdb://…, or $NAME.")
    ] = "",
    watermark: Annotated[
        str,
        typer.Option(
            help="A column of that table that only increases: only rows with a larger value than last time."
        ),
    ] = "",
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Leave out people who are in the store already.")
    ] = False,
    receipts: Annotated[
        str | None,
        typer.Option(help="Write the receipts of the file's people to this new file, or into a new FOLDER/."),
    ] = None,
    store: Store = None,
) -> Result:
    """Take people into a table that grows.  They wait in the store until the next tick closes.

    If anybody in the file is in the store already, nobody is added.  Do not add a file twice: people in it
    who have left meanwhile would join again.  A store without records recognises only people who wait for
    the tick that is open.
    """
    from undeleted.curate.curator import Curator

    if watermark and not connection:
        raise BadUsage("--watermark names a column of a database's table.", "Add --connection.")
    if receipts is not None and connection:
        raise BadUsage("--receipts needs a file of people.", "Add them from a file, not from a database.")
    with Curator.open(store_at(store)) as curator, ExitStack() as stack:
        issues = not curator.store.keeps_records  # receipts come before anybody is taken in
        path = None if issues or receipts is None else Path(receipts)
        write = stack.enter_context(receipts_into(path))
        if connection:
            done = curator.add_from(
                connection, source, watermark=watermark or None, skip_existing=skip_existing
            )
        else:
            place = receipts if issues else None
            done = curator.add(Path(source), skip_existing=skip_existing, receipts=place)
        facts: Json = {"added": done.added, "there": done.there, **_waiting(curator, done.tick)}
        if receipts is not None:
            if not issues:
                write(curator.receipts_of(Path(source)))
            facts["receipts"] = receipts
    text: Json = {"added": _people(done.added)}
    if done.there:
        text["left out"] = f"{_people(done.there)} already in the store"
    text["tick"] = _when(facts)
    text |= {"receipts": receipts} if receipts is not None else {}
    text["spent"] = "ε 0   (a person's budget pays for all ticks)"
    return Result(facts, text)


@renders
def correct(
    source: Annotated[
        Path, typer.Argument(help="A file with the new records of people who are in the store.")
    ],
    store: Store = None,
) -> Result:
    """Replace people's records.  The difference is published at the next tick, under its noise.

    If somebody has no correction left (`max_corrections` in the spec), nothing is changed.
    """
    from undeleted.curate.curator import Curator

    with Curator.open(store_at(store)) as curator, working("correcting"):
        done = curator.correct(source)
        facts: Json = {
            "corrected": done.corrected,
            "unchanged": done.unchanged,
            "unknown": done.unknown,
            **_waiting(curator, done.tick),
        }
    text: Json = {"corrected": _people(done.corrected)}
    if done.unchanged:
        text["unchanged"] = f"{_people(done.unchanged)} with the record that they have"
    if done.unknown:
        ids_are = "id is" if done.unknown == 1 else "ids are"
        text["unknown"] = f"{done.unknown:,} {ids_are} not in the store"
    text["tick"] = _when(facts)
    text["spent"] = "ε 0   (corrections are in the budget from the start)"
    return Result(facts, text)


@renders
def tick(
    now: Annotated[str, typer.Option(help="Use this time instead of the system's, such as 2026-03-01.")] = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Close ticks ahead of the system's clock; they stay closed.")
    ] = False,
    store: Store = None,
) -> Result:
    """Close every tick that is due, one by one, whether anybody came or not.

    Ticks that were missed are closed late.  With a manual clock, one tick is closed.
    """
    from undeleted.curate.curator import Curator
    from undeleted.curate.tick_clock import moment

    ahead = bool(now) and moment(now) > moment(None)
    if ahead and not yes:
        problem = f"{now} is ahead of the system's clock, and ticks that are closed stay closed."
        raise BadUsage(problem, "Add --yes to close them now.")
    with Curator.open(store_at(store)) as curator, working("publishing"):
        before = curator.status()
        done = curator.tick(now or None)
        erased = not curator.store.erasure_pending
    facts = {
        "closed": done.closed,
        "ticks": done.ticks,
        "horizon": before.horizon,
        "version": done.version,
        "next": None if done.due is None else done.due.isoformat(),
        "erased": erased,
    }
    closed = {0: "no tick is due", 1: "1 tick"}.get(done.closed, f"{done.closed:,} ticks, one by one")
    moved = done.version != before.version
    text: Json = {
        "closed": closed,
        "ticks": f"{done.ticks:,} of {before.horizon:,} have closed",
        "version": f"v{before.version} → v{done.version}" if moved else f"v{done.version}, unchanged",
        "next": _next(done.due, over=done.ticks >= before.horizon),
    }
    return Result(facts, text)


def _waiting(curator: Given, number: int) -> Json:
    """The tick that people wait for, and when it closes."""
    due = curator.status().due
    return {"tick": number, "closes": None if due is None else due.isoformat()}


def _when(facts: Json) -> str:
    """When those who wait are published."""
    when = (
        "when it is closed" if facts["closes"] is None else f"after {facts['closes'][:16].replace('T', ' ')}"
    )
    return f"{facts['tick']}: published {when} (`undeleted tick`)"


def _next(due: Given, *, over: bool) -> str:
    if over:
        return "none: the horizon is over; newcomers need a new store"
    return "whenever you close it" if due is None else f"after {due:%Y-%m-%d %H:%M} UTC"


def _people(number: int) -> str:
    return f"{number:,} {'person' if number == 1 else 'people'}"
