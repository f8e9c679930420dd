"""The store: what it keeps, what it forgets, and that it is the same as if the leavers had never come."""

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from undeleted.coins import seeded
from undeleted.curator import Curator
from undeleted.engines.arrays import Arrays
from undeleted.errors import AlreadyThere, BadFile, StoreError
from undeleted.mechanisms import (
    BulletinBoard,
    GrownRangeCounts,
    NoisyCount,
    NoisyHistogram,
    NoisyMean,
    NoisyProducts,
    RangeCounts,
)
from undeleted.privacy import Budget
from undeleted.schema import Boolean, Category, Number, Schema, Text
from undeleted.stores import sqlite
from undeleted.stores._described import build, describe
from undeleted.stores.sqlite import MEMORY, Fold, Publishing, SqliteStore

AGE = Number("age", min=0, max=120)
INCOME = Number("income", min=0, max=2**40, missing="drop")
CITY = Category("city", values=("Haifa", "Chicago", "Washington"))
SICK = Boolean("sick")
NOTE = Text("note")
UNUSED = Number("unused", min=0, max=2**32)
PEOPLE = Schema([AGE, INCOME, CITY, SICK, NOTE, UNUSED], id="id", rows_per_person=2)
N = 300


def mechanisms():
    share = Budget(0.5)
    return {
        "people": NoisyCount(share, rows_per_person=2),
        "age": NoisyMean(AGE, share, rows_per_person=2),
        "ages": RangeCounts(AGE, share, rows_per_person=2),
        "incomes": GrownRangeCounts(INCOME, share, rows_per_person=2),
        "table": NoisyHistogram((CITY, SICK), share, rows_per_person=2),
        "both": NoisyProducts((AGE, SICK), share, rows_per_person=2),
        "notes": BulletinBoard(NOTE),
    }


def rows(n=N):
    """People p0, p1, …; every tenth has two rows."""
    people = [i for i in range(n) for _ in range(1 + (i % 10 == 0))]
    return {
        "id": [f"p{i}" for i in people],
        "age": [i % 100 for i in people],
        "income": [None if i % 7 == 0 else i * 10**6 for i in people],
        "city": [CITY.values[i % 3] for i in people],
        "sick": [i % 4 == 0 for i in people],
        "note": [f"note of {i}, number {k}" for k, i in enumerate(people)],
        "unused": [4_000_000_000 + i for i in people],
    }


def made(path, data, seed="noise"):
    """A store whose noise is recorded: the same seed draws the same noise."""
    table = PEOPLE.table(data)
    releases = {name: m.release(Arrays(table), seeded(f"{seed} {name}")) for name, m in mechanisms().items()}
    facts = {"epsilon": 4.0, "delta": 0.0, "spent": 3.0, "left": 1.0}
    return SqliteStore.create(str(path), Publishing(PEOPLE, mechanisms(), releases, table, facts))


def only(data, keep):
    chosen = [i for i, person in enumerate(data["id"]) if keep(person)]
    return {name: [values[i] for i in chosen] for name, values in data.items()}


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    opened = made(MEMORY if request.param == "memory" else tmp_path / "people.db", rows())
    yield opened
    opened.close()


LEAVERS = [f"p{i}" for i in range(0, N, 3)]


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_after_deletions_the_state_is_that_of_a_store_without_the_leavers(store, batch):
    """Cell by cell, with the same coins; a grown tree keeps its shape and is compared below."""
    for start in range(0, len(LEAVERS), batch):
        store.delete(LEAVERS[start : start + batch])
    without = made(MEMORY, only(rows(), lambda person: person not in LEAVERS))
    for name in ("people", "age", "ages", "table", "both"):
        assert np.array_equal(store.release(name)[0].value, without.release(name)[0].value), name
    assert store.release("notes")[0] == without.release("notes")[0]
    assert store.check() == []


def test_a_grown_tree_keeps_its_shape_and_its_noise(store):
    before, _ = store.release("incomes")
    store.delete(LEAVERS)
    after, _ = store.release("incomes")
    mechanism = mechanisms()["incomes"]
    gone = PEOPLE.table(only(rows(), lambda person: person in LEAVERS))
    assert after == mechanism.forget(before, mechanism.contribution(gone))


