"""Migrate stores of older formats when they are opened, in one transaction.

    1 → 2   posts end with a keyed digest of their text, so that `check` notices an altered one
    2 → 3   records are laid out so that nothing reveals who left; they and the state have marks
    3 → 4   the columns that records keep are listed: there may be more than the publications use
    4 → 5   a store may keep no records: an older program would take it for a damaged one

The metadata of a store must match its seal: a migration seals it again, and would make an alteration look
genuine.
"""

import hmac
import json

from undeleted.curate.stores._contents import FORMAT, State
from undeleted.curate.stores._records import needed
from undeleted.curate.stores._sealed import seal
from undeleted.errors import StoreError
from undeleted.foundations.types import Given


def migrate(store: Given) -> None:
    """Migrate an open store; nothing is changed if its metadata was altered."""
    with store._migrating():
        meta, shapes = store._read_meta()  # another process may have migrated it already
        if not hmac.compare_digest(seal(store.key, meta, shapes), meta.get("seal", "")):
            problem = f"{store.path} has an older format and was altered, so it was not migrated."
            raise StoreError(problem, "Restore the store and its key from the same backup.")
        stored_format = int(meta["format"])
        if stored_format >= FORMAT:
            return
        meta.pop("buckets", None)  # of a layout that revealed who had left
        meta |= store._migrate_layout(stored_format) if stored_format < 3 else {}
        columns = [column.name for column in needed(store.schema, store.mechanisms)]
        meta |= {"format": str(FORMAT), "columns": meta.get("columns", json.dumps(columns))}
        state = store._state()
        store._write_state(state if state.held else State(state.version))
        meta["seal"] = seal(store.key, meta, shapes)
        store._rewrite(meta)
