"""Stores of older formats are brought up to date when they are opened, in one transaction.

    1 → 2   posts end with a keyed digest of their text, so that `check` notices an altered one
    2 → 3   records are laid out so that nothing tells who left; they and the state have marks

What a store says of itself must be as it was sealed: a migration seals it anew, and would make an alteration
look genuine.
"""

import hmac
from typing import Any

from undeleted.curate.stores._contents import FORMAT, State
from undeleted.curate.stores._sealed import seal
from undeleted.errors import StoreError


def migrate(store: Any) -> None:
    """Bring an open store up to date; nothing is changed if it is not whole."""
    with store._migrating():
        meta, shapes = store._read_meta()  # another process may have been faster
        if not hmac.compare_digest(seal(store.key, meta, shapes), meta.get("seal", "")):
            problem = f"{store.path} has an older format, and was altered: it is not brought up to date."
            raise StoreError(problem, "Restore the store and its key from the same backup.")
        found = int(meta["format"])
        if found >= FORMAT:
            return
        meta.pop("buckets", None)  # of a layout that told who had left
        meta |= store._lay_out_anew(found) | {"format": str(FORMAT)}
        state = store._state()
        store._write_state(state if state.held else State(state.version))
        meta["seal"] = seal(store.key, meta, shapes)
        store._rewrite(meta)
