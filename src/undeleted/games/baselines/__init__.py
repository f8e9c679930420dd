"""What people do today, each a stateful `Algorithm`: start(data, coins), then delete(points).

None of these is written as a mechanism, and most could not be: their answer to a deletion reads the data
of those who stay.  They are here to be attacked and compared, not used.
"""

from typing import Any

from undeleted.foundations import registry


def __getattr__(name: str) -> Any:
    return registry.lookup(__name__, name)


def __dir__() -> list[str]:
    return registry.directory(__name__)
