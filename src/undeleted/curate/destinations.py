"""Where receipts and salts go: a file, a folder with a file each, or a function.

A file is complete or not there.  Nothing that exists is overwritten: it may hold somebody's only receipt.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, TypeAlias
from urllib.parse import quote

from undeleted.curate.durable import sync
from undeleted.errors import BadFile, BadSetting
from undeleted.foundations.types import Given

Sink: TypeAlias = Callable[[str], object]
LONGEST_NAME = 200  # characters of a file's name


class Destination(Protocol):
    """Where receipts go."""

    def write(self, person: str, line: str) -> None:
        """One person's receipt, as a line of JSON."""

    def finish(self) -> None:
        """Make all of them durable, under their name."""

    def undo(self) -> None:
        """Remove them: they are void."""


class ToFile:
    """Receipts as lines of a file that only its owner can read; it is complete or not there."""

    def __init__(self, path: Path) -> None:
        self._path, self._scratch = path, path.with_name(f"{path.name}.unfinished")
        _refuse(path)
        self._scratch.unlink(missing_ok=True)
        with _writable(path):
            descriptor = os.open(self._scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n")

    def write(self, person: str, line: str) -> None:
        self._file.write(line + "\n")

    def finish(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        _refuse(self._path)
        os.replace(self._scratch, self._path)
        sync(self._path.absolute().parent)

    def undo(self) -> None:
        self._file.close()
        for path in (self._scratch, self._path):
            path.unlink(missing_ok=True)


class ToFolder:
    """A file for each person's receipt, in a new folder that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        _refuse(path)
        with _writable(path):
            scratch = tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".unfinished", dir=path.parent)
        self._scratch = Path(scratch)

    def write(self, person: str, line: str) -> None:
        name = quote(person.encode("utf-8", "surrogatepass"), safe="")
        if len(name) > LONGEST_NAME or name in (".", "..", ""):
            name = blake2b(name.encode(), digest_size=32).hexdigest()
        descriptor = os.open(self._scratch / f"{name}.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(descriptor)

    def finish(self) -> None:
        sync(self._scratch)
        _refuse(self._path)
        os.rename(self._scratch, self._path)
        sync(self._path.absolute().parent)

    def undo(self) -> None:
        for folder in (self._scratch, self._path):
            with suppress(FileNotFoundError):
                for file in folder.iterdir():
                    file.unlink()
                folder.rmdir()


@dataclass(frozen=True)
class ToCallback:
    """Receipts for a function; they are void if what follows raises an error."""

    function: Sink

    def write(self, person: str, line: str) -> None:
        self.function(line)

    def finish(self) -> None:
        pass

    def undo(self) -> None:
        pass


def _refuse(path: Path) -> None:
    """Refuse to overwrite anything: it may hold the only receipts of somebody."""
    if path.exists():
        raise BadFile(str(path), "already exists; nothing was done.", "Name another file.")


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); nothing was done."
        raise BadFile(str(path), problem, "Name a file in a folder that exists.") from None


@contextmanager
def receipts_to(place: Given) -> Iterator[Destination]:
    """Where receipts go: a file, a new folder (a path that ends with /), or a function of a line of JSON.

    If the block fails, nothing of them is left.
    """
    destination: Destination
    if callable(place):
        destination = ToCallback(place)
    elif isinstance(place, str | Path):
        ends = str(place).endswith(os.sep)
        destination = ToFolder(Path(place)) if ends else ToFile(Path(place))
    else:
        problem = f"receipts cannot be written to a {type(place).__name__}."
        raise BadSetting(problem, "Give a path, a path that ends with / for a file each, or a function.")
    try:
        yield destination
    except BaseException:
        destination.undo()
        raise
