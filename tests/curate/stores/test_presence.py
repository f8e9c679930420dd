"""A store whose file goes away while it is open acknowledges nothing: who removes, moves or replaces it?

The attacker here is an accident: a clean-up script, a restored backup, a folder that was renamed.  What it
breaks without the check is shown first: SQLite itself deletes into the file that is gone, and says nothing.
"""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from support.people import made, rows
from undeleted.curate.stores import open_store
from undeleted.curate.stores.sqlite import SqliteStore
from undeleted.errors import StoreError, StoreGone


def moved(path):
    os.rename(path, f"{path}.away")


def removed(path):
    os.unlink(path)


def replaced(path):
    """By a copy of itself, as a backup would be restored."""
    shutil.copy(path, f"{path}.copy")
    os.replace(f"{path}.copy", path)


def its_log_removed(path):
    os.unlink(f"{path}-wal")


def its_index_removed(path):
    os.unlink(f"{path}-shm")


def its_folder_moved(path):
    os.rename(Path(path).parent, f"{Path(path).parent}.away")


ACCIDENTS = (moved, removed, replaced, its_log_removed, its_index_removed, its_folder_moved)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "inside").mkdir()
    return tmp_path / "inside" / "people.db"


@pytest.mark.parametrize("accident", ACCIDENTS, ids=lambda accident: accident.__name__)
def test_nothing_is_acknowledged_into_a_file_that_is_gone(place, accident):
    made(place, rows()).close()
    store = open_store(str(place))
    store.delete(["p3"])
    accident(str(place))
    with pytest.raises(StoreGone):
        store.delete(["p4"])
    with pytest.raises(StoreGone):
        store.probe()
    store.close()


def test_without_the_check_a_deletion_vanishes(place, monkeypatch):
    made(place, rows()).close()
    store = open_store(str(place))
    monkeypatch.setattr(store, "_presence", None)
    replaced(str(place))
    assert store.delete(["p4"]).deleted == 1
    store.close()
    with open_store(str(place)) as store:
        assert store.delete(["p4"]).deleted == 1, "they were still there"


def test_a_file_that_goes_during_a_deletion_is_noticed_after_it(place, monkeypatch):
    made(place, rows()).close()
    store = open_store(str(place))
    whole = SqliteStore._take

    def take(self, tags, *, dummy_work):
        moved(str(place))
        return whole(self, tags, dummy_work=dummy_work)

    monkeypatch.setattr(SqliteStore, "_take", take)
    with pytest.raises(StoreGone):
        store.delete(["p4"])
    monkeypatch.undo()
    os.rename(f"{place}.away", place)
    assert store.delete(["p4"]).unknown == 1, "it had happened; and to ask again is safe"
    store.close()


def test_a_link_that_leads_elsewhere_by_now_is_noticed(place, tmp_path):
    made(place, rows()).close()
    link = tmp_path / "link.db"
    link.symlink_to(place)
    store = open_store(str(link))
    shutil.copytree(place.parent, tmp_path / "other")
    link.unlink()
    link.symlink_to(tmp_path / "other" / "people.db")
    with pytest.raises(StoreGone):
        store.delete(["p4"])
    store.close()


def test_a_file_that_was_put_back_is_gone_on_with(place):
    made(place, rows()).close()
    with open_store(str(place)) as store:
        moved(str(place))
        with pytest.raises(StoreGone, match="Put its files back"):
            store.delete(["p4"])
        os.rename(f"{place}.away", place)
        assert store.delete(["p4"]).deleted == 1
    with open_store(str(place)) as store:
        assert store.delete(["p4"]).unknown == 1


def test_a_file_that_was_overwritten_by_an_older_one_is_noticed(place, tmp_path):
    """In place, as `cp` does it: the file is the same, and what is in it is not."""
    made(place, rows()).close()
    shutil.copy(place, tmp_path / "older.db")
    with open_store(str(place)) as store:
        store.delete(["p3"])
        assert store.erase()
        store.look()
        overwrite(place, tmp_path / "older.db")
        with pytest.raises(StoreGone, match="rolled back to version 1 from 2"):
            store.look()


def test_a_file_that_was_overwritten_by_another_store_is_noticed(place, tmp_path):
    made(place, rows()).close()
    made(tmp_path / "other.db", rows()).close()
    with open_store(str(place)) as store:
        overwrite(place, tmp_path / "other.db")
        with pytest.raises(StoreGone, match="another store"):
            store.look()
        overwrite(place, tmp_path / "other.db.key")
        with pytest.raises(StoreGone, match="overwritten"):
            store.look()


def overwrite(place, source):
    """By another process: to close the file here would give up the locks that SQLite holds on it."""
    assert os.system(f"cat '{source}' > '{place}'") == 0


def test_a_key_file_that_is_gone_is_noticed_before_the_process_ends(place):
    made(place, rows()).close()
    with open_store(str(place)) as store:
        moved(f"{place}.key")
        with pytest.raises(StoreError, match="key is missing"):
            store.look()
        os.rename(f"{place}.key.away", f"{place}.key")
        store.look()


def test_a_probe_writes_and_changes_nothing(place):
    made(place, rows()).close()
    with open_store(str(place)) as store:
        version = store.version
        store.probe()
        assert store.erasure_pending, "something was written"
        assert store.version == version
        assert store.check() == []
        held = sqlite3.connect(place, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        store._db.execute("PRAGMA busy_timeout = 50")
        with pytest.raises(StoreError, match="is held by"):
            store.probe()
        held.close()
