"""Processes that are killed, race, run out of disk or may not write: nothing is lost or doubled.

Covers: curate/durable.py
"""

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import kills
from undeleted.curate.curator import Curator
from undeleted.curate.stores import sqlite
from undeleted.errors import StoreError


def test_killed_processes_lose_nothing_and_subtract_nothing_twice(tmp_path):
    """Some of what `make faults` does two hundred times."""
    facts = kills.run(tmp_path, 6)
    assert facts["problems"] == []
    assert facts["inside_a_transaction"] > 0
    assert facts["acknowledged"] > 0
    assert facts["publications_killed"] > 0


@pytest.mark.parametrize("step", [*kills.DELETE_STEPS])
def test_a_deletion_that_is_killed_happened_or_did_not(tmp_path, step):
    path = tmp_path / "people.db"
    kills.publish(path, 200)
    with Curator.open(path) as curator:
        before = curator.show("table").release.value.sum()
    done, reached = kills.kill_at(kills.start("delete", path, step, ["p1", "p2"]), step)
    assert reached
    assert done == []
    with Curator.open(path) as curator:
        assert curator.check() == []
        gone = before - curator.show("table").release.value.sum()
        assert gone == (0 if step in kills.INSIDE else 1)
        assert curator.delete("p1").deleted == 1 - gone
        assert curator.show("table").release.value.sum() == before - 1
        assert curator.check() == []


def test_two_processes_that_delete_the_same_people_end_with_the_right_total(tmp_path):
    path = tmp_path / "people.db"
    kills.publish(path, 400)
    with Curator.open(path) as curator:
        before = curator.show("people").release.value[0]
    everybody = [f"p{i}" for i in range(300)]
    overlapping = [everybody[:200], everybody[100:], everybody[::-1][:250]]
    with ThreadPoolExecutor() as pool:
        said = list(
            pool.map(lambda names: kills.start("delete", path, "", names).communicate()[0], overlapping)
        )
    assert all(text.count("ack") == len(names) for text, names in zip(said, overlapping, strict=True))
    with Curator.open(path) as curator:
        assert before - curator.show("people").release.value[0] == 300
        assert curator.check() == []


def test_a_second_publisher_is_told_who_holds_the_lock(tmp_path):
    path = tmp_path / "people.db"
    first = kills.start("publish", path, "filled")
    assert first.stdout.readline().strip() == "at filled"
    with pytest.raises(StoreError, match=f"being published by process {first.pid}"):
        kills.publish(path, 10)
    first.send_signal(signal.SIGKILL)
    first.wait()
    first.stdout.close()
    kills.publish(path, 10)


FULL_DISK = """
import resource, signal, sys
from undeleted.interfaces.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
main(sys.argv[2:])
"""


def test_a_disk_without_room_gives_a_clear_error_and_leaves_the_store_as_it_was(tmp_path):
    path = tmp_path / "people.db"
    kills.publish(path, 3000)
    with Curator.open(path) as curator:
        before = curator.show("table").release
    arguments = ["delete", "p1", "p2", "--store", str(path)]
    command = [sys.executable, "-c", FULL_DISK, "4096", *arguments]
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 2
    assert "store is unchanged" in failed.stderr
    with Curator.open(path) as curator:
        assert curator.show("table").release == before
        assert curator.check() == []
        assert curator.delete("p1").deleted == 1


def test_a_store_that_may_not_be_written_is_refused_and_left_alone(tmp_path):
    """As a file system that is mounted read-only would have it; permissions do not stop a superuser."""
    path = tmp_path / "people.db"
    kills.publish(path, 50)
    store = sqlite.SqliteStore.open(str(path))
    store._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="the store is unchanged"):
        store.delete(["p1"])
    store._db.execute("PRAGMA query_only = OFF")
    assert store.check() == []
    store.close()


def test_a_deletion_is_synced_before_it_is_acknowledged(tmp_path):
    """What SQLite was told: full synchronisation of the log at every commit."""
    path = tmp_path / "people.db"
    kills.publish(path, 50)
    store = sqlite.SqliteStore.open(str(path))
    [(mode,)], [(level,)] = (
        store._db.execute(f"PRAGMA {p}").fetchall() for p in ("journal_mode", "synchronous")
    )
    assert (mode, level) == ("wal", 2)
    assert store._db.execute("PRAGMA secure_delete").fetchone() == (1,)
    store.close()


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_trace_shows_the_sync_before_the_acknowledgement(tmp_path):
    path = tmp_path / "people.db"
    kills.publish(path, 50)
    trace = tmp_path / "trace"
    here = str(Path(kills.__file__).parents[1])
    command = [
        "strace",
        "-f",
        "-o",
        str(trace),
        "-e",
        "trace=fsync,fdatasync,write",
        sys.executable,
        "-m",
        "support.kills",
    ]
    done = subprocess.run(
        [*command, "--child", "delete", str(path), "", "p1"],
        env=os.environ | {"PYTHONPATH": here},
        capture_output=True,
    )
    if done.returncode:
        pytest.skip("this machine does not let a process be traced")
    calls = trace.read_text().splitlines()
    [opened] = [i for i, call in enumerate(calls) if '"open' in call]
    [acknowledged] = [i for i, call in enumerate(calls) if '"ack p1' in call]
    assert any("sync(" in call for call in calls[opened:acknowledged])
