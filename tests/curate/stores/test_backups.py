"""Backups, restoring with those who left since, and copies under a new key; on both kinds of store.

Covers: curate/stores/_rotated_key.py, interfaces/cli/stores.py
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from support.people import made, mechanisms, rows
from undeleted.curate.curator import Curator
from undeleted.curate.mechanisms import NoisyCount
from undeleted.curate.stores import Fold, _store, copy_store, key_file_of, open_store, sqlite
from undeleted.curate.stores._records import tag_of
from undeleted.errors import BadSetting, StoreError, UndeletedError
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema
from undeleted.interfaces.cli import run

POSTGRES = pytest.param("postgres", marks=pytest.mark.services)


@pytest.fixture(params=["file", POSTGRES])
def place(request, tmp_path):
    if request.param == "file":
        return lambda name: str(tmp_path / f"{name}.db")
    server, mark = request.getfixturevalue("server"), request.getfixturevalue("mark")
    return lambda name: server.url(f"{mark}_{name}", tmp_path / f"{name}.key")


def state(place):
    with open_store(place) as store:
        return {name: store.release(name) for name in mechanisms()}


def said(capsys, *command, code=0):
    capsys.readouterr()
    assert run([*command, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# -- backup and restore


def test_who_left_since_is_deleted_again_and_the_state_is_that_before_the_loss(place, tmp_path, capsys):
    made(place("people"), rows(200)).close()
    assert run(["delete", "p1", "p2", "--store", place("people")]) == 0
    assert said(capsys, "backup", str(tmp_path / "b"), "--store", place("people"))["intact"]
    assert run(["delete", "p3", "p4", "--store", place("people")]) == 0
    lost = {name: release for name, (release, _) in state(place("people")).items()}
    (tmp_path / "left.txt").write_text("p3\np4\np1\n")
    done = said(
        capsys,
        "restore",
        str(tmp_path / "b"),
        "--leavers",
        str(tmp_path / "left.txt"),
        "--store",
        place("again"),
    )
    assert (done["deleted"], done["unknown"], done["intact"]) == (2, 1, True)
    assert {name: release for name, (release, _) in state(place("again")).items()} == lost
    with Curator.open(place("again")) as curator:
        assert curator.delete("p1", "p3").unknown == 2
        assert curator.delete("p5").deleted == 1
        assert curator.check() == []
    with open_store(str(tmp_path / "b")) as kept:
        assert kept.check() == []
        assert kept.delete(["p3"]).deleted == 1, "a backup still holds who left later, as its help says"


def test_a_backup_is_not_restored_without_a_word_about_leavers_nor_over_a_store(place, tmp_path, capsys):
    made(place("people"), rows(50)).close()
    assert run(["backup", str(tmp_path / "b"), "--store", place("people")]) == 0
    assert run(["restore", str(tmp_path / "b"), "--store", place("again")]) == 2
    assert "brings back everybody who left" in capsys.readouterr().err
    assert run(["restore", str(tmp_path / "b"), "--nobody-left", "--store", place("people")]) == 2
    assert run(["restore", str(tmp_path / "nothing"), "--nobody-left", "--store", place("again")]) == 2
    assert run(["restore", str(tmp_path / "b"), "--leavers", "nothing.txt", "--store", place("again")]) == 2
    (tmp_path / "none.txt").write_text("\n")
    (tmp_path / "odd.txt").write_text("p1 \n")
    restore = ["restore", str(tmp_path / "b"), "--store", place("again"), "--leavers"]
    assert run([*restore, str(tmp_path / "none.txt")]) == 2
    assert "names nobody" in capsys.readouterr().err
    if place("again").startswith("/"):
        assert run([*restore, str(tmp_path / "odd.txt"), "--strict"]) == 2
        assert "nothing was restored" in capsys.readouterr().err
    assert not Path(tmp_path / "again.db").exists()
    assert run(["restore", str(tmp_path / "b"), "--nobody-left", "--store", place("again")]) == 0
    assert state(place("again")) == state(place("people"))


def test_a_restoration_that_fails_leaves_no_store_with_those_who_left(tmp_path, monkeypatch, capsys):
    made(tmp_path / "people.db", rows(50)).close()
    assert run(["backup", str(tmp_path / "b"), "--store", str(tmp_path / "people.db")]) == 0
    (tmp_path / "left.txt").write_text("p3\n")
    restore = ["restore", str(tmp_path / "b"), "--leavers", str(tmp_path / "left.txt")]
    restore += ["--store", str(tmp_path / "again.db")]

    def killed(*_, **__):
        raise StoreError("the disk is gone.", "Find it.")

    with monkeypatch.context() as patch:
        patch.setattr(_store.Store, "delete", killed)
        assert run(restore) == 2
    assert [p.name for p in tmp_path.glob("again*")] == ["again.db.lock"]
    for suffix in ("", ".key"):  # as if it was killed between naming the key and naming the store
        shutil.copy(f"{tmp_path}/b{suffix}", f"{tmp_path}/again.db.restoring{suffix}")
    shutil.move(tmp_path / "again.db.restoring.key", tmp_path / "again.db.key")
    assert run(["show", "table", "--store", str(tmp_path / "again.db")]) == 2
    assert run(restore) == 0
    assert sorted(p.name for p in tmp_path.glob("again*")) == ["again.db", "again.db.key", "again.db.lock"]


# -- what is left of the budget


def reserved(place):
    curator = Curator(Schema([Number("x", min=0, max=9)], id="id"), Budget(1.0), place)
    curator.publish({"id": ["a", "b"], "x": [1, 2]}, {"n": NoisyCount(0.25)})
    return curator


def test_two_copies_cannot_spend_the_same_budget(place):
    with reserved(place("first")) as first:
        with first.copy_to(place("second")) as second:
            assert (first.left, second.left) == (0.75, 0.0)
            with pytest.raises(BadSetting, match="not this store's to spend"):
                second.publish_more({"more": NoisyCount(0.5)})
            assert second.check() == []
        with first.copy_to(place("third"), move_budget=True) as third:
            assert (first.left, third.left) == (0.0, 0.75)
            with pytest.raises(BadSetting, match="not this store's to spend"):
                first.publish_more({"more": NoisyCount(0.5)})
            third.publish_more({"more": NoisyCount(0.5)})
            assert first.check() == third.check() == []
            assert third.left == 0.25


def test_a_copy_that_fails_leaves_the_budget_where_it_was(place, tmp_path, monkeypatch):
    with reserved(place("first")) as first:
        taken = tmp_path / "taken"
        taken.write_text("something else")
        for target in (str(taken), str(tmp_path / "no folder" / "second")):
            with pytest.raises(UndeletedError):
                first.copy_to(target, move_budget=True)
            assert first.left == 0.75

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:  # when the source has given its budget up already
            patch.setattr(sqlite, "fill", full)
            with pytest.raises(UndeletedError, match="full disk"):
                first.copy_to(str(tmp_path / "third"), move_budget=True)
        assert first.left == 0.75
        first.publish_more({"more": NoisyCount(0.5)})
        assert first.check() == []


def test_a_restored_backup_does_not_refund_what_was_spent_since(place, tmp_path):
    with reserved(place("first")) as first:
        assert run(["backup", str(tmp_path / "b"), "--store", place("first")]) == 0
        first.publish_more({"more": NoisyCount(0.5)})
    assert run(["restore", str(tmp_path / "b"), "--nobody-left", "--store", place("again")]) == 0
    with Curator.open(place("again")) as again:
        assert again.left == 0
        with pytest.raises(BadSetting, match="not this store's to spend"):
            again.publish_more({"other": NoisyCount(0.5)})


# -- a new key


@pytest.mark.parametrize("fold", [None, Fold(people=90, after=3600)], ids=["at-once", "held-back"])
def test_a_copy_with_a_new_key_forgets_by_id_and_shares_no_secret_with_the_old(place, fold):
    with made(place("people"), rows(200)) as first:
        first.delete(["p1", "p2"], fold)
        before = {name: first.release(name) for name in mechanisms()}
        with copy_store(first, place("copy"), new_key=True) as second:
            assert bytes(second.key) != bytes(first.key)
            assert second.check() == []
            assert {name: second.release(name) for name in mechanisms()} == before
            old, new = first.tags(), second.tags()
            assert len(old) == len(new) == 198
            assert not old & new, "an old key, or a list of old tags, finds nobody"
            assert tag_of(first.key, "p7") not in new
            assert tag_of(bytes(second.key), "p7") not in new, "nor does the new key without the old"
    for expected in ((1, 2), (0, 3)):  # and a replay changes nothing
        with open_store(place("copy")) as second:
            done = second.delete(["p1", "p7", "nobody"])
            assert (done.deleted, done.unknown) == expected
            assert second.check() == []
    assert len(Path(key_file_of(place("copy"))).read_text().split()) == 2


def test_keys_may_be_replaced_again_and_again(place):
    made(place("k0"), rows(60)).close()
    for i in range(3):
        with open_store(place(f"k{i}")) as store, copy_store(store, place(f"k{i + 1}"), new_key=True) as copy:
            assert copy.check() == []
            assert copy.delete([f"p{i}"]).deleted == 1
    with open_store(place("k3")) as last:
        assert last.delete([f"p{i}" for i in range(60)]).deleted == 57
        assert last.check() == []


def test_a_store_does_not_open_with_the_key_that_was_replaced(tmp_path):
    with made(tmp_path / "people.db", rows(50)) as first:
        copy_store(first, str(tmp_path / "copy.db"), new_key=True).close()
    (tmp_path / "copy.db.key").write_bytes((tmp_path / "people.db.key").read_bytes())
    with pytest.raises(StoreError, match="is not the key"):
        open_store(str(tmp_path / "copy.db"))


def test_receipts_of_the_old_key_are_void_and_the_command_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("pid,age\n" + "\n".join(f"p{i},{i}" for i in range(50)) + "\n")
    (tmp_path / "spec.toml").write_text(
        '[data]\nsource = "people.csv"\nid = "pid"\n[budget]\nepsilon = 1.0\n[columns.age]\ntype = "number"\n'
        'min = 0\nmax = 99\n[publish.ages]\nkind = "mean"\ncolumn = "age"\n'
    )
    assert run(["publish", "spec.toml", "--receipts", "old.jsonl"]) == 0
    capsys.readouterr()
    assert run(["store", "copy", "undeleted.db", "new.db", "--new-key"]) == 0
    assert "those of the old key are void" in capsys.readouterr().out
    assert run(["publish", "spec.toml", "--receipts", "new.jsonl", "--store", "new.db"]) == 0
    old, new = (
        [json.loads(line)["receipt"] for line in (tmp_path / name).read_text().splitlines()]
        for name in ("old.jsonl", "new.jsonl")
    )
    from undeleted.curate.receipts import Receipt, issuer_of

    with open_store("new.db") as store:
        issuer = issuer_of(store)
        assert [issuer.is_genuine(Receipt.parse(r)) for r in (old[0], new[0])] == [False, True]
        assert issuer.tag_in(Receipt.parse(new[0])) in store.tags()
        slots = np.concatenate(list(store._slots()))
        assert len(slots) == 50
