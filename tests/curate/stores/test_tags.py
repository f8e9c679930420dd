"""Stores that keep salted tags: people leave with their rows and their salt, exactly once.

Covers: curate/destinations.py
"""

import json
import random
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from support.people import N, only, rows
from support.without_records import CAPACITY, published_mechanisms, publishing
from undeleted.curate.curator import Curator
from undeleted.curate.destinations import ToCallback
from undeleted.curate.growing import Growing
from undeleted.curate.issuing import IssuingSalts
from undeleted.curate.mechanisms import NoisyCount, NoisyHistogram, NoisySum
from undeleted.curate.stores import Fold, copy_store, create_store, open_store, salted_tag
from undeleted.curate.stores.sqlite import MEMORY
from undeleted.errors import BadSetting, KeepsNoRecords, StoreError, UndeletedError
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Number, Schema

AGE = Number("age", min=0, max=99)
SMALL = Schema([AGE], id="id")
LEAVERS = [f"p{i}" for i in range(0, N, 3)]


def made(place, data):
    """A store of tags with seeded noise, and everybody's salt."""
    lines: list[str] = []
    given = publishing(data, print)
    facts = dict(given.facts) | {"retain": "tags"}
    given = replace(given, facts=facts, issue=IssuingSalts(ToCallback(lines.append), CAPACITY))
    return create_store(str(place), given), salts_of(lines)


def salts_of(lines):
    return {line["person"]: line["salt"] for line in map(json.loads, lines)}


def claims(store, salts, data):
    """What is presented for everybody in these rows."""
    table, people = store.schema.table(data), {}
    for row, person in enumerate(data["id"]):
        people.setdefault(person, []).append(row)
    presented = [(person, places, bytes.fromhex(salts[person])) for person, places in people.items()]
    return store.presented(table, presented)


def small(place, people, capacity=100):
    lines: list[str] = []
    curator = Curator(SMALL, Budget(2.0), place, retain="tags", capacity=capacity)
    mechanisms = {"people": NoisyCount(Budget(1.0)), "ages": NoisyHistogram((AGE,), Budget(1.0))}
    curator.publish(frame(people), mechanisms, receipts=lines.append)
    return curator, salts_of(lines)


def frame(people):
    return pd.DataFrame({"id": list(people), "age": list(people.values())})


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize("dummy_work", [False, True])
def test_after_leaving_the_state_is_that_of_a_store_without_the_leavers(tmp_path, batch, dummy_work):
    store, salts = made(tmp_path / "people.db", rows())
    leaving = claims(store, salts, only(rows(), lambda person: person in LEAVERS))
    for start in range(0, len(leaving), batch):
        done = store.delete_tagged(leaving[start : start + batch], dummy_work=dummy_work)
        assert done.deleted == len(leaving[start : start + batch])
    assert store.delete_tagged(leaving, dummy_work=dummy_work).deleted == 0
    without, _ = made(MEMORY, only(rows(), lambda person: person not in LEAVERS))
    for name in set(published_mechanisms()) - {"incomes", "boxes"}:
        assert store.release(name)[0] == without.release(name)[0], name
    assert store.check() == []
    store.close()


def test_what_was_not_counted_is_refused_and_changes_nothing():
    """Another value, another person's row or salt, a part of somebody's rows, a row that never was."""
    store, salts = made(MEMORY, rows(40))
    data = rows(40)
    before = {name: store.release(name) for name in store.mechanisms}
    there = only(data, lambda person: person in ("p10", "p11"))
    wrong = [
        {**there, "age": [99, 99, 99]},
        {**there, "id": ["p12", "p12", "p13"]},
        only(there, lambda person: person == "p10") | {"id": ["p10", "p10"], "age": [10, 11]},
        {name: values[:1] for name, values in there.items()},
    ]
    for sent in wrong:
        assert store.delete_tagged(claims(store, salts, sent)).deleted == 0
    swapped = salts | {"p10": salts["p11"], "p11": salts["p10"]}
    assert store.delete_tagged(claims(store, swapped, there)).deleted == 0
    assert {name: store.release(name) for name in store.mechanisms} == before
    assert store.delete_tagged(claims(store, salts, there)).deleted == 2, "and these are they"
    assert store.check() == []


def test_rows_presented_twice_in_another_order_count_once():
    data = rows(40)
    data["age"][data["id"].index("p10")] = 77  # one of two rows
    store, salts = made(MEMORY, data)
    there = only(data, lambda person: person == "p10")
    other = {name: values[::-1] for name, values in there.items()}
    before = store.release("table")[0].value.sum()
    done = store.delete_tagged([*claims(store, salts, there), *claims(store, salts, other)])
    assert (done.deleted, done.unknown) == (1, 1)
    assert before - store.release("table")[0].value.sum() == 2, "both rows, once"


