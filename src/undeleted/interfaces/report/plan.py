"""What a spec would publish: the expected width of every interval, its share of ε, its cells, time and size.

The widths follow from the noise and from a number of rows that the caller states.  No release is made, and no
row of the table is read.
"""

import math
from dataclasses import dataclass, replace

from undeleted.curate.curator import Curator, refuse_without_records, retained
from undeleted.curate.mechanisms.noisy_count import NoisyCount
from undeleted.curate.mechanisms.noisy_people import NoisyPeople
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.spec import Spec
from undeleted.curate.stores import bytes_of
from undeleted.errors import BadSetting
from undeleted.foundations.digits import in_digits
from undeleted.foundations.intervals import Estimate
from undeleted.foundations.privacy import account, as_given
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.report.result import Result, plain, table

MOST_CELLS = 10**5  # beyond this the noise alone takes seconds
NANOSECONDS = 20_000  # of a cell's noise, measured on two cores
PER_ROW = 5_000  # nanoseconds to encode, tag and write a row, the same way


@dataclass(frozen=True)
class Expected:
    """What one publication will be like."""

    name: str
    kind: str
    epsilon: float
    cells: int
    groups: int
    width: float | None  # half of an interval at 95%, in the publication's own unit; None if it is not known
    of: str  # what the width is of
    noise: bool  # whether the width is as large as what it measures

    def as_json(self) -> Json:
        return {
            "name": self.name,
            "kind": self.kind,
            "epsilon": self.epsilon,
            "cells": self.cells,
            "groups": self.groups,
            "half_width": self.width,
            "of": self.of,
            "nothing_but_noise": self.noise,
        }


RETAINED = {  # what a breach, a lost receipt and `check` mean
    "records": [
        'the store will keep the codes of every person (retain = "records"): somebody with its file can read',
        "them; `check` can show from them that no deletion was lost",
    ],
    "receipts": [
        'the store will keep nothing about anybody (retain = "receipts"): its file and key tell a thief only',
        "what is published and how many have left; receipts cannot be written again, so somebody who lost",
        "theirs cannot leave, and `check` cannot show that the noise was conserved",
    ],
    "tags": [
        'the store will keep a salted tag of everybody (retain = "tags"): its file and key tell a thief only',
        "what is published and how many have left, unless the thief has rows and their salts, too; a person",
        "leaves with their rows and their salt, which cannot be written again; `check` cannot show that the",
        "noise was conserved",
    ],
}
WAITING = "until a tick closes, its newcomers' codes are in the file"
HIDDEN = (
    "hidden leavers stay in the file, without ids, until a tick or the horizon; `check` cannot count them"
)


def _kept(spec: Spec) -> list[str]:
    """What the store keeps about people, in words."""
    said = list(RETAINED[spec.retain])
    if spec.growing is not None:
        said += [WAITING] if spec.retain != "records" else []
        said += [HIDDEN] if spec.growing.leavers is not None else []
    return said


def plan(spec: Spec, rows: int) -> Result:
    """What to expect of a spec on a table of about so many rows."""
    if rows < 1:
        raise BadSetting(f"--rows {rows} is not a number of rows.", "Give about how many rows there are.")
    refuse_without_records(retained(spec.retain, spec.capacity, spec.keep), spec.mechanisms)
    expected = _all_expected(spec.mechanisms, rows, spec.budget.delta)
    cells = sum(publication.cells for publication in expected)
    seconds = (cells * NANOSECONDS + rows * PER_ROW) / 1e9
    size = bytes_of(spec.schema, spec.mechanisms, rows, spec.capacity, tags=spec.retain == "tags")
    facts = {
        "retain": spec.retain,
        "rows": rows,
        "epsilon": spec.budget.epsilon,
        "delta": spec.budget.delta,
        "cells": cells,
        "seconds": round(seconds, 1),
        "bytes": size,
        "publications": [publication.as_json() for publication in expected],
    }
    remarks = [f"for about {rows:,} rows; nothing was read, and nothing was spent"]
    remarks.append(
        f"the store will have about {_in_bytes(size)}, and take about {max(1, round(seconds)):,} s"
    )
    return Result(facts, _lines(expected), "\n".join(remarks + _kept(spec) + _warnings(expected)))


