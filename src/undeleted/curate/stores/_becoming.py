"""A store that was published once becomes one that grows: its publication is tick 0.

    rows      the row of tick 0 is the state as it is: nothing is drawn again, and nobody pays
    noise     every later batch gets noise of the same law, drawn for it alone (independent cohorts)
    records   everybody who is there joined at tick 0

The budget was for one release.  It stays that: people who are in the store have paid, and everybody who joins
pays as much for the row of their own batch.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.releases.linear import Linear
from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import State, Taken
from undeleted.curate.stores._growth import START, first_block, linked
from undeleted.curate.stores._json_descriptions import describe
from undeleted.curate.stores._records import Records, Span
from undeleted.curate.stores._store import Store
from undeleted.errors import BadSetting, StoreError
from undeleted.foundations.types import Given, Json


def grown_mechanisms(store: Store, horizon: int) -> dict[str, Arrivals]:
    """The store's mechanisms over ticks, with the noise that they have; what cannot grow is refused."""
    if store.growth is not None:
        raise BadSetting(f"{store.path} grows already.", "Add people with `undeleted add`.")
    if store.facts.get("grown"):
        problem = f"{store.path} was copied to a store that grows: newcomers would pay once in each."
        raise BadSetting(problem, "Add people there.")
    if store.facts.get("closed"):
        problem = f"{store.path} is a copy or a backup: it and its original could both grow."
        raise BadSetting(
            problem, "Let the original grow; or copy it with --move-budget, and let that copy grow."
        )
    if not store.keeps_records:
        problem = f"{store.path} keeps no records, so it cannot be made to grow."
        raise BadSetting(problem, 'Publish with [arrivals] and retain = "receipts" from the start.')
    return _over_ticks(store, horizon)


def _over_ticks(store: Store, horizon: int) -> dict[str, Arrivals]:
    for name, mechanism in store.mechanisms.items():
        if not isinstance(mechanism, Linear):
            problem = f"{name!r} is not a total, or has a shape that was made for one release."
            raise BadSetting(problem, "Publish newcomers into a store of their own.")
    return {
        name: Arrivals(mechanism.with_laws(mechanism.laws), horizon, "cohorts")
        for name, mechanism in store.mechanisms.items()
    }


@contextmanager
def becoming(store: Store, before: Json, horizon: int, clock: Json, at: float) -> Iterator[Taken]:
    """The contents of a store that grows, from one that has given it up; writers are locked out meanwhile.

    `before` are the facts of the source before that.
    """
    with store.taken() as contents:
        mechanisms = _over_ticks(store, horizon)  # another process may have published more until now
        if contents.state.held:
            problem = f"the deletions of {contents.state.held:,} people are held back."
            raise BadSetting(problem, "Wait until they are folded in, or delete more people with --fold.")
        if problems := store._unsound():
            raise StoreError(f"{store.path} is not intact ({problems[0]}).", "Run `undeleted check`.")
        rows, span = list(contents.cells), np.frombuffer(Span(0).as_bytes(), dtype=np.uint8)
        noise = np.concatenate(store._noise())
        records = Records(store.schema, store._records.columns, grows=True)

        def slots() -> Iterator[Given]:
            yield np.zeros((0, records.slot), dtype=np.uint8)
            for block in contents.slots():
                joined = np.broadcast_to(span, (len(block), span.size))
                yield np.concatenate([block[:, :TAG], joined, block[:, TAG:]], axis=1)

        def meta() -> dict[str, str]:
            kept = contents.meta()
            now = {key: fact for key, fact in store.facts.items() if key not in ("closed", "grown")}
            facts = before | now | {"left": 0.0, "clock": clock}
            described = {name: describe(mechanism) for name, mechanism in mechanisms.items()}
            return kept | {
                "mechanisms": json.dumps(described),
                "facts": json.dumps(facts),
                "sizes": json.dumps([first_block(rows).size]),
                "digest": linked(store.key, START, noise),
                "ticks": "1",
                "at": repr(at),
            }

        yield Taken(
            contents.shapes,
            [first_block(rows)],
            State(contents.state.version),
            [],
            None,
            store.together,
            slots,
            contents.posts,
            meta,
            mechanisms,
        )
