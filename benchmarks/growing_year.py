"""A year of a table that grows: a million people join, leave and are corrected, while processes are killed.

Every day a process takes in the day's newcomers, closes the tick, corrects some records and deletes some
people, each change in its own transaction, and acknowledges it.  Half of those who are corrected or leave
came that day, the others a month before.  On 200 days the process is killed (`kill -9`): at a step of adding,
closing, correcting or deleting, after it was written and before it is committed; right after that commit; or
at a random time.  The next process asks again for what was not acknowledged.  At the end everybody must be
there who should be, once and with the right record, `check` must prove that the noise is the one that was
drawn, and the total must be as near as the noise allows.

    python benchmarks/growing_year.py [--postgres]   PostgreSQL on a server of its own
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import Bench
from undeleted.curate.curator import Curator
from undeleted.curate.growing import Growing
from undeleted.curate.mechanisms import NoisyCount, NoisyMean
from undeleted.foundations.intervals import standard_deviation
from undeleted.foundations.privacy import Budget, Zcdp
from undeleted.foundations.privacy.calibration import rho_for
from undeleted.foundations.schema import Number, Schema

AGE = Number("age", min=0, max=99)
PEOPLE = Schema([AGE], id="id")
BUDGET = Budget(1.0, 1e-6)
INSIDE = {  # what is written inside the transaction of each change
    "add": ("_insert",),
    "tick": ("_subtract", "_reseal"),
    "correct": ("_take", "_insert"),
    "delete": ("_take", "_subtract"),
}
STEPS = [(change, step) for change, steps in INSIDE.items() for step in (*steps, change)]
MONTH = 30  # days


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--postgres", action="store_true")


def age_of(number: int, shift: int = 0) -> int:
    return (7 * number + shift) % 100


def table(first: int, last: int, shift: int = 0) -> dict[str, Any]:
    numbers = range(first, last)
    return {"id": [f"p{n}" for n in numbers], "age": [age_of(n, shift) for n in numbers]}


def publish(place: str, days: int, joined: int) -> None:
    half = Zcdp(rho_for(BUDGET) / 2)
    grows = Growing("manual", days + 1, max_corrections=1)
    mechanisms = {"people": grows.of(NoisyCount(half)), "ages": grows.of(NoisyMean(AGE, half))}
    with Curator(PEOPLE, BUDGET, place) as curator:
        curator.publish(table(0, joined), mechanisms, grows.clock())


def child(place: str, during: str, step: str, changes: list[str]) -> None:
    """Make the changes, and acknowledge each; wait at the step of a change, if one is named."""
    under_way: list[str] = []
    with Curator.open(place) as curator:
        kind: Any = type(curator.store)
        if step:
            original = getattr(kind, step)

            def stopping(*arguments: Any, **more: Any) -> Any:
                result = original(*arguments, **more)
                if under_way[-1].startswith(during):
                    print("at the step", flush=True)
                    time.sleep(60)
                return result

            setattr(kind, step, stopping)
        for change in changes:
            under_way.append(change)
            make(curator, change)
            print(f"ack {change}", flush=True)


def make(curator: Curator, change: str) -> None:
    """One change; asked for again, it changes nothing more."""
    what, *numbers = change.split(":")
    first, last = int(numbers[0]), int(numbers[-1])
    if what == "add":
        curator.add(table(first, last), skip_existing=True)
    elif what == "correct":
        curator.correct(table(first, last, shift=31))
    elif what == "delete":
        curator.delete(f"p{n}" for n in range(first, last))
    elif curator.status().ticks == first:
        curator.tick()


def run_day(
    place: str, changes: list[str], step: tuple[str, str], pause: float | None
) -> tuple[list[str], bool]:
    """Have a process make the changes; kill it at the step, or after a pause.

    What it acknowledged, and whether it reached the step.
    """
    command = [sys.executable, __file__, "--child", place, *step, *changes]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line.strip())
        if said[-1] == "at the step":
            break
        if pause is not None:
            time.sleep(pause)
            break
    if "at the step" in said or pause is not None:
        process.send_signal(signal.SIGKILL)
        said += [line.strip() for line in process.stdout]
    process.wait()
    process.stdout.close()
    return [line[4:] for line in said if line.startswith("ack ")], "at the step" in said


def day(number: int, daily: int) -> list[str]:
    """The changes of a day: newcomers, the tick, corrections, and people who leave."""
    first, some = number * daily, max(1, daily // 20)
    last = first + daily
    changes = [
        f"add:{first}:{last}",
        f"tick:{number}",
        f"correct:{first}:{first + some}",
        f"delete:{last - 3 * some}:{last}",
    ]
    if number >= MONTH:
        first, last = first - MONTH * daily, last - MONTH * daily
        changes.append(f"correct:{first + some}:{first + 2 * some}")
        changes.append(f"delete:{last - 6 * some}:{last - 3 * some}")
    return changes


def staying(number: int, days: int, daily: int) -> list[tuple[int, int, int]]:
    """Of those who came on a day, those who stay: first, last, and the shift of their ages."""
    first, some, later = number * daily, max(1, daily // 20), number + MONTH < days
    end = first + daily - (6 if later else 3) * some
    corrected = first + (some if number else 0)
    parts = [(first, corrected, 31), (corrected, end, 0)]
    if later:
        again = first + 2 * some
        parts = [
            (first, corrected, 31),
            (corrected, first + some, 0),
            (first + some, again, 31),
            (again, end, 0),
        ]
    if not number:  # those of the first day only leave after a month
        parts.append((first + daily - 3 * some, first + daily, 0))
    return [part for part in parts if part[0] < part[1]]


def year(bench: Bench, place: Callable[[str], str]) -> None:
    days, people, rng = bench.options.days, bench.options.people, random.Random(7)
    where, daily = place("year"), people // bench.options.days
    publish(where, days, daily)
    killed = set(rng.sample(range(1, days), min(days - 1, bench.options.kills)))
    kills, again, start = 0, 0, time.perf_counter()
    inside = dict.fromkeys(INSIDE, 0)
    for number in range(1, days):
        left = day(number, daily)
        if number in killed:
            step = rng.choice(STEPS) if rng.random() < 0.8 else ("", "")
            done, reached = run_day(where, left, step, None if step[0] else rng.uniform(0, 0.02))
            kills += 1
            if reached and step[1] in INSIDE[step[0]]:
                inside[step[0]] += 1
            left = left[len(done) :]
            again += len(left)
        assert run_day(where, left, ("", ""), None)[0] == left
        if number % 73 == 0:
            bench.row(day=number, seconds=time.perf_counter() - start, kills=kills)
    seconds = time.perf_counter() - start
    with Curator.open(where) as curator:
        begin = time.perf_counter()
        problems = curator.check()
        checked = time.perf_counter() - begin
        there = sum(last - first for n in range(days) for first, last, _ in staying(n, days, daily))
        found = len(curator.store.tags())
        arrivals = curator.store.mechanisms["people"]
        noise = standard_deviation(arrivals.laws[0]) * arrivals.factors.spread(days - 1)
        answer = curator.show("people").estimate()
        bench.row(
            people=days * daily,
            there=found,
            kills=kills,
            inside_a_transaction=sum(inside.values()),
            **{f"inside_{change}": count for change, count in inside.items()},
            asked_again=again,
        )
        bench.claim("killed inside adding, closing, correcting and deleting", all(inside.values()))
        bench.row(
            days=days, seconds=seconds, check_s=checked, estimate=answer.value, exact=there, noise=noise
        )
        bench.claim("everybody is there who should be, once", found == there)
        bench.claim("`check` finds nothing", not problems)
        bench.claim("every tick was closed once", curator.status().ticks == days)
        bench.claim("the total is within five deviations of its noise", abs(answer.value - there) < 5 * noise)
        wrong = wrong_records(curator, days, daily)
        bench.claim("every record is the last one that was given", wrong == 0, wrong=wrong)


def wrong_records(curator: Curator, days: int, daily: int) -> int:
    """How many of those who stay have another record than they should: a correction to it would change it."""
    wrong = 0
    for number in range(days):
        for first, last, shift in staying(number, days, daily):
            done = curator.correct(table(first, last, shift=shift))
            wrong += done.corrected + done.unknown
    return wrong


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
        return
    name = "growing_year_postgres" if "--postgres" in sys.argv else "growing_year"
    bench = Bench(name, __doc__ or "", seeds=1, options=options)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:

        def place(name: str) -> str:
            return str(Path(folder) / f"{name}.db")

        if bench.options.postgres:
            sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
            from support.servers import Server

            server = Server()
            stack.callback(server.remove)

            def place(name: str) -> str:
                return str(server.url(name, Path(folder) / f"{name}.key"))

        year(bench, place)
    bench.finish()


if __name__ == "__main__":
    main()
