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
from typing import Protocol
from urllib.parse import quote

from undeleted.curate.durable import sync
from undeleted.errors import BadFile, BadSetting
from undeleted.foundations.types import Given, Sink

LONGEST_NAME = 200  # characters of a file's name


class Destination(Protocol):
    """Where receipts go."""

    @property
    def placed(self) -> bool:
        """Whether all of them are durable, under their name."""

    def write(self, person: str, line: str) -> None:
        """One person's receipt, as a line of JSON."""

    def finish(self) -> None:
        """Make all of them durable, under their name."""

    def undo(self) -> None:
        """Remove them: they are void."""


class ToFile:
    """Receipts as lines of a file that only its owner can read; it is complete or not there."""

    def __init__(self, path: Path) -> None:
        self._path, self.placed = path, False
        _refuse(path)
        with _writable(path):
            descriptor, scratch = tempfile.mkstemp(".unfinished", f"{path.name}.", path.parent)
        self._scratch = Path(scratch)  # its name is its own: another process may write to the same path
        self._file = os.fdopen(descriptor, "w", encoding="utf-8", newline="\n")

    def write(self, person: str, line: str) -> None:
        with _writable(self._path):
            self._file.write(line + "\n")

    def finish(self) -> None:
        with _writable(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            _place(self._scratch, self._path, os.link)
            self.placed = True
            self._scratch.unlink()
            sync(self._path.absolute().parent)

    def undo(self) -> None:
        with suppress(OSError):  # what could not be written yet
            self._file.close()
        self._scratch.unlink(missing_ok=True)
        if self.placed:
            self._path.unlink(missing_ok=True)


class ToFolder:
    """A file for each person's receipt, in a new folder that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path, self.placed = path, False
        _refuse(path)
        with _writable(path):
            scratch = tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".unfinished", dir=path.parent)
        self._scratch = Path(scratch)

    def write(self, person: str, line: str) -> None:
        name = quote(person.encode("utf-8", "surrogatepass"), safe="")
        if len(name) > LONGEST_NAME or name in (".", "..", ""):
            name = "+" + blake2b(name.encode(), digest_size=32).hexdigest()  # no name of the others has a +
        with _writable(self._path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            descriptor = os.open(self._scratch / f"{name}.json", flags, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(line + "\n")
                file.flush()
                os.fsync(descriptor)

    def finish(self) -> None:
        with _writable(self._path):
            sync(self._scratch)
            _place(self._scratch, self._path, os.rename)
            self.placed = True
            sync(self._path.absolute().parent)

    def undo(self) -> None:
        folder = self._path if self.placed else self._scratch
        with suppress(FileNotFoundError):
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()


@dataclass(frozen=True)
class ToCallback:
    """Receipts for a function; they are void if what follows raises an error."""

    function: Sink
    placed = False  # there is nothing to undo

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


def _place(scratch: Path, path: Path, place: Callable[[Path, Path], object]) -> None:
    """Give what is complete its name, unless something has that name by now."""
    _refuse(path)
    try:
        place(scratch, path)
    except FileExistsError:
        _refuse(path)
        raise


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({error.strerror}); nothing was done."
        raise BadFile(str(path), problem, "Name a file in a folder that exists.") from None


@contextmanager
def receipts_to(
    place: Given, void: Callable[[BaseException], bool] = lambda error: False
) -> Iterator[Destination]:
    """Where receipts go: a file, a new folder (a path that ends with /), or a function of a line of JSON.

    If the block fails, nothing of them is left, unless they were complete.  Then they are kept: nobody else
    has them, and they may be valid.  `void` says of an error whether they surely are not.
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
    except BaseException as error:
        if not destination.placed or void(error):
            destination.undo()
        raise
