"""A small world: a mechanism with finite noise and a few people."""

from dataclasses import dataclass
from typing import Any

from undeleted.foundations.schema import Schema


@dataclass(frozen=True)
class SmallWorld:
    """`points` are the people; `others` the people of a second data set of the same size."""

    mechanism: Any
    schema: Schema
    points: tuple[Any, ...]
    others: tuple[Any, ...]
