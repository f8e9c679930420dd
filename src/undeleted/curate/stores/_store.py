"""What all stores have in common: publications from cells, exactly-once deletion, folding, checking.

A store keeps the current state, each record's packed codes, and nothing about leavers:

    meta       what is published and how: schema, mechanisms, budget, the keyed digest of the noise
    state      the version, how many deletions are held back, and until when
    shapes     the part of each release that never changes, unlike its cells
    cells      every publication's cells, numbered in chunks
    records    a keyed tag for the id, and packed codes, laid out so that nothing shows who was there before
    posts      the bulletin boards' posts
    held       deletions that are held back, summed by chunk and masked

With `retain = "receipts"` or `"tags"` there are no records and no posts, and no digest of the noise: people
bring their own codes (`_claims.py`), sealed in their receipt, or as the rows that their company still has.

    spent      receipts: one bit for every one that could be issued (`_spent_bits.py`)
    people     tags: a keyed, salted tag of everybody's rows, among random ones
    marks      keyed marks of all chunks under one root (`_mark_tree.py`)

A table that grows (`_growth.py`) has a row of cells for every tick, and spans in its records.

A subclass only implements how these are read and written inside a transaction.
"""

import hmac
import json
import os
import struct
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar
from zipfile import BadZipFile

import numpy as np

from undeleted.curate.mechanisms.bulletin_board import Posts
from undeleted.curate.releases.subtracting import PendingChanges
from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._cells import add_up, is_board, shape_from, to_cells
from undeleted.curate.stores._claims import Claim, Claims
from undeleted.curate.stores._contents import Additions, Contents, Issue, Post, State, Taken
from undeleted.curate.stores._growth import (
    Added,
    Corrected,
    Growth,
    Reserved,
    Watermark,
    add,
    admit,
    correct,
    reserve,
    tick,
)
from undeleted.curate.stores._held_back import masked, unmasked
from undeleted.curate.stores._json_descriptions import build, describe
from undeleted.curate.stores._mark_tree import MarkTree
from undeleted.curate.stores._records import Records, needed, retagged, salted_tag, tag_of
from undeleted.curate.stores._sealed import MARK, chunk_mark, digest, mark, seal, state_mark, unsealed
from undeleted.curate.stores._spent_bits import BITS, CHUNK_BYTES, chunks_for, is_set, with_bits
from undeleted.errors import BadSetting, KeepsNoRecords, StoreError, UnknownName
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Schema, Table
from undeleted.foundations.types import Given, Json

