"""The array types that the package passes around."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]  # of any type of number
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]


def wide(codes: Array) -> IntArray:
    """Codes that are stored in a few bytes, as integers that can be added and multiplied."""
    return codes if codes.dtype.itemsize == 8 else codes.astype(np.int64)
