"""Whether a row is the first of its person: a column that no table has, derived from the ids.

It belongs in a schema whose people are counted, where a person may have several rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema.columns import Boolean


@dataclass(frozen=True)
class FirstRow(Boolean):
    """1 for the first row of each person, and 0 for the others.

    >>> FirstRow.of(["a", "b", "a"], 3)
    array([1, 1, 0])
    """

    name: str = "(first row)"

    @staticmethod
    def of(ids: Sequence[str] | None, rows: int, seen: set[str] | None = None) -> IntArray:
        """The codes; `seen` has the people of earlier blocks.  Without ids, every row is a person."""
        if ids is None:
            return np.ones(rows, dtype=np.int64)
        seen = set() if seen is None else seen
        first = np.zeros(rows, dtype=np.int64)
        for i, person in enumerate(ids):
            if person not in seen:
                seen.add(person)
                first[i] = 1
        return first


FIRST = FirstRow()
