"""Where stores live: copy one to another place, and erase what a database keeps of old rows."""

from typing import Annotated

import typer

from undeleted.errors import AlreadyThere, StoreError
from undeleted.interfaces.cli.curate import Store, store_at
from undeleted.interfaces.cli.output import AsJson, print_facts, print_json, working

COPY = "Example: undeleted store copy people.db 'postgresql://curator@db/app?schema=people'"
VACUUM = "Example: undeleted store vacuum --store 'postgresql://curator@db/app?schema=people'"


def group() -> typer.Typer:
    app = typer.Typer(help="Move stores between SQLite and PostgreSQL, and erase what a database keeps.")
    app.command(name="copy", epilog=COPY)(copy)
    app.command(name="vacuum", epilog=VACUUM)(vacuum)
    return app


def copy(
    source: Annotated[str, typer.Argument(help="A store: a file, or postgresql://…")],
    target: Annotated[str, typer.Argument(help="Where its copy goes; nothing may be there yet.")],
    json: AsJson = False,
) -> int:
    """Copy a store, state and records and key; both are checked.  The first stays as it is.

    Deletions go to one of the two from then on: remove the other, or they will part.
    """
    from undeleted.curate.curator import Curator

    with Curator.open(source) as first:
        path = first.store.path
        with working("checking the source"):
            problems = first.check()
        if problems:
            raise StoreError(
                f"{path} is not whole ({problems[0]}); nothing was copied.", "See `undeleted check`."
            )
        try:
            with working(f"copying {path}"):
                second = first.copy_to(target)
        except AlreadyThere as error:
            raise StoreError(error.what, "Name a place where nothing is.") from None
        with second:
            found, status = second.check(), second.status()
            facts = {
                "from": path,
                "to": second.store.path,
                "publications": list(status.publications),
                "version": status.version,
                "held": status.held,
                "whole": not found,
            }
    if json:
        print_json(facts | {"problems": found})
        return int(bool(found))
    print_facts(
        {
            "copied": f"{facts['from']} → {facts['to']}",
            "publications": ", ".join(status.publications),
            "version": f"v{facts['version']}",
            "whole": f"{'yes' if not found else found[0]}: both sides were checked",
            "next": "delete in the copy from now on, and remove the first with its key",
        }
    )
    return int(bool(found))


def vacuum(store: Store = None, json: AsJson = False) -> int:
    """Erase old versions of rows that a database keeps after deletions; the tables are locked meanwhile.

    Exit code 3 if somebody holds the tables: what is deleted stays deleted, and waits to be erased.
    """
    from undeleted.curate.curator import Curator

    with Curator.open(store_at(store)) as curator, working("writing the tables anew"):
        erased, shared = curator.vacuum(), curator.store.path.startswith("postgresql")
    done = "yes, from the tables; the server's log keeps it until it is recycled" if shared else "yes"
    waits = "no: somebody holds the tables; try again at a quiet time"
    print_json({"erased": erased}) if json else print_facts({"erased": done if erased else waits})
    return 0 if erased else 3
