"""Several processes delete overlapping ids for a while, and another reads; the totals must be right.

python -m support.crowd --processes 8 --seconds 60      in the folder tests; starts its own PostgreSQL
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import kills
from undeleted.curate.curator import Curator

MANY = 200_000


def leave(place, seed, seconds):
    """Delete random ids, many of which others delete too, until the time is up; return how many existed."""
    rng, deleted, asked = random.Random(seed), 0, 0
    until = time.monotonic() + seconds
    with Curator.open(place) as curator:
        while time.monotonic() < until:
            names = [f"p{rng.randrange(MANY)}" for _ in range(rng.choice((1, 1, 3, 40)))]
            done = curator.delete(names)
            assert done.deleted + done.unknown == len(names)
            deleted, asked = deleted + done.deleted, asked + len(names)
    return {"deleted": deleted, "asked": asked}


def look(place, seconds):
    """Read a publication until the time is up; its version must never decrease."""
    until, views, last = time.monotonic() + seconds, 0, 0
    with Curator.open(place) as curator:
        while time.monotonic() < until:
            shown = curator.show("table")
            assert shown.version >= last
            views, last = views + 1, shown.version
    return {"views": views}


def run(place, processes, seconds):
    """Run all processes and return the facts."""
    kills.publish(place, MANY)
    with Curator.open(place) as curator:
        before = {name: curator.show(name).release.value.sum() for name in ("people", "table")}
    here = str(Path(__file__).parents[1])
    jobs = [("leave", str(seed)) for seed in range(processes)] + [("look", "0")]
    command = [sys.executable, "-m", "support.crowd", "--child"]
    running = [
        subprocess.Popen(
            [*command, job, place, seed, str(seconds)], stdout=subprocess.PIPE, cwd=here, text=True
        )
        for job, seed in jobs
    ]
    said = [json.loads(process.communicate()[0] or "{}") for process in running]
    with Curator.open(place) as curator:
        gone = {name: int(before[name] - curator.show(name).release.value.sum()) for name in before}
        problems = curator.check()
        version = curator.status().version
    deleted = sum(facts.get("deleted", 0) for facts in said)
    if any(process.returncode for process in running):
        problems.append("a process failed")
    if set(gone.values()) != {deleted}:
        problems.append(f"{deleted} people were deleted, and the publications fell by {gone}")
    return {
        "processes": processes,
        "seconds": seconds,
        "asked": sum(facts.get("asked", 0) for facts in said),
        "deleted": deleted,
        "views": said[-1].get("views", 0),
        "version": version,
        "problems": problems,
    }


def main():
    if sys.argv[1:2] == ["--child"]:
        job, place, seed, seconds = sys.argv[2:]
        print(
            json.dumps(
                leave(place, int(seed), float(seconds)) if job == "leave" else look(place, float(seconds))
            )
        )
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    from support.servers import Server

    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            facts = run(server.url("people", f"{folder}/key"), options.processes, options.seconds)
    finally:
        server.remove()
    print(json.dumps(facts, indent=2))
    return int(bool(facts["problems"]) or not facts["deleted"])


if __name__ == "__main__":
    sys.exit(main())