def test_a_replay_and_a_stranger_are_answered_alike_and_change_nothing(store):
    store.delete(["p1"])
    before = store.release("table")
    assert store.delete(["p1"]) == store.delete(["nobody"])
    assert store.release("table")[1] == before[1]
    assert store.delete(["p2", "p2", "p1"]).deleted == 1


def test_what_is_held_back_is_folded_in_when_enough_have_left_or_it_is_time(store, monkeypatch):
    before = {name: store.release(name)[0] for name in ("people", "table", "incomes")}
    assert store.delete(["p1", "p2"], Fold(people=4, after=3600)).held == 2
    assert {name: store.release(name)[0] for name in before} == before
    assert store.check() == []
    store.fold()
    assert store.held == 2, "it is not time yet"
    assert store.delete(["p3", "p4"], Fold(people=4, after=3600)).held == 0
    without = made(MEMORY, only(rows(), lambda person: person not in ("p1", "p2", "p3", "p4")))
    assert np.array_equal(store.release("table")[0].value, without.release("table")[0].value)
    assert store.check() == []
    store.delete(["p5"], Fold(people=100, after=3600))
    store.delete(["p6"])
    assert store.held == 1, "a deletion that is not to be held back leaves the others alone"
    monkeypatch.setattr(sqlite.time, "time", lambda: 2**40)
    store.fold()
    assert store.held == 0
    assert store.check() == []


def test_what_is_held_back_tells_nothing_without_the_key(tmp_path):
    """One leaver alone in the sum: it is masked, afresh at every write, and zeros again once it is folded."""
    store = made(tmp_path / "people.db", rows())
    store.delete(["p3"], Fold(people=100, after=3600))
    reader = sqlite3.connect(tmp_path / "people.db")
    first = dict(reader.execute("SELECT chunk, data FROM held"))
    store.delete(["p4"], Fold(people=100, after=3600))
    second = dict(reader.execute("SELECT chunk, data FROM held"))
    written = [chunk for chunk in first if any(first[chunk])]
    assert written
    for chunk in written:
        numbers = np.frombuffer(first[chunk][16:], dtype="<i8")
        assert (np.abs(numbers) > 2**32).mean() > 0.99, "masked numbers look like any others"
        assert first[chunk] != second[chunk]
    store.delete(["p5"], Fold(people=3, after=3600))
    assert not any(any(data) for (data,) in reader.execute("SELECT data FROM held"))
    reader.close()
    store.close()


def test_a_store_is_opened_again_as_it_was(tmp_path):
    path = tmp_path / "people.db"
    first = made(path, rows())
    first.delete(["p5"])
    state = {name: first.release(name) for name in mechanisms()}
    first.close()
    again = SqliteStore.open(str(path))
    assert {name: again.release(name) for name in mechanisms()} == state
    assert again.mechanisms == mechanisms()
    assert again.schema == PEOPLE
    assert again.check() == []


def test_a_store_of_the_first_format_still_opens(tmp_path):
    """Twelve people, of whom p3 had left when it was made."""
    kept = Path(__file__).parents[1] / "fixtures" / "store-v1.db"
    for suffix in ("", ".key"):
        shutil.copy(f"{kept}{suffix}", f"{tmp_path}/store.db{suffix}")
    store = SqliteStore.open(f"{tmp_path}/store.db")
    assert store.version == 2
    assert store.check() == []
    assert store.mechanisms == mechanisms()
    assert store.delete(["p3"]).unknown == 1
    assert store.delete(["p4"]).deleted == 1
    assert store.check() == []
    store.close()


def holders(folder: Path, *needles: bytes):
    """Which files of a folder hold some of these bytes."""
    files = [f for f in folder.iterdir() if f.is_file()]
    return [(f.name, needle) for f in files for needle in needles if needle in f.read_bytes()]


def test_no_file_holds_what_was_deleted(tmp_path):
    """Planted values and ids; then most people leave, in an order that would make a B-tree move its rows."""
    data = rows(2000)
    data["note"][777] = "a most unmistakable note"
    data["id"][777] = "an-unmistakable-id"
    data["income"][777] = 0xABCDEF1234
    store = made(tmp_path / "people.db", data)
    needles = (b"a most unmistakable note", (0xABCDEF1234).to_bytes(8, "little"))
    assert {n for _, n in holders(tmp_path, *needles)} == set(needles), "they must be there to be missed"
    assert holders(tmp_path, b"an-unmistakable-id") == [], "an id is never written at all"
    leavers = [p for p in dict.fromkeys(data["id"]) if hash(p) % 5]
    for start in range(0, len(leavers), 97):
        store.delete(leavers[start : start + 97])
    store.delete(["an-unmistakable-id"])
    assert store.erase()
    assert holders(tmp_path, *needles, b"an-unmistakable-id") == []
    store.close()
    assert holders(tmp_path, *needles, b"an-unmistakable-id") == []


