"""Bring an incoming column into one of three forms that keep every value unchanged.

    an array    of numpy's integers or floats: every value has the same type already
    Arrow       an array of texts
    a list      of anything else, one Python value each

Nothing is converted to a common type.  Numpy would turn integers next to a float into floats, and pandas
would do so next to a missing value; one person's value would then change how another's is read.
"""

import re

import numpy as np

from undeleted.foundations.types import Given

_NOT_IN_ARROW = ("Object", "Int128", "UInt128")
_BEYOND = object()
_MANY = 1000  # texts above which Arrow is worthwhile


def incoming(values: Given) -> Given:
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


def listed(values: Given) -> list[Given]:
    """The column as a list of Python values."""
    column = incoming(values)
    if isinstance(column, list):
        return column
    return list(column) if isinstance(column, np.ndarray) else list(column.to_pylist())


def is_numpy_backed(values: Given) -> bool:
    """Whether numpy holds a pandas column, so that its type depends on all of its values together."""
    return type(values).__module__.startswith("pandas") and isinstance(values.dtype, np.dtype)


def is_floating(values: Given) -> bool:
    """Whether the type of a column is floating point, whatever its values; a list has no type."""
    kind = str(getattr(values, "dtype", getattr(values, "type", ""))).lower()
    return "float" in kind or "double" in kind


def may_have_lost_digits(values: Given) -> bool:
    """Whether values beyond 2⁵³ may have been rounded already, or would be if there were other rows.

    A column of floats may hold integers that were rounded because one row was missing or had a fraction.
    pandas rounds its own types in this way as rows come and go, except nullable integers and texts.
    """
    if type(values).__module__.startswith("pandas"):
        return not re.fullmatch(r"U?Int\d+|(string|u?int|large_string|decimal).*", str(values.dtype)) or (
            is_numpy_backed(values)
        )
    return is_floating(values)


def _extension(values: Given) -> Given:
    """A pandas column of an extension type as an Arrow array; any other column as a list of its objects."""
    import pyarrow as pa

    if not re.fullmatch(r"U?Int\d+|Float\d+|boolean|string.*|.*\[pyarrow\]", str(values.dtype)):
        return values.tolist()  # Arrow would look for a common type
    return pa.array(getattr(values, "array", values))  # of a series, or an array itself


def _arrow(values: Given) -> Given:
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
    except (pa.ArrowException, OverflowError, ValueError):  # one value failed: convert each on its own
        return [_python(value) for value in values]


def _python(value: Given) -> Given:
    """One Arrow value as a Python value; one that Python cannot hold is an object that fits no column."""
    try:
        return value.as_py()
    except (ArithmeticError, ValueError):
        return _BEYOND


def _typed(values: list[Given]) -> Given:
    """Turn a list of one type into an array, where that changes no value."""
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
