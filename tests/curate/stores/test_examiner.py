"""Somebody holds every file of a store, its key, and everybody's names.  Who left?

The game: people stay, and one more came and left; it was X or Y, by a coin.  The examiner says which.  It
wins against the layout of earlier versions, at the same size, and does no better than the coin against this.

Exact, beside it: a store in which X came and left is, byte for byte, the store in which X never came, but for
the version and what counts with it.
"""

import random
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from support.old_formats import with_holes
from support.people import PEOPLE, made, mechanisms, only, rows
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.mechanisms import BulletinBoard, NoisyCount, NoisyMean
from undeleted.curate.stores import Fold, Publishing
from undeleted.curate.stores._buckets import TAG, Buckets
from undeleted.curate.stores._contents import Published
from undeleted.curate.stores._records import tag_of
from undeleted.curate.stores._sealed import sealed_post
from undeleted.curate.stores._sqlite_place import INDEX_HEAD
from undeleted.curate.stores.sqlite import MEMORY, SqliteStore
from undeleted.errors import UndeletedError
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema, Text

TRIALS = 200
ALARM = 36  # an honest coin is as far from the half in 200 trials once in 3 million
AGE, NOTE = Number("age", min=0, max=120), Text("note")
SMALL = Schema([AGE, NOTE], id="id")
KEY = bytes(range(32))


def store_of(path, people, seed, key=KEY) -> SqliteStore:
    """A store whose noise and key are given: the same seed draws the same noise, whoever is in it."""
    data = {
        "id": people,
        "age": [len(p) * sum(map(ord, p)) % 100 for p in people],
        "note": [f"{p} says " + "much " * (sum(map(ord, p)) % 60) for p in people],
    }
    published = {
        "people": NoisyCount(Budget(1.0)),
        "age": NoisyMean(AGE, Budget(1.0)),
        "board": BulletinBoard(NOTE),
    }
    table = SMALL.table(data)
    releases = {n: m.release(Arrays(table), seeded(f"{seed} {n}")) for n, m in published.items()}
    facts = {"epsilon": 4.0, "delta": 0.0, "spent": 3.0, "left": 1.0}
    publishing = Publishing(SMALL, published, releases, table, facts)
    return SqliteStore.filled(str(path), lambda k: Published(publishing, k), key)


class Examiner:
    """Looks for a trace of either of two people, in everything that a store leaves on the disk."""

    def __init__(self, key: bytes, x: str, y: str) -> None:
        self.key, self.pair = key, (x, y)

    def guess(self, traces) -> str:
        """The one of whom there is more of a trace; by their names, if of both alike."""
        x, y = self.pair
        more = traces(x) - traces(y)
        return x if more > 0 or (more == 0 and x < y) else y

    def by_holes(self, buckets: list[bytes], slot: int) -> str:
        """Empty slots in the bucket of somebody who is not there."""

        def holes(person):
            data = buckets[int.from_bytes(tag_of(self.key, person)[:8], "little") % len(buckets)]
            slots = [data[at : at + slot] for at in range(0, len(data) - slot + 1, slot)]
            return sum(not any(s[:TAG]) for s in slots)

        return self.guess(holes)


def worlds(trials):
    """People who stay, two names, and which of them came and left."""
    rng = random.Random("examiner")
    for trial in range(trials):
        stay = [f"p{rng.randrange(10**9)}" for _ in range(400)]
        yield trial, stay, f"x{rng.randrange(10**6)}", f"y{rng.randrange(10**6)}", rng.random() < 0.5


def far_from_half(right: int, trials: int = TRIALS) -> bool:
    return abs(right - trials / 2) >= ALARM * trials / TRIALS


def test_an_examiner_tells_who_left_from_the_layout_of_earlier_versions():
    right = 0
    for trial, stay, x, y, first in worlds(TRIALS):
        key, gone = f"{trial:032}".encode(), x if first else y
        tags = [tag_of(key, p) + bytes([1, 41]) for p in [*stay, gone]]
        slots = np.frombuffer(b"".join(tags), dtype=np.uint8).reshape(-1, 18)
        buckets = with_holes(slots, 3, {tag_of(key, gone)})
        right += Examiner(key, x, y).by_holes(buckets, 18) == gone
    assert right > 0.8 * TRIALS, "the examiner must win here for its losing to mean something"
    assert far_from_half(right)


