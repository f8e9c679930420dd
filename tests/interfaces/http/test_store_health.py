"""A service whose store goes away: nobody is told that they were deleted, everybody is told soon, and it goes
on by itself when the store is back.  It does not go on with another one, or with an older one."""

import os
import shutil
import time
from pathlib import Path

import pytest

from support.services import Published, client_of, kept_log
from undeleted.curate.stores import Fold
from undeleted.interfaces.http import store_health


def leave(client, published, number):
    return client.post("/v1/deletions", json={"receipt": published.receipt(number)})


def until(true, what):
    """Wait for what happens by itself."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def ready(client):
    return client.get("/health/ready").status_code


@pytest.fixture
def said(monkeypatch):
    """What the log says, line by line."""
    monkeypatch.setattr(store_health, "AGAIN", 0.0)
    with kept_log() as lines:
        yield lambda: list(lines)


def put_away(path):
    for part in ("", "-wal", "-shm"):
        if os.path.exists(f"{path}{part}"):
            os.rename(f"{path}{part}", f"{path}{part}.away")


def put_back(path):
    for part in ("-wal", "-shm", ""):
        if os.path.exists(f"{path}{part}.away"):
            os.rename(f"{path}{part}.away", f"{path}{part}")


@pytest.mark.parametrize("all_parts", [True, False], ids=["with-its-log", "the-file-alone"])
def test_a_store_that_is_moved_away_and_back(published, said, all_parts):
    with client_of(published.store, erase_within=0.1) as client:
        assert leave(client, published, 1).status_code == 200
        assert ready(client) == 200
        if all_parts:
            put_away(published.store)
        else:
            os.rename(published.store, f"{published.store}.away")
        answers = [leave(client, published, number) for number in range(2, 12)]
        assert {answer.status_code for answer in answers} == {503}
        assert all(answer.headers["retry-after"] for answer in answers)
        assert published.store not in "".join(answer.text for answer in answers)
        assert ready(client) == 503
        assert client.get("/v1/publications", headers=published.header("reader")).status_code == 503
        told = client.get("/v1/status", headers=published.header("operator"))
        assert (told.status_code, published.store in told.json()["detail"]) == (503, True)
        assert client.get("/health/live").status_code == 200
        until(lambda: any("was removed" in line.get("what", "") for line in said()), "the log says so")
        put_back(published.store)
        until(lambda: ready(client) == 200, "it goes on")
        assert any("is back" in line.get("what", "") for line in said())
        assert leave(client, published, 2).status_code == 200
    assert [published.is_there(number) for number in (1, 2, 3)] == [False, False, True]
    assert published.whole()


def test_a_store_that_is_replaced_by_an_older_one_is_not_gone_on_with(published, said):
    shutil.copy(published.store, f"{published.store}.backup")
    with client_of(published.store, erase_within=0.1) as client:
        assert leave(client, published, 1).status_code == 200
        os.replace(f"{published.store}.backup", published.store)
        until(lambda: ready(client) == 503, "it is noticed")
        words = "came back at version 1, but was at 2"
        until(lambda: any(words in line.get("what", "") for line in said()), "the log says so")
        assert leave(client, published, 2).status_code == 503
    assert published.is_there(1), "which is why"
    assert published.whole()


def test_an_older_one_is_noticed_though_nobody_was_subtracted_yet(published, said):
    """Deletions that are held back raise no version."""
    shutil.copy(published.store, f"{published.store}.backup")
    with client_of(published.store, erase_within=0.1, fold=Fold(people=100, after=3600)) as client:
        assert leave(client, published, 1).status_code == 200
        os.replace(f"{published.store}.backup", published.store)
        until(lambda: any("came back" in line.get("what", "") for line in said()), "the log says so")
        assert leave(client, published, 2).status_code == 503
    assert published.is_there(1), "which is why"


@pytest.mark.parametrize("in_place", [True, False], ids=["overwritten", "replaced"])
def test_an_older_one_is_noticed_by_a_service_that_has_just_started(published, said, in_place):
    shutil.copy(published.store, f"{published.store}.backup")
    with client_of(published.store) as client:
        assert leave(client, published, 1).status_code == 200
    with client_of(published.store, erase_within=0.1) as client:
        if in_place:
            assert os.system(f"cat '{published.store}.backup' > '{published.store}'") == 0
        else:
            os.replace(f"{published.store}.backup", published.store)
        words = ("came back", "put back")
        until(
            lambda: any(word in line.get("what", "") for line in said() for word in words), "the log says so"
        )
        assert leave(client, published, 2).status_code == 503


def test_another_store_at_its_place_is_not_gone_on_with(tmp_path, published, said):
    (tmp_path / "other").mkdir()
    other = Published(tmp_path / "other", people=20)
    with client_of(published.store, erase_within=0.1) as client:
        assert leave(client, published, 1).status_code == 200
        put_away(published.store)
        os.rename(f"{published.store}.key", f"{published.store}.key.away")
        shutil.copy(f"{other.store}.key", f"{published.store}.key")
        shutil.copy(other.store, published.store)
        until(lambda: any("another store" in line.get("what", "") for line in said()), "the log says so")
        assert leave(client, published, 2).status_code == 503
        assert client.get("/v1/publications", headers=published.header("reader")).status_code == 503
        os.rename(f"{published.store}.key.away", f"{published.store}.key")
        put_back(published.store)
        until(lambda: ready(client) == 200, "it goes on")
    assert published.whole()


def test_a_key_file_that_is_gone_makes_it_unready_and_deletes_on(published, said):
    """The deletions are durable; but whoever starts the service next could not open the store."""
    with client_of(published.store) as client:
        os.rename(f"{published.store}.key", f"{published.store}.key.away")
        until(lambda: any(".key is missing" in line.get("what", "") for line in said()), "the log says so")
        assert ready(client) == 503
        assert leave(client, published, 1).status_code == 200
        log = Path(f"{published.store}-wal")
        until(lambda: log.stat().st_size == 0, "what was deleted is erased all the same")
        os.rename(f"{published.store}.key.away", f"{published.store}.key")
        until(lambda: ready(client) == 200, "it goes on")


def test_ready_tests_a_write(published, monkeypatch):
    """A disk that can be read and not written."""
    import sqlite3

    from undeleted.curate.stores.sqlite import SqliteStore

    def full(self, state):
        raise sqlite3.OperationalError("database or disk is full")

    with client_of(published.store) as client:
        assert ready(client) == 200
        monkeypatch.setattr(SqliteStore, "_write_state", full)
        until(lambda: ready(client) == 503, "it was written to a moment ago, until it was not")
        monkeypatch.undo()
        assert ready(client) == 200


def test_many_who_ask_whether_it_is_ready_make_one_write(published, monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    from undeleted.curate.stores.sqlite import SqliteStore

    whole, probes = SqliteStore.probe, []

    def probe(self):
        probes.append(1)
        whole(self)

    monkeypatch.setattr(SqliteStore, "probe", probe)
    monkeypatch.setattr(store_health, "LATELY", 3600)
    with client_of(published.store) as client, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: ready(client), range(64))) == {200}
    assert len(probes) == 1


def test_a_full_disk_is_in_the_log_once_with_how_many_it_failed(published, said, monkeypatch):
    import sqlite3

    from undeleted.curate.stores._sqlite_place import wrong
    from undeleted.curate.stores.sqlite import SqliteStore

    def full(self, *arguments, **more):
        raise wrong(self.path, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(store_health, "AGAIN", 3600.0)
    monkeypatch.setattr(SqliteStore, "delete_tagged", full)
    with client_of(published.store) as client:
        for number in range(30):
            assert leave(client, published, number).status_code == 503
        until(lambda: any("full disk" in line.get("what", "") for line in said()), "the log says so")
        for number in range(5):
            assert leave(client, published, number).status_code == 503
        client.app.state.service.store_health.tell()
    told = [line for line in said() if "full disk" in line.get("what", "")]
    assert len(told) == 1
    assert told[0]["remedy"] == "Free some space and try again."
    assert 1 <= told[0]["times"] <= 30
