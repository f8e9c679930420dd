"""A store that cannot be written is shown, checked and exported; a lock says who holds it.

Covers: curate/stores/_sqlite_place.py
"""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from support.people import made, rows
from undeleted.curate.curator import Curator
from undeleted.curate.stores import _sqlite_place, sqlite
from undeleted.errors import StoreError
from undeleted.interfaces.cli import run

NOBODY = 65534


@pytest.fixture
def folder(tmp_path):
    made(tmp_path / "people.db", rows(50)).close()
    for left in tmp_path.glob("people.db-*"):
        left.unlink()
    return tmp_path


def files(folder):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def as_a_reader(folder, work):
    """Run something as a user who may read the files and write nothing; return its exit code."""
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    child = os.fork()
    if child == 0:
        try:
            for part in folder.parents:  # folders of pytest that only their owner may enter
                if os.geteuid() == 0 and part != part.parent and part.stat().st_mode & 0o5 != 0o5:
                    part.chmod(0o755)
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            os._exit(work())
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(99)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    folder.chmod(0o755)
    return code


@pytest.mark.parametrize(
    "command", [["show", "table"], ["status"], ["check"], ["export", "table"]], ids=" ".join
)
def test_a_store_that_cannot_be_written_is_read(folder, command):
    before = files(folder)
    at = ["--store", str(folder / "people.db")]
    assert as_a_reader(folder, lambda: run([*command, *at])) == 0
    assert files(folder) == before


def test_nobody_is_deleted_from_it(folder):
    before = files(folder)
    at = ["--store", str(folder / "people.db")]
    assert as_a_reader(folder, lambda: run(["delete", "p1", *at])) == 2
    assert files(folder) == before


def test_read_only_changes_no_file_although_it_could(folder):
    before = files(folder)
    with Curator.open(folder / "people.db", read_only=True) as curator:
        first = curator.show("table").release
        assert curator.check() == []
        with pytest.raises(StoreError, match="cannot be written"):
            curator.delete("p1")
    assert files(folder).items() >= before.items()
    with Curator.open(folder / "people.db") as curator:
        assert curator.show("table").release == first
        assert curator.delete("p1").deleted == 1


def test_a_reader_sees_what_another_process_deletes(folder):
    place = folder / "people.db"
    with Curator.open(place) as owner, Curator.open(place, read_only=True) as reader:
        owner.delete("p1")
        assert reader.status().version == owner.status().version == 2
        assert reader.check() == []


def test_an_older_format_is_not_upgraded_by_a_reader(tmp_path):
    fixtures = os.path.join(os.path.dirname(__file__), "../../fixtures")
    for suffix in ("", ".key"):
        shutil.copy(f"{fixtures}/store-v3.db{suffix}", f"{tmp_path}/store.db{suffix}")
    with pytest.raises(StoreError, match="has an older format"):
        Curator.open(tmp_path / "store.db", read_only=True)
    Curator.open(tmp_path / "store.db").close()
    Curator.open(tmp_path / "store.db", read_only=True).close()


def test_a_lock_says_which_process_holds_it(folder, monkeypatch):
    monkeypatch.setattr(_sqlite_place, "BUSY", 0.2)
    monkeypatch.setattr(sqlite, "BUSY", 0.2)
    code = f"import sqlite3, sys; db = sqlite3.connect({str(folder / 'people.db')!r}, isolation_level=None)"
    code += "; db.execute('BEGIN IMMEDIATE'); print('held', flush=True); sys.stdin.read()"
    with Curator.open(folder / "people.db") as curator:
        holder = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert holder.stdout.readline() == "held\n"
        curator.store._db.execute("PRAGMA busy_timeout = 200")
        with pytest.raises(StoreError, match=f"is held by process {holder.pid} "):
            curator.delete("p1")
        holder.communicate("")
        assert curator.delete("p1").deleted == 1


def test_a_lock_of_a_process_that_cannot_be_named_is_another_process(folder):
    assert _sqlite_place.holder_of(str(folder / "nothing.db")) == "another process"
    assert str(_sqlite_place.wrong("people.db", sqlite3.OperationalError("database is locked"))).startswith(
        "people.db is held by another process"
    )
