"""Parse a table of a spec, key by key; missing, mistyped and unknown keys are reported with their line."""

from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from pathlib import Path as File
from typing import NoReturn

from undeleted.curate.spec._lines import Path, line_of
from undeleted.errors import BadSpec, UndeletedError
from undeleted.foundations.types import Given

_NAMES: dict[Given, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
    date | str: "a date such as 2020-01-31",
}


class Reader:
    """One table of the file, and where it is."""

    def __init__(self, file: File, text: str, table: Mapping[str, Given], path: Path = ()) -> None:
        self.file, self.text, self.path = file, text, path
        self._table, self._known = table, list[str]()

    def take(self, key: str, kind: Given, default: Given = ...) -> Given:
        """Return the value of a key, which must be of this type; a default makes the key optional."""
        self._known.append(key)
        if key not in self._table:
            if default is ...:
                near = [k for k in get_close_matches(key, self._table, n=1) if k not in self._known]
                hint = f"`{near[0]}` may be meant for it. " if near else ""
                remedy = f"{hint}Add a line `{key} = …`."
                self.fail(f"{self._where()} needs `{key}`, {_NAMES[kind]}.", remedy, *near)
            return default
        value = self._table[key]
        whole_as_number = kind is float and isinstance(value, int) and not isinstance(value, bool)
        if not whole_as_number and (
            not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        ):
            self.fail(f"`{key}` must be {_NAMES[kind]}, got {value!r}.", "Correct that line.", key)
        return value

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def refuse(self, key: str, problem: str, remedy: str) -> None:
        """Refuse a key that does not go with another."""
        if key in self._table:
            self.fail(problem, remedy, key)

    def tables(self, key: str) -> dict[str, "Reader"]:
        """The tables inside a table, by name."""
        inside = self.take(key, dict, {})
        readers = {}
        for name, table in inside.items():
            if not isinstance(table, dict):
                self.fail(f"`{key}.{name}` must be a table.", f"Write it as [{key}.{name}].", key, name)
            readers[name] = Reader(self.file, self.text, table, (*self.path, key, name))
        return readers

    def optional_table(self, key: str) -> "Reader | None":
        return self.table(key) if self.take(key, dict, None) is not None else None

    def table(self, key: str) -> "Reader":
        return Reader(self.file, self.text, self.take(key, dict), (*self.path, key))

    def finish(self) -> None:
        """Refuse unknown keys, which no `take` has read."""
        for key in self._table:
            if key not in self._known:
                near = get_close_matches(key, self._known, n=1)
                hint = f"Did you mean `{near[0]}`? " if near else ""
                known = ", ".join(self._known) or "none"
                self.fail(f"{self._where()} has no key `{key}`.", f"{hint}Known keys: {known}.", key)

    def fail(self, problem: str, remedy: str, *keys: str) -> NoReturn:
        raise BadSpec(str(self.file), line_of(self.text, (*self.path, *keys)), problem, remedy)

    def blame(self, error: UndeletedError, *keys: str) -> NoReturn:
        """Raise an error of another part again, with the line that caused it."""
        self.fail(error.what, error.remedy, *keys)

    def _where(self) -> str:
        return f"[{'.'.join(self.path)}]" if self.path else "the spec"
