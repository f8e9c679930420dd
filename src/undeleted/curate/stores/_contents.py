"""What a new store is filled with: the records of a publication, or the contents of another store.

Records come in blocks, so that a store may be larger than memory.  The fixed metadata (`meta`) is known after
the last block: it has a digest of the noise, which is the cells minus the totals of the records.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._cells import add_up, is_board, shape_from, to_cells
from undeleted.curate.stores._claims import Claims
from undeleted.curate.stores._growth import START, first_block, linked
from undeleted.curate.stores._json_descriptions import describe
from undeleted.curate.stores._records import Records, needed, tag_of
from undeleted.curate.stores._sealed import digest, sealed_post
from undeleted.curate.stores._spent_bits import CHUNK_BYTES, chunks_for
from undeleted.errors import StoreError
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.schema import Schema, Table
from undeleted.foundations.types import Given

FORMAT = 5
RULE = 2  # how values are encoded: 1 with their whole column, 2 one by one

Post = tuple[int, int, bytes]  # its number, its publication, its text as stored


@dataclass(frozen=True)
class State:
    """What a deletion changes besides cells: the version, and how many people are held back until when."""

    version: int = 1
    held: int = 0
    due: float = 0.0
    enough: int = 0

    def as_tuple(self) -> tuple[int, int, float, int]:
        """Its columns, in their order."""
        return self.version, self.held, self.due, self.enough


class Contents(Protocol):
    """The contents that a store is filled with.  Read `slots` first and `meta` last."""

    shapes: list[bytes]
    cells: list[IntArray]
    state: State
    held: list[tuple[int, bytes]]  # by chunk, masked
    most: int | None  # most rows per person, if that must still be checked
    together: int  # most rows per person
    mechanisms: Mapping[str, Given] | None  # if they were just published
    spent: list[bytes] | None  # the spent-bits of a store without records
    used: int  # how many receipts were used

    @property
    def room(self) -> int:
        """For how many tags, or rows that wait for a tick, there is room in such a store."""

    def slots(self) -> Iterator[Given]:
        """Tags and packed rows, as arrays of bytes with one record per row."""

    def posts(self) -> Iterator[Post]:
        """The posts of all boards; call it after all slots were read."""

    def meta(self) -> dict[str, str]:
        """The fixed metadata; call it after all slots were read.  Each store adds its own, and the seal."""


class Issue(Protocol):
    """Writes the receipts of a store that keeps no records."""

    def begin(self, key: bytes, claims: Claims) -> None:
        """Start, with the key and the form of the claims."""

    def take(self, people: Sequence[str], rows: Given) -> None:
        """Write receipts for the people of a block, whose packed rows these are."""

    def finish(self) -> None:
        """Write what is left, and make all of it durable: the store comes to be after that."""

    def kept(self) -> Iterator[Given]:
        """What the store keeps of it, as slots."""


@dataclass(frozen=True)
class Publishing:
    """Everything that a new publication is stored from."""

    schema: Schema
    mechanisms: Mapping[str, Given]
    releases: Mapping[str, Given]
    table: Given  # a Table, or an engine that gives its records in blocks
    facts: Mapping[str, Given]  # the budget, what was spent, the spec
    keep: tuple[str, ...] = ()  # columns that records keep although no publication uses them yet
    exact: Mapping[str, IntArray] | None = None  # the totals that noise was added to
    recount: bool = True  # the records may differ from those that were added up
    at: float | None = None  # when the first tick of a table that grows was closed
    issue: "Issue | None" = None  # writes receipts, if the store keeps no records

    def blocks(self) -> Iterator[Table]:
        engine = Arrays(self.table) if isinstance(self.table, Table) else self.table
        blocks: Iterator[Table] = engine.blocks()
        return blocks


@dataclass(frozen=True)
class Additions:
    """What is added to a store: further publications, from the records of those who are still there."""

    mechanisms: Mapping[str, Given]
    releases: Mapping[str, Given]
    exact: Mapping[str, IntArray]  # the totals that noise was added to
    facts: Mapping[str, Given]  # what was spent with them


class Published:
    """The contents of a new store."""

    state, held, used = State(), list[tuple[int, bytes]](), 0

    def __init__(self, publishing: Publishing, key: bytes) -> None:
        self._publishing, self._key = publishing, key
        self.mechanisms: Mapping[str, Given] | None = publishing.mechanisms
        self._mechanisms = tuple(publishing.mechanisms.values())
        self._columns = needed(publishing.schema, publishing.mechanisms, publishing.keep)
        self._records = Records(publishing.schema, self._columns)
        packed = [to_cells(publishing.releases[name]) for name in publishing.mechanisms]
        self.shapes = [shape for _, shape in packed]
        self._shaped = [shape_from(m, shape) for m, shape in zip(self._mechanisms, self.shapes, strict=True)]
        self.cells = self._laid_out([cells for cells, _ in packed])
        self.most: int | None = publishing.schema.rows_per_person
        self.together = publishing.schema.rows_per_person
        self._rows = 0
        self._counted = publishing.exact is None or publishing.recount
        self._exact = [np.zeros(size, dtype=np.int64) for size in self._sizes()]
        self._posts: list[Post] = []
        self._tagged = publishing.facts.get("retain") == "tags"
        self.spent: list[bytes] | None = None
        if self._tagged:
            self.spent, self.together = [], 1
        elif (
            publishing.issue is not None
        ):  # bits of tick 0, and in a table that grows of the one that is open
            ticks = 1 if publishing.at is None else min(2, self._mechanisms[0].horizon)
            self.spent = [bytes(CHUNK_BYTES)] * (ticks * chunks_for(publishing.facts["capacity"]))

    @property
    def room(self) -> int:
        """For how many tags there is room, or in a table that grows for how many rows that wait."""
        grows = self.spent is not None and self._publishing.at is not None
        return self._publishing.facts["capacity"] * self.together if grows or self._tagged else 0

    def _laid_out(self, cells: list[IntArray]) -> list[IntArray]:
        """The cells as they are stored."""
        return cells

    def _sizes(self) -> list[int]:
        """How many sums each publication has."""
        return [cells.size for cells in self.cells]

    def _add_up(self, number: int, block: Table) -> None:
        """Add what a block contributes to a publication."""
        add_up(self._mechanisms[number], self._shaped[number], block, self._exact[number])

    def slots(self) -> Iterator[Given]:
        records = self._records
        slot = TAG if self._tagged else records.slot
        yield np.zeros((0, slot), dtype=np.uint8)  # a table without rows has no block
        issue = self._publishing.issue
        if issue is not None:
            most = self._publishing.schema.rows_per_person
            issue.begin(self._key, Claims(records, most, self._tagged or records.grows))
        for block in self._publishing.blocks():
            self._rows += block.rows
            for number in range(len(self._mechanisms) if self._counted else 0):
                self._add_up(number, block)
            if issue is not None:
                issue.take(block.ids or (), records.pack(block, {}))
                continue
            tags = b"".join(tag_of(self._key, person) for person in block.ids or ())
            numbers = self._numbered(block)
            yield np.concatenate(
                [np.frombuffer(tags, dtype=np.uint8).reshape(-1, 16), records.pack(block, numbers)], axis=1
            )
        self._check_totals()
        if issue is not None:
            issue.finish()
            yield from issue.kept()

    def _numbered(self, block: Table) -> dict[str, list[int]]:
        """The numbers of a block's posts, by column; random, so that they reveal no order."""
        by_column: dict[str, list[int]] = {}
        for board, mechanism in enumerate(self._mechanisms):
            if is_board(mechanism):
                name = mechanism.column.name
                numbers = [1 + secrets.randbelow(2**62) if kept else 0 for kept in block.kept[name]]
                texts = zip(numbers, block.texts[name], strict=True)
                self._posts += [(n, board, sealed_post(self._key, n, board, t)) for n, t in texts if n]
                by_column[name] = numbers
        return by_column

    def _check_totals(self) -> None:
        """Check the records that came, not only those counted, against the bounds that noise was made for."""
        for mechanism in self._mechanisms:
            if hasattr(mechanism, "statistic"):
                mechanism.statistic.check_no_overflow(self._rows)
        if self._publishing.exact is None:
            return
        totals = [self._publishing.exact[name] for name in self._publishing.mechanisms]
        if not self._counted:
            self._exact = totals
        for name, total, exact in zip(self._publishing.mechanisms, totals, self._exact, strict=True):
            if not np.array_equal(total, exact):
                problem = f"the totals of {name!r} are not those of its records: the table changed meanwhile."
                raise StoreError(problem, "Nothing was published; use a table that does not change.")

    def posts(self) -> Iterator[Post]:
        return iter(sorted(self._posts))

    def meta(self) -> dict[str, str]:
        publishing = self._publishing
        return (self._digested() if self.spent is None else self._ticks()) | {
            "format": str(FORMAT),
            "tag": tag_of(self._key, "").hex(),
            "schema": json.dumps(describe(publishing.schema)),
            "mechanisms": json.dumps({name: describe(m) for name, m in publishing.mechanisms.items()}),
            "facts": json.dumps(publishing.facts),
            "sizes": json.dumps([cells.size for cells in self.cells]),
            "rule": str(RULE),
            "columns": json.dumps([column.name for column in self._columns]),
        }

    def _ticks(self) -> dict[str, str]:
        """The metadata of a table that grows."""
        return {}

    def _digested(self) -> dict[str, str]:
        """The digest of the noise, as metadata."""
        noise = [cells - exact for cells, exact in zip(self.cells, self._exact, strict=True)]
        return {"digest": digest(self._key, noise)}


