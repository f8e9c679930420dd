"""The cells that a question selects: `age=18..65`, `sex=f`."""

from collections.abc import Sequence

from undeleted.errors import BadQuestion
from undeleted.foundations.schema import Boolean, Category, Date, GridColumn, Number
from undeleted.foundations.schema.dates import units_of
from undeleted.foundations.types import Given

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def condition_of(over: Sequence[GridColumn], text: str) -> tuple[str, Given]:
    """Parse column=value, or column=low..high for a number."""
    name, equals, value = text.partition("=")
    column = next((c for c in over if c.name == name), None)
    if not equals or column is None:
        known = ", ".join(c.name for c in over)
        problem = f"{text!r} names no column of this publication."
        raise BadQuestion(problem, f"Write column=value; the columns are: {known}.")
    if isinstance(column, Category):
        return name, value
    if isinstance(column, Boolean):
        if value.lower() not in _WORDS:
            problem = f"{value!r} is neither true nor false."
            raise BadQuestion(problem, f"Write {name}=true or {name}=false.")
        return name, _WORDS[value.lower()]
    low, dots, high = value.partition("..")
    if isinstance(column, Date):
        ends = (low, high) if dots else (low,)
        if any(column.finer_than_its_grain(end) for end in ends):
            raise BadQuestion(f"{name!r} is in months, and {value!r} names days.", f"Write {name}=2020-01.")
        if any(units_of(end, column.grain) is None for end in ends):
            raise BadQuestion(f"{value!r} is neither a date nor a range.", f"Write {name}=2020-01-31.")
        return name, (low, high) if dots else low
    try:
        return name, (float(low), float(high)) if dots else float(value)
    except ValueError:
        problem = f"{value!r} is neither a number nor a range."
        raise BadQuestion(problem, "Write column=18, or column=18..65.") from None


def cells_of(column: GridColumn, wanted: Given) -> list[int]:
    """The cells of a column that a question names; all, if it names none."""
    if wanted is None:
        return list(range(column.cells))
    match column:
        case Number():
            low, high = wanted if isinstance(wanted, tuple) else (wanted, wanted)
            if not low <= high:
                raise BadQuestion(
                    f"the range ({low}, {high}) of {column.name!r} is inverted.", "Lower end first."
                )
            inside = max(0, column.first_at(low)), min(column.cells - 1, column.last_at(high))
            cells = list(range(inside[0], inside[1] + 1))
            if isinstance(wanted, tuple) and not cells:
                problem = f"no value of {column.name!r} lies between {_end(low)} and {_end(high)}."
                bounds = f"{column.value(0)} to {column.value(column.cells - 1)}"
                raise BadQuestion(problem, f"It goes from {bounds} in steps of {float(column.step):g}.")
            if not isinstance(wanted, tuple) and not cells:
                problem = f"{wanted!r} is not a value of {column.name!r}."
                raise BadQuestion(
                    problem, f"Give a value in its bounds, on its grid of step {column.step}, or a range."
                )
            return cells
        case Boolean():
            return [int(bool(wanted))]
        case Category():
            names = wanted if isinstance(wanted, tuple | list | set) else (wanted,)
            unknown = [str(name) for name in names if str(name) not in column.values]
            if unknown:
                problem = f"{column.name!r} has no category {', '.join(unknown)}."
                raise BadQuestion(problem, f"The declared ones: {', '.join(column.values)}.")
            return sorted(column.values.index(str(name)) for name in names)


def _end(value: float | str) -> str:
    """An end of a range, as it was given."""
    return value if isinstance(value, str) else f"{value:g}"