def test_rows_and_salts_come_as_frames_files_and_columns(tmp_path):
    people = {f"p{i}": i for i in range(20)}
    curator, salts = small(tmp_path / "people.db", people)
    with curator:
        before = curator.show("ages").release.value
        assert curator.delete_rows(frame({"p1": 1}), salts).deleted == 1
        with_salts = frame({"p2": 2, "p3": 3}).assign(salt=[salts["p2"], salts["p3"]])
        with_salts.to_csv(tmp_path / "leavers.csv", index=False)
        assert curator.delete_rows(tmp_path / "leavers.csv").deleted == 2
        unknown: list[str] = []
        with pytest.raises(BadSetting, match="1 person has no salt, or not one salt; nobody was deleted"):
            curator.delete_rows(frame({"p3": 3, "p5": 5}), {"p5": salts["p5"], "p3": "x"})
        done = curator.delete_rows(
            frame({"p3": 3, "p4": 5, "p5": 5, "nobody": 3}), salts | {"nobody": "ab"}, unknown=unknown.append
        )
        assert (done.deleted, done.unknown) == (1, 3)
        assert unknown == ["p3", "p4", "nobody"]
        gone = before - curator.show("ages").release.value
        assert gone.tolist() == [0, 1, 1, 1, 0, 1, *[0] * 94]
        assert curator.check() == []


def test_ids_and_receipts_are_refused_with_the_way(tmp_path):
    curator, _ = small(MEMORY, {"a": 1})
    for refused in (lambda: curator.delete("a"), lambda: curator.delete_with("x")):
        with pytest.raises(KeepsNoRecords, match="people leave with their rows and salts"):
            refused()
    keeps = Curator(SMALL, Budget(1.0))
    keeps.publish({"id": ["a"], "age": [1]}, {"n": NoisyCount(Budget(1.0))})
    with pytest.raises(BadSetting, match="does not keep tags"):
        keeps.delete_rows({"id": ["a"], "age": [1]}, {})
    grows = Growing("manual", 12, "cohorts")
    with pytest.raises(BadSetting, match="a tag cannot say which tick"):
        Curator(SMALL, Budget(2.0, 1e-6), retain="tags", capacity=9).publish(
            {"id": ["a"], "age": [1]}, {"n": grows.of(NoisyCount(Zcdp(0.05)))}, grows.clock(), receipts=print
        )
    with pytest.raises(BadSetting, match="a database cannot keep tags"):
        Curator(SMALL, Budget(1.0), "postgresql://nowhere/x", retain="tags", capacity=9)


def test_held_back_copied_and_kept(tmp_path):
    people = {f"p{i}": i for i in range(20)}
    curator, salts = small(tmp_path / "people.db", people)
    with curator:
        fold = Fold(people=2, after=3600.0)
        assert curator.delete_rows(frame({"p1": 1}), salts, fold=fold).held == 1
        with curator.copy_to(str(tmp_path / "copy.db")) as copied:
            assert copied.check() == []
            assert copied.delete_rows(frame({"p1": 1, "p2": 2}), salts, fold=fold).deleted == 1
            assert copied.status().version == 2
            assert copied.check() == []
        with pytest.raises(BadSetting, match="would be void"):
            copy_store(curator.store, str(tmp_path / "other.db"), new_key=True)


def test_the_file_tells_neither_how_many_came_nor_anybodys_row(tmp_path):
    """The key is known, and everybody's id; the salts are not.  With the salts a row can be tried."""
    wide = Number("wide", min=0, max=2**40)
    schema = Schema([wide], id="id")
    sizes = []
    for n in (1, 400):
        lines: list[str] = []
        people = {f"Planted-{i}": 0x1122334401 + i for i in range(n)}
        path = tmp_path / f"{n}.db"
        with Curator(schema, Budget(1.0), path, retain="tags", capacity=500) as curator:
            data = {"id": list(people), "wide": list(people.values())}
            curator.publish(data, {"sum": NoisySum(wide, Budget(1.0))}, receipts=lines.append)
            tags, key = curator.store.tags(), curator.store.key
            records = curator.store._records
            packed = records.pack(schema.table(data), {})
        assert len(tags) == 500
        salts = salts_of(lines)
        for row, person in zip(packed, people, strict=True):
            right = bytes.fromhex(salts[person])
            assert salted_tag(key, person, right, [row.tobytes()]) in tags
            assert salted_tag(key, person, b"", [row.tobytes()]) not in tags
        data = path.read_bytes()
        assert b"Planted" not in data
        assert not any(value.to_bytes(8, "little")[:5] in data for value in people.values())
        sizes.append(len(data))
    assert sizes[0] == sizes[1]