@pytest.mark.parametrize("way", ["holes of records", "holes of posts"])
def test_an_examiner_does_no_better_than_a_coin(way):
    """Where an advantage of 0.5 would be seen but for odds below 10⁻⁹."""
    right = 0
    table = "people" if way == "holes of records" else "pieces"
    for trial, stay, x, y, first in worlds(TRIALS):
        key, gone = f"{trial:032}".encode(), x if first else y
        with store_of(MEMORY, [*stay, gone], trial, key) as store:
            assert store.delete([gone]).deleted == 1
            slot = getattr(store, f"_{table}").buckets.slot
            found = [d for (d,) in store._db.execute(f"SELECT data FROM {table} ORDER BY bucket")]
        right += Examiner(key, x, y).by_holes(found, slot) == gone
    assert not far_from_half(right), f"{right} of {TRIALS}"


def contents(path) -> dict:
    """Everything that SQLite keeps in a file, table by table."""
    with sqlite3.connect(path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {t: sorted(db.execute(f"SELECT * FROM {t}").fetchall(), key=repr) for t in tables}
    db.close()
    return found


def test_a_store_that_somebody_left_is_the_one_they_never_came_to(tmp_path):
    """Byte for byte, the file itself; the version counts how often somebody left."""
    stay = [f"p{i}" for i in range(700)]
    left, never = tmp_path / "left.db", tmp_path / "never.db"
    for leaver in ("ann", "bob", "a much longer name"):
        with store_of(left, [*stay[:300], leaver, *stay[300:]], "noise") as store:
            store.delete([leaver])
            assert store.erase()
        store_of(never, stay, "noise").close()
        one, other = contents(left), contents(never)
        versions = [dict(part)["version"] for part in (_state(one), _state(other))]
        assert versions == [2, 1]
        # Numbers of posts, which rows and pieces hold, are drawn anew by every publication.
        for table in set(one) - {"state", "people", "pieces"}:
            assert one[table] == other[table], table
        for table in ("people", "pieces"):
            assert len(one[table]) == len(other[table])
            assert {len(data) for _, data in one[table]} == {len(data) for _, data in other[table]}
        assert left.stat().st_size == never.stat().st_size
        for path in tmp_path.iterdir():
            path.unlink()


def _state(found):
    [(_, version, held, due, enough, _)] = found["state"]
    return [("version", version), ("held", held), ("due", due), ("enough", enough)]


def test_with_the_same_numbers_of_posts_every_page_is_the_same(tmp_path, monkeypatch):
    """All pages of the file but those with the version."""
    monkeypatch.setattr(Published, "_numbered", _as_always)
    stay = [f"p{i}" for i in range(700)]
    left, never = tmp_path / "left.db", tmp_path / "never.db"
    with store_of(left, [*stay[:300], "ann", *stay[300:]], "noise") as store:
        store.delete(["ann"])
    store_of(never, stay, "noise").close()
    one, other = (path.read_bytes() for path in (left, never))
    assert len(one) == len(other)
    apart = {at // 4096 for at in range(len(one)) if one[at] != other[at]}
    with sqlite3.connect(left) as db:
        root = "SELECT rootpage FROM sqlite_master WHERE name = 'state'"
        [(state,)] = db.execute(root)
    db.close()
    assert apart <= {0, state - 1}, "the header, which counts changes, and the version"


def _as_always(published, block):
    """Numbers of posts that follow from names."""
    mine = [1 + int.from_bytes(tag_of(KEY, person)[:7], "little") for person in block.ids]
    texts = zip(mine, block.texts["note"], strict=True)
    published._posts += [(n, 2, sealed_post(KEY, n, 2, text)) for n, text in texts]
    return {"note": mine}


def test_the_index_of_the_log_names_nobodys_pages_once_it_is_erased(tmp_path):
    """While the process lives; and before that it does, or the examiner would not know what to look for."""
    path = tmp_path / "people.db"
    with store_of(path, [f"p{i}" for i in range(5000)], "noise") as store:
        index = Path(f"{path}-shm")
        for leavers in (["p7"], [f"p{i}" for i in range(100, 4900)]):
            store.delete(leavers)
            assert any(index.read_bytes()[24:32])
            assert any(index.read_bytes()[INDEX_HEAD:])
            assert store.erasure_pending
            assert store.erase()
            assert not any(index.read_bytes()[INDEX_HEAD:])
            assert not any(index.read_bytes()[24:32] + index.read_bytes()[72:80]), "nor a checksum of them"
            assert not store.erasure_pending
        assert store.delete(["p8", "p7"]).deleted == 1
        with SqliteStore.open(str(path)) as other:
            assert other.delete(["p9"]).deleted == 1
        assert store.check() == []


def test_after_a_fold_nothing_tells_when_the_first_left(tmp_path):
    with store_of(tmp_path / "people.db", ["ann", "bob", "cay"], "noise") as store:
        store.delete(["ann"], Fold(people=2, after=1000.0))
        assert store._state().due > 0
        store.delete(["bob"], Fold(people=2, after=1000.0))
        state = store._state()
        assert (state.held, state.due, state.enough) == (0, 0.0, 0)


def test_buckets_have_room_for_everybody():
    """However many come, whatever their names: no bucket of a hundred stores was too small."""
    rng = np.random.default_rng(7)
    for n in (1, 2, 200, 5000, 40_000):
        for together in (1, 3):
            planned = Buckets.planned(n, 20, together)
            tags = rng.integers(0, 256, (n, 20), dtype=np.uint8)
            buckets, parts, slots = planned.laid_out(tags)
            assert buckets == planned
            assert len(slots) == n
            assert len(parts) == planned.count
            assert max(map(len, parts)) <= planned.room * 20
    assert Buckets(1, 2, 20).laid_out(tags[:3])[0].room == 4, "against all odds they grow"
    assert len({Buckets.planned(n, 20) for n in range(65_537, 73_728)}) == 1, "how many came is told roughly"
    for slot in (17, 500, 4000, 9000):
        for records in (0, 1, 10**6):
            found = Buckets.planned(records, slot, 10)
            assert found.room >= 1
            assert records <= found.count * found.room < 10 * max(1000, records), "and do not waste it"


# -- one byte altered, anywhere


def flipped(path: Path, copy: Path, at: int, bit: int) -> None:
    shutil.copy(path, copy)
    shutil.copy(f"{path}.key", f"{copy}.key")
    with copy.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ bit]))


