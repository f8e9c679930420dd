"""Stores in the layout of earlier versions, to test upgrades and as targets that an examiner can beat."""

import numpy as np

from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._sealed import MARK, seal

FULL = 3000  # bytes of a bucket on average


def older(store, form: int) -> None:
    """Rewrite a store into format 1 or 2; people may have left before."""
    with store._writing():
        meta, shapes = store._read_meta()
        for name in ("people", "pieces", "rule"):
            meta.pop(name, None)
        posts = [(n, board, data if form == 2 else data[:-MARK]) for n, board, data in store._read_posts()]
        slots = np.concatenate(list(store._slots()))
        _in_sqlite(store, meta, slots, posts) if hasattr(store, "_people") else _in_postgres(store, posts)
        meta["format"] = str(form)
        meta["seal"] = seal(store.key, meta, shapes)
        store._rewrite(meta)
        if not hasattr(store, "_people"):
            store._run("DELETE FROM {}.meta WHERE key = 'rule'")
            store._run("UPDATE {}.state SET format = %s", (form,))


def _in_sqlite(store, meta, slots, posts) -> None:
    meta["buckets"] = "2"
    db = store._db
    db.execute("ALTER TABLE state DROP COLUMN mark")
    db.execute("CREATE TABLE buckets (bucket INTEGER PRIMARY KEY, data BLOB NOT NULL)")
    for number, data in enumerate(with_holes(slots, 2, ())):
        db.execute("INSERT INTO buckets VALUES (?, ?)", (number, data))
    db.execute(
        "CREATE TABLE posts (post INTEGER PRIMARY KEY, publication INTEGER NOT NULL, data BLOB NOT NULL)"
    )
    db.executemany("INSERT INTO posts VALUES (?, ?, ?)", posts)
    for table in ("cells", "held"):
        db.execute(f"UPDATE {table} SET data = CAST(substr(data, 1, length(data) - {MARK}) AS BLOB)")
    db.execute("DROP TABLE people")
    db.execute("DROP TABLE pieces")


def _in_postgres(store, posts) -> None:
    store._run("UPDATE {}.records SET data = substr(data, 1, length(data) - %s)", (MARK,))
    store._run("ALTER TABLE {}.state DROP COLUMN mark")
    store._run("DROP FUNCTION {}.published")
    for number, _, data in posts:
        store._run("UPDATE {}.posts SET data = %s WHERE post = %s", (data, number))


def with_holes(slots, buckets: int, gone) -> list[bytes]:
    """Return buckets with room for everybody who was published; those who left leave a hole at the end."""
    packed = []
    for number in range(buckets):
        mine = sorted(
            s.tobytes() for s in slots if int.from_bytes(s[:8].tobytes(), "little") % buckets == number
        )
        stay = [slot for slot in mine if slot[:TAG] not in gone]
        packed.append(b"".join(stay).ljust(sum(map(len, mine)), b"\0"))
    return packed
