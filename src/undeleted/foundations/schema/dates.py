"""Dates and times as numbers on a grid of days, months or seconds, with public bounds.

    day      2020-01-31              a time counts as its day
    month    2020-01, 2020-01-31     a date counts as its month
    second   2020-01-31 09:30:00     a date counts as its first second

Inside, a date is the whole number of its units since 1970-01-01, so everything that numbers can do works.
A time with a zone is taken in UTC, one without a zone as it stands.  Every value is encoded on its own.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

import numpy as np

from undeleted.errors import BadBounds
from undeleted.foundations.arrays import BoolArray, IntArray
from undeleted.foundations.schema.columns import Codes, ErrorOrDrop, Number, apply_rule
from undeleted.foundations.schema.incoming import incoming
from undeleted.foundations.schema.values import is_missing
from undeleted.foundations.types import Given

Grain: TypeAlias = Literal["day", "month", "second"]
Moment: TypeAlias = date | datetime | str
_NUMPY = {"day": "D", "month": "M", "second": "s"}
_WRITTEN = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?|\d{4}-\d\d", re.ASCII
)
_MISSING, _NO_DATE = -(2**62), -(2**62) + 1  # no date that Python knows has these numbers


@dataclass(frozen=True, init=False)
class Date(Number):
    """A date on a grid of days, months or seconds, from min to max, both included.

    >>> hired = Date("hired", min="2019-12-30", max="2024-12-31", out_of_range="clamp")
    >>> hired.encode(["2020-01-01", "2031-05-05"])[0], hired.value(2)
    (array([   2, 1828]), datetime.date(2020, 1, 1))
    """

    grain: Grain = "day"

    def __init__(
        self,
        name: str,
        *,
        min: Given,
        max: Given,
        grain: Grain = "day",
        out_of_range: Literal["error", "clamp", "drop"] = "error",
        missing: ErrorOrDrop = "error",
        not_a_number: ErrorOrDrop = "error",
        step: Given = 1,
        off_grid: Literal["error", "round", "drop"] = "error",
    ) -> None:
        """`not_a_number` is the rule for values that are no dates; `step` and `off_grid` are always these."""
        if grain not in get_args(Grain):
            raise BadBounds(name, f"grain = {grain!r} does not exist.", "Choose day, month or second.")
        bounds = {"min": min, "max": max}
        for key, value in bounds.items():
            bounds[key] = value if isinstance(value, Fraction) else units_of(value, grain)
            if bounds[key] in (None, _MISSING):
                raise BadBounds(name, f"{key} is not a date.", "Write bounds as 2020-01-31.")
        object.__setattr__(self, "grain", grain)
        super().__init__(
            name,
            **bounds,
            out_of_range=out_of_range,
            missing=missing,
            not_a_number=not_a_number,
            off_grid="error",
        )

    def value(self, code: int) -> Given:
        """The date at a code; a month is a text such as 2020-01."""
        return moment(int(self.min) + code, self.grain)

    def first_at(self, value: Given) -> int:
        """The first code at or above a date; it may lie outside of the grid."""
        return super().first_at(self._units(value))

    def last_at(self, value: Given) -> int:
        return super().last_at(self._units(value))

    def _units(self, value: Given) -> Given:
        units = value if isinstance(value, int | float | Decimal) else units_of(value, self.grain)
        if self.finer_than_its_grain(value):
            problem = f"is in months; {str(value)!r} is a day."
            raise BadBounds(self.name, problem, "Write months as 2020-01.")
        if units is None:
            problem = f"{str(value)!r} is not a date."
            raise BadBounds(self.name, problem, "Write dates as 2020-01-31.")
        return units

    def finer_than_its_grain(self, value: Given) -> bool:
        """Whether a question about this value could only be answered for the whole month around it."""
        return self.grain == "month" and isinstance(value, str) and len(value) != len("2020-01")

    def encode(self, values: Given) -> Codes:
        units = _many(values, self.grain)
        missing, wrong = units == _MISSING, units == _NO_DATE
        distance = np.where(missing | wrong, 0, units - int(self.min))
        last = self.cells - 1
        outside = ~missing & ~wrong & ((distance < 0) | (distance > last))
        kept: BoolArray = np.ones(units.size, dtype=bool)
        bounds = f"{self.value(0)}, {self.value(last)}"
        for misfits, rule, text in (
            (missing, "missing", "values must be present"),
            (wrong, "not_a_number", "values must be dates, such as 2020-01-31"),
            (outside, "out_of_range", f"values must lie in [{bounds}]"),
        ):
            if misfits.any():
                kept = kept & apply_rule(self.name, rule, getattr(self, rule), misfits, text)
        codes: IntArray = np.where(kept, np.clip(distance, 0, last), 0)
        return codes, kept


def moment(units: float, grain: str) -> Given:
    """The date that is so many units after 1970-01-01, rounded to a whole one.

    >>> str(moment(18262, "day")), moment(600, "month"), str(moment(1.5e9, "second"))
    ('2020-01-01', '2020-01', '2017-07-14 02:40:00')
    """
    whole = round(units)
    if grain == "day":
        return date(1970, 1, 1) + timedelta(days=whole)
    if grain == "month":
        return f"{1970 + whole // 12:04d}-{whole % 12 + 1:02d}"
    return datetime(1970, 1, 1) + timedelta(seconds=whole)


def units_of(value: Given, grain: str) -> int | None:
    """The number of the day, month or second of one value; None if it is not a date."""
    when: Given = value
    try:
        if isinstance(value, str):
            if not _WRITTEN.fullmatch(value) or (len(value) == 7 and grain != "month"):
                return None
            when = datetime.fromisoformat(f"{value}-01" if len(value) == 7 else value)
        elif isinstance(value, np.datetime64):
            in_units: int = value.astype(f"datetime64[{_NUMPY[grain]}]").astype(np.int64).item()
            return in_units
        elif hasattr(value, "to_pydatetime"):  # pandas keeps nanoseconds
            when = value.to_pydatetime(warn=False)
        if isinstance(when, datetime):
            when = when.astimezone(UTC).replace(tzinfo=None) if when.tzinfo is not None else when
    except (OverflowError, ValueError):
        return None
    if isinstance(when, datetime):
        if grain == "second":
            seconds: int = (when - datetime(1970, 1, 1)) // timedelta(seconds=1)
            return seconds
    elif not isinstance(when, date):
        return None
    if grain == "month":
        return int((when.year - 1970) * 12 + when.month - 1)
    days = date(when.year, when.month, when.day).toordinal() - date(1970, 1, 1).toordinal()
    return days * 86_400 if grain == "second" else days


def _many(values: Given, grain: str) -> IntArray:
    """The units of a column; whole columns of numpy's, pandas' or Arrow's dates are converted at once."""
    if (times := _as_times(values)) is not None:
        units = times.astype(f"datetime64[{_NUMPY[grain]}]").astype(np.int64)
        return np.where(np.isnat(times), _MISSING, units)
    column = incoming(values)
    if not isinstance(column, list | np.ndarray):  # Arrow texts
        encoded = column.dictionary_encode()
        known = np.array([*(_one(v, grain) for v in encoded.dictionary.to_pylist()), _MISSING])
        places = encoded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(known[places], dtype=np.int64)
    return np.fromiter((_one(value, grain) for value in column), dtype=np.int64, count=len(column))


