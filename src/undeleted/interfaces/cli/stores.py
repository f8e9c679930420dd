"""Copy a store to another place, and erase old versions of rows that a database keeps."""

from typing import Annotated

import typer

from undeleted.errors import AlreadyExists, StoreError
from undeleted.interfaces.cli.curate import Store, store_at
from undeleted.interfaces.cli.output import renders, working
from undeleted.interfaces.report.result import Result

COPY = "Example: undeleted store copy people.db 'postgresql://curator@db/app?schema=people'"
VACUUM = "Example: undeleted store vacuum --store 'postgresql://curator@db/app?schema=people'"


def group() -> typer.Typer:
    app = typer.Typer(help="Copy stores between SQLite and PostgreSQL, and erase old versions of rows.")
    app.command(name="copy", epilog=COPY)(copy)
    app.command(name="vacuum", epilog=VACUUM)(vacuum)
    return app


@renders
def copy(
    source: Annotated[str, typer.Argument(help="A store: a file, or postgresql://…")],
    target: Annotated[str, typer.Argument(help="The place for the copy; it must be empty.")],
) -> Result:
    """Copy a store with its state, records and key; check both.  The source is not changed.

    From then on, delete in only one of the two and remove the other, or they will diverge.
    """
    from undeleted.curate.curator import Curator

    with Curator.open(source) as first:
        path = first.store.path
        with working("checking the source"):
            problems = first.check()
        if problems:
            raise StoreError(
                f"{path} is not intact ({problems[0]}); nothing was copied.", "Run `undeleted check`."
            )
        try:
            with working(f"copying {path}"):
                second = first.copy_to(target)
        except AlreadyExists as error:
            raise StoreError(error.what, "Name a place where nothing exists.") from None
        with second:
            copy_problems, status = second.check(), second.status()
            facts = {
                "from": path,
                "to": second.store.path,
                "publications": list(status.publications),
                "version": status.version,
                "held": status.held,
                "intact": not copy_problems,
            }
    text = {
        "copied": f"{facts['from']} → {facts['to']}",
        "publications": ", ".join(status.publications),
        "version": f"v{facts['version']}",
        "intact": f"{'yes' if not copy_problems else copy_problems[0]}: both sides were checked",
        "next": "delete in the copy from now on, and remove the source with its key",
    }
    return Result(facts | {"problems": copy_problems}, text, code=int(bool(copy_problems)))


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
