"""A release as a store keeps it: a vector of cells and a shape that never changes.

noisy totals    the cells; no shape
grown shapes    the cells of all levels, one after another; the shape is their prefixes
a board         no cells; its posts are separate rows, identified by their numbers
"""

import io

import numpy as np

from undeleted.curate.mechanisms.bulletin_board import BulletinBoard, Posts
from undeleted.curate.releases.subtracting import Shape
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import Table
from undeleted.foundations.types import Given

NOTHING = np.zeros(0, dtype=np.int64)


def is_board(mechanism: Given) -> bool:
    return isinstance(mechanism, BulletinBoard)


def to_cells(release: Given) -> tuple[IntArray, bytes]:
    """The cells and the shape of a release."""
    if isinstance(release, Posts):
        return NOTHING, b""
    if not release.shape:
        return release.value, b""
    written = io.BytesIO()
    np.savez_compressed(written, *release.shape)
    return release.value, written.getvalue()


def shape_from(mechanism: Given, data: bytes) -> Shape:
    """Load the shape of a mechanism's release."""
    if not data:
        return ()
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        shape: Shape = mechanism.shape_of(tuple(arrays[name] for name in arrays.files))
    return shape


def add_up(mechanism: Given, shape: Shape, table: Table, total: IntArray) -> None:
    """Add what the records of a table contribute to the cells of a release."""
    if not is_board(mechanism):
        mechanism.moves(shape, mechanism.contribution(table)).add_to(total)
