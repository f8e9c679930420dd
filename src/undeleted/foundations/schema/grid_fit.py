"""Encode numbers on a grid, exactly: single values with fractions, arrays with integers; the two agree.

    steps    (x − min) / step          code = ⌊steps + ½⌋ inside the grid, its nearer end outside
    fits     steps is a whole number from 0 to cells − 1

The values of an array are fractions with one denominator.  Floats are encoded in floating point where
rounding cannot change the answer; the others are encoded as the decimals that they print.
"""

import math
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema.values import Real, as_number, each, is_missing
from undeleted.foundations.types import Given


class Fit(IntEnum):
    """How a value fits the grid; the column's rules decide what follows."""

    FITS = 0
    MISSING = 1
    NOT_A_NUMBER = 2
    OUT_OF_RANGE = 3
    OFF_GRID = 4


Encoded: TypeAlias = tuple[IntArray, Given]  # codes and verdicts
_SAFE = 2**62  # sums of two such numbers fit in 64 bits
_DIGITS = 10**15  # decimals of up to fifteen digits are distinct as floats, and print unchanged
_PLACES = 6  # decimal places of texts that are parsed all at once
_SIMPLE = r"^-?[0-9]{1,12}(\.[0-9]{1,6})?$"
_WHOLE = r"^-?[0-9]{1,18}$"


