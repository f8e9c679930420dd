"""Boxes that were published, and their leaves: which of them were not cut, and how readers see them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from undeleted.foundations.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Partition:
    """The published boxes: on every level their paths and their noisy counts; offsets of the leaves.

    Leaves are in the order of their levels, and of their paths within a level.
    """

    paths: tuple[Any, ...]
    counts: tuple[IntArray, ...]
    offsets: IntArray  # a row a leaf

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Partition)
            and len(self.counts) == len(other.counts)
            and all(map(np.array_equal, self._arrays, other._arrays))
        )

    def __hash__(self) -> int:
        return hash(tuple(array.tobytes() for array in self._arrays))

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return *self.paths, *self.counts, self.offsets

    @property
    def shape(self) -> tuple[Any, ...]:
        """What never changes."""
        return self.paths

    @cached_property
    def leaf(self) -> list[Any]:
        """For every level, which of its boxes were not cut."""
        return leaves_of(self.paths)

    @property
    def value(self) -> IntArray:
        """All cells: counts level by level, then the leaves' offsets."""
        return np.concatenate([*self.counts, self.offsets.ravel()])


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves as their readers see them: a row each."""

    middles: FloatArray  # codes
    halves: FloatArray  # half of the box, in codes
    counts: FloatArray  # adjusted to their parents
    variances: FloatArray  # of the counts
    means: FloatArray  # codes


def leaves_of(paths: Any) -> list[Any]:
    """For every level, which of its boxes were not cut."""
    found = []
    for level, there in enumerate(paths):
        leaf = np.ones(there.size, dtype=bool)
        if level + 1 < len(paths):
            leaf[np.searchsorted(there, paths[level + 1][::2] // np.uint64(2))] = False
        found.append(leaf)
    return found
