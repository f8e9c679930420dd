"""A column as it comes, in one of three forms that keep every value as it is.

    an array    of numpy's integers or floats: every value has the same type already
    Arrow       an array of texts
    a list      of anything else, one Python value each

Nothing is converted to a common type: numpy would turn integers beside a float into floats, and pandas
integers beside a gap, so that one person's value would change how another's is read.
"""

import re
from typing import Any

import numpy as np

_NOT_IN_ARROW = ("Object", "Int128", "UInt128")
_BEYOND = object()
_MANY = 1000  # texts from which on Arrow is worth its while


def incoming(values: Any) -> Any:
    """The column in one of the three forms."""
    if type(values).__module__.startswith("pandas"):
        numbers = is_numpy_backed(values) and values.dtype.kind in "iuf"
        values = values.to_numpy() if numbers else _extension(values)
    elif type(values).__module__.startswith("polars"):
        values = values.to_list() if str(values.dtype) in _NOT_IN_ARROW else values.to_arrow()
    elif isinstance(values, np.ma.MaskedArray):
        values = values.tolist()  # what is masked is missing
    if type(values).__module__.startswith("pyarrow"):
        return _arrow(values)
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "iuf" and values.dtype.itemsize <= 8 else list(values)
    return _typed(list(values))


def listed(values: Any) -> list[Any]:
    """The column as Python values."""
    found = incoming(values)
    if isinstance(found, list):
        return found
    return list(found) if isinstance(found, np.ndarray) else list(found.to_pylist())


def is_numpy_backed(values: Any) -> bool:
    """Whether a column of pandas is kept in numpy: its type follows from all of its values together."""
    return type(values).__module__.startswith("pandas") and isinstance(values.dtype, np.dtype)


def is_floating(values: Any) -> bool:
    """Whether a column is of floats, whatever it holds; a list has no type."""
    kind = str(getattr(values, "dtype", getattr(values, "type", ""))).lower()
    return "float" in kind or "double" in kind


def may_have_lost_digits(values: Any) -> bool:
    """Whether values beyond 2⁵³ may have been rounded on their way here, or would be beside other rows.

    A column of floats may hold integers that were rounded because one row had a fraction or a gap; pandas
    does so to its own types as rows come and go, but for its nullable integers and texts.
    """
    if type(values).__module__.startswith("pandas"):
        return not re.fullmatch(r"U?Int\d+|(string|u?int|large_string|decimal).*", str(values.dtype)) or (
            is_numpy_backed(values)
        )
    return is_floating(values)


def _extension(values: Any) -> Any:
    """A column of pandas that has a type of its own, by way of Arrow; or the objects that it holds."""
    import pyarrow as pa

    if not re.fullmatch(r"U?Int\d+|Float\d+|boolean|string.*|.*\[pyarrow\]", str(values.dtype)):
        return values.tolist()  # Arrow would look for a type that all of them have
    return pa.array(getattr(values, "array", values))  # of a series, or an array itself


def _arrow(values: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
        values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and values.null_count == 0):
        return values.to_numpy(zero_copy_only=False)
    try:
        if pa.types.is_string_view(kind):
            values = pc.cast(values, pa.large_string())
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            values.validate(full=True)
            return values
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            values = pc.cast(pc.floor_temporal(values, unit="microsecond"), pa.timestamp("us", kind.tz))
        return values.to_pylist()
    except (pa.ArrowException, OverflowError, ValueError):  # of one value: the others are what they are
        return [_python(value) for value in values]


def _python(value: Any) -> Any:
    """One value of Arrow; what Python cannot hold is an object that fits nothing."""
    try:
        return value.as_py()
    except (ArithmeticError, ValueError):
        return _BEYOND


def _typed(values: list[Any]) -> Any:
    """A list of one type as an array, where that changes nothing."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return np.array(values, dtype=np.float64)
    if kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            return values
    if kinds == {str} and len(values) > _MANY:
        import pyarrow as pa

        try:
            return pa.array(values, type=pa.string())
        except UnicodeEncodeError:  # a lone surrogate
            return values
    return values
