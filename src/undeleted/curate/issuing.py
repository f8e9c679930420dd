"""Write the receipts of a store that keeps no records: once, before the store comes to be.

    begin      the store's key, and a random order of serials, which is thrown away at the end
    take       a receipt for every person of a block, as soon as all of their rows have come
    finish     the receipts are durable; only then does the store exist, or take people in

A receipt cannot be issued again: nothing from which it was made is kept.  If publishing fails later, the
receipts that were written are void, because their key is gone.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, TypeAlias
from urllib.parse import quote

import numpy as np

from undeleted.curate.durable import sync
from undeleted.curate.receipts import Issuer, line_of
from undeleted.curate.stores import Claim, Claims, Reserved, Serials, Store
from undeleted.errors import BadBudget, BadFile, BadSetting
from undeleted.foundations.schema import Table
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


@dataclass
class Issuing:
    """Issues the receipts of a publication."""

    destination: Destination
    capacity: int
    advance: Callable[[int], object] = lambda done: None
    _next: int = 0
    _tags: list[Given] = field(default_factory=list)  # keyed digests of ids: who came twice?
    _waiting: dict[str, list[bytes]] = field(default_factory=dict)

    def begin(self, key: bytes, claims: Claims) -> None:
        self._issuer, self._claims = Issuer(key, keeps_records=False), claims
        self._serials = Serials(self.capacity)
        self._secret = os.urandom(32)

    def take(self, people: Sequence[str], rows: Given) -> None:
        if self._claims.together > 1:  # until the last block somebody may have one more row
            for person, row in zip(people, rows, strict=True):
                self._waiting.setdefault(person, []).append(row.tobytes())
            return
        digests = b"".join(self._digest(person) for person in people)
        self._tags.append(np.frombuffer(digests, dtype="<u8"))
        self._issue(people, [[row.tobytes()] for row in rows])

    def finish(self) -> None:
        most = self._claims.together
        if over := sum(len(rows) > most for rows in self._waiting.values()) + self._came_twice():
            raise BadBudget("rows_per_person", most, f"at least the rows that {over:,} people have")
        self._issue(list(self._waiting), list(self._waiting.values()))
        self._waiting.clear()
        self.destination.finish()

    def _issue(self, people: Sequence[str], rows: Sequence[list[bytes]]) -> None:
        serials = self._serials.take(self._next, len(people))
        if serials.size < len(people):
            problem = f"more than {self.capacity:,} people came; nothing was published."
            raise BadSetting(
                problem, "Choose a larger `capacity`: it is public, so choose it from what you know."
            )
        self._next += len(people)
        for serial, person, several in zip(serials.tolist(), people, rows, strict=True):
            tag = bytes(16) if self._claims.records.grows else b""
            receipt, opening = self._issuer.receipt_of(
                person, self._claims.written(Claim(serial, tuple(several), tag))
            )
            self.destination.write(person, line_of(person, receipt, opening))
            self.advance(1)

    def _digest(self, person: str) -> bytes:
        data = person.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=16, key=self._secret).digest()

    def _came_twice(self) -> int:
        """How many people have more than one row."""
        if not self._tags:
            return 0
        ordered = np.concatenate(self._tags).reshape(-1, 2)
        ordered = ordered[np.lexsort(ordered.T)]
        same = (ordered[1:] == ordered[:-1]).all(axis=1)
        return int(np.count_nonzero(same & ~np.r_[False, same[:-1]])) if same.size else 0


def issue_to_newcomers(store: Store, table: Table, reserved: Reserved, destination: Destination) -> None:
    """The receipts of people who join; they are durable before anybody is taken in."""
    issuer = Issuer(store.key, keeps_records=False)
    ids = table.ids or ()
    for (tag, rows), serial in zip(reserved.rows.items(), reserved.serials, strict=True):
        receipt, opening = issuer.receipt_of(ids[rows[0]], store.claim(table, rows, serial, tag))
        destination.write(ids[rows[0]], line_of(ids[rows[0]], receipt, opening))
    destination.finish()
