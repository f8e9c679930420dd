"""Copy, back up and restore a store; erase old versions of rows that a database keeps."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from undeleted.errors import AlreadyExists, BadFile, BadUsage, StoreError
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.cli.curate import Store, delete_with, ids_in, store_at
from undeleted.interfaces.cli.output import bar, renders, working
from undeleted.interfaces.report.result import Result

COPY = "Example: undeleted store copy people.db 'postgresql://curator@db/app?schema=people'"
VACUUM = "Example: undeleted store vacuum --store 'postgresql://curator@db/app?schema=people'"

GROW = "Example: undeleted store grow people.db grown.db --every week --horizon 156"
FORGET = "Example: undeleted store forget-records --from ids.txt --capacity 20000 --receipts receipts.jsonl"


def group() -> typer.Typer:
    app = typer.Typer(help="Copy stores between SQLite and PostgreSQL, and erase old versions of rows.")
    app.command(name="copy", epilog=COPY)(copy)
    app.command(name="vacuum", epilog=VACUUM)(vacuum)
    app.command(name="grow", epilog=GROW)(grow)
    app.command(name="forget-records", epilog=FORGET)(forget_records)
    return app


@renders
def copy(
    source: Annotated[str, typer.Argument(help="A store: a file, or postgresql://…")],
    target: Annotated[str, typer.Argument(help="The place for the copy; it must be empty.")],
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Give the copy a new key: receipts of the old one become void.")
    ] = False,
    move_budget: Annotated[
        bool, typer.Option("--move-budget", help="Move the remaining budget to the copy.")
    ] = False,
) -> Result:
    """Copy a store with its state, records and key; check both.  The source keeps its state.

    From then on, delete in only one of the two and remove the other, or they will diverge.  With --new-key
    the copy has a new key, in case others know the old one.  What is left of the budget stays with the
    source, or is moved with --move-budget: the two must not spend it twice.
    """
    facts, text = _copied(source, target, new_key=new_key, move_budget=move_budget)
    text["next"] = "delete in the copy from now on, and remove the source with its key"
    if new_key:
        text["receipts"] = (
            "those of the old key are void: `undeleted publish SPEC --receipts` writes new ones"
        )
    return Result(facts, text, code=int(bool(facts["problems"])))


def _copied(
    source: str, target: str, *, new_key: bool = False, move_budget: bool = False, read_only: bool = False
) -> tuple[Json, Json]:
    """Copy a store and check both; return what to print."""
    from undeleted.curate.curator import Curator

    with Curator.open(source, read_only=read_only) as first:
        path = first.store.path
        with working("checking the source"):
            problems = first.check()
        if problems:
            raise StoreError(
                f"{path} is not intact ({problems[0]}); nothing was copied.", "Run `undeleted check`."
            )
        try:
            with working(f"copying {path}"):
                second = first.copy_to(target, new_key=new_key, move_budget=move_budget)
        except AlreadyExists as error:
            raise StoreError(error.what, "Name a place where nothing exists.") from None
        with second:
            copy_problems, status = second.check(), second.status()
            facts: Json = {
                "from": path,
                "to": second.store.path,
                "publications": list(status.publications),
                "version": status.version,
                "held": status.held,
                "retain": second.store.retains,
                "intact": not copy_problems,
                "problems": copy_problems,
            }
    text = {
        "copied": f"{facts['from']} → {facts['to']}",
        "publications": ", ".join(status.publications),
        "version": f"v{facts['version']}",
        "intact": f"{'yes' if not copy_problems else copy_problems[0]}: both sides were checked",
    }
    return facts, text


@renders
def backup(
    target: Annotated[Path, typer.Argument(help="The file for the backup; its key is written beside it.")],
    store: Store = None,
) -> Result:
    """Write a backup of a store to a file, with its key; check both.

    A backup holds the records of everybody who is there now, also of those who leave later: keep it no
    longer than you need, and write down who leaves, outside of the store, until you have removed it.  A
    backup cannot spend budget, because it cannot know what the store spends later.
    """
    facts, text = _copied(store_at(store), str(target))
    what = "a list of who leaves" if facts["retain"] == "records" else "what people leave with"
    text["keep"] = f"{what} from now on, until this backup is removed: `restore` needs it"
    return Result(facts, text, code=int(bool(facts["problems"])))


@renders
def restore(
    source: Annotated[Path, typer.Argument(help="A backup that `undeleted backup` wrote.")],
    leavers: Annotated[
        Path | None,
        typer.Option(
            help="A file with the ids of all who left since, one per line; or a table.  In a store without "
            "records: the file of their receipts, or the table of their rows and salts."
        ),
    ] = None,
    column: Annotated[str, typer.Option(help="If --leavers is a table: the column of the ids.")] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="Restore nothing if one of these ids is not in the backup.")
    ] = False,
    nobody_left: Annotated[
        bool, typer.Option("--nobody-left", help="Nobody has left since the backup was written.")
    ] = False,
    store: Store = None,
) -> Result:
    """Restore a store from a backup, and delete again everybody who left since.

    A backup brings back those who left after it was written.  The store has no list of them, by design, so
    you must bring one: --leavers FILE, or --nobody-left.  Nothing is spent: it keeps the backup's noise.
    """
    from undeleted.curate.curator import Curator
    from undeleted.curate.stores import restoring, shown

    if (leavers is None) == (not nobody_left):
        problem = "a backup brings back everybody who left after it was written."
        raise BadUsage(problem, "Give either --leavers FILE, with all of them, or --nobody-left.")
    if not source.is_file():
        raise StoreError(f"there is no backup at {source}.", "Name the file that `undeleted backup` wrote.")
    with Curator.open(str(source), read_only=True) as kept:
        retains = kept.store.retains
    if leavers is not None and not _names_somebody(retains, leavers, column):
        raise BadUsage(f"{leavers} names nobody.", "If nobody has left since, say so: --nobody-left.")
    with restoring(store_at(store)) as place:  # it gets its name when those who left are gone again
        facts, text = _copied(str(source), place, read_only=True)
        facts |= {"to": shown(store_at(store)), "deleted": 0, "unknown": 0}
        text["copied"] = f"{facts['from']} → {facts['to']}"
        if leavers is not None:
            with Curator.open(place) as curator:
                done = _deleted_again(curator, leavers, column)
                if strict and done.unknown:
                    what, check = "ids", "Check how they are spelled"
                    if retains != "records":
                        what, check = "people", "They left before the backup, or are of another store: check"
                    problem = f"{done.unknown:,} of these {what} are not in the backup; nothing was restored."
                    raise StoreError(problem, f"{check}, or leave out --strict.")
                facts |= {"deleted": done.deleted, "unknown": done.unknown, "version": done.version}
                problems = curator.check()
                facts |= {"intact": not problems, "problems": problems}
    text = {"restored": text.pop("copied"), **text, "version": f"v{facts['version']}"}
    text["deleted again"] = f"{facts['deleted']:,} of {facts['deleted'] + facts['unknown']:,} who left since"
    if facts["unknown"]:
        text["unknown"] = (
            f"{facts['unknown']:,}: they left before the backup, or are spelled differently in it"
        )
    return Result(facts, text, code=int(bool(facts["problems"])))


def _names_somebody(retains: str, leavers: Path, column: str) -> bool:
    """Whether this file names anybody, before anything is copied."""
    if not leavers.exists():
        raise BadFile(str(leavers), "does not exist.", "Name the file with everybody who left since.")
    if retains == "records":
        return bool(ids_in(leavers, column))
    return leavers.is_dir() or leavers.stat().st_size > 0


def _deleted_again(curator: Given, leavers: Path, column: str) -> Given:
    """Delete everybody in this file, however people leave this store."""
    retains = curator.store.retains
    if retains == "receipts":
        return delete_with(curator, leavers, None, None)
    with bar("deleting") as progress:
        if retains == "tags":
            return curator.delete_rows(leavers, progress=progress.advance)
        return curator.delete(ids_in(leavers, column), progress=progress.advance)


@renders
def grow(
    source: Annotated[str, typer.Argument(help="A store that was published once: a file, or postgresql://…")],
    target: Annotated[str, typer.Argument(help="The place for the store that grows; it must be empty.")],
    every: Annotated[str, typer.Option(help="The clock: hour, day, week, month or manual.")],
    horizon: Annotated[int, typer.Option(help="For how many ticks, this one included.")],
) -> Result:
    """Copy a store that was published once to a place where people can join.

    What is published becomes tick 0: nothing is drawn again, and nobody who is there pays.  Each later batch
    gets noise of its own, as wide as that of the first release, and its people pay as much ε as the first
    paid.  The totals become noisier with the root of the number of ticks; a table that grows from the start
    stays more exact.  What is left of the budget lapses.  People must leave in the new store: remove the old.
    """
    from undeleted.curate.curator import Curator
    from undeleted.curate.tick_clock import TickClock
    from undeleted.interfaces.report.store_results import ticks_in_words, ticks_of

    clock = TickClock(every, datetime.now(UTC))
    with Curator.open(source) as first, working(f"copying {first.store.path}"):
        path, spent = first.store.path, first.status().spent
        with first.grow_into(target, horizon, clock) as grown:
            problems, ticks, place = grown.check(), ticks_of(grown), grown.store.path
    assert ticks is not None
    facts: Json = {"from": path, "to": place, "ticks": ticks, "epsilon_per_person": spent}
    facts |= {"intact": not problems, "problems": problems}
    text = {
        "grown": f"{path} → {place}",
        "ticks": ticks_in_words(ticks),
        "budget": f"ε = {spent:.4g} a person, as before: those who are there have paid, newcomers pay once",
        "next": "delete and add in the new store from now on, and remove the old one with its key",
    }
    return Result(facts, text, code=int(bool(problems)))


@renders
def forget_records(
    source: Annotated[
        Path, typer.Option("--from", help="The ids of everybody in the store, one a line; or a table.")
    ],
    receipts: Annotated[
        str, typer.Option(help="Write everybody's receipt to this new file, or one each into a new FOLDER/.")
    ],
    capacity: Annotated[
        int, typer.Option(help="Room for how many people; it is public: choose it from what you know.")
    ],
    column: Annotated[str, typer.Option(help="If --from is a table: the column of the ids.")] = "",
    store: Store = None,
) -> Result:
    """Write everybody's receipt, and erase all records from the store, for good.

    From then on people leave with these receipts alone.  They cannot be written again, earlier receipts are
    void, nobody can be deleted by id, and nothing more can be published from the store.  Copies and backups
    that were made before still hold the records: remove them.
    """
    from undeleted.curate.curator import Curator

    with Curator.open(store_at(store)) as curator, bar("receipts") as progress:
        people = ids_in(source, column)
        rules: Json = {"receipts": receipts, "progress": progress.advance}
        erased = curator.forget_records(people, capacity, **rules)
        place = curator.store.path
    facts: Json = {"store": place, "receipts": receipts, "capacity": capacity, "erased": erased}
    text = facts | {"erased": "yes, all records" if erased else "not yet: another session holds the tables"}
    return Result(facts, text, "copies and backups that were made before still hold the records: remove them")


@renders
def vacuum(store: Store = None) -> Result:
    """Erase old versions of rows that a database keeps after deletions; the tables are locked meanwhile.

    Exit code 3 if another session holds the tables: deleted rows stay deleted, and erasure stays pending.
    """
    from undeleted.curate.curator import Curator

    with Curator.open(store_at(store)) as curator, working("rewriting the tables"):
        erased, shared = curator.vacuum(), curator.store.path.startswith("postgresql")
    done = "yes, from the tables; the server's log keeps them until it is recycled" if shared else "yes"
    waits = "no: another session holds the tables; try again at a quiet time"
    return Result({"erased": erased}, {"erased": done if erased else waits}, code=0 if erased else 3)
