"""The transform is the transform, with either kernel, in either precision."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from undeleted.errors import Misuse
from undeleted.foundations.coins import seeded
from undeleted.games.reconstruction.walsh_hadamard import fwht

KERNELS = ["numpy", "numba"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("levels", [0, 1, 2, 3, 4, 5, 6, 7, 11])
def test_it_multiplies_by_the_hadamard_matrix(kernel, dtype, levels):
    values = seeded("values").integers(-9, 10, 1 << levels)
    array = values.astype(dtype)
    fwht(array, kernel=kernel)
    assert np.array_equal(array, hadamard(1 << levels) @ values)


@pytest.mark.parametrize("levels", [12, 13, 16, 18])
def test_both_kernels_give_the_same_answers(levels):
    values = seeded("values").integers(-9, 10, 1 << levels).astype(np.float64)
    results = []
    for kernel in KERNELS:
        array = values.copy()
        fwht(array, kernel=kernel)
        results.append(array)
        fwht(array.copy(), kernel=kernel)
        back = array.copy()
        fwht(back, kernel=kernel)
        assert np.array_equal(back / array.size, values), "twice is n times"
    assert np.array_equal(*results)


def test_what_cannot_be_transformed_is_refused():
    for size in (0, 3, 12):
        with pytest.raises(Misuse, match="power of two"):
            fwht(np.zeros(size))
    for array in (np.zeros((2, 2)), np.zeros(4, dtype=int), np.zeros(8)[::2]):
        with pytest.raises(Misuse, match="in place"):
            fwht(array)