def _one(value: Given, grain: str) -> int:
    if is_missing(value):
        return _MISSING
    units = units_of(value, grain)
    return _NO_DATE if units is None else units


def _as_times(values: Given) -> Given:
    """A column as numpy's times, in UTC; None if it is a column of something else."""
    if type(values).__module__.startswith("pandas"):
        if isinstance(values.dtype, np.dtype):
            return values.to_numpy() if values.dtype.kind == "M" else None
        if not str(values.dtype).startswith("datetime64["):
            return None
        zoned: Given = getattr(values, "dt", values)  # of a series; an index has its methods itself
        return zoned.tz_convert(None).to_numpy()
    if isinstance(values, np.ma.MaskedArray):
        return None
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        return values
    if type(values).__module__.startswith("polars") and str(values.dtype).startswith(("Date", "Datetime")):
        values = values.to_arrow()
    if type(values).__module__.startswith("pyarrow"):
        import pyarrow as pa

        kind = values.type
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            unit = kind.unit if pa.types.is_timestamp(kind) else "s" if pa.types.is_date32(kind) else "ms"
            numbers = values.cast(pa.timestamp(unit)).cast(pa.int64())
            nothing = np.iinfo(np.int64).min  # numpy's NaT
            return numbers.fill_null(nothing).to_numpy(zero_copy_only=False).view(f"datetime64[{unit}]")
    return None