CHUNK = 480  # cells per chunk: with its header and its mark it fits a page of 4096 bytes
FEW = 8  # up to so many rows a deletion is computed with integers instead of arrays
UNREADABLE = (  # the errors of reading a part that was altered
    ArithmeticError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    OSError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
DAMAGED = "Restore the store and its key from the same backup."
Done = TypeVar("Done")
Moved: TypeAlias = Mapping[int, Given]  # by chunk: how much to subtract from each of its cells


@dataclass(frozen=True)
class Deleted:
    """What a request did: people deleted, ids that are not there (or no longer), and the version after it."""

    deleted: int
    unknown: int
    version: int
    held: int = 0  # people whose deletion is held back, to be folded in with others
    absent: tuple[int, ...] = ()  # positions in the request of the ids that were not there


def _absent(tags: Sequence[bytes], there: set[bytes]) -> tuple[int, ...]:
    """The positions of tags that were not there; a repeated tag counts as there only once."""
    left, positions = set(there), list[int]()
    for place, tag in enumerate(tags):
        if tag in left:
            left.remove(tag)
        else:
            positions.append(place)
    return tuple(positions)


def _closed(facts: Json) -> Json:
    """The facts of a store that has nothing left to spend, and no ticks to close, now or later."""
    return facts | {"left": 0.0, "closed": True}


def _retagged(slots: Given, key: bytes | None) -> Given:
    """Slots with their tags under a new key."""
    if key is None or not len(slots):
        return slots
    tags = b"".join(retagged(key, slot[:TAG].tobytes()) for slot in slots)
    return np.concatenate([np.frombuffer(tags, dtype=np.uint8).reshape(-1, TAG), slots[:, TAG:]], axis=1)


def _remarked(post: Post, key: bytes | None) -> Post:
    """A post with its mark under a new key."""
    number, board, data = post
    return post if key is None else (number, board, data[:-MARK] + mark(key, number, board, data[:-MARK]))


@dataclass(frozen=True)
class Fold:
    """Hold deletions back until `people` have left, or the first of them left `after` seconds ago."""

    people: int
    after: float


class Store(ABC):
    """An open store."""

    path: str  # as it may be shown: without a password
    in_a_file = False
    erases_by_itself = True  # `erase` leaves nothing for `vacuum`
    how_to_erase = "another process is reading; the next command finishes it"

    def __init__(
        self, key: bytes, meta: Mapping[str, str], shapes: Sequence[bytes], known: Mapping[str, Given] | None
    ) -> None:
        """`known` holds the mechanisms if they were just published and need not be rebuilt."""
        self._key = key
        self._load(meta, shapes, known)

    def _load(
        self, meta: Mapping[str, str], shapes: Sequence[bytes], known: Mapping[str, Given] | None
    ) -> None:
        """Take over what is published; `extend` may change it, also in another process."""
        self._seal = meta.get("seal", "")
        self.schema: Schema = build(json.loads(meta["schema"]))
        described = json.loads(meta["mechanisms"])
        self.mechanisms: Json = dict(known or {n: build(d) for n, d in described.items()})
        self.facts: Json = json.loads(meta["facts"])
        self._digest = meta["digest"] if self.keeps_records else ""
        self.rule = int(
            meta.get("rule", 1)
        )  # how values were encoded: 1 with their whole column, 2 one by one
        self._shapes = [shape_from(m, s) for m, s in zip(self.mechanisms.values(), shapes, strict=True)]
        self.growth = Growth(self.mechanisms, meta, self._shapes) if "ticks" in meta else None
        self._boards = [is_board(mechanism) for mechanism in self.mechanisms.values()]
        self._sizes: list[int] = json.loads(meta["sizes"])
        self._chunks: list[int] = np.cumsum([0, *(-(-size // CHUNK) for size in self._sizes)]).tolist()
        kept = json.loads(meta["columns"]) if "columns" in meta else []
        columns = needed(self.schema, self.mechanisms, kept)
        self._records = Records(self.schema, columns, self.growth is not None)
        tagged = self.growth is not None or self.retains == "tags"
        self.claims = Claims(self._records, self.schema.rows_per_person, tagged)

    @property
    def retains(self) -> str:
        """What is kept about people: `records`, `receipts` (spent-bits alone), or `tags`."""
        return str(self.facts.get("retain", "records"))

    @property
    def _has_people(self) -> bool:
        """Whether there is a table of people: records, those that wait for a tick, or tags."""
        return self.growth is not None or self.retains != "receipts"

    @property
    def _slot(self) -> int:
        """The bytes of a slot in that table."""
        return TAG if self.retains == "tags" else self._records.slot

    @property
    def keeps_records(self) -> bool:
        return self.retains == "records"

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what a subclass implements

    @abstractmethod
    def close(self) -> None:
        """Erase what can be erased, and close the store."""

    @abstractmethod
    def erase(self, timeout: float = 30.0) -> bool:
        """Erase every reachable copy of deleted data; return False if this is blocked until the timeout."""

    @property
    @abstractmethod
    def erasure_pending(self) -> bool:
        """Whether something that was deleted waits to be erased."""

    def hurry(self) -> None:  # noqa: B027  a file has no server to wait for
        """From now on fail soon, instead of waiting for a server to come back."""

    @abstractmethod
    def look(self) -> None:
        """Refuse if data that are written now could not be read again later."""

    def probe(self) -> None:
        """Check what `look` checks, and test a write that changes nothing."""
        self.look()
        with self._writing():
            self._write_state(self._state(write=True))

    def vacuum(self) -> bool:
        """Erase what `erase` leaves for a quiet time; return False if another process blocks it."""
        return self.erase()

    @abstractmethod
    def _reading(self) -> AbstractContextManager[None]:
        """A read transaction with one consistent view."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]:
        """A write transaction: all or nothing."""

    def _copying(self) -> AbstractContextManager[None]:
        """A transaction during which nothing changes."""
        return self._writing()

    @abstractmethod
    def _state(self, *, write: bool = False) -> State:
        """Read the state; with `write`, lock it against other writers until the transaction ends."""

    @abstractmethod
    def _put_state(self, state: State, mark: bytes) -> None:
        """Write the state and its mark."""

    def _write_state(self, state: State, sealed: str | None = None) -> None:
        """Write the state, with a mark that covers the seal and every chunk that this transaction changed.

        `sealed` is the seal that the mark in the store covers, if this transaction has written another.
        """
        covered = b""
        if not self.keeps_records:
            before, root = self._marks.flush()
            earlier = before + (self._seal if sealed is None else sealed).encode()
            stored, its_mark = self._state_and_mark()
            if not hmac.compare_digest(state_mark(self._key, stored.as_tuple(), earlier), its_mark):
                problem = (
                    f"{self.path} is damaged: the version or the marks were altered; nothing was changed."
                )
                raise StoreError(problem, DAMAGED)
            self._marks.marked(root)
            covered = root + self._seal.encode()
        self._put_state(state, state_mark(self._key, state.as_tuple(), covered))

    _marks: MarkTree  # of a store without records

    def _read_spent(self, chunks: Iterable[int]) -> dict[int, bytes]:
        """Chunks of spent-bits with their marks; altered ones are refused."""
        there = self._spent_blobs(chunks)
        for chunk, data in there.items():
            if not hmac.compare_digest(chunk_mark(self._key, "spent", chunk, data[:-MARK]), data[-MARK:]):
                problem = f"{self.path} is damaged: spent-bits were altered; nothing was changed."
                raise StoreError(problem, DAMAGED)
        return there

    def _write_spent(self, before: Mapping[int, bytes], after: Mapping[int, bytes], *, dummy: bool) -> None:
        """Write chunks of spent-bits, and note their marks; `before` is what was read."""
        marks = {n: chunk_mark(self._key, "spent", n, data) for n, data in after.items()}
        for number, data in before.items():
            self._marks.changed("spent", number, data[-MARK:], marks[number])
        self._put_spent({n: data + marks[n] for n, data in after.items()}, dummy=dummy)

    @abstractmethod
    def _spent_blobs(self, chunks: Iterable[int]) -> dict[int, bytes]:
        """Chunks of spent-bits with their marks."""

    @abstractmethod
    def _put_spent(self, chunks: Mapping[int, bytes], *, dummy: bool = False) -> None:
        """Write chunks of spent-bits with their marks; with `dummy`, also those that are as they were."""

    @abstractmethod
    def _leaf_marks(self, tree: str) -> list[bytes]:
        """The marks of all chunks of a tree, computed from what is stored now."""

    @abstractmethod
    def _state_and_mark(self) -> tuple[State, bytes]:
        """The state, and its mark as it is stored."""

    def _take_turns(self) -> None:
        """Lock the state against other writers: two processes that spend the same claim take turns."""
        self._state(write=True)

    @abstractmethod
    def _take(
        self, tags: Sequence[bytes], *, dummy_work: bool
    ) -> tuple[list[bytes], set[bytes], list[bytes]]:
        """Remove the rows with these tags; return them, and which of the tags were there.

        With `dummy_work`, also return dummy rows for the other tags.  They are nobody's: a deletion reads no
        row of stayers, and the time it takes reveals nothing about them.
        """

    @abstractmethod
    def _strike(self, posts: Sequence[int]) -> None:
        """Delete posts."""

    def _strike_nothing(self, posts: int) -> None:  # noqa: B027  by default there is nothing to hide
        """Do as much work as deleting so many short posts takes, where the work is visible from outside."""

    @abstractmethod
    def _subtract(self, chunks: Moved) -> None: ...

    @abstractmethod
    def _read_chunks(self, chunks: range) -> IntArray:
        """The cells of neighbouring chunks."""

    def _read_cells(self, number: int) -> IntArray:
        """The cells of one publication; in a table that grows, those of a block of ticks."""
        chunks = range(self._chunks[number], self._chunks[number + 1])
        return self._read_chunks(chunks)[: self._sizes[number]]

    @abstractmethod
    def _there(self, tags: Sequence[bytes]) -> set[bytes]:
        """Which of these tags are in the store."""

    @abstractmethod
    def _lookup(self, tags: Sequence[bytes]) -> dict[bytes, list[bytes]]:
        """The rows of these tags, of those that are in the store."""

    @abstractmethod
    def _insert(self, slots: Sequence[bytes]) -> None:
        """Add records of tags that are not in the store."""

    def _drop(self, tags: Sequence[bytes]) -> None:
        """Remove the records of these tags."""
        self._take(list(dict.fromkeys(tags)), dummy_work=False)

    @abstractmethod
    def _records_are_intact(self) -> bool:
        """Whether every record is as it was written, and where a deletion looks for it."""

    @abstractmethod
    def _read_posts(self, number: int | None = None) -> Iterator[Post]:
        """The current posts on one board, or on all."""

    @abstractmethod
    def _read_held(self, chunks: Sequence[int]) -> dict[int, bytes]:
        """The held-back sums of these chunks, masked; a chunk that was never written is left out."""

    @abstractmethod
    def _write_held(self, held: Mapping[int, bytes]) -> None: ...

    def tags(self) -> set[bytes]:
        """The tags of all people in the store."""
        with self._reading():
            return {slot[:TAG].tobytes() for slots in self._slots() for slot in slots}

    @abstractmethod
    def _slots(self) -> Iterator[Given]:
        """Tags and packed rows of all people in the store, as arrays of bytes with one record per row."""

    @abstractmethod
    def _read_meta(self) -> tuple[dict[str, str], list[bytes]]:
        """The fixed metadata, and the shapes."""

    @abstractmethod
    def _integrity(self) -> list[str]:
        """Problems of the storage itself."""

    # -- what is published

    @property
    def version(self) -> int:
        with self._reading():
            return self._state().version

    @property
    def progress(self) -> tuple[int, int]:
        """The version, and how many people are held back; as a pair it only increases."""
        with self._reading():
            state = self._state()
        return state.version, state.held

    @property
    def held(self) -> int:
        """How many people's deletions are held back."""
        with self._reading():
            return self._state().held

    def release(self, name: str) -> tuple[Given, int]:
        """A publication's current release and its version, in one consistent view."""
        if name not in self.mechanisms:
            with self._reading():
                self._refresh()  # it may have been published since
        if name not in self.mechanisms:
            raise UnknownName("publications", name, tuple(self.mechanisms))
        number = list(self.mechanisms).index(name)
        with self._reading():
            if self.growth is not None:
                self._refresh()  # ticks may have closed since
            version = self._state().version
            if self._boards[number]:
                return Posts(sorted(unsealed(data) for _, _, data in self._read_posts(number))), version
            if self.growth is not None:
                blocks = range(len(self._sizes))
                chunks = (self._read_chunks(self.growth.layout.chunks_of(number, b)) for b in blocks)
                return self.growth.rows_of(number, chunks), version
            cells = self._read_cells(number)
        return self.mechanisms[name].shaped(self._shapes[number], cells), version

    # -- growing

    def add(self, table: Table, *, skip: bool = False, mark: Watermark | None = None) -> Added:
        """Take people in: they are published when the tick that is open closes."""
        return self._changed(lambda: add(self, table, skip=skip, mark=mark))

    def reserve(self, table: Table, *, skip: bool = False) -> Reserved:
        """Set serials aside for people who join a store without records; their receipts are void for now."""
        return self._changed(lambda: reserve(self, table, skip=skip))

    def admit(self, table: Table, reserved: Reserved) -> Added:
        """Take in the people for whom serials were set aside; their receipts are valid from now on."""
        return self._changed(lambda: admit(self, table, reserved))

    def claim(self, table: Table, rows: Sequence[int], serial: int, tag: bytes) -> bytes:
        """What the receipt of somebody who joins carries."""
        assert self.growth is not None
        packed = self._records.pack(table.take(np.asarray(rows)), {}, self.growth.ticks)
        return self.claims.written(Claim(serial, tuple(row.tobytes() for row in packed), tag))

    def _open_bits(self, tick: int) -> None:
        """Add the spent-bits of a tick that begins."""
        each = chunks_for(self.capacity)
        fresh = {chunk: bytes(CHUNK_BYTES) for chunk in range(tick * each, (tick + 1) * each)}
        marks = {chunk: chunk_mark(self._key, "spent", chunk, data) for chunk, data in fresh.items()}
        self._marks.appended("spent", marks.values())
        self._put_spent({chunk: data + marks[chunk] for chunk, data in fresh.items()})

    def tick(self, expected: int, coins: Coins, at: float) -> bool:
        """Close the tick of this number at this time; False if it has been closed meanwhile."""
        return self._changed(lambda: tick(self, expected, coins, at))

    def correct(self, table: Table) -> Corrected:
        """Replace the records of these people at the tick that is open."""
        return self._changed(lambda: correct(self, table))

    def _changed(self, change: Callable[[], Done]) -> Done:
        """Make a change in a transaction of its own."""
        with self._extending():
            return change()

    @property
    def ticks(self) -> int:
        """How many ticks have closed."""
        if self.growth is None:
            return 0
        with self._reading():
            self._refresh()
        return self.growth.ticks

    # -- publishing more

    @property
    def together(self) -> int:
        """The most slots that share a tag: a person's rows, with their corrections."""
        if self.retains == "tags":
            return 1
        corrections = 0 if self.growth is None else self.growth.first.max_corrections
        return self.schema.rows_per_person * (1 + corrections)

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that records keep: what later publications may use."""
        return tuple(column.name for column in self._records.columns)

    def extend(self, publish: Callable[[Table], Additions]) -> None:
        """Add publications about the people who are still there, from their records, in one transaction."""
        if not self.keeps_records:
            problem = "there are no records from which more could be published."
            raise BadSetting(problem, "Publish everything at once; or from the source, under a new budget.")
        with self._extending():
            if self.growth is not None:
                problem = "the budget of a table that grows pays for all of its ticks, and for nothing else."
                raise BadSetting(problem, "Publish more from a new store; or with the first tick.")
            if problems := self._unsound():
                raise StoreError(f"{self.path} is not intact ({problems[0]}).", "Run `undeleted check`.")
            rows = b"".join(np.ascontiguousarray(slots[:, TAG:]).tobytes() for slots in self._slots())
            added = publish(self._records.unpack(rows))
            packed = [to_cells(added.releases[name]) for name in added.mechanisms]
            noise = self._noise()
            noise += [
                cells - added.exact[name] for name, (cells, _) in zip(added.mechanisms, packed, strict=True)
            ]
            meta, shapes = self._sealed_meta()
            described = {name: describe(m) for name, m in added.mechanisms.items()}
            meta["mechanisms"] = json.dumps(json.loads(meta["mechanisms"]) | described)
            meta["sizes"] = json.dumps([*self._sizes, *(cells.size for cells, _ in packed)])
            meta["facts"] = json.dumps(self.facts | dict(added.facts))
            meta["digest"] = digest(self._key, noise)
            self._append(len(self._sizes), packed)
            self._reseal(meta, [*shapes, *(s for _, s in packed)], {**self.mechanisms, **added.mechanisms})

    def forget_records(self, people: Iterable[str], capacity: int, issue: Issue) -> None:
        """Turn all records into receipts, once and for good; `erase` and `vacuum` then erase them.

        Everybody in the store must be named: somebody without a receipt could never leave.
        """
        with self._extending():
            if self.growth is not None or any(self._boards) or not self.keeps_records:
                why = "keeps no records already" if not self.keeps_records else "grows, or has boards"
                problem = f"{self.path} {why}: its records cannot become receipts."
                raise BadSetting(problem, 'Publish with retain = "receipts" from the start.')
            state = self._state(write=True)
            if state.held:
                problem = f"the deletions of {state.held:,} people are held back."
                raise BadSetting(problem, "Wait until they are folded in, or delete more people with --fold.")
            if problems := self._unsound():
                raise StoreError(f"{self.path} is not intact ({problems[0]}).", "Run `undeleted check`.")
            self._turn_into_receipts(people, issue)
            meta, shapes = self._sealed_meta()
            for gone in ("digest", "people", "pieces"):
                meta.pop(gone, None)
            meta["facts"] = json.dumps(self.facts | {"retain": "receipts", "capacity": capacity, "left": 0.0})
            held = self._read_held(range(self._chunks[-1]))
            self._replace_records()
            self._reseal(meta, shapes, covered=False)
            spent = [bytes(CHUNK_BYTES)] * chunks_for(capacity)
            marks = [chunk_mark(self._key, "spent", n, data) for n, data in enumerate(spent)]
            self._put_spent({n: data + marks[n] for n, data in enumerate(spent)})
            for tree in ("cells", "held", "spent", "people", "used"):
                self._marks.replaced(
                    tree, self._leaf_marks(tree) if (tree != "held" or held) and tree != "used" else []
                )
            _, root = self._marks.flush()
            self._put_state(state, state_mark(self._key, state.as_tuple(), root + self._seal.encode()))

    def _turn_into_receipts(self, people: Iterable[str], issue: Issue) -> None:
        """Write a receipt for each of these people who is there; refuse if anybody is not among them."""
        rows: dict[bytes, list[Given]] = {}
        for slots in self._slots():
            for slot in slots:
                rows.setdefault(slot[:TAG].tobytes(), []).append(slot[TAG:])
        issue.begin(self._key, self.claims)
        for person in people:
            there = rows.pop(tag_of(self._key, person), [])
            if there:
                issue.take([person] * len(there), np.stack(there))
        if rows:
            problem = "the list lacks people who are in the store; nothing was changed."
            raise StoreError(problem, "Name everybody: somebody without a receipt could never leave.")
        issue.finish()

    @abstractmethod
    def _replace_records(self) -> None:
        """Remove the records, and make room for spent-bits and marks."""

    def close_budget(self) -> Json:
        """Give up what is left of the budget, durably; return the facts as they were."""
        return self._with_facts(_closed)

    def give_up(self) -> Json:
        """Give up growing, and what is left of the budget: another store goes on.  The facts before."""
        return self._with_facts(lambda facts: _closed(facts) | {"grown": True})

    def reopen_budget(self, facts: Json) -> None:
        """Take back what was given up, because there is no copy that could spend it."""
        self._with_facts(lambda _: facts)

    def _with_facts(self, changed: Callable[[Json], Json]) -> Json:
        with self._extending():
            meta, shapes = self._sealed_meta()
            before: Json = json.loads(meta["facts"])
            meta["facts"] = json.dumps(changed(before))
            self._reseal(meta, shapes)
        return before

    def _sealed_meta(self) -> tuple[dict[str, str], list[bytes]]:
        """The metadata, to be changed and sealed again; altered ones would look genuine afterwards."""
        meta, shapes = self._read_meta()
        if not hmac.compare_digest(seal(self._key, meta, shapes), meta.get("seal", "")):
            problem = f"{self.path} is damaged: the description of the publications was altered."
            raise StoreError(problem, DAMAGED)
        return meta, shapes

    def _state_is_intact(self) -> bool:
        """Whether the state is as it was written, and so is the root of all marks."""
        covered = b""
        if not self.keeps_records:
            covered = self._marks.flush()[0] + self._read_meta()[0].get("seal", "").encode()
        stored, its_mark = self._state_and_mark()
        return hmac.compare_digest(state_mark(self._key, stored.as_tuple(), covered), its_mark)

    def _reseal(
        self,
        meta: dict[str, str],
        shapes: Sequence[bytes],
        known: Mapping[str, Given] | None = None,
        *,
        covered: bool = True,
    ) -> None:
        """Write changed metadata with their seal, and take them over.

        Inside the transaction: afterwards another process may have changed them again.  If this one is
        rolled back, the next finds another seal, and loads what is there.
        """
        before = self._seal
        meta["seal"] = seal(self._key, meta, shapes)
        self._rewrite(meta)
        self._load(*self._read_meta(), known or self.mechanisms)
        if covered and not self.keeps_records:
            self._write_state(self._state(write=True), before)

    def _extending(self) -> AbstractContextManager[None]:
        """A write transaction during which nobody else may delete."""
        return self._writing()

    def _refresh(self) -> None:
        """Inside a transaction: see what another process has published since this store was opened."""
        if self._read_meta()[0].get("seal", "") != self._seal:
            self._load(*self._sealed_meta(), None)

    @abstractmethod
    def _append(self, first: int, packed: Sequence[tuple[IntArray, bytes | None]]) -> None:
        """Write the cells of further publications, numbered from `first`, and their shapes, if they have."""

    @abstractmethod
    def _rewrite(self, meta: Mapping[str, str]) -> None:
        """Replace the fixed metadata, inside a transaction."""

    # -- deleting

    def delete(self, people: Sequence[str], fold: Fold | None = None) -> Deleted:
        """Forget these people in one transaction: durable when this returns, exactly once, all or nothing.

        With `fold`, their records are deleted at once, and subtracting their contributions is held back until
        enough people have left.
        """
        if not self.keeps_records:
            raise KeepsNoRecords(self.retains)
        return self.delete_tagged([tag_of(self._key, person) for person in people], fold)

    def delete_tagged(
        self, tags: Sequence[bytes], fold: Fold | None = None, *, dummy_work: bool = False
    ) -> Deleted:
        """Do the same for people of whom only the tags of their ids are known.

        In a store without records, `tags` are the claims that their receipts carry.  With `dummy_work`, as
        much is computed and written for people who are not there, so that the time it takes does not reveal
        who is.
        """
        with self._writing():
            done = self._delete(tags, fold, dummy_work)
        return done

    def _require_claims(self, tags: Sequence[bytes]) -> None:
        """Refuse the tags of ids where nothing is kept that has one."""
        if not self.keeps_records and any(len(tag) != self.claims.size for tag in tags):
            raise KeepsNoRecords(self.retains)
        if self.keeps_records and any(len(tag) != TAG for tag in tags):
            raise BadSetting("these are not the tags of ids.", "This store keeps records: delete by id.")

    def _delete(self, tags: Sequence[bytes], fold: Fold | None, dummy_work: bool) -> Deleted:
        self._require_claims(tags)  # another process may have turned records into receipts
        if self.growth is not None and fold is not None:
            problem = "a table that grows does not hold deletions back."
            raise BadSetting(problem, 'To hide who leaves, publish it with leavers = "hidden".')
        if self.keeps_leavers:
            return self._hide(tags, dummy_work)
        take = {"records": self._take, "receipts": self._spend, "tags": self._match}[self.retains]
        taken, there, others = take(list(dict.fromkeys(tags)), dummy_work=dummy_work)
        deleted = len(there)
        few = len(taken) + len(others) <= FEW
        moved, posts, published = self._forget(taken, few=few)
        if dummy_work:
            self._do_dummy_work(moved, taken, others, few=few)
        if posts:
            self._strike(posts)
        if dummy_work and others and any(self._boards):
            self._strike_nothing(len(others) * sum(self._boards))
        before = state = self._state(write=True)
        if (deleted or moved) and fold is None:
            self._subtract(moved)
            state = replace(state, version=state.version + (deleted > 0 and published))
        elif (deleted or moved) and fold is not None:
            held = self._hold(state, moved, deleted, fold)
            state = held if deleted else state
        state = self._folded(state)
        if dummy_work or state != before or (deleted and not self.keeps_records):
            self._write_state(state)
        return Deleted(deleted, len(tags) - deleted, state.version, state.held, _absent(tags, there))

    def _spend(
        self, claims: Sequence[bytes], *, dummy_work: bool
    ) -> tuple[list[bytes], set[bytes], list[bytes]]:
        """Set the bits of these claims; return the rows of those that were not spent, like `_take`.

        In a table that grows, a record that still waits for its tick is removed.
        """
        self._take_turns()
        read = {data: self.claims.read(data) for data in claims}
        before = self._read_spent(sorted({claim.serial // BITS for claim in read.values()}))
        fresh = {
            data: claim
            for data, claim in read.items()
            if claim.serial // BITS in before and not is_set(before[claim.serial // BITS], claim.serial)
        }
        after = with_bits(before, (claim.serial for claim in fresh.values()))
        if fresh or dummy_work:
            self._write_spent(before, after, dummy=dummy_work)
            self._marks.use(len(fresh))
        if self.growth is not None:
            self._drop([claim.tag for claim in fresh.values() if self._waits(claim.rows)])
        rows = [row for claim in fresh.values() for row in claim.rows]
        return rows, set(fresh), [self._records.blank] * (len(read) - len(fresh) if dummy_work else 0)

    def _match(
        self, claims: Sequence[bytes], *, dummy_work: bool
    ) -> tuple[list[bytes], set[bytes], list[bytes]]:
        """Remove the tags of these claims; return the rows of those that were there, like `_take`."""
        self._take_turns()
        read = {data: self.claims.read(data) for data in claims}
        _, there, _ = self._take(
            list(dict.fromkeys(claim.tag for claim in read.values())), dummy_work=dummy_work
        )
        by_tag = {claim.tag: (data, claim) for data, claim in read.items() if claim.tag in there}
        fresh = dict(by_tag.values())  # rows that were presented twice, in another order, count once
        rows = [row for claim in fresh.values() for row in claim.rows]
        return rows, set(fresh), [self._records.blank] * (len(read) - len(fresh) if dummy_work else 0)

    def is_spent(self, claim: bytes) -> bool:
        """Whether somebody has left with the receipt that carries this."""
        serial = self.claims.read(claim).serial
        with self._reading():
            there = self._read_spent([serial // BITS])
        return serial // BITS in there and is_set(there[serial // BITS], serial)

    @property
    def acknowledged(self) -> tuple[int, int]:
        """The version, and how many receipts were used: both only increase."""
        with self._reading():
            return self._state().version, self._marks.used

    def refresh(self) -> None:
        """See what another process has changed of what is published, and of how people leave."""
        with self._reading():
            if self._read_meta()[0].get("seal", "") != self._seal:
                self._refresh()

    def presented(self, table: Table, people: Sequence[tuple[str, Sequence[int], bytes]]) -> list[bytes]:
        """The claims of people who leave, each with their rows of a table and their salt."""
        packed, claims = self._records.pack(table, {}), list[bytes]()
        for person, places, salt in people:
            rows = [packed[place].tobytes() for place in places]
            claim = Claim(0, tuple(rows), salted_tag(self._key, person, salt, rows))
            claims.append(self.claims.written(claim))
        return claims

    def _waits(self, rows: Sequence[bytes]) -> bool:
        """Whether these rows wait for the tick that is open."""
        assert self.growth is not None
        return any(self._records.span_of(row).joined == self.growth.ticks for row in rows)

    @property
    def keeps_leavers(self) -> bool:
        """Whether a deletion leaves the publications as they are until the next tick, to hide who left."""
        return self.growth is not None and self.growth.hidden

    @property
    def why_pending(self) -> str:
        """Why something that was deleted is not erased yet, and when it will be."""
        if self.growth is None or not self.growth.hidden:
            return self.how_to_erase
        if self.growth.forgets_at_ticks:
            return "the next tick erases it, because leavers are hidden until then"
        return "leavers are hidden; rows to come need their records, without ids, until the horizon"

    def _hide(self, tags: Sequence[bytes], dummy_work: bool) -> Deleted:
        """Take the tags from these people's records, and note the tick at which they leave; show nothing."""
        assert self.growth is not None
        wanted = list(dict.fromkeys(tags))
        if self.keeps_records:
            there = self._lookup(wanted)
            self._drop(list(there))
        else:
            _, fresh, _ = self._spend(wanted, dummy_work=dummy_work)
            there = {data: list(self.claims.read(data).rows) for data in fresh}
        slots = self.growth.hide(self._records, there) if self.growth.is_open() else []
        nobody = [os.urandom(TAG) for _ in range(len(wanted) - len(there))] if dummy_work else []
        if slots or nobody:
            self._insert([*slots, *(tag + self._records.blank for tag in nobody)])
        self._drop(nobody)
        state = self._state(write=True)
        if dummy_work or (there and not self.keeps_records):
            self._write_state(state)
        return Deleted(len(there), len(tags) - len(there), state.version, 0, _absent(tags, set(there)))

    def fold(self) -> None:
        """Subtract what is held back, if it is due."""
        with self._reading():
            state = self._state()
        if state.held and state.due <= time.time():
            with self._writing():
                state = self._state(write=True)
                self._write_state(self._folded(state))

    def _forget(self, rows: list[bytes], *, few: bool) -> tuple[dict[int, Given], list[int], bool]:
        """Let every mechanism forget these records.

        Return what to subtract, by chunk; the lost posts; and whether any of them was published.
        """
        if self.growth is not None:
            moved, published = self.growth.forget(self._records, rows)
            return moved, [], published
        falling = [PendingChanges(shape) for shape in self._shapes]
        gone: Iterable[Given] = ()
        if rows:
            gone = map(self._records.one, rows) if few else [self._records.unpack(b"".join(rows))]
        for deleted in gone:
            for mechanism, release in zip(self.mechanisms.values(), falling, strict=True):
                mechanism.forget(release, mechanism.contribution(deleted))
        chunks: dict[int, Given] = {}
        posts: list[int] = []
        for release, first, board in zip(falling, self._chunks, self._boards, strict=False):
            for part in release.gone:
                if board:
                    posts += map(int, part)
                    continue
                for cell, value in part.pairs():
                    into = chunks.setdefault(first + cell // CHUNK, {})
                    into[cell % CHUNK] = into.get(cell % CHUNK, 0) + value
        return chunks, posts, True

    def _do_dummy_work(
        self, moved: dict[int, Given], taken: list[bytes], others: list[bytes], *, few: bool
    ) -> None:
        """Do dummy work on the other rows; the cells that they would change are changed by 0.

        Arrays cost as much for one row as for many, so both kinds of rows are always processed.
        """
        if not taken:
            self._forget(others[:1], few=few)
        for chunk, cells in self._forget(others or taken[:1], few=few)[0].items():
            if isinstance(cells, np.ndarray):
                moved.setdefault(chunk, np.zeros_like(cells))
                continue
            there = moved.setdefault(chunk, {})
            for cell in cells:
                there.setdefault(cell, 0)

    # -- holding back

    def _hold(self, state: State, chunks: Moved, people: int, fold: Fold) -> State:
        """Add to what is held back; the first person who is held back sets the deadline to fold all."""
        there, after = self._read_held(list(chunks)), {}
        for chunk, moved in chunks.items():
            cells = self._unmasked(chunk, there.get(chunk))
            for cell, value in moved.items():
                cells[cell] += value
            after[chunk] = masked(self._key, chunk, cells)
        self._write_held(after)
        due = time.time() + fold.after
        return replace(
            state,
            held=state.held + people,
            due=min(state.due, due) if state.held else due,
            enough=fold.people,
        )

    def _folded(self, state: State) -> State:
        """Inside a transaction: subtract all that is held back, if enough people have left or it is due."""
        if not state.held or (state.held < state.enough and state.due > time.time()):
            return state
        if not (self.keeps_records or self._marks.fits("held", self._leaf_marks("held"))):
            problem = f"{self.path} is damaged: what is held back is of another version; nothing was changed."
            raise StoreError(problem, DAMAGED)
        emptied: dict[int, bytes] = {}
        for chunk, data in self._read_held(range(self._chunks[-1])).items():
            cells = unmasked(self._key, chunk, data)
            where = np.flatnonzero(cells)
            if where.size:
                self._subtract({chunk: dict(zip(where.tolist(), cells[where].tolist(), strict=True))})
                emptied[chunk] = masked(self._key, chunk, np.zeros_like(cells))
        self._write_held(emptied)
        return State(state.version + 1)  # no trace stays of when the first of them left

    def _require_never_held(self) -> None:
        """Refuse to begin to hold back where something was held back already: it was removed."""
        if self._marks.count("held"):
            problem = f"{self.path} is damaged: what was held back is gone; nothing was changed."
            raise StoreError(problem, DAMAGED)

    def _held(self, number: int) -> IntArray:
        """The held-back sum of one publication."""
        first, end = self._chunks[number], self._chunks[number + 1]
        there = self._read_held(range(first, end))
        parts = [self._unmasked(chunk, there.get(chunk)) for chunk in range(first, end)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])[: self._sizes[number]]

    def _unmasked(self, chunk: int, data: bytes | None) -> IntArray:
        return np.zeros(CHUNK, dtype=np.int64) if data is None else unmasked(self._key, chunk, data)

    # -- checking

    def check(self) -> list[str]:
        """Return the problems of the store; none if it is intact."""
        try:
            with self._reading():
                if self.growth is not None:
                    self._refresh()
                return self._problems()
        except StoreError as error:
            return [error.what]

    def _problems(self) -> list[str]:
        problems = self._integrity()
        try:
            return [*problems, *self._unsound()]
        except StoreError as error:
            return [*problems, error.what]
        except UNREADABLE:
            return [*problems, "a part of it cannot be read: it was altered"]

    def _unsound(self) -> list[str]:
        """Problems of the contents that the key reveals."""
        if not self.keeps_records:
            return self._inauthentic()
        problems, numbers = [], list[int]()
        if not hmac.compare_digest(self._digest_now(self._key, numbers), self._digest):
            problems.append(
                "the noise is not what was drawn: a deletion was lost or counted twice, or cells were altered"
            )
        if not self._state_is_intact():
            problems.append("the version, or the state of deletions that are held back, was altered")
        meta, shapes = self._read_meta()
        if not hmac.compare_digest(seal(self._key, meta, shapes), meta.get("seal", "")):
            problems.append("the description of the publications and the budget was altered")
        standing = list(self._read_posts())
        if sorted(numbers) != sorted(post for post, _, _ in standing):
            problems.append("the posts on the board do not match the people in the store")
        if not all(data[-MARK:] == mark(self._key, n, board, data[:-MARK]) for n, board, data in standing):
            problems.append("a post was altered since it was published")
        return problems

    def _inauthentic(self) -> list[str]:
        """Problems of a store without records: whether all is authentic, complete, and of one version.

        That noise was conserved cannot be checked: nobody has the records that would have to be added up.
        """
        if not self._state_is_intact():  # nothing that the root says can be relied on
            return ["the version, the root of all marks, or the description of the publications was altered"]
        problems = list[str]()
        for tree, called in (("cells", "cells"), ("held", "what is held back"), ("spent", "spent-bits")):
            if not self._marks.fits(tree, self._leaf_marks(tree)):
                problems.append(f"a part of {called} was altered, is missing, or is of another version")
        if (
            len(self._leaf_marks("spent")) != self._spent_chunks
            or self._mark_numbers() != self._marks.numbers()
        ):
            problems.append("spent-bits or marks are missing, or there are too many")
        if not self._people_are_current():
            people = "tags" if self.retains == "tags" else "records that wait for a tick"
            problems.append(f"a part of the {people} was altered, or is of another version")
        meta, shapes = self._read_meta()
        if not hmac.compare_digest(seal(self._key, meta, shapes), meta.get("seal", "")):
            problems.append("the description of the publications and the budget was altered")
        return problems

    def _people_are_current(self) -> bool:
        """Whether those who wait for a tick, or tags, are of this version; a database cannot tell."""
        if self.keeps_records or not self.in_a_file:
            return True
        return self._marks.fits("people", self._leaf_marks("people"))

    @abstractmethod
    def _mark_numbers(self) -> set[int]:
        """The numbers of all pages of marks that are stored."""

    def _digest_now(self, key: bytes, posts: list[int] | None = None) -> str:
        """The digest of the noise that is in the store now."""
        if self.growth is not None:
            blocks = (self._read_cells(number) for number in range(len(self._sizes)))
            return self.growth.chain(key, self._records, self._slots(), blocks)
        return digest(key, self._noise(posts))

    def _noise(self, posts: list[int] | None = None) -> list[IntArray]:
        """The noise of every publication: its cells minus what the records add; collects posts' numbers."""
        exact = [np.zeros(size, dtype=np.int64) for size in self._sizes]
        for slots in self._slots():
            table = self._records.unpack(np.ascontiguousarray(slots[:, TAG:]).tobytes())
            for mechanism, shape, total in zip(self.mechanisms.values(), self._shapes, exact, strict=True):
                if not is_board(mechanism):
                    add_up(mechanism, shape, table, total)
                elif posts is not None:
                    posts += map(int, mechanism.contribution(table))
        return [self._read_cells(i) - total - self._held(i) for i, total in enumerate(exact)]

    # -- copying

    @contextmanager
    def taken(self, new_key: bytes | None = None, facts: Json | None = None) -> Iterator[Contents]:
        """The contents of this store, to be copied, perhaps under a new key; writers are locked out.

        Two stores that could both spend what is left would spend it twice: a copy has nothing left, unless
        the budget was moved to it (`facts`).
        """
        if new_key is not None and not self.keeps_records:
            problem = "with a new key every receipt would be void, and nobody could leave any more."
            raise BadSetting(problem, "Copy the store with its key.")
        with self._copying():
            state = self._state(write=True)
            own, shapes = self._read_meta()
            portable = (
                "format",
                "tag",
                "schema",
                "mechanisms",
                "facts",
                "sizes",
                "digest",
                "rule",
                "columns",
                "ticks",
                "at",
                "serials",
            )

            def meta() -> dict[str, str]:
                if self._state() != state:  # a last check, which fails if the transaction was lost
                    raise StoreError(f"{self.path} changed while it was copied.", "Copy it again.")
                meta = {name: own[name] for name in portable if name in own}
                meta["facts"] = json.dumps(_closed(self.facts) if facts is None else facts)
                if new_key is not None:
                    meta |= {"tag": tag_of(new_key, "").hex(), "digest": self._digest_now(new_key)}
                return meta

            spent = None
            if not self.keeps_records:
                if problems := self._problems():
                    raise StoreError(f"{self.path} is not intact ({problems[0]}).", "Run `undeleted check`.")
                spent = [self._read_spent([n])[n][:CHUNK_BYTES] for n in range(self._spent_chunks)]

            held = [(c, d) for c, d in self._read_held(range(self._chunks[-1])).items() if any(d)]
            if new_key is not None:
                held = [(c, masked(new_key, c, unmasked(self._key, c, data))) for c, data in held]
            yield Taken(
                shapes,
                [self._read_cells(i) for i in range(len(self._sizes))],
                state,
                held,
                None,
                self.together,
                lambda: (_retagged(slots, new_key) for slots in self._slots()),
                lambda: (_remarked(post, new_key) for post in sorted(self._read_posts())),
                meta,
                spent=spent,
                used=0 if self.keeps_records else self._marks.used,
                room=self.capacity * self.together if spent is not None and self._has_people else 0,
            )

    @property
    def capacity(self) -> int:
        """For how many receipts there are bits; of a table that grows, for the people of one tick."""
        return int(self.facts["capacity"])

    @property
    def _spent_chunks(self) -> int:
        """How many chunks of spent-bits there are; those of the tick that is open are there already."""
        if self.retains == "tags":
            return 0
        return chunks_for(self.capacity) * (1 if self.growth is None else self.growth.opened)

    @property
    def key(self) -> bytes:
        """The store's secret key, for copies and receipts."""
        return self._key
