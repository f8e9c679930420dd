"""Forget by subtracting what the deleted records added; nothing else changes.

    forget    y_c ← y_c − v        for every cell c that the deleted records moved, each by its own v

A release is a vector of cells on a shape that never changes.  `moves` says which cells change and by how
much, from the shape and the deleted records alone.  `less` does the subtraction: on a copy, in place for
the owner of the release (`Owned`), or in a store's transaction.  Stores, models and simulators all use this
one `forget`, so they cannot disagree.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from undeleted.curate.releases.publishable import Publishable
from undeleted.curate.statistics import Contribution, Declared
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import DiscreteGaussian, DiscreteLaplace, Law
from undeleted.foundations.privacy import Event, Reach
from undeleted.foundations.schema import Column
from undeleted.foundations.types import Given

R = TypeVar("R")
Shape: TypeAlias = tuple[Given, ...]
Shaped: TypeAlias = Callable[[Shape, IntArray], Given]  # makes a release from a shape and its cells


class Release:
    """A vector of cells, and its shape."""

    value: IntArray

    @property
    def shape(self) -> Shape:
        """The part that never changes."""
        return ()

    def copy(self) -> Given:
        """A copy of the current state for others; later deletions do not change it."""
        return deepcopy(self)

    def less(self, gone: Contribution, shaped: Shaped) -> Given:
        """The release minus what is gone; this release does not change."""
        cells = np.array(self.value)
        cells[gone.cells] -= gone.values
        return shaped(self.shape, cells)


class Owned(Release):
    """A release that its owner changes in place: a deletion changes its own cells only, and makes no copy."""

    def __init__(self, release: Release, shaped: Shaped) -> None:
        self.value, self._shape, self._shaped = np.array(release.value), release.shape, shaped

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def release(self) -> Given:
        """The release as readers see it, without a copy."""
        return self._shaped(self._shape, self.value)

    def copy(self) -> Given:
        return self._shaped(self._shape, self.value.copy())

    def less(self, gone: Contribution, shaped: Shaped) -> "Owned":
        self.value[gone.cells] -= gone.values
        return self


class PendingChanges:
    """A stand-in for a release: it records what a deletion subtracts, and does not subtract it."""

    __slots__ = ("gone", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape, self.gone = shape, list[Given]()

    def less(self, gone: Given, shaped: Shaped | None = None) -> "PendingChanges":
        self.gone.append(gone)
        return self


class Subtracting(Publishable, Declared, ABC):
    """A mechanism that forgets by subtracting."""

    rows_per_person: int

    @property
    def rows_that_count(self) -> int:
        """How many rows of a person may move the release, each by at most its sensitivity."""
        return self.rows_per_person

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """The columns that a record must have for it to count."""

    @property
    @abstractmethod
    def laws(self) -> tuple[Law, ...]:
        """The noise of every part of a release."""

    @property
    @abstractmethod
    def sensitivity(self) -> Sequence[Reach]:
        """How far a record moves every part of a release."""

    @cached_property
    def events(self) -> list[Event] | None:
        """What a release costs the people in it; None if it makes no promise of differential privacy."""
        result = []
        for reach, law in zip(self.sensitivity, self.laws, strict=True):
            if not isinstance(law, DiscreteLaplace | DiscreteGaussian):
                return None
            result.append(Event(law, reach.of(law), self.rows_that_count, cells=reach.cells))
        return result

    @abstractmethod
    def noised_parts(self, shape: Shape) -> list[tuple[int, int]]:
        """How many cells each part of a release of this shape has, and which of the laws is their noise."""

    @abstractmethod
    def with_laws(self, laws: tuple[Law, ...]) -> Given:
        """The same mechanism with these laws, to read a release that has their noise."""

    def forget(self, release: R, contribution: Given) -> R:
        """The next release, from the last one and what the deleted added; it cannot access the data."""
        after: R = release.less(self.moves(release.shape, contribution), self.shaped)  # type: ignore[attr-defined]
        return after

    def moves(self, shape: Shape, contribution: Given) -> Contribution:
        """Which cells of a release of this shape change, and by how much."""
        gone: Contribution = contribution
        return gone

    def published_of(self, shape: Shape, answers: Sequence[IntArray]) -> IntArray:
        """Out of all totals that a release requested, those of the cells that it publishes, in order."""
        return np.concatenate(answers)

    @staticmethod
    def shape_of(arrays: Shape) -> Shape:
        """A shape from its stored arrays; it caches what is derived from it."""
        return arrays

    @abstractmethod
    def shaped(self, shape: Shape, cells: IntArray) -> Given:
        """The release with this shape and these cells."""