class PublishedTicks(Published):
    """The contents of a new store of a table that grows, after its tick 0."""

    def __init__(self, publishing: Publishing, key: bytes) -> None:
        super().__init__(publishing, key)
        self._records = Records(publishing.schema, self._columns, grows=True)
        self.together *= 1 + self._mechanisms[0].max_corrections

    def _laid_out(self, cells: list[IntArray]) -> list[IntArray]:
        """The rows of all publications are one block of cells."""
        self._rows_of_tick_0 = [rows[0] for rows in cells]
        return [first_block(self._rows_of_tick_0)]

    def _sizes(self) -> list[int]:
        return [m.cells(shape) for m, shape in zip(self._mechanisms, self._shaped, strict=True)]

    def _add_up(self, number: int, block: Table) -> None:
        self._mechanisms[number].added(self._shaped[number], block).add_to(self._exact[number])

    def _digested(self) -> dict[str, str]:
        assert self._publishing.at is not None
        batches = zip(self._mechanisms, self._exact, self._shaped, strict=True)
        exact = np.concatenate([m.exact(0, {0: total}, None, shape) for m, total, shape in batches])
        hidden, row = self._mechanisms[0].leavers is not None, np.concatenate(self._rows_of_tick_0)
        chained = linked(self._key, START, row if hidden else row - exact)
        return self._ticks() | {"digest": chained}

    def _ticks(self) -> dict[str, str]:
        return {"ticks": "1", "at": repr(self._publishing.at)}


def published(publishing: Publishing, key: bytes) -> Published:
    """The contents of a new store."""
    return (Published if publishing.at is None else PublishedTicks)(publishing, key)


@dataclass
class Taken:
    """The contents of a store that is copied; its transaction stays open until they are written."""

    shapes: list[bytes]
    cells: list[IntArray]
    state: State
    held: list[tuple[int, bytes]]
    most: int | None
    together: int
    slots: Callable[[], Iterator[Given]]
    posts: Callable[[], Iterator[Post]]
    meta: Callable[[], dict[str, str]]
    mechanisms: Mapping[str, Given] | None = None
    spent: list[bytes] | None = None
    room: int = 0
    used: int = 0


def require_cap(people: int, most: int) -> None:
    """Refuse if `people` have more rows than the noise was made for."""
    if people:
        rows = f"{most} row{'s' if most > 1 else ''}"
        problem = f"{people} people have more than {rows}: the table changed meanwhile."
        raise StoreError(problem, "Nothing was published; use a table that does not change.")