def test_columns_that_nothing_published_needs_are_not_kept(tmp_path):
    made(tmp_path / "people.db", rows()).close()
    assert holders(tmp_path, (4_000_000_017).to_bytes(4, "little")) == []


def test_without_the_key_nothing_tells_what_the_leaver_had(tmp_path):
    """Two data sets that differ in one person; after she left, every byte but the keyed ones is the same."""
    dumps = []
    for age in (3, 97):
        data = rows()
        data["age"][11] = age
        store = made(tmp_path / f"{age}.db", data)
        store.delete([data["id"][11]])
        db = sqlite3.connect(tmp_path / f"{age}.db")
        cells = db.execute("SELECT chunk, data FROM cells ORDER BY chunk").fetchall()
        posts = sorted(data for (data,) in db.execute("SELECT data FROM posts"))
        dumps.append((cells, posts))
        db.close()
        store.close()
    assert dumps[0] == dumps[1]


def test_without_the_key_posts_do_not_tell_whose_record_is_whose(tmp_path):
    """Their numbers, which records hold, are drawn: the order of the source does not show in them."""
    data = rows()
    store = made(tmp_path / "people.db", data)
    in_order = [
        text
        for _, text in sorted(
            (post, sqlite.unpadded(d)) for post, _, d in store._db.execute("SELECT * FROM posts")
        )
    ]
    assert sorted(in_order) == sorted(data["note"])
    assert in_order != data["note"]
    assert (tmp_path / "people.db").stat().st_mode & 0o777 == 0o600
    store.close()


def test_threads_that_share_a_store_take_turns(tmp_path):
    store = made(tmp_path / "people.db", rows())
    before = store.release("people")[0].value[0]
    groups = [[f"p{i}" for i in range(1, 200) if i % 10 == part] for part in range(1, 7)]

    def leave(group):
        return sum(store.delete([person]).deleted for person in group)

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(leave, groups)) == sum(map(len, groups))
    assert before - store.release("people")[0].value[0] == sum(map(len, groups))
    assert store.check() == []
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
        "UPDATE buckets SET data = CAST(zeroblob(16) || substr(data, 17) AS BLOB) WHERE bucket = 0",
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


@pytest.mark.parametrize("key", ["sizes", "schema", "mechanisms", "digest", "buckets"])
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
        "UPDATE buckets SET data = zeroblob(length(data)) WHERE bucket = 0",
        "UPDATE posts SET data = zeroblob(length(data)) WHERE post = 1",
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
    store._db.execute("PRAGMA busy_timeout = 50")
    assert store.delete(["p3"]).deleted == 1
    assert not store.erase()
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
    with pytest.raises(AlreadyThere, match="a store at"):
        made(path, rows())


@pytest.mark.parametrize("thing", [PEOPLE, *mechanisms().values()], ids=lambda thing: type(thing).__name__)
def test_what_is_described_is_built_again(thing):
    assert build(json.loads(json.dumps(describe(thing)))) == thing


def test_a_count_alone_needs_no_column_and_still_forgets():
    curator = Curator(Schema([AGE], id="id"), Budget(1.0))
    curator.publish({"id": ["a", "b", "c"], "age": [1, 2, 3]}, {"people": NoisyCount(Budget(1.0))})
    before = curator.show("people").release.value[0]
    assert curator.delete("a", "b").deleted == 2
    assert curator.show("people").release.value[0] == before - 2
    assert curator.check() == []


def test_two_boards_of_one_column_are_refused():
    from undeleted.errors import BadQuestion

    curator = Curator(Schema([NOTE], id="id"), Budget(1.0))
    with pytest.raises(BadQuestion, match="same column"):
        curator.publish(
            {"id": ["a"], "note": ["x"]}, {"one": BulletinBoard(NOTE), "two": BulletinBoard(NOTE)}
        )
