"""Attackers that learn from runs to tell two worlds apart by their transcripts.

    lookup       remember which values of a mark were seen more often in which world; the marks are the whole
                 transcript, the first output with one later, and differences and exclusive-ors of the two
    likelihood   predict every output from those before it, in each world, and ask which prediction errs less;
                 finds shifts in fresh noise, and noise that cancels

A teller is trained on some runs and judged on others.
"""

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from undeleted.audit.lab import TOLERANCE, leaves, numbers

Transcript = tuple[Any, ...]
MOST_FEATURES = 40
MOST_NUMBERS = 64  # of one output; more are summed up by their leading ones


class Teller(Protocol):
    """Says of a transcript whether it comes from the first world."""

    name: str

    def scores(self, transcripts: Sequence[Transcript]) -> Any:
        """Higher is more like the first world; above 0 it says so."""


def train(ones: Sequence[Transcript], others: Sequence[Transcript]) -> Teller:
    """The best of all tellers: each learns from one half of the runs, and is chosen by the other."""
    half = len(ones) // 2
    best: Teller = _Nothing()
    most = 0.0
    for make in _all_of(ones, others):
        teller = make(ones[:half], others[:half])
        if teller is None:
            continue
        hits = np.mean(teller.scores(ones[half:]) > 0) - np.mean(teller.scores(others[half:]) > 0)
        if hits > most + 1e-9:
            best, most = teller, float(hits)
    return best


def _all_of(ones: Sequence[Transcript], others: Sequence[Transcript]) -> list[Callable[..., Teller | None]]:
    made: list[Callable[..., Teller | None]] = []
    for name, mark in _marks(ones[0]):
        made.append(partial(Lookup, name, mark))
    arrays = _stacked([*ones, *others])
    if arrays is not None and arrays.shape[1] > 1:
        made += [partial(Likelihood.of, degree) for degree in (0, 1, 2, 3)]
    return made


class _Nothing:
    name = "nothing"

    def scores(self, transcripts: Sequence[Transcript]) -> Any:
        return np.zeros(len(transcripts))


class Lookup:
    """Whether a mark was seen more often in the first world; a mark that is new says nothing."""

    def __init__(
        self,
        name: str,
        mark: Callable[[Transcript], Hashable],
        ones: Sequence[Transcript],
        others: Sequence[Transcript],
    ) -> None:
        self.name, self._mark = f"lookup of {name}", mark
        self._counts = Counter(map(mark, ones))
        self._counts.subtract(Counter(map(mark, others)))

    def scores(self, transcripts: Sequence[Transcript]) -> Any:
        return np.array([self._counts.get(self._mark(t), 0) for t in transcripts], dtype=np.float64)


def _marks(example: Transcript) -> list[tuple[str, Callable[[Transcript], Hashable]]]:
    """What a lookup may go by."""
    marks: list[tuple[str, Callable[[Transcript], Hashable]]] = [("everything", lambda t: t)]
    for i in sorted({1, 2, len(example) - 1} & set(range(1, len(example)))):
        marks += [
            (f"the first output and no. {i}", partial(_two, i)),
            (f"output no. {i}", itemgetter(i)),
            (f"output no. {i} less the first", partial(_combined, i, "-")),
            (f"output no. {i} xor the first", partial(_combined, i, "^")),
        ]
    return marks


def _two(i: int, transcript: Transcript) -> Hashable:
    return transcript[0], transcript[i]


def _combined(i: int, how: str, transcript: Transcript) -> Hashable:
    ours, theirs = leaves(transcript[i]), leaves(transcript[0])
    kinds = int if how == "^" else (int, float)
    if len(ours) != len(theirs) or not all(isinstance(v, kinds) for v in [*ours, *theirs]):
        return None
    combine = operator.xor if how == "^" else operator.sub
    return tuple(combine(a, b) for a, b in zip(ours, theirs, strict=True))


class Likelihood:
    """Each output normal around a polynomial of those before it, fitted in each world."""

    def __init__(self, degree: int, centre: Any, scale: Any, fits: list[list[tuple[Any, Any]]]) -> None:
        self.name = f"likelihood of degree {degree}"
        self._degree, self._centre, self._scale, self._fits = degree, centre, scale, fits

    @classmethod
    def of(cls, degree: int, ones: Sequence[Transcript], others: Sequence[Transcript]) -> "Likelihood | None":
        a, b = _stacked(ones), _stacked(others)
        if a is None or b is None or a.shape[1:] != b.shape[1:] or not np.isfinite([*a.flat, *b.flat]).all():
            return None
        both = np.concatenate([a, b])
        centre, scale = both.mean(axis=0), both.std(axis=0) + 1e-12
        floor = (TOLERANCE * np.maximum(1.0, np.abs(both).max(axis=0))) / scale
        made = cls(degree, centre, scale, [])
        width = made._features((both - centre) / scale, 1).shape[1]
        if width > min(MOST_FEATURES, len(ones) // 4):
            return None
        made._fits = [made._fit((world - centre) / scale, floor) for world in (a, b)]
        return made

    def scores(self, transcripts: Sequence[Transcript]) -> Any:
        arrays = _stacked(transcripts)
        if arrays is None or arrays.shape[1:] != self._centre.shape:
            return np.zeros(len(transcripts))
        scaled = (arrays - self._centre) / self._scale
        return self._log_likelihood(scaled, self._fits[0]) - self._log_likelihood(scaled, self._fits[1])

    def _features(self, scaled: Any, step: int) -> Any:
        """1, then the last output and the first, then their products up to the degree."""
        columns = [np.ones(len(scaled))]
        if self._degree:
            base = (
                scaled[:, step - 1]
                if step == 1
                else np.concatenate([scaled[:, step - 1], scaled[:, 0]], axis=1)
            )
            grown = [base]
            for _ in range(self._degree - 1):
                products = (grown[-1][:, :, None] * base[:, None, :]).reshape(len(base), -1)
                if products.shape[1] > 4 * MOST_FEATURES:
                    return np.zeros((len(scaled), 10**6))
                grown.append(products)
            columns += [column for block in grown for column in block.T]
        return np.stack(columns, axis=1)

    def _fit(self, scaled: Any, floor: Any) -> list[tuple[Any, Any]]:
        fits = []
        for step in range(1, scaled.shape[1]):
            x, y = self._features(scaled, step), scaled[:, step]
            weights = np.linalg.lstsq(x, y, rcond=1e-10)[0]
            spread = (y - x @ weights).std(axis=0) * np.sqrt(len(x) / max(1, len(x) - x.shape[1]))
            fits.append((weights, np.sqrt(spread**2 + floor[step] ** 2)))
        return fits

    def _log_likelihood(self, scaled: Any, fits: list[tuple[Any, Any]]) -> Any:
        total = np.zeros(len(scaled))
        for step, (weights, spread) in enumerate(fits, start=1):
            errors = (scaled[:, step] - self._features(scaled, step) @ weights) / spread
            total -= (np.minimum(errors**2, 1e6) / 2 + np.log(spread)).sum(axis=1)
        return total


def _stacked(transcripts: Sequence[Transcript]) -> Any:
    """Runs × outputs × numbers; None if outputs are of several shapes or hold texts."""
    rows = []
    for transcript in transcripts:
        row = [numbers(z) for z in transcript]
        if any(z is None for z in row) or len({z.size for z in row}) != 1 or not row[0].size:
            return None
        rows.append([z[:MOST_NUMBERS] for z in row])
    if len({r[0].size for r in rows}) != 1:
        return None
    return np.array(rows)
