"""Stores: they keep the current state durably, and delete people from it.

sqlite      one file, embedded: the default
postgres    a schema of a PostgreSQL database, which many processes share: postgresql://…
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.stores._becoming import becoming, grown_mechanisms
from undeleted.curate.stores._buckets import TAG, Buckets
from undeleted.curate.stores._claims import Claim, Claims
from undeleted.curate.stores._contents import Additions, Publishing
from undeleted.curate.stores._growth import Added, Corrected, Reserved, Watermark
from undeleted.curate.stores._records import Records, needed, salted_tag, tag_of
from undeleted.curate.stores._rotated_key import earlier_keys, rotated
from undeleted.curate.stores._serials import Serials
from undeleted.curate.stores._spent_bits import MOST, chunks_for
from undeleted.curate.stores._store import CHUNK, Deleted, Fold, Store
from undeleted.curate.stores._tick_rows import TickRows
from undeleted.errors import BadConnection, BadSetting, StoreError, UndeletedError
from undeleted.foundations.schema import Schema
from undeleted.foundations.types import Given, Json

PAGE, FIXED_PAGES = 4096, 12  # of SQLite; pages of metadata and of empty tables

__all__ = [
    "MOST",
    "Added",
    "Additions",
    "Claim",
    "Claims",
    "Corrected",
    "Deleted",
    "Fold",
    "Publishing",
    "Reserved",
    "Serials",
    "Store",
    "Watermark",
    "bytes_of",
    "copy_store",
    "create_store",
    "grow_store",
    "key_file_of",
    "open_store",
    "require_a_file",
    "restoring",
    "salted_tag",
    "shown",
    "store_exists",
    "tag_of",
]


def open_store(place: str, *, read_only: bool = False) -> Store:
    """Open an existing store; a database has rights of its own, and needs no `read_only`."""
    kind = _kind(place)
    opened: Store = kind.open(place, read_only=True) if read_only and kind.in_a_file else kind.open(place)
    return opened


def create_store(place: str, publishing: Publishing) -> Store:
    """Create a new store."""
    created: Store = _kind(place).create(place, publishing)
    return created


def store_exists(place: str) -> bool:
    """Return whether there is already something at this place."""
    return bool(_kind(place).there(place))


def shown(place: str) -> str:
    """A store's address as it may be printed: without a password."""
    text: str = _kind(place).shown(place)
    return text


