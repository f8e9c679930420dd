"""What one record contributes, as bounded integers; each statistic is one expression, written once.

A statistic is a row of *blocks*.  In every block a record adds one value to one cell, or a few values whose
size together is bounded:

    Count           one block    1 cell          adds 1
    ClippedSum      one block    1 cell          adds the value, in units of the grid
    Moments         d+1 blocks   1 cell each     adds 1, c, c², … of the centred code c
    Histogram       one block    a cell a value  adds 1 to the cell of its value
    CrossProducts   many blocks  1 cell each     adds 1, cᵢ, cᵢcⱼ
    ClassMoments    d+1 blocks   2 cells a class adds 1; 2hc and h² − c² in the cells of its class
    SecondMoments   many blocks                  the same, with products cᵢcⱼ
    ClassHistograms d blocks     class × value   adds 1 to a cell of each

`terms` gives (cell, value) for every move in terms of the columns' codes, with +, − and × only, so that numpy
arrays, database columns and symbols can all be put in.  Engines map it over a table and add it up.
"""

from typing import Any

from undeleted.curate.statistics._statistic import (
    NOTHING,
    Block,
    Contribution,
    Declared,
    Statistic,
    merged,
)
from undeleted.foundations import registry

__all__ = ["NOTHING", "Block", "Contribution", "Declared", "Statistic", "merged"]


def __getattr__(name: str) -> Any:
    return registry.lookup(__name__, name)


def __dir__() -> list[str]:
    return registry.directory(__name__)
