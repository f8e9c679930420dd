"""Attackers that learn from runs to tell two worlds apart by their transcripts.

    lookup       count which values of a key occur more often in which world; the keys are the full
                 transcript, a later output, the first with a later one, and differences and XORs of the two
    likelihood   predict every output from earlier ones, in each world, and compare the errors; detects
                 shifts in fresh noise, and noise that cancels

A distinguisher is trained on some runs and tested on others.
"""

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from operator import itemgetter
from typing import Protocol

import numpy as np

from undeleted.auditing.lab import TOLERANCE, leaves
from undeleted.foundations.types import Output

Transcript = tuple[Output, ...]
MOST_FEATURES = 40
MOST_NUMBERS = 64  # of one output; further ones are ignored


class Runs:
    """Transcripts of one world, as they are and as an array of runs × outputs × numbers."""

    def __init__(self, transcripts: Sequence[Transcript]) -> None:
        self.transcripts = transcripts

    def __len__(self) -> int:
        return len(self.transcripts)

    def __getitem__(self, part: slice) -> "Runs":
        made = Runs(self.transcripts[part])
        if self.array is not None:
            made.array = self.array[part]
        return made

    @cached_property
    def array(self) -> Output:
        """The array; None if outputs have several shapes, or hold anything but finite numbers."""
        sizes = {len(leaves(z)) for z in self.transcripts[0]}
        if len(sizes) != 1 or sizes == {0}:
            return None
        rows = [leaves(t) for t in self.transcripts]
        if len({len(row) for row in rows}) != 1 or not all(isinstance(v, int | float) for v in rows[0]):
            return None
        try:
            flat = np.array(rows, dtype=np.float64)
        except (ValueError, TypeError, OverflowError):
            return None
        if not np.isfinite(flat).all():
            return None
        return flat.reshape(len(rows), len(self.transcripts[0]), -1)[:, :, :MOST_NUMBERS]


def alone(outputs: Sequence[Output]) -> Runs:
    """Single outputs as transcripts, each after a constant first output."""
    return Runs([((0,) * len(leaves(z)), z) for z in outputs])


class Distinguisher(Protocol):
    """Decides whether a transcript comes from the first world."""

    name: str

    def scores(self, runs: Runs) -> Output:
        """Return a score per run: higher is more like the first world; above 0 decides for it."""


def train(ones: Runs, others: Runs) -> Distinguisher:
    """Choose the best distinguisher: train on one half, test on the other; then train the best on all."""
    half = len(ones) // 2
    best: Distinguisher = _Nothing()
    most, chosen = 0.0, None
    for make in _all_of(ones, others):
        distinguisher = make(ones[:half], others[:half])
        if distinguisher is None:
            continue
        hits = np.mean(distinguisher.scores(ones[half:]) > 0) - np.mean(
            distinguisher.scores(others[half:]) > 0
        )
        if hits > most + 1e-9:
            best, most, chosen = distinguisher, float(hits), make
    return best if chosen is None else chosen(ones, others) or best


def _all_of(ones: Runs, others: Runs) -> list[Callable[[Runs, Runs], Distinguisher | None]]:
    example = ones.transcripts[0]
    made: list[Callable[[Runs, Runs], Distinguisher | None]] = [
        partial(Lookup, *key) for key in _keys(example)
    ]
    if len(example) > 1 and ones.array is not None and others.array is not None:
        made += [partial(Likelihood.of, degree) for degree in (0, 1, 2, 3)]
    return made


class _Nothing:
    name = "nothing"

    def scores(self, runs: Runs) -> Output:
        return np.zeros(len(runs))


class Lookup:
    """Scores how much more often a key was seen in the first world; an unknown key scores 0."""

    def __init__(self, name: str, key: Callable[[Transcript], Hashable], ones: Runs, others: Runs) -> None:
        self.name, self._key = f"lookup of {name}", key
        self._counts = Counter(map(key, ones.transcripts))
        self._counts.subtract(Counter(map(key, others.transcripts)))

    def scores(self, runs: Runs) -> Output:
        return np.array([self._counts.get(self._key(t), 0) for t in runs.transcripts], dtype=np.float64)