def answers(store) -> list:
    """All that anybody can ask."""
    return [
        *(store.release(name) for name in store.mechanisms),
        *(store.version, store.held, store.facts, store.rule, store.schema, store.mechanisms, store.tags()),
    ]


def altered(tmp_path, flips: int, seed: str) -> tuple[int, int]:
    """How many of so many flips were found, and how many changed nothing; any other is a failure."""
    path, copy = tmp_path / "people.db", tmp_path / "copy.db"
    data = only(rows(40), lambda p: True)
    made(path, data).close()
    people = sorted(set(data["id"]))
    with SqliteStore.open(str(path)) as store:
        store.delete(["p3"])
        expected = answers(store)
    rng, size, found = random.Random(seed), path.stat().st_size, 0
    for _ in range(flips):
        at, bit = rng.randrange(size), 1 << rng.randrange(8)
        flipped(path, copy, at, bit)
        try:
            with SqliteStore.open(str(copy)) as store:
                if store.check():
                    found += 1
                    continue
                assert answers(store) == expected, f"byte {at}, bit {bit}"
                assert store.delete(people).deleted == len(people) - 1, f"byte {at}, bit {bit}"
                assert store.check() == [], f"byte {at}, bit {bit}"
        except UndeletedError:
            found += 1
        finally:
            for rest in ("", ".key", "-wal", "-shm"):
                Path(f"{copy}{rest}").unlink(missing_ok=True)
    return found, flips - found


