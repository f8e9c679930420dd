"""A release as a store keeps it: a vector of cells and a shape that never changes.

noisy totals    the cells; no shape
grown shapes    the cells of all levels, one after another; the shape is their prefixes
a board         no cells; its posts are rows of their own, and go by their numbers
"""

import io
from typing import Any

import numpy as np

from undeleted.curate.mechanisms.bulletin_board import BulletinBoard, Posts
from undeleted.curate.releases.subtracting import Shape, Shaped
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import Table

NOTHING = np.zeros(0, dtype=np.int64)


def is_board(mechanism: Any) -> bool:
    return isinstance(mechanism, BulletinBoard)


def to_cells(release: Any) -> tuple[IntArray, bytes]:
    """The cells and the shape of a release."""
    if isinstance(release, Posts):
        return NOTHING, b""
    if not release.shape:
        return release.value, b""
    written = io.BytesIO()
    np.savez_compressed(written, *release.shape)
    return release.value, written.getvalue()


def shape_from(mechanism: Any, data: bytes) -> Shape:
    """The shape of a mechanism's release, as it was written."""
    if not data:
        return ()
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        shape: Shape = mechanism.shape_of(tuple(arrays[name] for name in arrays.files))
    return shape


def add_up(mechanism: Any, shape: Shape, table: Table, total: IntArray) -> None:
    """Add what the records of a table contribute to the cells of a release."""
    if not is_board(mechanism):
        mechanism.moves(shape, mechanism.contribution(table)).add_to(total)


class Falling:
    """A release in the middle of a deletion: what falls is written down, for the store to subtract."""

    __slots__ = ("gone", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape, self.gone = shape, list[Any]()

    def less(self, gone: Any, shaped: Shaped | None = None) -> "Falling":
        self.gone.append(gone)
        return self
