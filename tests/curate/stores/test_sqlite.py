"""The store in a file: what it keeps byte for byte, what it forgets, and what may lie beside it.

Covers: curate/stores/_sqlite_*.py
"""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.people import made, mechanisms, rows
from undeleted.curate.stores import Fold, sqlite
from undeleted.curate.stores._records import tag_of
from undeleted.curate.stores._sealed import MARK, unsealed
from undeleted.curate.stores.sqlite import SqliteStore
from undeleted.errors import AlreadyExists, BadFile, StoreError


def test_what_is_held_back_tells_nothing_without_the_key(tmp_path):
    """One leaver alone in the sum: it is masked, afresh at every write, and zeros again once it is folded."""
    store = made(tmp_path / "people.db", rows())
    store.delete(["p3"], Fold(people=100, after=3600))
    reader = sqlite3.connect(tmp_path / "people.db")
    first = dict(reader.execute("SELECT chunk, data FROM held"))
    store.delete(["p4"], Fold(people=100, after=3600))
    second = dict(reader.execute("SELECT chunk, data FROM held"))
    written = [chunk for chunk in first if any(first[chunk][:-MARK])]
    assert written
    for chunk in written:
        numbers = np.frombuffer(first[chunk][16:-MARK], dtype="<i8")
        assert (np.abs(numbers) > 2**32).mean() > 0.99, "masked numbers look like any others"
        assert first[chunk] != second[chunk]
    store.delete(["p5"], Fold(people=3, after=3600))
    assert not any(any(data[:-MARK]) for (data,) in reader.execute("SELECT data FROM held"))
    reader.close()
    store.close()


@pytest.mark.parametrize("fold", [None, Fold(people=1000, after=3600)], ids=["at-once", "held-back"])
def test_as_much_is_written_for_strangers_as_for_leavers(tmp_path, fold):
    """Pages in the log, each of which is time that whoever has a clock could see."""
    log = tmp_path / "people.db-wal"
    with made(tmp_path / "people.db", rows()) as store:

        def written(person):
            before = log.stat().st_size
            store.delete_tagged([tag_of(store.key, person)], fold, dummy_work=True)
            return (log.stat().st_size - before) // (4096 + 24)

        written("nobody")
        strangers = [written(f"nobody{i}") for i in range(12)]
        leavers = [written(f"p{i}") for i in range(12)]
        again = [written(f"p{i}") for i in range(12)]
        assert sum(leavers) > 12 * 5, "one for every publication"
        assert 0.75 < np.mean(strangers) / np.mean(leavers) < 1.25
        assert 0.75 < np.mean(again) / np.mean(leavers) < 1.25


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_store_of_an_earlier_format_still_opens(tmp_path, number):
    """Twelve people, of whom p3 had left when it was made."""
    kept = Path(__file__).parents[2] / "fixtures" / f"store-v{number}.db"
    for suffix in ("", ".key"):
        shutil.copy(f"{kept}{suffix}", f"{tmp_path}/store.db{suffix}")
    store = SqliteStore.open(f"{tmp_path}/store.db")
    assert store.version == 2
    assert store.check() == []
    assert store.mechanisms.items() <= mechanisms().items()
    assert store.delete(["p3"]).unknown == 1
    assert store.delete(["p4"]).deleted == 1
    assert store.check() == []
    store.close()


def holders(folder: Path, *needles: bytes):
    """Which files of a folder hold some of these bytes."""
    files = [f for f in folder.iterdir() if f.is_file()]
    return [(f.name, needle) for f in files for needle in needles if needle in f.read_bytes()]


def test_no_file_holds_what_was_deleted(tmp_path):
    """Planted values and ids; then most people leave, in an order that would make a B-tree move its rows.

    Where a record lies follows from a random key, so many are planted: a log that keeps any of them is seen.
    """
    data = rows(2000)
    planted = range(700, 740)
    for i in planted:
        data["note"][i] = f"a most unmistakable note {i}"
        data["id"][i] = f"an-unmistakable-id {i}"
        data["income"][i] = 0xABCDEF1000 + i
    store = made(tmp_path / "people.db", data)
    needles = {f"a most unmistakable note {i}".encode() for i in planted}
    needles |= {(0xABCDEF1000 + i).to_bytes(8, "little") for i in planted}
    there = {n for _, n in holders(tmp_path, *needles)}  # some may lie across two pages of the file
    assert len(there) > 0.8 * len(needles), "they must be there to be missed"
    assert holders(tmp_path, b"an-unmistakable-id") == [], "an id is never written at all"
    names = list(dict.fromkeys(data["id"]))
    leavers = [p for i, p in enumerate(names) if i % 5 and "unmistakable" not in p]
    for start in range(0, len(leavers), 97):
        store.delete(leavers[start : start + 97])
    for i in planted:
        store.delete([f"an-unmistakable-id {i}"])
    assert store.erase()
    assert holders(tmp_path, *needles, b"an-unmistakable-id") == []
    store.close()
    assert holders(tmp_path, *needles, b"an-unmistakable-id") == []