def test_a_tag_that_is_put_back_or_altered_is_noticed(tmp_path):
    path = tmp_path / "people.db"
    curator, salts = small(path, {f"p{i}": i for i in range(20)})
    with curator:
        curator.erase()
        shutil.copy(path, tmp_path / "earlier.db")
        curator.delete_rows(frame({"p1": 1}), salts)
    with sqlite3.connect(path) as db:
        db.execute("ATTACH ? AS earlier", (str(tmp_path / "earlier.db"),))
        db.execute("DELETE FROM people")
        db.execute("INSERT INTO people SELECT * FROM earlier.people")
    db.close()
    with Curator.open(path) as curator:
        assert any("tags" in problem for problem in curator.check())
        with pytest.raises(StoreError, match="damaged"):
            curator.delete_rows(frame({"p1": 1}), salts)
        assert curator.status().version == 2


@pytest.mark.parametrize("flips", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_an_altered_byte_is_noticed_or_changes_nothing(tmp_path, flips):
    path = tmp_path / "people.db"
    people = {f"p{i}": i for i in range(60)}
    curator, salts = small(path, people)
    with curator:
        before = {name: curator.show(name).release for name in curator.publications}
    rng, noticed = random.Random(flips), 0
    for number in range(flips):
        copy = tmp_path / f"copy{number}.db"
        data = bytearray(path.read_bytes())
        data[rng.randrange(100, len(data))] ^= 1 << rng.randrange(8)
        copy.write_bytes(data)
        shutil.copy(f"{path}.key", f"{copy}.key")
        try:
            with Curator.open(copy) as curator:
                if curator.check():
                    noticed += 1
                    continue
                assert {name: curator.show(name).release for name in curator.publications} == before
                assert curator.delete_rows(frame(people), salts).deleted == 60
                assert curator.check() == []
        except UndeletedError:
            noticed += 1
        finally:
            for name in ("", "-wal", "-shm", ".key", ".lock"):
                Path(f"{copy}{name}").unlink(missing_ok=True)
    assert noticed > flips / 10


def test_salts_go_to_a_file_and_come_back_from_it(tmp_path, monkeypatch, capsys):
    from undeleted.interfaces.cli import run

    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("id,age\n" + "".join(f"p{i},{i % 100}\n" for i in range(200)))
    Path("spec.toml").write_text(
        '[data]\nsource = "people.csv"\nid = "id"\nretain = "tags"\ncapacity = 300\n[budget]\nepsilon = 1\n'
        '[columns.age]\ntype = "number"\nmin = 0\nmax = 99\n[publish.ages]\nkind = "mean"\ncolumn = "age"\n'
    )
    assert run(["publish", "spec.toml", "--receipts", "salts.jsonl"]) == 0
    Path("leavers.csv").write_text("id,age\np7,7\np8,9\n")
    capsys.readouterr()
    assert run(["delete", "--rows", "leavers.csv", "--salts", "salts.jsonl", "--unknown", "who.txt"]) == 0
    assert "1 person has not these rows and this salt in the store" in capsys.readouterr().out
    assert Path("who.txt").read_text().split() == ["p8"]
    assert run(["check"]) == 0
    Path("bad.jsonl").write_text("{}\n")
    for bad in (
        "{}",
        '{"person": null, "salt": "ab"}',
        '{"person": "p7", "salt": 12}',
        '{"person": "p7", "salt": ""}',
    ):
        Path("bad.jsonl").write_text(bad + "\n")
        assert run(["delete", "--rows", "leavers.csv", "--salts", "bad.jsonl"]) == 2
        assert "line 1 is not a salt" in capsys.readouterr().err
    Path("bad.jsonl").write_text('{"person": "p7", "salt": "ab"}\n{"person": "p7", "salt": "cd"}\n')
    assert run(["delete", "--rows", "leavers.csv", "--salts", "bad.jsonl"]) == 2
    assert "line 2 has another salt" in capsys.readouterr().err
    Path("bad.jsonl").write_text("")
    assert run(["delete", "--rows", "leavers.csv", "--salts", "bad.jsonl"]) == 2
    assert "2 people have no salt" in capsys.readouterr().err
    assert run(["delete", "p7"]) == 2
    assert run(["delete", "--rows", "leavers.csv"]) == 2, "the table has no column of salts"
    with open_store("undeleted.db") as store:
        assert len(store.tags()) == 299