def bytes_of(
    schema: Schema,
    mechanisms: Mapping[str, Given],
    rows: int,
    capacity: int | None = None,
    *,
    tags: bool = False,
) -> int:
    """About how large a store in a file will be: its records, and the cells of its publications.

    With a `capacity` it keeps spent-bits or `tags` instead; a table that grows has bits for every tick.
    """
    growing = [m for m in mechanisms.values() if isinstance(m, Arrivals)]
    sizes = [m.statistic.size for m in mechanisms.values() if hasattr(m, "statistic")]
    chunks = sum(-(-size // CHUNK) for size in sizes)
    if growing:  # at its horizon
        layout = TickRows(tuple(m.width(()) for m in growing if not m.grew))
        chunks = layout.tiles * layout.blocks(growing[0].horizon)
    slot = Records(schema, needed(schema, mechanisms), grows=bool(growing)).slot
    if capacity is not None and tags:
        buckets = Buckets.planned(capacity, TAG, 1)
        return int(PAGE * (buckets.count * -(-buckets.room * TAG // PAGE) + chunks + FIXED_PAGES))
    if capacity is not None:
        bits = chunks_for(capacity) * (growing[0].horizon if growing else 1)
        waiting = (
            Buckets.planned(capacity * schema.rows_per_person, slot, schema.rows_per_person)
            if growing
            else None
        )
        room = 0 if waiting is None else waiting.count * -(-waiting.room * waiting.slot // PAGE)
        return int(PAGE * (bits + room + chunks + FIXED_PAGES))
    corrections = growing[0].max_corrections if growing else 0
    buckets = Buckets.planned(rows, slot, schema.rows_per_person * (1 + corrections))
    pages: int = buckets.count * -(-buckets.room * buckets.slot // PAGE) + chunks + FIXED_PAGES
    return PAGE * pages


def require_a_file(place: str) -> None:
    """Refuse tags in a database."""
    if not _kind(place).in_a_file:
        problem = "a database cannot keep tags: one that is put back by itself would not be noticed."
        raise BadSetting(problem, 'Choose a store in a file, or retain = "receipts".')


def key_file_of(place: str) -> str:
    """The path of a store's key file."""
    path: str = _kind(place).key_file(place)
    return path


def copy_store(store: Store, place: str, *, new_key: bool = False, move_budget: bool = False) -> Store:
    """Copy a store to another place: state, records, version and key; or with a new key, and marks of it.

    What is left of the budget stays with the source, or is moved: the two must not spend it twice.  When it
    is moved, the source gives it up before anything is written, and gets it back if there is no copy.
    """
    if store.retains == "tags":
        require_a_file(place)
    copied: Store | None = None
    key = store.key
    if new_key:
        key = rotated(os.urandom(32), (*earlier_keys(store.key), bytes(store.key)))
    moved: list[Json] = []
    try:
        with ExitStack() as stack:

            def contents(_: bytes) -> Given:  # called when the place has been checked
                if move_budget:
                    moved.append(store.close_budget())
                taken = store.taken(key if new_key else None, moved[0] if moved else None)
                return stack.enter_context(taken)

            copied = _kind(place).filled(place, contents, key)
    except BaseException as error:
        if copied is None and moved and _surely_nothing_at(place):
            store.reopen_budget(moved[0])
        if copied is None or not isinstance(error, UndeletedError):
            raise
        copied.close()
        problem = (
            f"the copy {copied.path} is complete, but the connection to {store.path} was lost, "
            f"and it may have changed since ({error.what})"
        )
        raise StoreError(problem, "Remove the copy and its key, then copy again.") from None
    assert copied is not None
    return copied


def grow_store(store: Store, place: str, horizon: int, clock: Json, at: float) -> Store:
    """Copy a store that was published once to another place, where people can join; this is tick 0 of it.

    Only one store may go on: the source gives up what is left of its budget, and growing, before anything is
    written; it gets both back if there is no copy.  Deletions must go to the new store.
    """
    grown_mechanisms(store, horizon)
    before: list[Json] = []
    try:
        with ExitStack() as stack:

            def contents(_: bytes) -> Given:
                grown_mechanisms(store, horizon)
                before.append(store.give_up())
                return stack.enter_context(becoming(store, before[0], horizon, clock, at))

            grown: Store = _kind(place).filled(place, contents, store.key)
    except BaseException:
        if before and _surely_nothing_at(place):
            store.reopen_budget(before[0])
        raise
    return grown


def _surely_nothing_at(place: str) -> bool:
    """Whether it is known that no store came to be there."""
    try:
        return not store_exists(place)
    except UndeletedError:
        return False


@contextmanager
def restoring(place: str) -> Iterator[str]:
    """Where to prepare a store that shall be at `place`; a file gets its name when everything is done."""
    kind = _kind(place)
    if not kind.in_a_file:
        yield place
        return
    with kind.prepared(place) as unfinished:
        yield unfinished


def _kind(place: str) -> Given:
    scheme = re.match(r"([A-Za-z][\w+.-]*):/", place)
    ours = place.startswith(("postgresql://", "postgres://"))
    if not ours and (scheme or "password=" in place):
        said = f"begins with {scheme[1]}:/" if scheme else "is a list of options"
        remedy = "Name a file, or postgresql://user@host/database?schema=name."
        raise BadConnection("the store's address", f"{said}, which is not a store.", remedy)
    if not ours:
        from undeleted.curate.stores.sqlite import SqliteStore

        return SqliteStore
    try:
        from undeleted.curate.stores.postgres import PostgresStore
    except ImportError:
        remedy = "Install it with: pip install 'undeleted[scale]'."
        raise BadConnection(
            "a store in PostgreSQL", "needs psycopg, which is not installed.", remedy
        ) from None
    return PostgresStore
