"""Boxes that were published, and their leaves: which of them were not cut, and how readers see them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from undeleted.curate.releases.subtracting import Release
from undeleted.foundations.arrays import FloatArray, IntArray


class Paths(tuple[Any, ...]):
    """The shape: the paths of every level's boxes."""

    @cached_property
    def leaf(self) -> list[Any]:
        """For every level, which of its boxes were not cut."""
        found = []
        for level, there in enumerate(self):
            leaf = np.ones(there.size, dtype=bool)
            if level + 1 < len(self):
                leaf[np.searchsorted(there, self[level + 1][::2] // np.uint64(2))] = False
            found.append(leaf)
        return found

    @cached_property
    def ranks(self) -> list[Any]:
        """For every level, the number of each box among all leaves, if it is one."""
        before = np.cumsum([0, *(np.count_nonzero(leaf) for leaf in self.leaf)])
        return [first + np.cumsum(leaf) - 1 for first, leaf in zip(before, self.leaf, strict=False)]

    @cached_property
    def starts(self) -> IntArray:
        """Where the counts of every level begin among the cells, and last the offsets."""
        return np.cumsum([0, *(there.size for there in self)])

    def __getstate__(self) -> None:
        """What was worked out is worked out again."""


@dataclass(frozen=True, eq=False)
class Partition(Release):
    """The published boxes: on every level their paths and their noisy counts; offsets of the leaves.

    Leaves are in the order of their levels, and of their paths within a level.
    """

    paths: Paths
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
    def shape(self) -> Paths:
        return self.paths

    @property
    def leaf(self) -> list[Any]:
        """For every level, which of its boxes were not cut."""
        return self.paths.leaf

    @property
    def value(self) -> IntArray:  # type: ignore[override]
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