def _keys(example: Transcript) -> list[tuple[str, Callable[[Transcript], Hashable]]]:
    """The functions of a transcript that a lookup may use as its key, with their names."""
    keys: list[tuple[str, Callable[[Transcript], Hashable]]] = [("everything", lambda t: t)]
    for i in sorted({1, 2, len(example) - 1} & set(range(1, len(example)))):
        keys += [
            (f"the first output and no. {i}", partial(_two, i)),
            (f"output no. {i}", itemgetter(i)),
            (f"output no. {i} less the first", partial(_combined, i, "-")),
            (f"output no. {i} xor the first", partial(_combined, i, "^")),
        ]
    return keys


def _two(i: int, transcript: Transcript) -> Hashable:
    return transcript[0], transcript[i]


def _combined(i: int, how: str, transcript: Transcript) -> Hashable:
    ours, theirs = leaves(transcript[i]), leaves(transcript[0])
    kinds = int if how == "^" else (int, float)
    if len(ours) != len(theirs) or not all(isinstance(v, kinds) for v in [*ours, *theirs]):
        return None
    combine = operator.xor if how == "^" else operator.sub
    return tuple(combine(a, b) for a, b in zip(ours, theirs, strict=True))


# Outputs may be huge: a score that becomes NaN counts as 0.
_quietly = np.errstate(over="ignore", invalid="ignore", divide="ignore")


class Likelihood:
    """Models each output as normal around a polynomial of earlier ones, fitted in each world."""

    def __init__(
        self, degree: int, centre: Output, scale: Output, fits: list[list[tuple[Output, Output]]]
    ) -> None:
        self.name = f"likelihood of degree {degree}"
        self._degree, self._centre, self._scale, self._fits = degree, centre, scale, fits

    @classmethod
    @_quietly
    def of(cls, degree: int, ones: Runs, others: Runs) -> "Likelihood | None":
        a, b = ones.array, others.array
        if a is None or b is None or a.shape[1:] != b.shape[1:]:
            return None
        both = np.concatenate([a, b])
        centre, scale = both.mean(axis=0), both.std(axis=0) + 1e-12
        floor = (TOLERANCE * np.maximum(1.0, np.abs(both).max(axis=0))) / scale
        made = cls(degree, centre, scale, [])
        if made._width(a.shape[2]) > min(MOST_FEATURES, len(ones) // 4):
            return None
        try:
            made._fits = [made._fit((world - centre) / scale, floor) for world in (a, b)]
        except np.linalg.LinAlgError:
            return None
        return made

    @_quietly
    def scores(self, runs: Runs) -> Output:
        if runs.array is None or runs.array.shape[1:] != self._centre.shape:
            return np.zeros(len(runs))
        scaled = (runs.array - self._centre) / self._scale
        ratio = self._log_likelihood(scaled, self._fits[0]) - self._log_likelihood(scaled, self._fits[1])
        return np.nan_to_num(ratio, nan=0.0, posinf=1e9, neginf=-1e9)

    def _width(self, numbers: int) -> int:
        """The largest number of features of any step."""
        return 1 + sum(int((2 * numbers) ** power) for power in range(1, self._degree + 1))

    def _features(self, scaled: Output, step: int) -> Output:
        """1, then the last output and the first, then their products up to the degree."""
        last = scaled[:, step - 1]
        base = last if step == 1 else np.concatenate([last, scaled[:, 0]], axis=1)
        blocks = [np.ones((len(scaled), 1))]
        for _ in range(self._degree):
            blocks.append((blocks[-1][:, :, None] * base[:, None, :]).reshape(len(base), -1))
        return np.concatenate(blocks, axis=1)

    def _fit(self, scaled: Output, floor: Output) -> list[tuple[Output, Output]]:
        fits = []
        for step in range(1, scaled.shape[1]):
            x, y = self._features(scaled, step), scaled[:, step]
            weights = np.linalg.lstsq(x, y, rcond=1e-10)[0]
            spread = (y - x @ weights).std(axis=0) * np.sqrt(len(x) / max(1, len(x) - x.shape[1]))
            fits.append((weights, np.sqrt(spread**2 + floor[step] ** 2)))
        return fits

    def _log_likelihood(self, scaled: Output, fits: list[tuple[Output, Output]]) -> Output:
        total = np.zeros(len(scaled))
        for step, (weights, spread) in enumerate(fits, start=1):
            errors = (scaled[:, step] - self._features(scaled, step) @ weights) / spread
            total -= (np.minimum(errors**2, 1e6) / 2 + np.log(spread)).sum(axis=1)
        return total