@dataclass(frozen=True)
class Judge:
    """The grid min, min + step, … on which values are encoded."""

    min: Fraction
    step: Fraction
    cells: int

    @property
    def _kind(self) -> type:
        return np.int64 if self.cells <= 2**63 else np.uint64

    def value(self, value: Given) -> tuple[int, Fit]:
        """Encode one value; this defines the rule."""
        if is_missing(value):
            return 0, Fit.MISSING
        number = as_number(value)
        if number is None:
            return 0, Fit.NOT_A_NUMBER
        return self.number(number)

    def number(self, number: Real) -> tuple[int, Fit]:
        last = self.cells - 1
        if isinstance(number, float):
            return (0, Fit.MISSING) if math.isnan(number) else (last * (number > 0), Fit.OUT_OF_RANGE)
        steps = (number - self.min) / self.step
        if not 0 <= steps <= last:
            return (0 if steps < 0 else last), Fit.OUT_OF_RANGE
        return math.floor(steps + Fraction(1, 2)), (Fit.FITS if steps.denominator == 1 else Fit.OFF_GRID)

    def column(self, values: Given) -> Encoded:
        """Encode a column in a form that `incoming` returns."""
        if isinstance(values, np.ndarray):
            return self._integers(values) if values.dtype.kind in "iu" else self._floats(values)
        return self._list(values) if isinstance(values, list) else self._texts(values)

    # -- one by one

    def _list(self, values: list[Given]) -> Encoded:
        codes, verdicts = self._blank(len(values))
        for i, (code, verdict) in enumerate(each(values, self.value)):
            codes[i], verdicts[i] = code, verdict
        return codes, verdicts

    def _blank(self, size: int) -> Encoded:
        return np.zeros(size, dtype=self._kind), np.zeros(size, dtype=np.uint8)

    def _one_by_one(self, values: Given) -> Encoded:
        """Encode each distinct value of an array once."""
        unique, places = np.unique(values, return_inverse=True)
        codes, verdicts = self._list(list(unique))
        return codes[places], verdicts[places]

    # -- many at once

    @cached_property
    def _as_integers(self) -> tuple[int, int] | None:
        """The first point and the step if all grid points are whole numbers, else None."""
        whole = self.min.denominator == self.step.denominator == 1
        return (int(self.min), int(self.step)) if whole else None

    def _integers(self, values: Given) -> Encoded:
        if self._as_integers is None:
            return self._ratios(values, 1)
        low, step = self._as_integers
        width = step * (self.cells - 1)
        high = low + width
        simple = values.dtype != np.uint64 and abs(low) <= _SAFE and width < _SAFE
        if step == 1 and values.size and simple:
            codes = values.astype(np.int64)
            if low:
                codes -= low  # a value that wraps around ends up far outside
            if int(codes.view(np.uint64).max()) <= width:  # the usual case: everything fits; else continue
                return codes, np.zeros(codes.size, dtype=np.uint8)
        if width >= 2**64:  # the distance from the first point does not fit in 64 bits
            return self._one_by_one(values)
        below, above = values < low, values > high
        distance = values.astype(np.uint64) - np.uint64(low % 2**64)  # exact modulo 2⁶⁴
        distance = np.where(above, np.uint64(width), np.where(below, np.uint64(0), distance))
        whole, rest = np.divmod(distance, np.uint64(step))
        codes = (whole + (rest >= np.uint64(step) - rest)).astype(self._kind)  # to the nearest, halves up
        return codes, _verdicts(below | above, rest != 0)

    def _ratios(self, numerators: Given, denominator: int) -> Encoded:
        """Encode fractions with one denominator: steps = (a · numerator − b) / c, in whole numbers."""
        a = self.min.denominator * self.step.denominator
        b = self.min.numerator * denominator * self.step.denominator
        c = denominator * self.min.denominator * self.step.numerator
        common = math.gcd(a, b, c)
        a, b, c = a // common, b // common, c // common
        far = max(abs(int(numerators.max())), abs(int(numerators.min()))) if numerators.size else 0
        if max(far, 1) * a + abs(b) >= _SAFE or c * self.cells >= _SAFE:
            unique, places = np.unique(numerators, return_inverse=True)
            results = [self.number(Fraction(int(n), denominator)) for n in unique]
            codes, verdicts = self._blank(len(unique))
            for i, (code, verdict) in enumerate(results):
                codes[i], verdicts[i] = code, verdict
            return codes[places], verdicts[places]
        steps = numerators.astype(np.int64) * a - b
        last = c * (self.cells - 1)
        outside = (steps < 0) | (steps > last)
        whole, rest = np.divmod(np.clip(steps, 0, last), c)
        return (whole + (rest >= c - rest)).astype(self._kind), _verdicts(outside, rest != 0)

    def _floats(self, values: Given) -> Encoded:
        codes, verdicts = self._blank(values.size)
        x = values.astype(np.float64)
        low, step, last = float(self.min), float(self.step), self.cells - 1
        rounding = float(np.finfo(values.dtype).eps)
        with np.errstate(all="ignore"):
            steps = (x - low) / step
            slack = 8 * rounding * ((np.abs(x) + abs(low)) / step + np.abs(steps)) + 1e-9
            slack += (
                8 * float(np.finfo(values.dtype).smallest_subnormal) / step
            )  # the smallest error that x can have
            clear = np.abs(2 * steps - np.rint(2 * steps)) > 2 * slack  # neither on a point nor halfway
            outside = (steps < -slack) | (steps > last + slack)
            inside = clear & ~outside & (last < 2**53)
            codes[inside] = np.floor(steps[inside] + 0.5)
        verdicts[inside] = Fit.OFF_GRID
        codes[outside & (steps > 0)] = last
        verdicts[outside] = Fit.OUT_OF_RANGE
        undecided = ~(inside | outside)
        if values.dtype == np.float64 and undecided.any():
            self._decimals(x, undecided, codes, verdicts)
        if undecided.any():
            codes[undecided], verdicts[undecided] = self._one_by_one(values[undecided])
        return codes, verdicts

    def _decimals(self, x: Given, undecided: Given, codes: Given, verdicts: Given) -> None:
        """Encode floats that print as a multiple of half a step, and mark them as decided.

        If a float is the nearest one to such a decimal, and the decimal has at most fifteen digits, then
        the float prints as that decimal.
        """
        halves = 2 * self.min.denominator * self.step.denominator
        power = next((10**i for i in range(16) if 10**i % halves == 0), None)
        if power is None:
            return
        with np.errstate(all="ignore"):
            numerators = np.rint(x * halves)
            printed = undecided & (numerators / halves == x)
            printed &= np.abs(numerators) * (power // halves) <= _DIGITS
        if printed.any():
            codes[printed], verdicts[printed] = self._ratios(numerators[printed].astype(np.int64), halves)
            undecided &= ~printed

    def _texts(self, texts: Given) -> Encoded:
        """Encode Arrow strings: numbers in the usual form all at once, the others one by one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        whole = pc.fill_null(pc.match_substring_regex(texts, _WHOLE), False)
        if pc.all(whole).as_py():
            return self._integers(pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False))
        codes, verdicts = self._blank(len(texts))
        rest = np.ones(len(texts), dtype=bool)
        for pattern, places in ((_WHOLE, 0), (_SIMPLE, _PLACES)):
            form = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
            chosen = form.to_numpy(zero_copy_only=False) & rest
            if chosen.any():
                some = texts.filter(pa.array(chosen))
                codes[chosen], verdicts[chosen] = (
                    self._ratios(_scaled(some), 10**places)
                    if places
                    else self._integers(pc.cast(some, pa.int64()).to_numpy(zero_copy_only=False))
                )
                rest &= ~chosen
        if rest.any():
            encoded = texts.filter(pa.array(rest)).dictionary_encode()
            known = self._list([*encoded.dictionary.to_pylist(), None])
            where = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
            codes[rest], verdicts[rest] = known[0][where], known[1][where]
        return codes, verdicts


def _scaled(texts: Given) -> Given:
    """Scale decimals with few places to whole numbers, exactly."""
    import pyarrow as pa
    import pyarrow.compute as pc

    decimals = pc.cast(texts, pa.decimal128(18, _PLACES))
    by = pa.scalar(10**_PLACES, pa.decimal128(7, 0))
    scaled = pc.multiply(pc.cast(decimals, pa.decimal128(25, _PLACES)), by)
    return pc.cast(scaled, pa.int64()).to_numpy(zero_copy_only=False)


def _verdicts(outside: Given, off: Given) -> Given:
    inside = np.where(off, np.uint8(Fit.OFF_GRID), np.uint8(Fit.FITS))
    return np.where(outside, np.uint8(Fit.OUT_OF_RANGE), inside)
