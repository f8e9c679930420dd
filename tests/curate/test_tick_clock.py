"""The public clock: when ticks close, in every unit, and how many are due."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from undeleted.curate.tick_clock import EVERY, TickClock, moment
from undeleted.errors import BadSetting

START = datetime(2026, 1, 31, 12, tzinfo=UTC)


@given(st.sampled_from([e for e in EVERY if e != "manual"]), st.integers(1, 50), st.integers(0, 40))
def test_a_tick_is_due_from_its_time_on_and_not_before(every, tick, closed):
    clock = TickClock(every, START)
    closes = clock.closes(tick)
    assert clock.closes(tick - 1) < closes < clock.closes(tick + 1)
    closed = min(closed, tick)
    assert clock.due(closes, closed, 99) == tick + 1
    assert clock.due(closes - timedelta(seconds=1), closed, 99) == tick
    assert clock.due(closes, closed, tick) == tick, "no further than the horizon"
    assert TickClock.from_json(clock.as_json()) == clock


def test_months_end_when_they_end():
    clock = TickClock("month", START)
    assert [str(clock.closes(tick))[:10] for tick in (1, 2, 11, 13)] == [
        "2026-02-28",
        "2026-03-31",
        "2026-12-31",
        "2027-02-28",
    ]


def test_a_manual_clock_is_due_for_one():
    assert TickClock("manual", START).due(START, 7, 9) == 8
    assert TickClock("manual", START).due(START, 9, 9) == 9
    assert TickClock("manual", START).closes(3) is None


def test_a_clock_ends_with_the_calendar():
    assert TickClock("month", START).due(datetime(9999, 12, 31, tzinfo=UTC), 1, 100_000) > 90_000
    assert TickClock("week", START).closes(10**7) is None


def test_times_have_a_zone():
    assert moment("2026-03-01").tzinfo is UTC
    assert moment("2026-03-01T12:00+02:00").utcoffset() == timedelta(hours=2)
    there = datetime(2026, 3, 1, tzinfo=timezone(timedelta(hours=1)))
    assert moment(there) is there
    assert moment(None).tzinfo is UTC
    with pytest.raises(BadSetting, match="'tomorrow' is not a time"):
        moment("tomorrow")
    with pytest.raises(BadSetting, match="every = 'fortnight' is not a clock"):
        TickClock("fortnight", START)
