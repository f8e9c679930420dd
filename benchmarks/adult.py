"""Publish the Adult census table, delete 10,000 people, and count how often the intervals are right.

UNDELETED_ADULT gives the path of the table, which is not part of the product.  Every run publishes again with
secure noise, deletes the same people, and compares every answer with the exact one for those who remain.
"""

import csv
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median_low
from typing import Any

from bench import Bench
from undeleted.curate.curator import Curator
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.files import read
from undeleted.curate.spec import Spec

EDUCATION = [
    *("10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Assoc-acdm", "Assoc-voc", "Bachelors"),
    *("Doctorate", "HS-grad", "Masters", "Preschool", "Prof-school", "Some-college"),
]
SPEC = f"""[data]
source = "SOURCE"
id = "person_id"

[budget]
epsilon = 1.0

[columns.age]
type = "number"
min = 0
max = 120

[columns.hours_per_week]
type = "number"
min = 0
max = 100

[columns.education]
type = "category"
values = {EDUCATION!r}

[columns.income]
type = "category"
values = ["<=50K", ">50K"]

[publish.people]
kind = "count"

[publish."mean age"]
kind = "mean"
column = "age"

[publish."mean hours"]
kind = "mean"
column = "hours_per_week"

[publish.ages]
kind = "quantiles"
column = "age"

[publish.hours]
kind = "quantiles"
column = "hours_per_week"

[publish.table]
kind = "histogram"
columns = ["education", "income"]
"""
GONE = 10_000


def exact_answers(rows: list[dict[str, str]]) -> dict[str, float]:
    """Return the exact answers for these people."""
    ages, hours = ([int(row[name]) for row in rows] for name in ("age", "hours_per_week"))
    masters = sum((row["education"], row["income"]) == ("Masters", ">50K") for row in rows)
    rank = sorted(ages)[max(0, -(-9 * len(ages) // 10) - 1)]
    return {
        "people": len(rows),
        "mean age": sum(ages) / len(ages),
        "mean hours": sum(hours) / len(hours),
        "median age": median_low(ages),
        "ninth decile of age": rank,
        "40 hours or less": sum(h <= 40 for h in hours),
        "Masters above 50K": masters,
    }


def published_answers(curator: Curator) -> dict[str, Any]:
    """Return the answers of the publications to the same questions."""

    def of(name: str) -> tuple[Any, Any]:
        shown = curator.show(name)
        return shown.mechanism, shown.release

    (ages, a), (hours, h), (table, t) = of("ages"), of("hours"), of("table")
    return {
        **{name: curator.show(name).estimate() for name in ("people", "mean age", "mean hours")},
        "median age": ages.quantile(a, 0.5),
        "ninth decile of age": ages.quantile(a, 0.9),
        "40 hours or less": hours.count(h, 0, 40),
        "Masters above 50K": table.count(t, education="Masters", income=">50K"),
    }


def main() -> None:
    source = os.environ.get("UNDELETED_ADULT", "")
    if not Path(source).is_file():
        print("skipped: UNDELETED_ADULT does not name the Adult table")
        sys.exit(0)
    bench = Bench("adult", __doc__ or "", seeds=200)
    with open(source, encoding="utf-8") as file:
        people = list(csv.DictReader(file))
    spec = Spec.parse(SPEC.replace("SOURCE", source))
    leavers = [row["person_id"] for row in people[:: len(people) // GONE]][:GONE]
    gone = set(leavers)
    truth = exact_answers([row for row in people if row["person_id"] not in gone])
    with tempfile.TemporaryDirectory() as folder:
        times = _once(spec, Path(folder) / "adult.db", leavers)
    bench.row(**times)
    bench.claim("publishing takes seconds", times["publish_seconds"] < 10, seconds=times["publish_seconds"])
    held = dict.fromkeys(truth, 0)
    table = read(source, spec.schema)
    for _ in range(bench.seeds):
        curator = Curator(spec.schema, spec.budget)
        curator._publish(Arrays(table), spec.mechanisms, {})
        curator.delete(leavers)
        for name, estimate in published_answers(curator).items():
            held[name] += truth[name] in estimate
        curator.close()
    for name, times_held in held.items():
        share = times_held / bench.seeds
        bench.row(answer=name, exact=truth[name], coverage=share)
        least = 0.95 - 4 * (0.95 * 0.05 / bench.seeds) ** 0.5
        bench.claim(
            f"{name}: the interval covers the truth as often as stated, less four standard errors",
            share >= least,
            coverage=share,
        )
    bench.finish()


def _once(spec: Spec, store: Path, leavers: list[str]) -> dict[str, float]:
    """Return the times of one run on a file."""

    def seconds(work: Callable[[], Any]) -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    opened: list[Curator] = []
    publish = seconds(lambda: opened.append(Curator.from_spec(spec, store)))
    delete = seconds(lambda: opened[0].delete(leavers))
    check = seconds(lambda: opened[0].check())
    opened[0].close()
    return {"publish_seconds": publish, "delete_seconds": delete, "check_seconds": check}


if __name__ == "__main__":
    main()
