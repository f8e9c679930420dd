"""What a spec would publish: the expected width of every interval, its share of ε, and its cells.

The widths follow from the noise and from a number of rows that the caller states.  No release is made, and no
row of the table is read.
"""

import math
from dataclasses import dataclass

from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.mechanisms.grouped import Grouped
from undeleted.curate.mechanisms.noisy_histogram import NoisyHistogram
from undeleted.curate.mechanisms.noisy_mean import NoisyMean
from undeleted.curate.releases.ranges import Ranges
from undeleted.curate.spec import Spec
from undeleted.errors import BadSetting
from undeleted.foundations.intervals import noise_interval
from undeleted.foundations.privacy import account
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.report.result import Result, in_digits, plain, table

Z = 1.96  # of a normal law at 95 %: a prefix adds up many noises
MOST_CELLS = 10**5  # beyond this the noise alone takes seconds
NANOSECONDS = 20_000  # of a cell's noise, measured on two cores


@dataclass(frozen=True)
class Expected:
    """What one publication will be like."""

    name: str
    kind: str
    epsilon: float
    cells: int
    groups: int
    width: float | None  # half of an interval at 95 %, in the publication's own unit; None if it is not known
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


def plan(spec: Spec, rows: int) -> Result:
    """What to expect of a spec on a table of about so many rows."""
    if rows < 1:
        raise BadSetting(f"--rows {rows} is not a number of rows.", "Give about how many rows there are.")
    delta = spec.budget.delta
    expected = [_expected(name, mechanism, rows, delta) for name, mechanism in spec.mechanisms.items()]
    facts = {
        "rows": rows,
        "epsilon": spec.budget.epsilon,
        "delta": delta,
        "publications": [publication.as_json() for publication in expected],
    }
    head = [["publication", "kind", "ε", "cells", "± at 95 %", "of"]]
    lines = table(head + [_line(publication) for publication in expected])
    return Result(facts, lines, "\n".join(_remarks(expected, rows)))


def _line(p: Expected) -> list[str]:
    width = "–" if p.width is None else in_digits(float(f"{p.width:.2g}"))
    noise = "   NOTHING BUT NOISE" if p.noise else ""
    return [plain(p.name), p.kind, f"{p.epsilon:.3g}", f"{p.cells:,}", width, plain(p.of) + noise]


def _remarks(expected: list[Expected], rows: int) -> list[str]:
    """What an experienced colleague would say."""
    remarks = [f"for about {rows:,} rows; nothing was read, and nothing was spent"]
    drowned = ", ".join(plain(p.name) for p in expected if p.noise)
    if drowned:
        remarks.append(f"in {drowned} the noise is as wide as what is measured:")
        remarks.append("leave it out, or use fewer columns, fewer categories or a larger step")
    slow = sum(p.cells for p in expected)
    if slow > MOST_CELLS:
        remarks.append(f"{slow:,} cells: drawing their noise takes about {slow * NANOSECONDS / 1e9:,.0f} s")
    return remarks


def _expected(name: str, mechanism: Given, rows: int, delta: float) -> Expected:
    if isinstance(mechanism, BulletinBoard):
        return Expected(name, "board", 0.0, 0, 1, None, "posts, without noise", False)
    inner, groups = mechanism, 1
    if isinstance(mechanism, Grouped):
        inner, groups = mechanism.inner, mechanism.statistic.groups
    cells = mechanism.statistic.size if hasattr(mechanism, "statistic") else 0
    each = rows / groups
    width, of, noise = _width(inner, each)
    of += f", in each of {groups:,} groups of {each:,.0f}" if groups > 1 else ""
    of += ", if all rows fit its condition" if getattr(mechanism, "where", None) is not None else ""
    epsilon = account(mechanism.events, delta).epsilon if mechanism.events else math.inf
    return Expected(name, mechanism.kind, epsilon, cells, groups, width, of, noise)


def _width(mechanism: Given, rows: float) -> tuple[float | None, str, bool]:
    """Half of an interval, what it is of, and whether it is as wide as what it measures."""
    halves = [_half(law) for law in mechanism.laws]
    if isinstance(mechanism, NoisyMean):
        column = mechanism.column
        extreme = (column.cells - 1) / 2  # a mean at a bound has the noise of its count as well
        half = math.hypot(halves[1], extreme * halves[0]) * float(column.step) / rows
        return (
            half,
            f"the mean of {column.name}, at most about",
            half >= float(column.step) * (column.cells - 1) / 2,
        )
    if isinstance(mechanism, NoisyHistogram):
        cell = rows / mechanism.statistic.size
        half = halves[0]
        return half, f"a cell of about {cell:,.3g}", half >= cell
    if isinstance(mechanism, Ranges):
        half = Z * math.sqrt(mechanism.worst_variance(0.5))
        return half, "people below a quantile, at most about", half >= rows / 2
    if len(mechanism.laws) == 1 and hasattr(mechanism, "statistic") and mechanism.statistic.size == 1:
        unit = float(mechanism.column.unit) if hasattr(mechanism, "column") else 1.0
        half = halves[0] * unit
        largest = rows * mechanism.statistic.reaches[0] * unit
        return half, f"a {mechanism.kind}", half >= largest
    return None, "several numbers: publish and see", False


def _half(law: Given) -> float:
    low, high = noise_interval(law, 0.95)
    return (high - low) / 2
