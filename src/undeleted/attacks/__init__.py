"""Adversaries: each a function that plays in a world, and cannot tell a real one from a simulated one.

A file here has the attack, under the file's name, and `run`, which sets up people and a curator from plain
parameters, plays, and counts what was learned.  `undeleted attack NAME` is made from `run`.
"""

from typing import Any

from undeleted import registry


def __getattr__(name: str) -> Any:
    return registry.lookup(__name__, name)


def __dir__() -> list[str]:
    return registry.directory(__name__)