def summary(curator: Curator, rows: int | None) -> tuple[Json, str]:
    """The same for what was published, for the stated number of rows or else the noisy count.

    Never for the exact number of rows, which is private.  Without either there is no summary.
    """
    whence = "as stated with --rows"
    if rows is None:
        rows, whence = _noisy_rows(curator), "the noisy count"
    if rows is None:
        return {}, ""
    mechanisms = {name: curator.store.mechanisms[name] for name in curator.publications}
    expected = _all_expected(mechanisms, rows, curator.budget.delta)
    facts = {
        "rows": rows,
        "expected": [
            publication.as_json() | {"epsilon": as_given(publication.epsilon, curator.budget.epsilon)}
            for publication in expected
        ],
    }
    said = [_lines(expected), f"for {rows:,} rows ({whence})", *_warnings(expected)]
    return facts, "\n".join(said)


def in_force(curator: Curator) -> list[Expected]:
    """Every publication of a store, with its error for the noisy count; a ratio has none without a count."""
    rows = _noisy_rows(curator)
    mechanisms = {name: curator.store.mechanisms[name] for name in curator.publications}
    expected = _all_expected(mechanisms, rows or 1, curator.budget.delta)
    known = [rows is not None or mechanism.steady for mechanism in mechanisms.values()]
    return [e if k else replace(e, width=None) for e, k in zip(expected, known, strict=True)]


def drowned(spec: Spec, rows: int) -> list[str]:
    """What a spec would publish for nothing: to be said before the budget is spent."""
    return _warnings(_all_expected(spec.mechanisms, rows, spec.budget.delta))


def _noisy_rows(curator: Curator) -> int | None:
    for name in curator.publications:
        mechanism = curator.store.mechanisms[name]
        counted: Given = mechanism.mechanism if isinstance(mechanism, Arrivals) else mechanism
        each_has_one = curator.store.schema.rows_per_person == 1
        people = isinstance(counted, NoisyPeople) and each_has_one  # else there are more rows than people
        if people or (isinstance(counted, NoisyCount) and not counted.over):
            noisy: Estimate = mechanism.estimate(curator.show(name).release)
            return max(1, round(noisy.value))
    return None


def _all_expected(mechanisms: Json, rows: int, delta: float) -> list[Expected]:
    return [_expected(name, mechanism, rows, delta) for name, mechanism in mechanisms.items()]


def _lines(expected: list[Expected]) -> str:
    head = [["publication", "kind", "ε", "cells", "± at 95%", "of"]]
    return table(head + [_line(publication) for publication in expected])


def _line(p: Expected) -> list[str]:
    width = "–" if p.width is None else in_digits(float(f"{p.width:.2g}"))
    noise = "   NOTHING BUT NOISE" if p.noise else ""
    return [plain(p.name), p.kind, f"{p.epsilon:.3g}", f"{p.cells:,}", width, plain(p.of) + noise]


def _warnings(expected: list[Expected]) -> list[str]:
    """What an experienced colleague would say."""
    remarks = []
    names = ", ".join(plain(p.name) for p in expected if p.noise)
    if names:
        remarks.append(f"in {names} the noise is as wide as what is measured:")
        remarks.append("leave it out, or use fewer columns, fewer categories or a larger step")
    slow = sum(p.cells for p in expected)
    if slow > MOST_CELLS:
        remarks.append(f"{slow:,} cells: drawing their noise takes about {slow * NANOSECONDS / 1e9:,.0f} s")
    return remarks


def _expected(name: str, mechanism: Given, rows: int, delta: float) -> Expected:
    cells = mechanism.statistic.size if hasattr(mechanism, "statistic") else 0
    foreseen = mechanism.foreseen(rows)
    events = getattr(mechanism, "events", ())
    epsilon = account(events, delta).epsilon if events else 0.0 if events == () else math.inf
    groups = getattr(mechanism.statistic, "groups", 1) if cells else 1
    return Expected(name, mechanism.kind, epsilon, cells, groups, foreseen.width, foreseen.of, foreseen.noise)


def _in_bytes(size: float) -> str:
    """A size as people write it.

    >>> _in_bytes(812), _in_bytes(2_345_678)
    ('812 bytes', '2.3 MB')
    """
    for unit, divisor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= divisor:
            return f"{size / divisor:.1f} {unit}"
    return f"{size:.0f} bytes"
