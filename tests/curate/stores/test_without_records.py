"""Stores that keep no records: people leave with receipts, exactly once; a thief finds nothing about them.

Covers: curate/issuing.py, curate/stores/_claims.py, curate/stores/_mark_tree.py, curate/stores/_serials.py,
curate/stores/_spent_bits.py
"""

import json
import os
import random
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from support.people import N, only, rows
from support.without_records import CAPACITY, by_person, claims, made, published_mechanisms, publishing
from undeleted.curate.curator import Curator
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms import BulletinBoard, NoisyCount, NoisyHistogram, NoisySum
from undeleted.curate.receipts import Issuer, Receipt, _decoded, _encoded
from undeleted.curate.releases.arrivals import Rows
from undeleted.curate.stores import Fold, Serials, copy_store, open_store, store_exists
from undeleted.curate.stores._contents import Published
from undeleted.curate.stores._spent_bits import BITS, chunks_for, is_set, with_bits
from undeleted.curate.stores.sqlite import MEMORY, SqliteStore
from undeleted.errors import (
    AlreadyJoined,
    BadFile,
    BadReceipt,
    BadSetting,
    FalseReceipt,
    KeepsNoRecords,
    NotGenuine,
    RejectedValue,
    StoreError,
    UndeletedError,
)
from undeleted.foundations.coins import seeded
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Number, Schema, Text

ALARM = 1e-9
POSTGRES = pytest.param("postgres", marks=pytest.mark.services)
LEAVERS = [f"p{i}" for i in range(0, N, 3)]
AGE = Number("age", min=0, max=99)
SMALL = Schema([AGE], id="id")


@pytest.fixture(params=["file", POSTGRES])
def place(request, tmp_path):
    if request.param == "file":
        return lambda name="people": str(tmp_path / f"{name}.db")
    server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
    return lambda name="people": server.url(f"{mark}_{name}", tmp_path / f"{name}.key")


def state_of(store):
    """Everything that a deletion may change."""
    releases = {name: store.release(name)[0] for name in store.mechanisms}
    shown = {name: r.value.tobytes() if isinstance(r, Rows) else r for name, r in releases.items()}
    return shown, store.progress


def small(place, people, capacity=100, **settings):
    """A curator of a few people by age, and their receipts."""
    lines: list[str] = []
    curator = Curator(SMALL, Budget(2.0), place, retain="receipts", capacity=capacity, **settings)
    mechanisms = {"people": NoisyCount(Budget(1.0)), "ages": NoisyHistogram((AGE,), Budget(1.0))}
    data = {"id": list(people), "age": list(people.values())}
    curator.publish(data, mechanisms, receipts=lines.append)
    return curator, by_person(lines)


# -- leaving


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_after_leaving_the_state_is_that_of_a_store_without_the_leavers(place, batch):
    """Cell by cell, with the same coins; what grew keeps its shape, and forgets as its mechanism does."""
    store, receipts = made(place(), rows())
    with store:
        before = {name: store.release(name)[0] for name in ("incomes", "boxes")}
        for start in range(0, len(LEAVERS), batch):
            part = LEAVERS[start : start + batch]
            assert store.delete_tagged(claims(store, receipts, part)).deleted == len(part)
        without, _ = made(MEMORY, only(rows(), lambda person: person not in LEAVERS))
        for name in ("people", "age", "ages", "table", "both", "forest", "pairs"):
            assert store.release(name)[0] == without.release(name)[0], name
        gone = only(rows(), lambda person: person in LEAVERS)
        for name, release in before.items():
            mechanism = published_mechanisms()[name]
            contribution = mechanism.contribution(store.schema.table(gone))
            assert store.release(name)[0] == mechanism.forget(release, contribution)
        assert store.check() == []


def test_a_receipt_is_good_once_in_one_request_or_in_many(place):
    store, receipts = made(place(), rows(30))
    with store:
        [claim] = claims(store, receipts, ["p10"])
        done = store.delete_tagged([claim, claim])
        assert (done.deleted, done.unknown, done.version) == (1, 1, 2)
        after = state_of(store)
        for again in ([claim], [claim, claim]):
            for dummy_work in (False, True):
                assert store.delete_tagged(again, dummy_work=dummy_work).deleted == 0
        assert state_of(store) == after
        assert store.check() == []


def test_eight_threads_with_the_same_receipts_delete_each_person_once(place):
    where = place()
    store, receipts = made(where, rows(60))
    inside = claims(store, receipts, [f"p{i}" for i in range(40)])
    before = store.release("table")[0].value.sum()
    store.close()

    def leave(_):
        with open_store(where) as mine:
            return sum(mine.delete_tagged([claim]).deleted for claim in inside)

    with ThreadPoolExecutor(8) as crowd:
        assert sum(crowd.map(leave, range(8))) == 40
    with open_store(where) as store:
        assert store.check() == []
        assert before - store.release("table")[0].value.sum() == 44, "every tenth has two rows"


