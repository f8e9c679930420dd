"""Durations as people write them."""

import re

from undeleted.errors import BadSetting

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
MOST = 36_500 * UNITS["d"]


def seconds_of(text: str) -> float:
    """Parse a duration; a number without a unit is seconds.

    >>> seconds_of("90s"), seconds_of("2m"), seconds_of("24h"), seconds_of("7d")
    (90.0, 120.0, 86400.0, 604800.0)
    """
    parsed = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|m|min|h|d)?\s*", text)
    if not parsed:
        raise BadSetting(f"{text!r} is not a duration.", "Write 90s, 30m, 24h or 7d.")
    seconds = float(parsed[1]) * UNITS[parsed[2] or "s"]
    if seconds > MOST:
        raise BadSetting(f"{text!r} is longer than a hundred years.", "Write 90s, 30m, 24h or 7d.")
    return seconds
