"""Answers from a tree of noisy counts: any range, the CDF, any quantile, each with an interval.

Every answer comes from a linear query on the exact counts: how many records are in a range, minus a share of
all.  A tree answers it with a value, the spread and kurtosis of its noise, and how much a leaf that the range
cuts in two may add on either side.  Intervals use the normal quantile, widened for kurtosis (Cornish and
Fisher).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from undeleted.curate.releases.count_tree import TreeView
from undeleted.curate.releases.publishable import Answers, Foreseen, Publishable
from undeleted.errors import BadQuestion
from undeleted.foundations.coins import Law
from undeleted.foundations.intervals import Estimate, check_confidence, noise_interval
from undeleted.foundations.schema import Date, Number
from undeleted.foundations.types import Given

Z = 1.96  # of a normal law at 95%: a prefix adds up many noises


@dataclass(frozen=True)
class RangeAnswer:
    """Count in a range minus a share of all; cut leaves may lower it by `below` or raise it by `above`."""

    value: float
    variance: float
    fourth: float = 0.0
    below: float = 0.0
    above: float = 0.0
    cells: tuple[Law, int] | None = None  # (law, n) if the answer is a plain sum of n cells

    def half_width(self, confidence: float) -> float:
        """Half the width of the noise's interval; slightly more for noise so narrow that its steps matter."""
        if self.variance < 1e-100:
            return 0.0
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        kurtosis = self.fourth / self.variance**2
        steps = 0.5 if self.variance < 4 else 0.0
        return math.sqrt(self.variance) * (z + max(0.0, z**3 - 3 * z) * kurtosis / 24) + steps

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval of the exact count."""
        if self.cells is not None:
            low, high = noise_interval(self.cells[0], confidence, self.cells[1])
            return self.value - high, self.value - low
        width = self.half_width(confidence)
        return self.value - width - self.below, self.value + width + self.above


class Ranges(Publishable, ABC):
    """Questions that a tree of counts can answer."""

    column: Number

    questions: ClassVar = ("quantile", "range")

    def answers(self, release: Given, asked: Mapping[str, Given], confidence: float) -> Answers:
        """The quartiles, or what is requested: a quantile, the count in a range."""
        if "range" in asked:
            low, high = asked["range"]
            ends = (end if isinstance(end, str) else f"{end:g}" for end in (low, high))
            yield " to ".join(ends), self.count(release, low, high, confidence)
        for q in [asked["quantile"]] if "quantile" in asked else [] if asked else (0.25, 0.5, 0.75):
            yield f"quantile {q:g}", self.quantile(release, q, confidence)

    @abstractmethod
    def view(self, release: Given) -> TreeView:
        """Consistent estimates, on a copy."""

    @abstractmethod
    def ask(self, release: Given, low: int, high: int, share: float, confidence: float) -> RangeAnswer:
        """The number of records with a code in low, …, high − 1, minus `share` of all records."""

    @abstractmethod
    def worst_variance(self, share: float) -> float:
        """An upper bound on the variance of `ask(release, 0, any, share)`."""

    def foreseen(self, rows: float) -> Foreseen:
        half = Z * math.sqrt(self.worst_variance(0.5))
        return Foreseen(half, "people below a quantile (upper estimate)", half >= rows / 2)

    def count(self, release: Given, low: float, high: float, confidence: float = 0.95) -> Estimate:
        """How many records lie in [low, high]."""
        check_confidence(confidence)
        low, high = self.end(low), self.end(high)
        if not low <= high:
            raise BadQuestion(f"the range [{low}, {high}] is inverted.", "Give the lower end first.")
        return self._linear(release, self._first(low), self._last(high) + 1, confidence)

    def total(self, release: Given, confidence: float = 0.95) -> Estimate:
        """How many records there are."""
        check_confidence(confidence)
        return self._linear(release, 0, self.column.cells, confidence)

    def cdf(self, release: Given, value: float, confidence: float = 0.95) -> Estimate:
        """The share of records at or below a value, with Fieller's set within [0, 1]."""
        check_confidence(confidence)
        if math.isnan(value):
            raise BadQuestion("nan is not a value.", "Give a number.")
        top = self._last(value) + 1
        if top <= 0 or top >= self.column.cells:
            return Estimate(float(top > 0), float(top > 0), float(top > 0), confidence, 0.0)
        below = self.ask(release, 0, top, 0.0, confidence)
        everybody = self.ask(release, 0, self.column.cells, 0.0, confidence).value
        share = min(1.0, max(0.0, below.value / everybody)) if everybody > 0 else 0.5

        def misfit(q: float) -> tuple[float, float]:
            answer = self.ask(release, 0, top, q, confidence)
            width = answer.half_width(confidence)
            return answer.value - width - answer.below, answer.value + width + answer.above

        low = 0.0 if misfit(0.0)[0] <= 0 else _crossing(lambda q: misfit(q)[0], 0.0, share)
        high = 1.0 if misfit(1.0)[1] >= 0 else _crossing(lambda q: misfit(q)[1], share, 1.0)
        spread = math.sqrt(self.ask(release, 0, top, share, confidence).variance)
        return Estimate(share, low, high, confidence, spread / everybody if everybody > 0 else math.inf)

    def quantile(self, release: Given, q: float, confidence: float = 0.95) -> Estimate:
        """The value with a share q of the records at or below it, and its interval."""
        check_confidence(confidence)
        if not 0 <= q <= 1:
            raise BadQuestion(f"a quantile of {q!r} does not exist.", "Choose q from 0 to 1.")
        view = self.view(release)
        code = min(view.code_of(q), self.column.cells - 1)
        low, high = self._candidate_codes(view, release, q, confidence)
        least = self._value(min(low, int(code)))
        most = self._value(min(max(high, math.ceil(code)), self.column.cells - 1))
        value = self._value(int(code)) if code == int(code) else self.column.decode(code)
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        spread = (most - least) / (2 * z) if z > 0 else math.inf
        return Estimate(value, least, most, confidence, spread, getattr(self.column, "grain", ""))

    def _value(self, code: int) -> int | float:
        """The number at a code; for a date the number of its units."""
        return int(self.column.min) + code if isinstance(self.column, Date) else self.column.value(code)

    def median(self, release: Given, confidence: float = 0.95) -> Estimate:
        """The quantile of one half."""
        return self.quantile(release, 0.5, confidence)

    def _candidate_codes(
        self, view: TreeView, release: Given, q: float, confidence: float
    ) -> tuple[int, int]:
        """The first and last code of the leaves that may contain the quantile between their start and end."""
        starts, spans, cumulative = view.leaves
        middle = self.ask(release, 0, starts[len(starts) // 2], q, confidence)
        kurtosis = middle.fourth / middle.variance**2 if middle.variance > 1e-100 else 0.0
        variance = self.worst_variance(q)
        width = RangeAnswer(0.0, variance, kurtosis * variance**2).half_width(confidence)
        gap = cumulative - q * view.total
        first = int(np.argmax(gap >= -width)) if (gap >= -width).any() else len(starts) - 1
        before = np.concatenate([[-q * view.total], gap[:-1]]) < width
        last = len(starts) - 1 - int(np.argmax(before[::-1])) if before.any() else 0
        return starts[min(first, last)], starts[max(first, last)] + spans[max(first, last)] - 1

    def _linear(self, release: Given, low: int, high: int, confidence: float) -> Estimate:
        low, high = max(low, 0), min(high, self.column.cells)
        if low >= high:
            return Estimate(0.0, 0.0, 0.0, confidence, 0.0)
        answer = self.ask(release, low, high, 0.0, confidence)
        least, most = answer.interval(confidence)
        noisy = Estimate(answer.value, least, most, confidence, math.sqrt(answer.variance))
        return noisy.within(0.0, math.inf)

    def end(self, value: Given) -> Given:
        """An end of a range, which must be a value that this column could have."""
        if isinstance(value, str) and not isinstance(self.column, Date):
            raise BadQuestion(f"{value!r} is not a number, as {self.column.name!r} is.", "Give numbers.")
        return value

    def _first(self, value: float) -> int:
        """The first code at or above a value."""
        return self.column.first_at(value)

    def _last(self, value: float) -> int:
        """The last code at or below a value."""
        return self.column.last_at(value)


def _crossing(falling: Given, low: float, high: float) -> float:
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2