def test_columns_that_nothing_published_needs_are_not_kept(tmp_path):
    made(tmp_path / "people.db", rows()).close()
    found = [holders(tmp_path, (4_000_000_000 + i).to_bytes(4, "little")) for i in range(17, 27)]
    assert sum(map(bool, found)) <= 1, "random bytes may look like one of them (10⁻⁴), not like two (10⁻⁹)"


def test_without_the_key_nothing_tells_what_the_leaver_had(tmp_path):
    """Two data sets that differ in one person; after she left, every byte but the keyed ones is the same."""
    dumps = []
    for age in (3, 97):
        data = rows()
        data["age"][11] = age
        store = made(tmp_path / f"{age}.db", data)
        store.delete([data["id"][11]])
        db = sqlite3.connect(tmp_path / f"{age}.db")
        cells = [(c, data[:-MARK]) for c, data in db.execute("SELECT chunk, data FROM cells ORDER BY chunk")]
        posts = sorted(data[:-MARK] for _, _, data in store._read_posts())
        dumps.append((cells, posts))
        db.close()
        store.close()
    assert dumps[0] == dumps[1]


def test_without_the_key_posts_do_not_tell_whose_record_is_whose(tmp_path):
    """Their numbers, which records hold, are drawn: the order of the source does not show in them."""
    data = rows()
    store = made(tmp_path / "people.db", data)
    in_order = [text for _, text in sorted((post, unsealed(d)) for post, _, d in store._read_posts())]
    assert sorted(in_order) == sorted(data["note"])
    assert in_order != data["note"]
    assert (tmp_path / "people.db").stat().st_mode & 0o777 == 0o600
    store.close()


@pytest.mark.parametrize("rest", [".key", "-wal", "-journal"])
def test_nothing_is_published_over_what_belongs_to_another_store(tmp_path, rest):
    path = tmp_path / "people.db"
    Path(f"{path}{rest}").write_bytes(b"of a store that was moved away")
    with pytest.raises(StoreError, match="belongs to a store that is not here"):
        made(path, rows())
    assert Path(f"{path}{rest}").read_bytes() == b"of a store that was moved away"
    assert not path.exists()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = replace(value, '3.0', '0.0') WHERE key = 'facts'",
        "UPDATE meta SET value = replace(value, '0.5', '5000') WHERE key = 'mechanisms'",
        "UPDATE people SET data = CAST(zeroblob(16) || substr(data, 17) AS BLOB) WHERE bucket = 0",
    ],
)
def test_check_notices_what_was_altered_beside_the_cells(tmp_path, damage):
    path = tmp_path / "people.db"
    made(path, rows()).close()
    with sqlite3.connect(path) as db:
        db.execute(damage)
    db.close()
    store = SqliteStore.open(str(path))
    assert store.check() != []
    store.close()


@pytest.mark.parametrize("key", ["sizes", "schema", "mechanisms", "digest", "people"])
def test_a_store_that_cannot_be_read_is_called_damaged(tmp_path, key):
    path = tmp_path / "people.db"
    made(path, rows()).close()
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM meta WHERE key = ?", (key,))
    db.close()
    with pytest.raises(StoreError, match="is damaged"):
        SqliteStore.open(str(path))


def test_a_store_behind_a_link_knows_its_log(tmp_path):
    (tmp_path / "real").mkdir()
    made(tmp_path / "real" / "people.db", rows()).close()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "people.db")
    store = SqliteStore.open(str(tmp_path / "link.db"))
    store.delete(["p1"])
    assert store.erasure_pending
    assert store.erase()
    assert not store.erasure_pending
    store.close()