def test_nobody_is_deleted_by_id_or_by_a_tag(place):
    store, _ = made(place(), rows(5))
    with store:
        before = state_of(store)
        for delete in (lambda: store.delete(["p1"]), lambda: store.delete_tagged([bytes(16)])):
            with pytest.raises(KeepsNoRecords, match="nobody can be deleted by id"):
                delete()
        assert state_of(store) == before


def test_receipts_that_are_replayed_forged_foreign_or_altered_subtract_nothing():
    """Ten thousand of them; a genuine one among them is counted once."""
    curator, receipts = small(MEMORY, {f"p{i}": i % 100 for i in range(60)})
    _, foreign = small(MEMORY, {f"p{i}": i % 100 for i in range(60)})
    tokens, rng = list(receipts.values()), random.Random(1)
    for token in tokens[:30]:
        assert curator.delete_with(token).deleted == 1
    after, refused, answered = curator.show("ages").release, 0, 0
    for _ in range(10_000):
        token = bytearray(rng.choice(tokens).encode())
        kind = rng.randrange(4)
        if kind == 0:
            sent = rng.choice(tokens[:30])  # a replay
        elif kind == 1:
            sent = rng.choice(list(foreign.values()))
        elif kind == 2:  # one character is another
            at = rng.randrange(len(token))
            token[at] = rng.choice(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
            sent = token.decode()
            if sent in tokens[30:]:
                continue
        else:  # the parts of two
            one, two = rng.sample(tokens, 2)
            sent = ".".join([one.split(".")[0], one.split(".")[1], two.split(".")[2]])
        try:
            assert curator.delete_with(sent).deleted == 0
            answered += 1
        except (BadReceipt, FalseReceipt):
            refused += 1
    assert curator.show("ages").release == after
    assert curator.check() == []
    assert answered > 2000
    assert refused > 6000
    assert curator.delete_with(tokens[30]).deleted == 1


def test_one_false_receipt_among_many_deletes_nobody():
    curator, receipts = small(MEMORY, {f"p{i}": i for i in range(9)})
    _, foreign = small(MEMORY, {"p0": 0})
    with pytest.raises(FalseReceipt) as refused:
        curator.delete_with([*list(receipts.values())[:4], foreign["p0"]])
    assert refused.value.position == 4
    assert curator.status().version == 1


@pytest.mark.parametrize("dummy_work", [False, True])
def test_what_is_held_back_is_folded_in_once(place, dummy_work):
    store, receipts = made(place(), rows())
    fold = Fold(people=3, after=3600.0)
    with store:
        before = state_of(store)[0]
        for number, person in enumerate(("p0", "p1", "p1"), start=1):
            done = store.delete_tagged(claims(store, receipts, [person]), fold, dummy_work=dummy_work)
            assert done.held == min(number, 2)
        assert state_of(store)[0] == before
        assert store.check() == []
        store.delete_tagged(claims(store, receipts, ["p2"]), fold, dummy_work=dummy_work)
        assert (store.held, store.version) == (0, 2)
        without, _ = made(MEMORY, only(rows(), lambda person: person not in ("p0", "p1", "p2")))
        assert store.release("table")[0] == without.release("table")[0]
        assert store.check() == []


# -- what is in the receipts


def test_receipts_have_one_length_and_carry_no_value_that_anybody_can_read():
    """With one row or two, whatever the values."""
    store, receipts = made(MEMORY, rows())
    assert len({len(token) for token in receipts.values()}) == 1
    [claim] = claims(store, receipts, ["p10"])
    inside = store.claims.read(claim)
    assert len(inside.rows) == 2
    token = receipts["p10"]
    raw = b"".join(_decoded(part) for part in token.split("."))
    assert b"p10" not in raw
    assert all(row not in raw for row in inside.rows)
    assert Issuer(os.urandom(32), keeps_records=False).claim_in(Receipt.parse(token)) is None


def test_serials_are_in_no_order():
    """Serials of the first half of the people, against those of the second; row order loses."""

    def looks_random(serials):
        half = len(serials) // 2
        return stats.ks_2samp(serials[:half], serials[half:]).pvalue > ALARM

    store, receipts = made(MEMORY, rows())
    serials = [store.claims.read(c).serial for c in claims(store, receipts, receipts)]
    assert len(set(serials)) == N
    assert max(serials) < CAPACITY
    assert looks_random(serials)
    assert stats.kstest(serials, stats.randint(0, CAPACITY).cdf).pvalue > ALARM, "the largest does not tell n"
    assert not looks_random(sorted(serials)), "this test cannot see an order"
    assert stats.kstest(range(N), stats.randint(0, CAPACITY).cdf).pvalue < ALARM


def test_a_bit_is_of_one_serial():
    chunks = {n: bytes(BITS // 8) for n in range(chunks_for(BITS + 1))}
    after = with_bits(chunks, [0, 9, BITS - 1, BITS])
    assert [s for s in range(2 * BITS) if is_set(after[s // BITS], s)] == [0, 9, BITS - 1, BITS]
    assert with_bits(after, [0, 9, BITS - 1, BITS], spent=False) == chunks
    assert sorted(Serials(1000, bytes(32)).take(0, 2000).tolist()) == list(range(1000))


def test_receipts_go_to_a_file_a_folder_or_a_function(tmp_path):
    people = {"p1": 1, "../p2": 2, "p" * 300: 3, "ü": 4}
    data = {"id": list(people), "age": list(people.values())}
    lines: list[str] = []
    for number, sink in enumerate((tmp_path / "r.jsonl", f"{tmp_path / 'each'}{os.sep}", lines.append)):
        curator = Curator(SMALL, Budget(1.0), tmp_path / f"{number}.db", retain="receipts", capacity=10)
        with curator:
            curator.publish(data, {"people": NoisyCount(Budget(1.0))}, receipts=sink)
            given = list(lines)
            if number == 0:
                given = (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()
                assert (tmp_path / "r.jsonl").stat().st_mode & 0o777 == 0o600
            elif number == 1:
                given = [file.read_text(encoding="utf-8") for file in (tmp_path / "each").iterdir()]
            assert curator.delete_with(by_person(given).values()).deleted == 4


# -- publishing


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"retain": "receipts"}, "receipts need a `capacity`"),
        ({"retain": "receipts", "capacity": 0}, "receipts need a `capacity`"),
        ({"retain": "receipts", "capacity": 10**12}, "receipts need a `capacity`"),
        ({"retain": "receipts", "capacity": 9, "keep": ["age"]}, "`keep` needs records"),
        ({"retain": "nothing"}, "is not a rule"),
        ({"capacity": 9}, "`capacity` is for stores that keep no records"),
    ],
)
def test_rules_that_do_not_fit_are_refused(settings, said):
    with pytest.raises(BadSetting, match=said):
        Curator(SMALL, Budget(1.0), **settings)


def test_a_publication_that_fails_leaves_no_store_and_no_receipts(tmp_path):
    """More people than capacity, the same person twice, a callback that raises, a file that is there."""
    where, lines = tmp_path / "people.db", tmp_path / "r.jsonl"
    people = {"id": [f"p{i}" for i in range(9)], "age": list(range(9))}
    mechanisms = {"people": NoisyCount(Budget(1.0))}

    def publish(data, capacity=9, receipts=lines, schema=SMALL):
        with Curator(schema, Budget(1.0), where, retain="receipts", capacity=capacity) as curator:
            curator.publish(data, mechanisms, receipts=receipts)

    def fail(line):
        raise RuntimeError("no more room")

    with pytest.raises(BadSetting, match="more than 8 people; nothing was changed"):
        publish(people, capacity=8)
    with pytest.raises(UndeletedError):
        publish({"id": ["a", "a"], "age": [1, 2]})
    with pytest.raises(RuntimeError, match="no more room"):
        publish(people, receipts=fail)
    with pytest.raises(BadSetting, match="nobody could ever leave"):
        publish(people, receipts=None)
    with pytest.raises(BadFile, match="cannot be written"):
        publish(people, receipts=tmp_path / "nowhere" / "r.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".lock") == []
    lines.write_text("somebody's")
    with pytest.raises(BadFile, match="already exists"):
        publish(people)
    assert lines.read_text() == "somebody's"
    lines.unlink()
    publish(people)
    assert len(lines.read_text().splitlines()) == 9


def test_people_who_come_twice_in_different_blocks_are_refused(tmp_path):
    """No id is kept, so that they are noticed by keyed digests of one run."""
    path = tmp_path / "people.csv"
    path.write_text("id,age\n" + "".join(f"p{i},{i % 100}\n" for i in range(5000)) + "p17,3\n")
    spec = tmp_path / "spec.toml"
    spec.write_text(
        f'[data]\nsource = "{path}"\nid = "id"\nretain = "receipts"\ncapacity = 10000\n'
        "[budget]\nepsilon = 1\n"
        '[columns.age]\ntype = "number"\nmin = 0\nmax = 99\n[publish.people]\nkind = "count"\n'
    )
    with pytest.raises(RejectedValue, match="a person may have 1 row"):
        Curator.from_spec(spec, tmp_path / "people.db", receipts=tmp_path / "r.jsonl")
    assert not store_exists(str(tmp_path / "people.db"))
    assert not (tmp_path / "r.jsonl").exists()


def test_boards_corrections_and_rows_to_come_are_refused_with_the_reason():
    note = Text("note")
    schema = Schema([AGE, note], id="id")
    with pytest.raises(BadSetting, match="would be kept with numbers by which they are found"):
        Curator(schema, Budget(1.0), retain="receipts", capacity=9).publish(
            {"id": ["a"], "age": [1], "note": ["x"]}, {"notes": BulletinBoard(note)}, receipts=print
        )
    count = NoisyCount(Zcdp(0.05))
    for noise, corrections, said in (
        ("factorization", 0, "need the exact totals of those who joined earlier"),
        ("cohorts", 1, "a correction needs the earlier record"),
    ):
        grows = Growing("manual", 12, noise, corrections)
        with pytest.raises(BadSetting, match=said):
            Curator(SMALL, Budget(2.0, 1e-6), retain="receipts", capacity=9).publish(
                {"id": ["a"], "age": [1]}, {"people": grows.of(count)}, grows.clock(), receipts=print
            )


def test_nothing_can_be_published_later_and_no_receipt_again(tmp_path):
    curator, _ = small(tmp_path / "people.db", {"a": 1, "b": 2})
    with curator:
        with pytest.raises(BadSetting, match="no records from which more could be published"):
            curator.publish_more({"more": NoisyCount(Budget(0.1))})
        with pytest.raises(BadSetting, match="receipts cannot be written again"):
            list(curator.receipts_of({"id": ["a"], "age": [1]}))


# -- what a thief finds


PLANTED = "Planted-Person"


def files_of(folder):
    """The bytes of all files of a store, and of what SQLite keeps beside it."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


def test_no_planted_byte_is_in_any_file_of_the_store(tmp_path):
    """Ids, codes and their packed rows; in a store that keeps records the same search finds them."""
    wide = Number("wide", min=0, max=2**48)
    schema = Schema([wide], id="id")
    values = [0x112233445501 + i for i in range(2000)]
    data = {"id": [f"{PLANTED}-{i}" for i in range(2000)], "wide": values}
    planted = [value.to_bytes(8, "little") for value in values] + [PLANTED.encode()]
    found = {}
    for retain in ("records", "receipts"):
        folder = tmp_path / retain
        folder.mkdir()
        rules = {"retain": retain, "capacity": 3000} if retain == "receipts" else {}
        lines: list[str] = []
        receipts = {"receipts": lines.append} if rules else {}
        with Curator(schema, Budget(1.0), folder / "people.db", **rules) as curator:
            curator.publish(data, {"sum": NoisySum(wide, Budget(1.0))}, **receipts)
            left = folder / "people.db"
            assert left.exists()
            if rules:
                curator.delete_with(lines[:100])
            during = files_of(folder)
        bytes_ = b"".join([*during.values(), *files_of(folder).values()])
        found[retain] = sum(each in bytes_ for each in planted)
    assert found["receipts"] == 0
    assert found["records"] >= 2000, "this search finds what is there"


def _fixed(monkeypatch):
    """Coins of the operating system that are the same in every run."""
    state = random.Random(5)
    monkeypatch.setattr(os, "urandom", lambda n: state.randbytes(n))


@pytest.mark.parametrize("fold", [None, Fold(people=9, after=3600.0)], ids=["at-once", "held-back"])
def test_the_store_is_byte_for_byte_a_function_of_what_is_public_the_bits_and_the_key(
    tmp_path, monkeypatch, fold
):
    """Two tables of which nobody is the same but the one who leaves, with noise by which z is the same."""
    tables = [
        {"id": ["leaver", *(f"a{i}" for i in range(50))], "age": [7, *[3] * 50]},
        {"id": ["leaver", *(f"b{i}" for i in range(70))], "age": [7, *[90] * 70]},
    ]
    mechanism = {"ages": NoisyHistogram((AGE,), Budget(1.0))}
    target = mechanism["ages"].release(Arrays(SMALL.table(tables[0])), seeded("one of them"))
    written = []
    for number, data in enumerate(tables):
        lines: list[str] = []
        given = publishing(data, lines.append, schema=SMALL, published=mechanism)
        given.releases["ages"] = target  # the noise that leads to it exists for either table
        with monkeypatch.context() as patched:
            _fixed(patched)
            path = str(tmp_path / f"{number}.db")
            store = SqliteStore.filled(path, lambda k, g=given: Published(g, k), bytes(range(32)))
            with monkeypatch.context() as later:
                later.setattr("time.time", lambda: 1e9)
                _fixed(later)
                store.delete_tagged(claims(store, by_person(lines), ["leaver"]), fold)
            assert store.check() == []
            store.close()
        written.append(Path(path).read_bytes())
    assert written[0] == written[1]


def test_a_thief_with_key_and_names_cannot_tell_whether_somebody_is_in_it(tmp_path):
    """Everything in the file but cells, bits and their marks is the same for any people of one schema."""
    meta = []
    for people in ({"a": 1}, {f"p{i}": i for i in range(90)}):
        lines: list[str] = []
        path = tmp_path / f"{len(people)}.db"
        data = {"id": list(people), "age": list(people.values())}
        given = publishing(data, lines.append, schema=SMALL, published={"n": NoisyCount(Budget(1.0))})
        SqliteStore.filled(str(path), lambda k, g=given: Published(g, k), bytes(32)).close()
        with sqlite3.connect(path) as db:
            meta.append(dict(db.execute("SELECT key, value FROM meta")))
            assert db.execute("SELECT count(*), sum(length(data)) FROM spent").fetchone() == (1, 4056)
        db.close()
    assert "digest" not in meta[0]
    assert meta[0] == meta[1]
    assert (tmp_path / "1.db").stat().st_size == (tmp_path / "90.db").stat().st_size


# -- altered, and rolled back


def _flipped(path, rng):
    data = bytearray(Path(path).read_bytes())
    at = rng.randrange(100, len(data))  # SQLite's own header has counters that mean nothing
    data[at] ^= 1 << rng.randrange(8)
    Path(path).write_bytes(data)


@pytest.mark.parametrize("flips", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_an_altered_byte_is_noticed_or_changes_nothing(tmp_path, flips):
    path = tmp_path / "people.db"
    curator, receipts = small(path, {f"p{i}": i for i in range(60)}, capacity=2 * BITS)
    with curator:
        curator.delete_with(list(receipts.values())[:20])
        before = state_of(curator.store)
        inside = claims(curator.store, receipts, receipts)
    rng, noticed = random.Random(flips), 0
    for number in range(flips):
        copy = tmp_path / f"copy{number}.db"
        shutil.copy(path, copy)
        shutil.copy(f"{path}.key", f"{copy}.key")
        _flipped(copy, rng)
        try:
            with open_store(str(copy)) as store:
                if store.check():
                    noticed += 1
                    continue
                assert state_of(store) == before
                assert store.delete_tagged(inside).deleted == 40
                assert store.check() == []
        except UndeletedError:
            noticed += 1
        finally:
            for name in ("", "-wal", "-shm", ".key", ".lock"):
                Path(f"{copy}{name}").unlink(missing_ok=True)
    assert noticed > flips / 10


PARTS = (["spent"], ["cells"], ["marks"], ["state"], ["spent", "marks"], ["cells", "spent", "marks"])


def put_back(store, earlier, tables):
    """Put tables of an earlier copy into a store."""
    with closing(sqlite3.connect(store)) as db:
        db.execute("ATTACH ? AS earlier", (str(earlier),))
        for table in tables:
            db.execute(f"DELETE FROM {table}")
            db.execute(f"INSERT INTO {table} SELECT * FROM earlier.{table}")
        db.commit()


def test_a_part_of_an_earlier_version_is_noticed_and_never_confirmed(tmp_path):
    """Somebody puts back the bits, the cells or the marks from before a deletion, alone or together."""
    path = tmp_path / "people.db"
    curator, receipts = small(path, {f"p{i}": i for i in range(60)})
    curator.close()
    earlier = tmp_path / "earlier.db"
    shutil.copy(path, earlier)
    with Curator.open(path) as curator:
        curator.delete_with(receipts["p1"])
    tokens = list(receipts.values())
    for tables in PARTS:
        copy = tmp_path / f"{'-'.join(tables)}.db"
        shutil.copy(path, copy)
        shutil.copy(f"{path}.key", f"{copy}.key")
        put_back(copy, earlier, tables)
        with Curator.open(copy) as curator:
            assert curator.check() != [], tables
            with pytest.raises(StoreError, match="damaged"):
                curator.delete_with(tokens)  # touches every part
            assert curator.check() != [], "what was altered is not confirmed by a change"


def test_a_part_that_is_put_back_under_an_open_store_is_noticed_too(tmp_path):
    """The marks that a process has checked are not read again; what they are marks of is."""
    path = tmp_path / "people.db"
    curator, receipts = small(path, {f"p{i}": i for i in range(60)})
    curator.close()
    earlier = tmp_path / "earlier.db"
    shutil.copy(path, earlier)
    tokens = list(receipts.values())
    for tables in (
        ["spent"],
        ["cells"],
        ["marks"],
        ["state"],
        ["spent", "marks"],
        ["cells", "spent", "marks"],
    ):
        copy = tmp_path / f"{'-'.join(tables)}-open.db"
        shutil.copy(path, copy)
        shutil.copy(f"{path}.key", f"{copy}.key")
        with Curator.open(copy) as curator:
            curator.delete_with(tokens[:1])
            curator.delete_with(tokens[1:2])  # its marks are known now
            put_back(copy, earlier, tables)
            with pytest.raises(StoreError, match="damaged"):
                curator.delete_with(tokens[2:3])
            assert curator.check() != [], tables


def test_two_who_have_it_open_and_one_whose_change_failed_take_turns(tmp_path, monkeypatch):
    """Marks that one of them knows are not those of the store after the other has written."""
    path = tmp_path / "people.db"
    curator, receipts = small(path, {f"p{i}": i for i in range(60)})
    tokens = list(receipts.values())
    with curator, Curator.open(path) as other:
        for turn, token in enumerate(tokens[:20]):
            each = (curator, other)[turn % 2]
            if turn % 5 == 4:
                monkeypatch.setattr(type(each.store), "_put_state", _fails)
                with pytest.raises(MemoryError):
                    each.delete_with([token])
                monkeypatch.undo()
            assert each.delete_with([token]).deleted == 1
        assert curator.check() == other.check() == []


def _fails(*_):
    raise MemoryError


def test_a_whole_store_that_was_rolled_back_looks_authentic_and_is_old(tmp_path):
    """It shows against the version in a certificate, and against nothing else."""
    path = tmp_path / "people.db"
    curator, receipts = small(path, {f"p{i}": i for i in range(60)})
    certificates = []
    with curator:
        curator.delete_with(receipts["p1"])
        certificates.append(curator.certificate(receipts["p1"]))
        curator.erase()
        shutil.copy(path, tmp_path / "earlier.db")
        curator.delete_with(receipts["p2"])
        certificates.append(curator.certificate(receipts["p2"]))
        assert curator.check(since=certificates) == []
    shutil.copy(tmp_path / "earlier.db", path)
    with Curator.open(path) as curator:
        assert curator.check() == []
        assert curator.check(since=certificates[:1]) == []
        assert any("it is older" in problem for problem in curator.check(since=certificates))


def test_the_version_in_a_certificate_is_for_the_curator_alone():
    curator, receipts = small(MEMORY, {f"p{i}": i for i in range(9)})
    other, foreign = small(MEMORY, {f"p{i}": i for i in range(9)})
    curator.delete_with(receipts["p1"])
    one, again = curator.certificate(receipts["p1"]), curator.certificate(receipts["p1"])
    assert one != again, "nobody can tell from two certificates whether anything happened between them"
    assert len(one) == len(again)
    with pytest.raises(NotGenuine):
        other.check(since=[one])
    with pytest.raises(NotGenuine):
        curator.check(since=["nonsense"])
    with pytest.raises(FalseReceipt):
        curator.certificate(foreign["p1"])


# -- copies


def test_a_copy_has_the_bits_and_a_new_key_would_void_every_receipt(place):
    store, receipts = made(place(), rows(30))
    with store:
        store.delete_tagged(claims(store, receipts, ["p1"]))
        with pytest.raises(BadSetting, match="every receipt would be void"):
            copy_store(store, place("other"), new_key=True)
        with copy_store(store, place("copy")) as copied:
            assert state_of(copied) == state_of(store)
            assert copied.check() == []
            done = copied.delete_tagged(claims(copied, receipts, ["p1", "p2"]))
            assert (done.deleted, done.unknown) == (1, 1)
            assert copied.check() == []


def test_between_files_and_databases_both_ways(tmp_path, request):
    """A file to memory and back; with a server, to PostgreSQL and back."""
    store, receipts = made(tmp_path / "people.db", rows(30))
    with store, copy_store(store, MEMORY) as there:
        there.delete_tagged(claims(there, receipts, ["p3"]))
        with copy_store(there, str(tmp_path / "back.db")) as back:
            assert back.delete_tagged(claims(back, receipts, ["p3", "p4"])).deleted == 1
            assert back.check() == []


@pytest.mark.services
def test_to_postgresql_and_back(tmp_path, server, mark):
    store, receipts = made(tmp_path / "people.db", rows(30))
    with store, copy_store(store, server.url(mark, tmp_path / "there.key")) as there:
        there.delete_tagged(claims(there, receipts, ["p3"]))
        with copy_store(there, str(tmp_path / "back.db")) as back:
            assert back.delete_tagged(claims(back, receipts, ["p3", "p4"])).deleted == 1
            assert back.check() == []


def test_records_become_receipts_once_and_for_good(tmp_path):
    """A store that kept records: those who left before stay gone, and no record stays in its files."""
    wide = Number("wide", min=0, max=2**48)
    schema = Schema([wide], id="id")
    values = {f"p{i}": 0x112233445501 + i for i in range(200)}
    lines: list[str] = []
    data = {"id": list(values), "wide": list(values.values())}
    with Curator(schema, Budget(2.0), tmp_path / "sums.db") as curator:
        curator.publish(data, {"sum": NoisySum(wide, Budget(1.0))})
        curator.delete("p0")
        before = curator.show("sum").release
        with pytest.raises(StoreError, match="the list lacks people who are in the store"):
            curator.forget_records(list(values)[:100], 300, receipts=lines.append)
        with pytest.raises(BadSetting, match="more than 100 people"):
            curator.forget_records(list(values), 100, receipts=lines.append)
        assert curator.check() == []
        assert curator.store.keeps_records
        lines.clear()
        assert curator.forget_records(list(values), 300, receipts=lines.append)
        assert curator.check() == []
        assert curator.show("sum").release == before
        with pytest.raises(BadSetting):
            curator.forget_records(list(values), 300, receipts=lines.append)
        receipts = by_person(lines)
        assert set(receipts) == set(values) - {"p0"}
        assert curator.delete_with(receipts["p5"], receipts["p5"]).deleted == 1
        gone = curator.show("sum").release
        assert int((before.value - gone.value).sum()) == values["p5"]
    everything = b"".join(data for name, data in files_of(tmp_path).items() if name.startswith("sums"))
    assert not any(value.to_bytes(8, "little") in everything for value in values.values())


# -- tables that grow


GROWS = Growing("manual", horizon=5, noise="cohorts")


def grown(place, people, capacity=50):
    lines: list[str] = []
    curator = Curator(SMALL, Budget(2.0, 1e-6), place, retain="receipts", capacity=capacity)
    mechanisms = {"ages": GROWS.of(NoisyHistogram((AGE,), Zcdp(0.05)))}
    data = {"id": list(people), "age": list(people.values())}
    curator.publish(data, mechanisms, GROWS.clock(), receipts=lines.append)
    return curator, by_person(lines)


def joined(curator, people):
    lines: list[str] = []
    data = {"id": list(people), "age": list(people.values())}
    curator.add(data, receipts=lines.append)
    return by_person(lines)


def test_people_join_with_receipts_and_leave_before_and_after_their_tick(place):
    curator, receipts = grown(place(), {f"p{i}": i for i in range(20)})
    with curator:
        receipts |= joined(curator, {f"q{i}": 30 + i for i in range(20)})
        assert len(curator.store.tags()) == 20, "they wait"
        rows_before = curator.show("ages").release.value.copy()
        assert curator.delete_with(receipts["q0"], receipts["p0"]).deleted == 2
        after = curator.show("ages").release.value
        assert (rows_before - after)[0].tolist() == [1, *[0] * 99], "who waited was in no row"
        curator.tick()
        assert curator.store.tags() == set(), "nothing of them stays"
        assert curator.check() == []
        rows_before = curator.show("ages").release.value.copy()
        assert curator.delete_with(receipts["q0"], receipts["q1"], receipts["p1"]).deleted == 2
        moved = rows_before - curator.show("ages").release.value
        assert {(tick, cell) for tick, cell in zip(*map(list, np.nonzero(moved)), strict=True)} == {
            (0, 1),
            (1, 31),
        }
        assert curator.check() == []


def test_a_year_of_joining_and_leaving_with_receipts(place):
    where = place()
    curator, receipts = grown(where, {f"p{i}": i for i in range(20)})
    curator.close()
    for tick in range(1, 5):
        with Curator.open(where) as curator:
            receipts |= joined(curator, {f"t{tick}-{i}": i for i in range(40)})
            curator.delete_with([receipts[f"t{tick}-{i}"] for i in range(10)])
            curator.tick()
            curator.delete_with([receipts[f"t{tick}-{i}"] for i in range(5, 15)])
            assert curator.check() == []
    with Curator.open(where) as curator:
        done = curator.delete_with(list(receipts.values()))
        assert (done.deleted, done.unknown) == (20 + 4 * 25, 4 * 15)
        assert curator.check() == []


def test_more_than_the_capacity_of_a_tick_are_refused_and_the_next_tick_has_room(place):
    curator, _ = grown(place(), {"p1": 1}, capacity=5)
    with curator:
        joined(curator, {f"q{i}": i for i in range(5)})
        with pytest.raises(BadSetting, match="more than 5 people would join at this tick; nobody was added"):
            joined(curator, {"r": 1})
        with pytest.raises(AlreadyJoined):
            joined(curator, {"q1": 1})
        curator.tick()
        assert set(joined(curator, {"r": 1})) == {"r"}
        assert curator.check() == []


def test_receipts_of_people_who_were_not_taken_in_are_void(place):
    """The writer of receipts fails, or the tick closes meanwhile."""
    curator, _ = grown(place(), {"p1": 1})
    with curator:
        lines: list[str] = []

        def fail(line):
            lines.append(line)
            raise RuntimeError

        with pytest.raises(RuntimeError):
            curator.add({"id": ["q"], "age": [9]}, receipts=fail)
        assert curator.store.tags() == set()

        def close_the_tick(line):
            lines.append(line)
            curator.tick()

        with pytest.raises(StoreError, match="has closed meanwhile; nobody was added"):
            curator.add({"id": ["r"], "age": [9]}, receipts=close_the_tick)
        before = curator.show("ages").release.value.copy()
        for line in lines:
            assert curator.delete_with(line).deleted == 0
        assert np.array_equal(curator.show("ages").release.value, before)
        with pytest.raises(BadSetting, match="without receipts nobody who is added could ever leave"):
            curator.add({"id": ["s"], "age": [9]})
        with pytest.raises(BadSetting, match="no record can be corrected"):
            curator.correct({"id": ["p1"], "age": [9]})
        assert curator.check() == []


def test_nobody_waits_in_the_files_after_their_tick(tmp_path):
    wide = Number("wide", min=0, max=2**48)
    schema = Schema([wide], id="id")
    values = [0x112233445501 + i for i in range(200)]
    grows = {"sum": GROWS.of(NoisySum(wide, Zcdp(0.05)))}
    lines: list[str] = []
    with Curator(
        schema, Budget(2.0, 1e-6), tmp_path / "people.db", retain="receipts", capacity=300
    ) as curator:
        curator.publish({"id": ["a"], "wide": [1]}, grows, GROWS.clock(), receipts=lines.append)
        curator.add({"id": [f"{PLANTED}{i}" for i in range(200)], "wide": values}, receipts=lines.append)
        waiting = b"".join(files_of(tmp_path).values())
        assert sum(v.to_bytes(8, "little") in waiting for v in values) == 200, "until then they are there"
        curator.tick()
        after = b"".join(files_of(tmp_path).values())
    after += b"".join(files_of(tmp_path).values())
    assert PLANTED.encode() not in after
    assert not any(v.to_bytes(8, "little") in after for v in values)


def test_hidden_leavers_with_receipts(place):
    grows = Growing("manual", horizon=5, noise="cohorts", leavers=1.0)
    lines: list[str] = []
    curator = Curator(SMALL, Budget(2.0, 1e-6), place(), retain="receipts", capacity=50)
    mechanisms = {"ages": grows.of(NoisyHistogram((AGE,), Zcdp(0.05)), Zcdp(0.05))}
    with curator:
        curator.publish(
            {"id": ["a", "b"], "age": [1, 2]},
            mechanisms,
            grows.clock(),
            Budget(2.0, 1e-6),
            receipts=lines.append,
        )
        before = state_of(curator.store)
        receipts = by_person(lines)
        assert curator.delete_with(receipts["a"]).deleted == 1
        assert curator.delete_with(receipts["a"]).deleted == 0
        assert state_of(curator.store) == before, "nothing shows before the tick"
        assert curator.check() == []
        curator.tick()
        assert curator.check() == []
        assert curator.delete_with(receipts["a"], receipts["b"]).deleted == 1


def test_an_issuer_without_records_opens_no_receipt_of_one_with_records():
    key = bytes(range(32))
    with_records, without = Issuer(key), Issuer(key, keeps_records=False)
    receipt, _ = with_records.receipt("p1")
    assert without.claim_in(receipt) is None
    assert without.tag_in(receipt) is not None
    line, _ = without.receipt_of("p1", bytes(30))
    assert with_records.tag_in(line) is None
    assert _encoded(_decoded(line.token.split(".")[2])) == line.token.split(".")[2]
    assert json.loads(_decoded(line.token.split(".")[1])).keys() == {"iss", "aud", "sub", "seal"}
