"""The types of what estimators take and give."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from undeleted.foundations.arrays import FloatArray
from undeleted.foundations.coins import Coins
from undeleted.foundations.types import Given

Matrix: TypeAlias = ArrayLike  # rows: an array, a frame, or a list of rows
RowLabels: TypeAlias = ArrayLike  # a label or a number for every row
PublicBounds: TypeAlias = (
    tuple[ArrayLike, ArrayLike] | Sequence[ArrayLike] | str | None
)  # (low, high), or "data"
Labelled: TypeAlias = ArrayLike | None  # declared classes, categories or items, or "data"
RandomState: TypeAlias = int | np.random.RandomState | Coins | None
Answers: TypeAlias = dict[str, Given]  # every fitted attribute by its name: numbers, arrays, sparse matrices
Intervals: TypeAlias = dict[str, tuple[FloatArray, FloatArray]]  # low and high of every fitted number
