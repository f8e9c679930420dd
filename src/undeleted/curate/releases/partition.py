"""Published boxes and their leaves: which boxes were not cut, and how readers see them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from undeleted.curate.releases.subtracting import Release
from undeleted.foundations.arrays import FloatArray, IntArray
from undeleted.foundations.types import Given


class Paths(tuple[Given, ...]):
    """The shape: the paths of every level's boxes."""

    @cached_property
    def leaf(self) -> list[Given]:
        """For every level, which of its boxes were not cut."""
        masks = []
        for level, level_paths in enumerate(self):
            leaf = np.ones(level_paths.size, dtype=bool)
            if level + 1 < len(self):
                leaf[np.searchsorted(level_paths, self[level + 1][::2] // np.uint64(2))] = False
            masks.append(leaf)
        return masks

    @cached_property
    def ranks(self) -> list[Given]:
        """For every level, the index of each box among all leaves; valid for leaves only."""
        before = np.cumsum([0, *(np.count_nonzero(leaf) for leaf in self.leaf)])
        return [first + np.cumsum(leaf) - 1 for first, leaf in zip(before, self.leaf, strict=False)]

    @cached_property
    def starts(self) -> IntArray:
        """Where the counts of every level begin among the cells, and then where the offsets begin."""
        return np.cumsum([0, *(level_paths.size for level_paths in self)])

    def __getstate__(self) -> None:
        """Pickle no cached values: they are computed again."""


@dataclass(frozen=True, eq=False)
class Partition(Release):
    """The published boxes: their paths and noisy counts on every level, and the offsets of the leaves.

    Leaves are sorted by level, and by path within a level.
    """

    paths: Paths
    counts: tuple[IntArray, ...]
    offsets: IntArray  # one row per leaf

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Partition)
            and len(self.counts) == len(other.counts)
            and all(map(np.array_equal, self._arrays, other._arrays))
        )

    def __hash__(self) -> int:
        return hash(tuple(array.tobytes() for array in self._arrays))

    @property
    def _arrays(self) -> tuple[Given, ...]:
        return *self.paths, *self.counts, self.offsets

    @property
    def shape(self) -> Paths:
        return self.paths

    @property
    def leaf(self) -> list[Given]:
        """For every level, which of its boxes were not cut."""
        return self.paths.leaf

    @property
    def value(self) -> IntArray:  # type: ignore[override]
        """All cells: counts level by level, then the leaves' offsets."""
        return np.concatenate([*self.counts, self.offsets.ravel()])


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves as readers see them, one row each."""

    middles: FloatArray  # codes
    halves: FloatArray  # half of the box, in codes
    counts: FloatArray  # adjusted to their parents
    variances: FloatArray  # of the counts
    means: FloatArray  # codes
