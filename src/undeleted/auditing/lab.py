"""Run a target and record what an observer sees.

An observed output is nested tuples of numbers and texts, rounded to the digits that the observer gets.  An
output that holds NaN cannot be compared, and ends the audit.
"""

import math
from collections.abc import Sequence

import numpy as np

from undeleted.auditing.columns import Row
from undeleted.auditing.targets import Target
from undeleted.errors import TargetFailed
from undeleted.foundations.types import Output

TOLERANCE = 1e-9  # a difference up to this, relative to the larger of 1 and both numbers, counts as rounding


class Lab:
    """A target, and what the observer sees of it."""

    def __init__(self, target: Target, digits: int | None = None) -> None:
        self.target, self.digits = target, digits
        # The density is that of the full output, not of a rounded output or of selected parts.
        self.has_density = target.has_density and digits is None and not target.named.see

    def play(self, records: Sequence[Row], batches: Sequence[Sequence[str]], seed: int) -> tuple[Output, ...]:
        """One transcript: the first output and one after every batch."""
        return self.plays(records, batches, [seed])[0]

    def plays(
        self, records: Sequence[Row], batches: Sequence[Sequence[str]], seeds: Sequence[int]
    ) -> list[tuple[Output, ...]]:
        """A transcript for every seed."""
        return [
            tuple(self.seen(z, batches[i - 1] if i else None) for i, z in enumerate(outputs))
            for outputs in self.target.play(records, batches, seeds)
        ]

    def seen(self, output: Output, deleted: Sequence[str] | None = None) -> Output:
        """What the observer sees of an output."""
        call = "start" if deleted is None else f"delete {', '.join(deleted)}"
        return _seen(output, self.digits, call)


def _seen(output: Output, digits: int | None, call: str) -> Output:
    match output:
        case float() if math.isnan(output):
            raise TargetFailed(call, "its output holds NaN")
        case float() if digits is not None and math.isfinite(output):
            return round(output, digits) + 0.0  # and never −0.0
        case str():
            return output.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot be written
        case list() | tuple():
            return tuple(_seen(part, digits, call) for part in output)
        case dict():
            return tuple((key, _seen(output[key], digits, call)) for key in sorted(output))
    return output


def exactly(output: Output) -> str:
    """An output as text, to compare to the last bit: −0.0 is not 0.0, and 1 is not 1.0."""
    return repr(output)


def merged(transcripts: Sequence[tuple[Output, ...]], tolerance: float) -> list[tuple[Output, ...]]:
    """Make updates equal that differ only by rounding; the first outputs are not changed.

    Numbers at the same place are merged while the next larger one is near.  Which world a run comes from is
    not used.
    """
    flat = [[leaves(z) for z in t[1:]] for t in transcripts]
    if tolerance == 0 or not any(isinstance(v, float) for z in flat[0] for v in z):
        return list(transcripts)
    places: dict[tuple[int, int], set[float]] = {}
    for run in flat:
        for i, z in enumerate(run):
            for j, v in enumerate(z):
                if isinstance(v, float):
                    places.setdefault((i, j), set()).add(v)
    names: dict[tuple[int, int], dict[float, float]] = {}
    for place, values in places.items():
        known: dict[float, float] = {}
        last = head = None
        for v in sorted(values):
            if last is None or v - last > tolerance * max(1.0, abs(v), abs(last)):
                head = v
            known[v] = head if head is not None else v
            last = v
        names[place] = known

    def renamed(i: int, z: Sequence[Output]) -> tuple[Output, ...]:
        return tuple(names[i, j][v] if isinstance(v, float) else v for j, v in enumerate(z))

    return [
        (t[0], *(renamed(i, z) for i, z in enumerate(run))) for t, run in zip(transcripts, flat, strict=True)
    ]


def leaves(output: Output) -> list[Output]:
    """The numbers and texts of an output, in their order."""
    if isinstance(output, tuple):
        return [leaf for part in output for leaf in leaves(part)]
    return [output]


def numbers(output: Output) -> Output:
    """An output as an array; None if it holds anything but numbers."""
    values = leaves(output)
    if not all(isinstance(v, int | float) for v in values):
        return None
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return None


def apart(one: Output, other: Output) -> float:
    """The largest relative difference of two outputs; infinite if integers, texts or shapes differ."""
    if one == other:
        return 0.0
    ours, theirs = leaves(one), leaves(other)
    if len(ours) != len(theirs):
        return math.inf
    most = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a == b:
            continue
        if not (isinstance(a, int | float) and isinstance(b, int | float)):
            return math.inf
        if isinstance(a, int) and isinstance(b, int):
            return math.inf  # integers have no rounding error
        try:
            gap = abs(a - b) / max(1.0, abs(a), abs(b))
        except OverflowError:
            return math.inf
        most = max(most, gap if gap == gap else math.inf)
    return most


def far(one: Sequence[Output], other: Sequence[Output], tolerance: float = TOLERANCE) -> int | None:
    """Where two transcripts first differ by more than rounding; None if they do not."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if apart(a, b) > tolerance), None)