def test_check_notices_a_cell_that_was_altered_and_a_record_that_was_lost(tmp_path):
    path = tmp_path / "people.db"
    made(path, rows()).close()
    for damage in (
        "UPDATE cells SET data = zeroblob(length(data)) WHERE chunk = 0",
        "UPDATE people SET data = zeroblob(length(data)) WHERE bucket = 0",
        "UPDATE pieces SET data = zeroblob(length(data)) WHERE bucket = 0",
        "UPDATE state SET version = version + 1",
    ):
        copy = tmp_path / "copy.db"
        copy.write_bytes(path.read_bytes())
        Path(f"{copy}.key").write_bytes(Path(f"{path}.key").read_bytes())
        with sqlite3.connect(copy) as db:
            db.execute(damage)
        db.close()
        store = SqliteStore.open(str(copy))
        assert store.check() != []
        store.close()


def test_a_reader_holds_up_erasure_and_the_next_one_finishes_it(tmp_path):
    path = tmp_path / "people.db"
    store = made(path, rows())
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM cells").fetchall()
    assert store.delete(["p3"]).deleted == 1
    assert not store.erase(0.05)
    assert store.erasure_pending
    reader.close()
    store.close()
    again = SqliteStore.open(str(path))
    assert not again.erasure_pending
    again.close()


def test_missing_wrong_and_broken_keys(tmp_path):
    path = tmp_path / "people.db"
    made(path, rows()).close()
    key = Path(f"{path}.key")
    assert key.stat().st_mode & 0o777 == 0o600
    whole = key.read_text()
    for text, message in (
        (None, "missing"),
        ("00" * 32, "not the key of this store"),
        ("zz", "not a key file"),
    ):
        key.unlink(missing_ok=True)
        if text is not None:
            key.write_text(text)
        with pytest.raises(StoreError, match=message):
            SqliteStore.open(str(path))
    key.write_text(whole)
    assert SqliteStore.open(str(path)).check() == []


def test_what_is_not_a_store_or_of_a_newer_one(tmp_path):
    path = tmp_path / "people.db"
    with pytest.raises(StoreError, match="there is no store"):
        SqliteStore.open(str(path))
    made(path, rows()).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    db.close()
    with pytest.raises(BadFile, match="has format 99"):
        SqliteStore.open(str(path))
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="is not a store"):
        SqliteStore.open(str(path))


def test_a_second_store_in_the_same_place_is_refused_and_an_unfinished_one_is_replaced(tmp_path):
    path = tmp_path / "people.db"
    Path(f"{path}.unfinished").write_text("a publication that was killed")
    Path(f"{path}.key").write_text("its key")
    made(path, rows()).close()
    assert not Path(f"{path}.unfinished").exists()
    with pytest.raises(AlreadyExists, match="a store at"):
        made(path, rows())


def test_a_store_that_is_open_twice_keeps_its_deletions_when_others_come_and_go(tmp_path):
    """Whoever opens and closes the file itself gives up the locks of all its connections in this process:
    then another process takes itself for the last one, and removes a log that is still written to."""
    path = str(tmp_path / "people.db")
    made(path, rows()).close()
    ask = [sys.executable, "-m", "undeleted", "status", "--store", path, "--json"]
    with SqliteStore.open(path) as one, SqliteStore.open(path) as other:
        one.delete(["p1"])
        log = (tmp_path / "people.db-wal").stat().st_ino
        before = json.loads(subprocess.check_output(ask))["version"]
        assert (tmp_path / "people.db-wal").stat().st_ino == log, "the log is still the log"
        one.delete(["p2"])
        assert other.version == before + 1
        assert json.loads(subprocess.check_output(ask))["version"] == before + 1


def test_a_store_of_an_earlier_format_that_two_open_at_once(tmp_path, monkeypatch):
    """One of them is faster; the other finds it up to date."""
    kept = Path(__file__).parents[2] / "fixtures" / "store-v2.db"
    path = f"{tmp_path}/store.db"
    for suffix in ("", ".key"):
        shutil.copy(f"{kept}{suffix}", f"{path}{suffix}")
    migrate = sqlite.migrate

    def after_another(store):
        monkeypatch.setattr(sqlite, "migrate", migrate)
        SqliteStore.open(path).close()
        migrate(store)

    monkeypatch.setattr(sqlite, "migrate", after_another)
    with SqliteStore.open(path) as store:
        assert store.delete(["p4"]).deleted == 1
        assert store.check() == []
