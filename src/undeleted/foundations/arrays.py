"""The array types that the package passes around."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]


def wide(codes: Any) -> Any:
    """Codes that are kept in a few bytes, as integers that can be added and multiplied."""
    return codes if codes.dtype.itemsize == 8 else codes.astype(np.int64)
