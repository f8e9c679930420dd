"""Kill processes that take people in, close ticks, correct and delete, and check the stores that they leave.

    python -m support.growing_kills --kills 200 [--postgres]   run it in the folder tests; exits 1 on a
    problem

As in `kills`, a child acknowledges each change, and waits at a step if one is named.  Afterwards the store
must be intact, with every acknowledged change done once.  The change under way may have happened or not:
asked again, it is done, once.
"""

import argparse
import json
import random
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from support.kills import _stop_after, kill_after, kill_at, start_child
from undeleted.curate.curator import Curator
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms import NoisyCount, NoisyHistogram
from undeleted.curate.stores import tag_of
from undeleted.foundations.privacy import Zcdp
from undeleted.foundations.schema import Number, Schema

AGE = Number("age", min=0, max=99)
PEOPLE = Schema([AGE], id="id")
STEPS = ("inserted", "taken", "subtracted", "sealed", "committed", "erased")
INSIDE = ("inserted", "taken", "subtracted", "sealed")  # inside a transaction
GROWS = Growing("manual", horizon=20_000, noise="cohorts", max_corrections=3)


def publish(path, hidden):
    grows = GROWS if not hidden else Growing("manual", 20_000, "factorization", 3, 1.0)
    law = Zcdp(0.05)
    mechanisms = {"people": NoisyCount(law), "table": NoisyHistogram((AGE,), law)}
    with Curator(PEOPLE, _budget(), path) as curator:
        departures = law if hidden else None
        grown = {name: grows.of(m, departures) for name, m in mechanisms.items()}
        people = table({f"p{i}": i % 100 for i in range(200)})
        curator.publish(people, grown, grows.clock(), _budget() if hidden else None)


def _budget():
    from undeleted.foundations.privacy import Budget

    return Budget(3.0, 1e-6)


def table(people):
    return {"id": list(people), "age": list(people.values())}


def child(path, step, changes):
    """Make the changes one by one and acknowledge each; wait at the step, if one is named."""
    with Curator.open(path) as curator:
        kind = type(curator.store)
        for name, at in (("_insert", "inserted"), ("_take", "taken"), ("_subtract", "subtracted")):
            _stop_after(kind, name, at, step)
        for name, at in (("_reseal", "sealed"), ("erase", "erased")):
            _stop_after(kind, name, at, step)
        for name in ("add", "tick", "correct", "delete"):
            _stop_after(kind, name, "committed", step)
        print("open", flush=True)
        for change in changes:
            make(curator, change)
            print(f"ack {change}", flush=True)


def make(curator, change):
    """One change; asked again, it changes nothing more."""
    what, _, rest = change.partition(":")
    person, _, value = rest.partition(":")
    if what == "add":
        return curator.add(table({person: int(value)}), skip_existing=True).added
    if what == "correct":
        return curator.correct(table({person: int(value)})).corrected
    if what == "delete":
        return curator.delete(person).deleted
    ticks = curator.status().ticks
    return curator.tick().closed if ticks == int(person) else 0


class Model:
    """Who must be there, with which age; and how many ticks have closed."""

    def __init__(self):
        self.people = {f"p{i}": i % 100 for i in range(200)}
        self.corrections = dict.fromkeys(self.people, 0)
        self.ticks, self.next = 1, 200

    def plan(self, rng, count):
        """Changes to ask for, one after another."""
        people, corrections = dict(self.people), dict(self.corrections)
        ticks, number, planned = self.ticks, self.next, []
        for _ in range(count):
            what = rng.choice(["add", "add", "delete", "correct", "tick"])
            able = [person for person, done in corrections.items() if done < 3]
            if what == "add":
                planned.append(f"add:q{number}:{number % 100}")
                people[f"q{number}"], corrections[f"q{number}"], number = number % 100, 0, number + 1
            elif what == "delete" and len(people) > 50:
                person = rng.choice(sorted(people))
                planned.append(f"delete:{person}")
                del people[person], corrections[person]
            elif what == "correct" and able:
                person = rng.choice(sorted(able))
                people[person] = (people[person] + 1 + rng.randrange(98)) % 100
                corrections[person] += 1
                planned.append(f"correct:{person}:{people[person]}")
            else:
                planned.append(f"tick:{ticks}")
                ticks += 1
        return planned

    def make(self, change):
        what, _, rest = change.partition(":")
        person, _, value = rest.partition(":")
        if what == "tick":
            self.ticks += 1
        elif what == "delete":
            del self.people[person], self.corrections[person]
        else:
            self.corrections[person] = self.corrections.get(person, -1) + 1
            self.people[person] = int(value)
            self.next = max(self.next, int(person[1:]) + 1)


def run(folder, kills, seed=7, place=None, hidden=False):
    """Kill so many processes and return the facts."""
    place = place or (lambda name: Path(folder) / f"{name}.db")
    rng, path, model = random.Random(seed), place("hidden" if hidden else "grown"), Model()
    facts = {"kills": 0, "inside_a_transaction": 0, "acknowledged": 0, "problems": []}
    publish(path, hidden)
    while facts["kills"] < kills:
        planned = model.plan(rng, 24)
        if facts["kills"] % 2:
            step = rng.choice(STEPS)
            process = start_child("support.growing_kills", str(path), step, *planned)
            done, reached = kill_at(process, step)
            facts["inside_a_transaction"] += reached and step in INSIDE
        else:
            process = start_child("support.growing_kills", str(path), "", *planned)
            done = kill_after(process, rng.randrange(6), rng.uniform(0, 0.01))
        facts["kills"] += 1
        facts["acknowledged"] += len(done)
        if done != planned[: len(done)]:
            facts["problems"].append("acknowledged out of order")
        for change in done:
            model.make(change)
        facts["problems"] += check(path, model, planned[len(done) : len(done) + 1], hidden)
    return facts


def check(path, model, under_way, hidden):
    """Problems of the store after a kill; the change under way is asked for again."""
    with Curator.open(path) as curator:
        problems = curator.check()
        for change in under_way:
            make(curator, change)
            model.make(change)
        problems += curator.check()
        if curator.status().ticks != model.ticks:
            problems.append("a tick was lost, or closed twice")
        expected = {tag_of(curator.store.key, person) for person in model.people}
        if not expected <= curator.store.tags() or (not hidden and curator.store.tags() != expected):
            problems.append("somebody is missing, or was not deleted")
        same = curator.correct(table(model.people))
        if same.unchanged != len(model.people):
            problems.append("somebody's record is not the last one that was acknowledged")
    return problems


def main():
    if sys.argv[1:2] == ["--child"]:
        path, step, *changes = sys.argv[2:]
        child(path, step, changes)
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--postgres", action="store_true", help="on a server of its own")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = None
        if options.postgres:
            from support.servers import Server

            server = Server()
            stack.callback(server.remove)

            def place(name):
                return server.url(name, Path(folder) / f"{name}.key")

        some = [run(folder, options.kills // 2, options.seed, place, hidden) for hidden in (False, True)]
    facts = {name: sum((each[name] for each in some), type(some[0][name])()) for name in some[0]}
    print(json.dumps(facts, indent=2))
    return int(bool(facts["problems"]) or not facts["inside_a_transaction"])


if __name__ == "__main__":
    sys.exit(main())