def test_a_byte_that_is_altered_is_found_or_changes_nothing(tmp_path):
    found, harmless = altered(tmp_path, 150, "some")
    assert found > 20
    assert harmless > 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_thousand_bytes_that_are_altered_are_found_or_change_nothing(tmp_path, part):
    altered(tmp_path, 250, f"part {part}")


def test_a_record_altered_by_one_byte_is_not_deleted_from(tmp_path):
    """It would be subtracted as what it is not."""
    path = tmp_path / "people.db"
    made(path, rows(20)).close()
    with sqlite3.connect(path) as db:
        [(data,)] = db.execute("SELECT data FROM people")
        at = data.index(tag_of(bytes.fromhex(Path(f"{path}.key").read_text()), "p4")) + TAG + 2
        db.execute("UPDATE people SET data = ?", (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],))
    db.close()
    with SqliteStore.open(str(path)) as store:
        before = {name: store.release(name) for name in mechanisms()}
        with pytest.raises(UndeletedError, match="is damaged; nothing was changed"):
            store.delete(["p4"])
        assert {name: store.release(name) for name in mechanisms()} == before
        assert any("a record was altered" in problem for problem in store.check())
        assert store.schema == PEOPLE


@pytest.mark.parametrize(
    "alter",
    [
        "CREATE TRIGGER t BEFORE UPDATE ON people BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE attic (d)",
        "CREATE VIEW v AS SELECT * FROM people",
        "DROP TABLE held",
    ],
)
def test_what_is_not_ours_in_the_file_is_refused(tmp_path, alter):
    """A trigger could undo deletions that are acknowledged, or keep the records of leavers."""
    path = tmp_path / "people.db"
    made(path, rows(20)).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(alter)
        if "TRIGGER" in alter:  # a name that SQLite keeps for itself
            db.execute(
                "UPDATE sqlite_master SET name = 'sqlite_t', sql = replace(sql, ' t ', ' sqlite_t ') "
                "WHERE type = 'trigger'"
            )
    db.close()
    with pytest.raises(UndeletedError, match="not the store's"):
        SqliteStore.open(str(path))


def test_cells_and_what_is_held_back_are_altered_together_and_noticed(tmp_path):
    """What is held back is masked, and a mask can be flipped: the noise stays, and the release does not."""
    path = tmp_path / "people.db"
    with made(path, rows(40)) as store:
        store.delete(["p3"], Fold(people=9, after=3600))
    with sqlite3.connect(path) as db:
        [(held,)] = db.execute("SELECT data FROM held WHERE chunk = 0")
        [(cells,)] = db.execute("SELECT data FROM cells WHERE chunk = 0")
        db.execute(
            "UPDATE held SET data = ? WHERE chunk = 0", (held[:18] + bytes([held[18] ^ 16]) + held[19:],)
        )
        value = int.from_bytes(cells[:8], "little", signed=True)
        raised = (value + (1 << 20)).to_bytes(8, "little", signed=True) + cells[8:]
        db.execute("UPDATE cells SET data = ? WHERE chunk = 0", (raised,))
    db.close()
    with SqliteStore.open(str(path)) as store:
        assert store.check() != []
        with pytest.raises(UndeletedError, match="cells were altered; nothing was changed"):
            store.delete(["p4"])


def test_parts_that_moved_between_chunks_are_noticed(tmp_path):
    path = tmp_path / "people.db"
    made(path, rows(40)).close()
    for alter in (
        "UPDATE cells SET chunk = -1 WHERE chunk = 0",
        "INSERT INTO held VALUES (7, x'')",
        "DELETE FROM cells WHERE chunk = 0",
    ):
        copy = tmp_path / "copy.db"
        shutil.copy(path, copy)
        shutil.copy(f"{path}.key", f"{copy}.key")
        with sqlite3.connect(copy) as db:
            db.execute(alter)
        db.close()
        with SqliteStore.open(str(copy)) as store:
            assert store.check() != [], alter
        for rest in ("-wal", "-shm"):
            Path(f"{copy}{rest}").unlink(missing_ok=True)
