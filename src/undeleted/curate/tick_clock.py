"""The public clock of a table that grows: when each tick closes.

Tick 0 closes when the table is published.  Tick k closes k hours, days, weeks or months later; or, with a
manual clock, whenever the operator closes it.  Ticks close whether anybody came or not: a missing tick would
reveal that nobody did.
"""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from undeleted.errors import BadSetting
from undeleted.foundations.types import Given, Json

SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
EVERY = (*SPANS, "month", "manual")


@dataclass(frozen=True)
class TickClock:
    """When ticks close, counted from the first.

    >>> clock = TickClock("month", datetime(2026, 1, 31, tzinfo=UTC))
    >>> str(clock.closes(1))[:10], clock.due(datetime(2026, 3, 30, tzinfo=UTC), closed=1, horizon=9)
    ('2026-02-28', 2)
    """

    every: str
    start: datetime

    def __post_init__(self) -> None:
        if self.every not in EVERY:
            raise BadSetting(f"every = {self.every!r} is not a clock.", f"Choose {', '.join(EVERY)}.")

    def closes(self, tick: int) -> datetime | None:
        """When a tick is to be closed; None if the clock is manual, or that is beyond the calendar."""
        try:
            return None if self.every == "manual" else self._closes(tick)
        except (OverflowError, ValueError):
            return None

    def _closes(self, tick: int) -> datetime:
        if self.every == "month":
            years, month = divmod(self.start.month - 1 + tick, 12)
            year, month = self.start.year + years, month + 1
            day = min(self.start.day, monthrange(year, month)[1])
            return self.start.replace(year=year, month=month, day=day)
        return self.start + tick * SPANS[self.every]

    def due(self, now: datetime, closed: int, horizon: int) -> int:
        """How many ticks shall have closed by now, if so many have; a manual clock is due for one."""
        if self.every == "manual":
            return min(closed + 1, horizon)
        due = closed
        while due < horizon and (next_one := self.closes(due)) is not None and next_one <= now:
            due += 1
        return due

    def as_json(self) -> Json:
        return {"every": self.every, "start": self.start.isoformat()}

    @classmethod
    def from_json(cls, facts: Json) -> "TickClock":
        return cls(facts["every"], datetime.fromisoformat(facts["start"]))


def moment(given: Given) -> datetime:
    """A time with its zone: as given, UTC if it names none, or now.

    >>> str(moment("2026-03-01T12:00"))
    '2026-03-01 12:00:00+00:00'
    """
    if given is None:
        return datetime.now(UTC)
    try:
        read = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    except ValueError:
        raise BadSetting(f"{given!r} is not a time.", "Write it as 2026-03-01 or 2026-03-01T12:00.") from None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
