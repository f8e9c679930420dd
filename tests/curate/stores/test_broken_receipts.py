"""What attackers of stores without records broke, each as a test: parts put back, receipts lost, floods."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from support.without_records import by_person
from undeleted.curate import destinations
from undeleted.curate.curator import Curator
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms import NoisyCount, NoisyHistogram
from undeleted.curate.stores import Fold
from undeleted.curate.stores.sqlite import SqliteStore
from undeleted.errors import BadFile, BadSetting, StoreError, UndeletedError, VoidReceipt
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.schema import Number, Schema
from undeleted.interfaces.cli import run

AGE = Number("age", min=0, max=9)
SMALL = Schema([AGE], id="id")
FOLD = Fold(people=4, after=1e6)


def table(people):
    return {"id": list(people), "age": [i % 10 for i in range(len(people))]}


def small(path, n=20, receipts=None, times=1):
    lines: list[str] = []
    curator = Curator(SMALL, Budget(1.0), path, retain="receipts", capacity=100)
    published = {"ages": NoisyHistogram((AGE,), Budget(1.0))}
    people = table([f"p{i}" * times for i in range(n)])
    curator.publish(people, published, receipts=receipts or lines.append)
    return curator, list(by_person(lines).values())


def grown(path, n=5, capacity=100, leavers=None):
    """A table that grows, and its receipts by person."""
    lines: list[str] = []
    grows = Growing("manual", horizon=8, noise="cohorts", leavers=leavers)
    curator = Curator(SMALL, Budget(2.0, 1e-6), path, retain="receipts", capacity=capacity)
    law = Zcdp(0.05)
    published = {"ages": grows.of(NoisyHistogram((AGE,), law), None if leavers is None else law)}
    hidden = None if leavers is None else Budget(2.0, 1e-6)
    curator.publish(
        table([f"p{i}" for i in range(n)]), published, grows.clock(), hidden, receipts=lines.append
    )
    return curator, by_person(lines)


def join(curator, people):
    lines: list[str] = []
    curator.add(table(people), receipts=lines.append)
    return by_person(lines)


def changed(path, *statements, other=None):
    """Statements on the file itself, with another file attached."""
    with sqlite3.connect(path) as db:
        if other is not None:
            db.execute("ATTACH ? AS other", (str(other),))
        for statement in statements:
            db.execute(statement)
    db.close()


def copied(path, name):
    copy = path.with_name(name)
    shutil.copy(path, copy)
    shutil.copy(f"{path}.key", f"{copy}.key")
    return copy


def put_back(path, earlier, table):
    changed(path, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM other.{table}", other=earlier)


def total(curator):
    return int(curator.show("ages").release.value.sum())


# -- parts that are put back, or taken out


def test_what_was_held_back_and_is_gone_is_not_forgotten_in_silence(tmp_path):
    curator, lines = small(tmp_path / "people.db")
    with curator:
        curator.delete_with(lines[:3], fold=FOLD)
    changed(tmp_path / "people.db", "DELETE FROM held")
    with Curator.open(tmp_path / "people.db") as curator:
        assert curator.check() != []
        with pytest.raises(StoreError, match="what was held back is gone"):
            curator.delete_with(lines[3], fold=FOLD)
        assert curator.check() != []


def test_a_fold_takes_nothing_of_an_earlier_version(tmp_path, monkeypatch):
    """Chunks in which nothing is held back are put back before a fold is due: deletions would be lost."""
    path = tmp_path / "people.db"
    curator, lines = small(path)
    with curator:
        curator.delete_with(lines[:4], fold=FOLD)
        assert curator.status().version == 2, "they were folded in"
        curator.erase()
        earlier = copied(path, "earlier.db")
        curator.delete_with(lines[4:6], fold=FOLD)
        before = total(curator)
    put_back(path, earlier, "held")
    kept = copied(path, "kept.db")
    with monkeypatch.context() as later:
        later.setattr("undeleted.curate.stores._store.time.time", lambda: 1e12)
        with pytest.raises(StoreError, match="what is held back is of another version"):
            Curator.open(path)
    with Curator.open(kept) as curator:
        assert curator.check() != []
        with pytest.raises(StoreError, match="damaged"):
            curator.delete_with(lines[6:9], fold=FOLD)
        assert (total(curator), curator.status().held) == (before, 2)


def test_an_earlier_description_is_not_taken_for_the_current_one(tmp_path):
    """Serials would be given twice, and a tick would close twice."""
    path = tmp_path / "people.db"
    curator, _ = grown(path)
    with curator:
        curator.erase()
        earlier = copied(path, "earlier.db")
        join(curator, ["a", "b", "c"])
    joined = copied(path, "joined.db")
    put_back(path, earlier, "meta")
    with Curator.open(path) as curator:
        assert any("version" in problem for problem in curator.check())
        with pytest.raises(StoreError, match="damaged"):
            join(curator, ["d"])
    with Curator.open(joined) as curator:
        before = copied(joined, "before.db")
        curator.tick()
    put_back(joined, before, "meta")
    with Curator.open(joined) as curator:
        assert curator.check() != []
        with pytest.raises(StoreError):
            curator.tick()


def test_a_tick_counts_nobody_of_an_earlier_version(tmp_path):
    """A newcomer who is taken out would leave later, and be subtracted without having been counted."""
    path = tmp_path / "people.db"
    curator, _ = grown(path)
    with curator:
        curator.erase()
        earlier = copied(path, "earlier.db")
        join(curator, ["a"])
    put_back(path, earlier, "people")
    with Curator.open(path) as curator, pytest.raises(StoreError, match="is not intact"):
        curator.tick()


def test_no_copy_makes_an_alteration_look_genuine(tmp_path):
    path = tmp_path / "people.db"
    curator, _ = small(path)
    curator.close()
    with closing(sqlite3.connect(path)) as db:
        [(data,)] = db.execute("SELECT data FROM cells").fetchall()
    cells = np.frombuffer(data[:-16], dtype="<i8").copy()
    cells[0] += 1000
    with sqlite3.connect(path) as db:
        db.execute("UPDATE cells SET data = ?", (cells.tobytes() + data[-16:],))
    db.close()
    with Curator.open(path) as curator:
        assert curator.check() != []
        with pytest.raises(StoreError, match="is not intact"):
            curator.copy_to(str(tmp_path / "copy.db"))
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize(
    "alter",
    [
        "UPDATE spent SET data = substr(data, 1, length(data) - 16) || zeroblob(16)",
        "INSERT INTO marks VALUES (12345, x'00')",
        "DELETE FROM spent",
        "INSERT INTO spent SELECT 7, data FROM spent",
    ],
)
def test_check_sees_what_a_deletion_would_stumble_over(tmp_path, alter):
    path = tmp_path / "people.db"
    small(path)[0].close()
    changed(path, alter)
    with Curator.open(path) as curator:
        assert curator.check() != []


def test_more_people_than_there_is_room_for_leave_in_hiding_at_one_tick(tmp_path):
    """The place where they wait is laid out again; all marks follow."""
    curator, receipts = grown(tmp_path / "people.db", n=100, leavers=1.0)
    with curator:
        for tick in range(5):
            receipts |= join(curator, [f"t{tick}-{i}" for i in range(100)])
            curator.tick()
        assert curator.delete_with(receipts.values()).deleted == 600
        assert curator.check() == []
        curator.tick()
        assert curator.check() == []
        assert curator.delete_with(receipts.values()).deleted == 0


def test_certificates_show_a_store_that_was_rolled_back_though_no_version_moved(tmp_path):
    """Hidden leavers, and people who leave while they wait, move no version."""
    path = tmp_path / "people.db"
    curator, receipts = grown(path, leavers=1.0)
    with curator:
        curator.erase()
        earlier = copied(path, "earlier.db")
        curator.delete_with(receipts["p1"])
        certificate = curator.certificate(receipts["p1"])
        assert curator.check(since=[certificate]) == []
    shutil.copy(earlier, path)
    with Curator.open(path) as curator:
        assert curator.check() == []
        assert any("it is older" in problem for problem in curator.check(since=[certificate]))


def test_no_certificate_for_a_receipt_that_nobody_used(tmp_path):
    curator, lines = small(tmp_path / "people.db")
    with curator, pytest.raises(BadSetting, match="nobody has left with this receipt"):
        curator.certificate(lines[0])


# -- receipts that are lost


def test_receipts_of_a_store_that_came_to_be_are_kept_whatever_happens_then(tmp_path, monkeypatch):
    """Somebody stops the process after the store has its name; or after people were taken in."""
    path, lines = tmp_path / "people.db", tmp_path / "r.jsonl"

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SqliteStore, "open", stop)
        with pytest.raises(KeyboardInterrupt):
            small(path, receipts=lines)
    with Curator.open(path) as curator:
        assert curator.delete_with(lines.read_text().splitlines()).deleted == 20
    curator, _ = grown(tmp_path / "grown.db")
    joined = tmp_path / "joined.jsonl"
    with curator:
        admit = type(curator.store).admit
        with monkeypatch.context() as patched:
            patched.setattr(type(curator.store), "admit", lambda *given: (admit(*given), stop()))
            with pytest.raises(KeyboardInterrupt):
                curator.add(table(["a"]), receipts=joined)
        assert curator.delete_with(joined.read_text()).deleted == 1


def test_nobodys_file_is_overwritten_or_removed(tmp_path, monkeypatch):
    """It came to be while receipts were written; two processes write to one name."""
    path, foreign = tmp_path / "people.db", tmp_path / "r.jsonl"
    finish = destinations.ToFile.finish

    def late(self):
        foreign.write_text("somebody else's")
        finish(self)

    with monkeypatch.context() as patched:
        patched.setattr(destinations.ToFile, "finish", late)
        with pytest.raises(BadFile, match="already exists"):
            small(path, receipts=foreign)
    assert foreign.read_text() == "somebody else's"
    assert not path.exists()
    one, two = destinations.ToFile(tmp_path / "x"), destinations.ToFile(tmp_path / "x")
    one.write("a", "of the first")
    two.write("b", "of the second")
    one.finish()
    with pytest.raises(BadFile, match="already exists"):
        two.finish()
    two.undo()
    assert (tmp_path / "x").read_text() == "of the first\n"
    assert sorted(p.name for p in tmp_path.iterdir() if "unfinished" in p.name) == []


def test_ids_that_would_share_a_file_have_files_of_their_own(tmp_path):
    from hashlib import blake2b

    long = "x" * 201
    same = blake2b(long.encode(), digest_size=32).hexdigest()
    lines = f"{tmp_path / 'each'}{os.sep}"
    with Curator(SMALL, Budget(1.0), tmp_path / "people.db", retain="receipts", capacity=9) as curator:
        curator.publish(table([long, same]), {"n": NoisyCount(Budget(1.0))}, receipts=lines)
        given = [file.read_text() for file in (tmp_path / "each").iterdir()]
        assert curator.delete_with(given).deleted == 2


FULL_DISK = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from curate.stores.test_broken_receipts import small
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    small(Path(sys.argv[1]) / "people.db", 90, receipts=Path(sys.argv[1]) / "r.jsonl", times=300)
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_full_disk_leaves_no_store_and_no_receipts(tmp_path):
    tests = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path), str(tests)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])},
    )
    assert done.stdout.startswith("BadFile"), done.stderr
    assert "cannot be written" in done.stdout
    assert [p.name for p in tmp_path.iterdir() if not p.name.endswith(".lock")] == []


# -- records that become receipts


def test_earlier_receipts_are_void_and_say_so(tmp_path):
    path, lines = tmp_path / "people.db", list[str]()
    with Curator(SMALL, Budget(1.0), path) as curator:
        curator.publish(table(["a", "b"]), {"n": NoisyCount(Budget(1.0))})
        earlier = by_person(list(curator.receipts_of(table(["a", "b"]))))
        with Curator.open(path) as other:
            other.forget_records(["a", "b"], 10, receipts=lines.append)
        with pytest.raises(UndeletedError, match="keeps no records"):
            curator.delete_with(earlier["a"])  # it was open before
    with Curator.open(path) as curator:
        with pytest.raises(VoidReceipt, match="has written new ones"):
            curator.delete_with(earlier["a"])
        assert curator.delete_with(by_person(lines)["a"]).deleted == 1


def test_a_backup_without_records_is_restored_with_the_receipts_of_those_who_left(tmp_path, capsys):
    curator, lines = small(tmp_path / "people.db")
    curator.close()
    store, kept, back = (str(tmp_path / name) for name in ("people.db", "backup.db", "back.db"))
    assert run(["backup", kept, "--store", store]) == 0
    assert "what people leave with" in capsys.readouterr().out
    with Curator.open(store) as curator:
        curator.delete_with(lines[:3])
        after = curator.show("ages").release
    gone = tmp_path / "gone.jsonl"
    gone.write_text("\n".join(lines[:3]) + "\n")
    assert run(["restore", kept, "--leavers", str(gone), "--store", back, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["deleted"] == 3
    with Curator.open(back) as curator:
        assert curator.show("ages").release == after
        assert curator.delete_with(lines).deleted == 17
