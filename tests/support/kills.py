"""Kill processes that publish and delete, and check the stores that they leave.

    python -m support.kills --kills 200 [--postgres] [--receipts]   run it in the folder tests; exits 1 if a
    check fails

A child prints what it has acknowledged.  If a step is named, it also prints when it reaches that step, and
waits there.  The parent sends SIGKILL at a random time or at that step.  Afterwards the store must open, be
intact, and contain nobody whose deletion was acknowledged; nobody may have been subtracted twice.  With
--receipts the store keeps no records, and people leave with their receipts.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from undeleted.curate.curator import Curator
from undeleted.curate.mechanisms import NoisyCount, NoisyHistogram, RangeCounts
from undeleted.curate.stores import Fold, Store, sqlite, store_exists
from undeleted.foundations.privacy import Budget
from undeleted.foundations.schema import Number, Schema

AGE = Number("age", min=0, max=99)
PEOPLE = Schema([AGE], id="id")
DELETE_STEPS = ("taken", "subtracted", "held", "folded", "committed", "erased")
PUBLISH_STEPS = ("key", "filled", "moved")
ISSUED = "issued"  # the receipts are durable, and the store is not there yet
INSIDE = ("taken", "subtracted", "held", "folded")  # steps inside a transaction
RECEIPTS = "RECEIPTS_OF_KILLS"  # the variable of the environment that names the file of receipts


def publications():
    return {
        "people": NoisyCount(Budget(1.0)),
        "ages": RangeCounts(AGE, Budget(1.0)),
        "table": NoisyHistogram((AGE,), Budget(1.0)),
    }


def rows(n):
    return {"id": [f"p{i}" for i in range(n)], "age": [i % 100 for i in range(n)]}


def publish(path, n, receipts=None):
    rules = {} if receipts is None else {"retain": "receipts", "capacity": 10_000}
    with Curator(PEOPLE, Budget(3.0), path, **rules) as curator:
        curator.publish(rows(n), publications(), receipts=receipts)


def leave(curator, people, **settings):
    """Delete people by id; or with their receipts, where the store keeps no records."""
    if RECEIPTS not in os.environ:
        return curator.delete(people, **settings)
    return curator.delete_with([_receipts()[person] for person in people], **settings)


@cache
def _receipts():
    lines = Path(os.environ[RECEIPTS]).read_text(encoding="utf-8").splitlines()
    return {json.loads(line)["person"]: line for line in lines}


# -- the child


def _pause(at, wanted):
    if at == wanted:
        print(f"at {at}", flush=True)
        time.sleep(30)


def _stop_after(owner, name, step, wanted):
    original = getattr(owner, name)

    def stopping(*arguments, **more):
        result = original(*arguments, **more)
        _pause(step, wanted)
        return result

    setattr(owner, name, stopping)


def child(job, path, step, names):
    """Delete one by one and acknowledge each, or publish; wait at the step, if one is named."""
    if job == "publish":
        for owner, name, at in _steps(path):
            _stop_after(owner, name, at, step)
        receipts = f"{os.environ[RECEIPTS]}.new" if RECEIPTS in os.environ else None
        publish(path, 500, receipts)
        print("ack", flush=True)
        return
    fold = Fold(people=2, after=3600.0) if step in ("held", "folded") else None
    with Curator.open(path) as curator:
        kind: type[Store] = type(curator.store)
        _stop_after(kind, "_spend" if RECEIPTS in os.environ else "_take", "taken", step)
        _stop_after(kind, "_subtract", "subtracted", step)
        _stop_after(kind, "_hold", "held", step)
        _stop_after(kind, "delete", "committed", step)
        _stop_after(kind, "erase", "erased", step)
        if fold is not None:
            _stop_after(kind, "_folded", "folded", step)
        print("open", flush=True)
        for name in names:
            leave(curator, [name], fold=fold)
            print(f"ack {name}", flush=True)


def _steps(path):
    """Return the functions after which a publication can be stopped."""
    from undeleted.curate.issuing import IssuingReceipts

    issued = (IssuingReceipts, "finish", ISSUED)
    if not str(path).startswith("postgresql"):
        return (sqlite, "write_key", "key"), issued, (sqlite, "fill", "filled"), (os, "link", "moved")
    from undeleted.curate.stores import _postgres_key, postgres

    filled, moved = (postgres, "fill", "filled"), (postgres, "_commit", "moved")
    return (_postgres_key, "write_key", "key"), issued, filled, moved


# -- the parent


def start(job, path, step="", names=()):
    return start_child("support.kills", job, str(path), step, *names)


def start_child(module, *words):
    """Start a module as a child, which prints what it does."""
    here = str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", module, "--child", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def kill_at(process, step):
    """Read until the child reaches the step, kill it; return what it acknowledged, and if it got there."""
    said = []
    for line in process.stdout:
        said.append(line.strip())
        if said[-1] == f"at {step}":
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    return [line[4:] for line in said if line.startswith("ack ")], f"at {step}" in said


def kill_after(process, acknowledged, seconds):
    """Kill the child some seconds after so many acknowledged deletions; return what it acknowledged."""
    said = [process.stdout.readline().strip()]
    while len(said) <= acknowledged:
        said.append(process.stdout.readline().strip())
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    said += [line.strip() for line in process.stdout]
    process.wait()
    process.stdout.close()
    return [line[4:] for line in said if line.startswith("ack ")]


def run(folder, kills, seed=7, place=None, *, receipts=False):
    """Kill so many processes and return the facts.  `place` returns the path or URL of a named store."""
    if not receipts:
        return _run(folder, kills, seed, place, None)
    os.environ[RECEIPTS] = str(Path(folder) / "receipts.jsonl")
    try:
        return _run(folder, kills, seed, place, os.environ[RECEIPTS])
    finally:
        del os.environ[RECEIPTS]
        _receipts.cache_clear()


def _run(folder, kills, seed, place, receipts):
    place = place or (lambda name: Path(folder) / f"{name}.db")
    rng = random.Random(seed)
    facts = {
        "kills": 0,
        "inside_a_transaction": 0,
        "publications_killed": 0,
        "acknowledged": 0,
        "problems": [],
    }
    path, n = place("people"), 4000
    publish(path, n, receipts)
    left = [f"p{i}" for i in range(n)]
    with Curator.open(path) as curator:
        facts["total"] = _total(curator) - n  # of the noise alone
    while facts["kills"] < kills:
        names, count = left[:40], facts["kills"]
        if count % 3 == 2 and count // 3 % 8 == 0:
            steps = PUBLISH_STEPS if receipts is None else (*PUBLISH_STEPS, ISSUED)
            _kill_a_publication(place(f"new{facts['kills']}"), rng.choice(steps), facts, receipts)
            continue
        if count % 2:
            step = rng.choice(DELETE_STEPS)
            done, reached = kill_at(start("delete", path, step, names), step)
            facts["inside_a_transaction"] += reached and step in INSIDE
        else:
            done = kill_after(start("delete", path, "", names), rng.randrange(4), rng.uniform(0, 0.01))
        facts["kills"] += 1
        facts["acknowledged"] += len(done)
        left = _check_after_kill(path, left, done, facts)
    del facts["total"]
    return facts


def _total(curator):
    return int(curator.show("table").release.value.sum())


def _check_after_kill(path, left, done, facts):
    """Open and check the store after a kill; return who is left in it."""
    with Curator.open(path) as curator:
        facts["problems"] += curator.check()
        state = curator.show("table").release.value.sum()
        again = leave(curator, done)
        if again.deleted or curator.show("table").release.value.sum() > state:
            facts["problems"].append("somebody whose deletion was acknowledged was still there")
        window = left[:40]
        gone = [name for name in window if name in done]
        if done != window[: len(done)]:
            facts["problems"].append("acknowledged out of order")
        # the deletion in progress may have happened or not: deleting again makes it certain, once
        under_way = window[len(done) : len(done) + 1]
        leave(curator, under_way)
        facts["problems"] += curator.check()
        settled = set(gone) | set(under_way)
        left = [name for name in left if name not in settled]
        if not curator.status().held and _total(curator) != facts["total"] + len(left):
            facts["problems"].append("somebody was subtracted twice, or not at all")
    return left


def _kill_a_publication(path, step, facts, receipts):
    """A killed publication leaves no store or an intact one, and does not block the next one."""
    _, reached = kill_at(start("publish", path, step), step)
    facts["kills"] += 1
    facts["publications_killed"] += reached
    if store_exists(str(path)):
        with Curator.open(path) as curator:
            facts["problems"] += curator.check()
    else:
        publish(path, 500, None if receipts is None else f"{receipts}.again")
        with Curator.open(path) as curator:
            facts["problems"] += curator.check()
    if receipts is not None:  # void, or of a store that nobody needs
        for left in Path(receipts).parent.glob(f"{Path(receipts).name}.*"):
            left.unlink()


def main():
    if sys.argv[1:2] == ["--child"]:
        job, path, step, *names = sys.argv[2:]
        child(job, path, step, names)
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--postgres", action="store_true", help="on a server of its own")
    parser.add_argument("--receipts", action="store_true", help="in a store that keeps no records")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = None
        if options.postgres:
            from support.servers import Server

            server = Server()
            stack.callback(server.remove)

            def place(name):
                return server.url(name, Path(folder) / f"{name}.key")

        facts = run(folder, options.kills, options.seed, place, receipts=options.receipts)
    print(json.dumps(facts, indent=2))
    return int(bool(facts["problems"]) or not facts["inside_a_transaction"])


if __name__ == "__main__":
    sys.exit(main())
