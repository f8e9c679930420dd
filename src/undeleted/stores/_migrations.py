"""Stores of older formats are brought up to date when they are opened, in one transaction.

    1 → 2   posts end with a keyed digest of their text, so that `check` notices an altered one

What a store says of itself must be as it was sealed: a migration seals it anew, and would make an alteration
look genuine.
"""

import hmac
from collections.abc import Callable, Iterable
from typing import Any

from undeleted.errors import StoreError
from undeleted.stores._contents import FORMAT, Post
from undeleted.stores._sealed import mark, seal

Step = Callable[[bytes, Iterable[Post]], list[Post]]


def _marked(key: bytes, posts: Iterable[Post]) -> list[Post]:
    return [(post, board, data + mark(key, post, board, data)) for post, board, data in posts]


STEPS: dict[int, Step] = {1: _marked}  # from each format to the next


def migrate(store: Any) -> None:
    """Bring an open store up to date; nothing is changed if it is not whole."""
    with store._writing():
        store._state(write=True)
        meta, shapes = store._read_meta()  # another process may have been faster
        if not hmac.compare_digest(seal(store.key, meta, shapes), meta.get("seal", "")):
            problem = f"{store.path} has an older format, and was altered: it is not brought up to date."
            raise StoreError(problem, "Restore the store and its key from the same backup.")
        found = int(meta["format"])
        if found >= FORMAT:
            return
        posts = list(store._read_posts())
        for step in range(found, FORMAT):
            posts = STEPS[step](store.key, posts)
        meta["format"] = str(FORMAT)
        meta["seal"] = seal(store.key, meta, shapes)
        store._rewrite(meta, posts)
