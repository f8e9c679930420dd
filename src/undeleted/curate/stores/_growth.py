"""A table that grows, in an open store: people are taken in, ticks close, records are corrected.

    add        records wait with the tick that is open
    tick       one transaction: the exact row of those who remain, its noise, and the number of closed ticks
    correct    the old record counts until the open tick, and the new one from then on

The digest is a chain over the noise of all rows, in their order.  If leavers are hidden, rows never change,
and the chain is over the rows themselves.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from undeleted.curate.releases.arrivals import Arrivals, Rows, Withdrawal
from undeleted.curate.releases.subtracting import Shape
from undeleted.curate.statistics import Contribution
from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._records import NEVER, SPAN, Records, Span, tag_of
from undeleted.curate.stores._serials import Serials
from undeleted.curate.stores._spent_bits import BITS, chunks_for, with_bits
from undeleted.curate.stores._tick_rows import TICKS, TickRows
from undeleted.errors import AlreadyJoined, BadBudget, BadSetting, ReceiptsVoid, StoreError, TicksElsewhere
from undeleted.foundations.arrays import IntArray
from undeleted.foundations.coins import Coins
from undeleted.foundations.privacy.cohorts import Cohorts
from undeleted.foundations.schema import Table
from undeleted.foundations.types import Given, Json

if TYPE_CHECKING:
    from undeleted.curate.stores._store import Store

EXACT = 2.0**53  # products of floats below it are exact
START = ""  # the chain before the first tick


@dataclass(frozen=True)
class Added:
    """What `add` did: people taken in, and people who were there already."""

    added: int
    there: int
    tick: int  # they are published when this tick closes


@dataclass(frozen=True)
class Watermark:
    """How far a database's table was read: from where, and to where."""

    table: str
    before: str | None
    reached: str | None

    def kept_in(self, facts: Json) -> Json:
        """The facts with the new mark; refused if another process has read the table meanwhile."""
        marks: Json = dict(facts.get("watermarks", {}))
        if marks.get(self.table) != self.before:
            problem = "another process has read this table meanwhile; nobody was added."
            raise StoreError(problem, "Run it again: it reads on from there.")
        return facts | {"watermarks": marks | {self.table: self.reached}}


@dataclass(frozen=True)
class Corrected:
    """What `correct` did: people corrected, people whose record is the same, and ids that are not there."""

    corrected: int
    unchanged: int
    unknown: int
    tick: int  # the corrections are published when this tick closes


class PendingRows:
    """A stand-in for the rows during a deletion: it records what the store must subtract."""

    __slots__ = ("gone", "shape", "ticks")

    def __init__(self, ticks: int, shape: Shape) -> None:
        self.ticks, self.shape, self.gone = ticks, shape, list[Withdrawal]()

    def less(self, moved: Withdrawal) -> "PendingRows":
        self.gone.append(moved)
        return self


def linked(key: bytes, before: str, row: IntArray) -> str:
    """The chain with one more row."""
    digest = blake2b(bytes.fromhex(before), key=bytes(key), person=b"undeleted-ticks", digest_size=32)
    digest.update(row.astype("<i8").tobytes())
    return digest.hexdigest()


class Growth:
    """What an open store knows about its ticks."""

    def __init__(
        self, mechanisms: Mapping[str, Arrivals], meta: Mapping[str, str], shapes: Sequence[Shape]
    ) -> None:
        self.mechanisms, self.shapes = dict(mechanisms), list(shapes)
        self.ticks = int(meta["ticks"])
        self.at = float(meta["at"])  # when the last one closed
        widths = (m.width(shape) for m, shape in zip(mechanisms.values(), shapes, strict=True))
        self.layout = TickRows(tuple(widths))

    @property
    def first(self) -> Arrivals:
        return next(iter(self.mechanisms.values()))

    @property
    def hidden(self) -> bool:
        """Whether leavers are hidden."""
        return self.first.leavers is not None

    @property
    def forgets_at_ticks(self) -> bool:
        """Whether nothing of a hidden leaver is needed once they are in a row."""
        return self.hidden and all(isinstance(m.factors, Cohorts) for m in self.mechanisms.values())

    def is_open(self) -> bool:
        return self.ticks < self.first.horizon

    @property
    def opened(self) -> int:
        """How many ticks have begun: those that have closed, and the one that is open."""
        return self.ticks + self.is_open()

    def require_open(self, what: str = "nobody can join any more") -> None:
        """Refuse newcomers and corrections after the horizon."""
        if not self.is_open():
            problem = f"all {self.first.horizon:,} ticks have closed: {what}."
            remedy = "People can still leave. Publish newcomers into a new store, with ticks of its own."
            raise BadSetting(problem, remedy)

    # -- leaving

    def forget(self, records: Records, rows: Sequence[bytes]) -> tuple[dict[int, IntArray], bool]:
        """Let every mechanism forget these rows: what to subtract by chunk, and if anybody was published."""
        shapes = zip(self.mechanisms, self.shapes, strict=True)
        falling = {name: PendingRows(self.ticks, shape) for name, shape in shapes}
        published = False
        for span, gone in self._by_span(records, rows):
            published |= span.joined < self.ticks
            for name, mechanism in self.mechanisms.items():
                inner: Given = mechanism.mechanism
                contribution = inner.contribution(gone)
                mechanism.forget(falling[name], contribution, joined=span.joined, until=span.end)
        moves = {number: falling[name].gone for number, name in enumerate(self.mechanisms)}
        return self.layout.moved(moves), published

    def _by_span(self, records: Records, rows: Sequence[bytes]) -> Iterator[tuple[Span, Given]]:
        """Rows with the same span together; a single one as a plain record, which is quicker."""
        groups: dict[bytes, list[bytes]] = {}
        for row in rows:
            groups.setdefault(row[:SPAN], []).append(row)
        for several in groups.values():
            one = len(several) == 1
            gone = records.one(several[0]) if one else records.unpack(b"".join(several))
            yield records.span_of(several[0]), gone

    def hide(self, records: Records, rows: Mapping[bytes, Sequence[bytes]]) -> list[bytes]:
        """The slots that stay when these people leave a table that hides it: without a tag that is theirs."""
        slots = []
        for several in rows.values():
            tag, spans = os.urandom(TAG), [records.span_of(row) for row in several]
            if all(span.joined == self.ticks for span in spans):
                continue  # they were never published
            for row, span in zip(several, spans, strict=True):
                left = self.ticks if span.until == NEVER else NEVER
                slots.append(tag + replace(span, left=left).as_bytes() + row[SPAN:])
        return slots

    # -- what records add to rows

    def parts(self, records: Records, slots: Iterable[Given]) -> Iterator[tuple[Span, Table]]:
        """The records of a store, in tables whose rows have one span."""
        for block in slots:
            rows = np.ascontiguousarray(block[:, TAG:])
            if not len(rows):
                continue
            spans = records.spans(rows)
            order = np.lexsort(spans.T)
            ends = np.flatnonzero((np.diff(spans[order], axis=0) != 0).any(axis=1)) + 1
            for chosen in np.split(order, ends):
                span = Span(*(int(tick) for tick in spans[chosen[0]]))
                yield span, records.unpack(rows[chosen].tobytes())

    def exact(self, records: Records, slots: Iterable[Given]) -> IntArray:
        """The exact row of the tick that closes now, of all publications."""
        row = np.zeros(self.layout.width, dtype=np.int64)
        enters = {name: m.factors.row(self.ticks) for name, m in self.mechanisms.items()}
        bounds = dict.fromkeys(self.mechanisms, 0.0)
        for span, table in self.parts(records, slots):
            for number, (name, mechanism) in enumerate(self.mechanisms.items()):
                moves, start = enters[name], self.layout.offsets[number]
                contribution: Contribution | None = None
                for times, at in self._times(span, moves, start, number):
                    contribution = contribution or mechanism.added(self.shapes[number], table)
                    values = np.asarray(contribution.values)
                    bounds[name] += float(np.abs(values).max(initial=0)) * abs(times)
                    mechanism.require_room(bounds[name])
                    cells = mechanism.cells(self.shapes[number])
                    Contribution(contribution.cells, values * times).add_to(row[at : at + cells])
        return row

    def _times(self, span: Span, moves: IntArray, start: int, number: int) -> Iterator[tuple[int, int]]:
        """How often rows with a span count in the row of this tick, and in which half of it."""
        arrived = self._at(moves, span.joined) - self._at(moves, span.until)
        if arrived:
            yield arrived, start
        if self.hidden and (left := self._at(moves, span.left)):
            yield left, start + self.layout.widths[number] // 2

    def _at(self, moves: IntArray, tick: int) -> int:
        return int(moves[tick]) if tick <= self.ticks else 0

    def noisy(self, exact: IntArray, coins: Coins) -> IntArray:
        """The row with the noise of every publication."""
        parts = np.split(exact, self.layout.offsets[1:-1])
        each = zip(self.mechanisms.values(), parts, self.shapes, strict=True)
        return np.concatenate([m.noisy(part, coins, self.ticks, shape) for m, part, shape in each])

    # -- the chain

    def chain(self, key: bytes, records: Records, slots: Iterable[Given], blocks: Iterator[IntArray]) -> str:
        """The chain over what is in the store; `blocks` are the cells of every block of ticks."""
        totals = None if self.hidden else self._batches(records, slots)
        chained, tick = START, 0
        for data in blocks:
            rows = self.layout.all_rows(data)[: self.ticks - tick]
            noise = rows if totals is None else rows - self._exact_rows(totals, tick, len(rows))
            for row in noise:
                chained = linked(key, chained, row)
            tick += len(rows)
        return chained

    def _batches(self, records: Records, slots: Iterable[Given]) -> IntArray:
        """The exact totals of all batches that have closed, corrections included."""
        totals = np.zeros((self.ticks, self.layout.width), dtype=np.int64)
        for span, table in self.parts(records, slots):
            for number, mechanism in enumerate(self.mechanisms.values()):
                start, end = self.layout.offsets[number : number + 2]
                gone = mechanism.added(self.shapes[number], table)
                for tick, sign in ((span.joined, 1), (span.until, -1)):
                    if tick < self.ticks:
                        signed = Contribution(gone.cells, sign * np.asarray(gone.values))
                        signed.add_to(totals[tick, start:end])
        return totals

    def _exact_rows(self, totals: IntArray, first: int, count: int) -> IntArray:
        """The exact rows of some ticks, by one product for each way in which batches enter rows."""
        exact = np.zeros((count, self.layout.width), dtype=np.int64)
        for number, mechanism in enumerate(self.mechanisms.values()):
            cells = slice(*self.layout.offsets[number : number + 2])
            moves = np.zeros((count, first + count), dtype=np.int64)
            for i in range(count):
                moves[i, : first + i + 1] = mechanism.factors.row(first + i)
            batches = totals[: first + count, cells]
            if float(np.abs(batches).sum(axis=0).max(initial=0)) * mechanism.factors.largest < EXACT:
                exact[:, cells] = np.rint(moves.astype(float) @ batches.astype(float)).astype(np.int64)
            else:
                exact[:, cells] = moves @ batches
        return exact

    def after(self, key: bytes, chained: str, row: IntArray, exact: IntArray, at: float) -> Json:
        """The metadata that a new row changes."""
        chained = linked(key, chained, row if self.hidden else row - exact)
        return {"ticks": str(self.ticks + 1), "at": repr(at), "digest": chained}

    def rows_of(self, publication: int, blocks: Iterable[IntArray]) -> Rows:
        """A publication's rows, from its chunks of every block."""
        parts = [self.layout.rows_in(publication, data) for data in blocks]
        rows = np.ascontiguousarray(np.concatenate(parts)[: self.ticks])
        return Rows(rows, self.shapes[publication])


def first_block(rows: Sequence[IntArray]) -> IntArray:
    """The cells of the first block of ticks, with the publications' rows of tick 0."""
    layout, row = TickRows(tuple(row.size for row in rows)), np.concatenate(rows)
    return -np.concatenate(list(layout.row_added(0, row).values()))


# -- changes of an open store, each inside one transaction


def add(store: "Store", table: Table, *, skip: bool, mark: "Watermark | None") -> Added:
    """Take people in; if some are there already, nobody, or with `skip` only the others."""
    growth = _growing(store)
    growth.require_open()
    if not store.keeps_records:
        problem = "without receipts nobody who is added could ever leave: this store keeps no records."
        raise BadSetting(problem, "Name a file for them: --receipts FILE, or receipts=… in Python.")
    tags = _tags_of(store, table)
    there = store._there(list(dict.fromkeys(tags)))
    if there and not skip:
        raise AlreadyJoined(len(there))
    rows = np.array([i for i, tag in enumerate(tags) if tag not in there], dtype=np.int64)
    if rows.size:
        packed = store._records.pack(table.take(rows), {}, growth.ticks)
        store._insert([tags[i] + row.tobytes() for i, row in zip(rows, packed, strict=True)])
    if mark is not None:
        meta, shapes = store._sealed_meta()
        store._reseal(meta | {"facts": json.dumps(mark.kept_in(json.loads(meta["facts"])))}, shapes)
    return Added(len({tags[i] for i in rows}), len(there), growth.ticks)


@dataclass(frozen=True)
class Reserved:
    """Serials that were set aside for people who join; until they are admitted, their receipts are void."""

    rows: dict[bytes, list[int]]  # by the tag of a person: their rows in the table
    serials: list[int]  # in the same order
    there: int  # people who were there already, and were left out
    tick: int


def reserve(store: "Store", table: Table, *, skip: bool) -> Reserved:
    """Set serials aside for the people of a table, and mark them as spent.

    If the process is killed before they are admitted, their receipts stay void: a bit that is set too many is
    harmless, a receipt for somebody who was never counted is not.
    """
    growth = _growing(store)
    growth.require_open()
    by_person: dict[bytes, list[int]] = {}
    for row, tag in enumerate(_tags_of(store, table)):
        by_person.setdefault(tag, []).append(row)
    there = store._there(list(by_person))
    if there and not skip:
        raise AlreadyJoined(len(there))
    rows = {tag: several for tag, several in by_person.items() if tag not in there}
    meta, shapes = store._sealed_meta()
    secret, _, used = meta.get("serials", f"{os.urandom(32).hex()} 0").partition(" ")
    order = Serials(store.capacity, bytes.fromhex(secret))
    serials = order.take(int(used), len(rows)) + BITS * chunks_for(store.capacity) * growth.ticks
    if serials.size < len(rows):
        problem = f"more than {store.capacity:,} people would join at this tick; nobody was added."
        remedy = "The tick is full (failed attempts count, too): the others can join at the next tick."
        raise BadSetting(problem, remedy)
    _mark_spent(store, serials.tolist(), spent=True)
    store._write_state(store._state(write=True))
    store._reseal(meta | {"serials": f"{secret} {int(used) + len(rows)}"}, shapes)
    return Reserved(rows, serials.tolist(), len(there), growth.ticks)


def admit(store: "Store", table: Table, reserved: Reserved) -> Added:
    """Let people wait for the tick for which their serials were set aside; their receipts are valid now."""
    growth = _growing(store)
    if growth.ticks != reserved.tick:
        raise ReceiptsVoid(f"tick {reserved.tick} has closed meanwhile")
    if there := store._there(list(reserved.rows)):
        raise ReceiptsVoid(f"{len(there):,} of these people were added by somebody else meanwhile")
    packed = store._records.pack(table, {}, growth.ticks)
    store._insert([tag + packed[row].tobytes() for tag, rows in reserved.rows.items() for row in rows])
    _mark_spent(store, reserved.serials, spent=False)
    store._write_state(store._state(write=True))
    return Added(len(reserved.rows), reserved.there, growth.ticks)


def _mark_spent(store: "Store", serials: Sequence[int], *, spent: bool) -> None:
    before = store._read_spent(sorted({serial // BITS for serial in serials}))
    store._write_spent(before, with_bits(before, serials, spent=spent), dummy=False)


def tick(store: "Store", expected: int, coins: Coins, at: float) -> bool:
    """Close the tick of this number, unless another process has closed it meanwhile."""
    growth = _growing(store)
    if growth.ticks != expected:
        return False
    growth.first.require_open(expected)
    meta, shapes = store._sealed_meta()
    sound = store._records_are_intact() and store._people_are_current() and store._state_is_intact()
    if not sound:
        problem = f"{store.path} is not intact: a record or the state was altered."
        raise StoreError(problem, "Run `undeleted check`.")
    exact = growth.exact(store._records, store._slots())
    row = growth.noisy(exact, coins)
    if expected % TICKS == 0:
        store._append(len(store._sizes), [(np.zeros(growth.layout.block, dtype=np.int64), None)])
        meta["sizes"] = json.dumps([*store._sizes, growth.layout.block])
    store._subtract(growth.layout.row_added(expected, row))
    over = expected + 1 == growth.first.horizon
    if not store.keeps_records:  # those who waited are in the row now, and have their receipts
        meta |= {"ticks": str(expected + 1), "at": repr(at)}
        meta.pop("serials", None)
        store._drop([tag for tag, _ in _spans(store)])
        if not over:
            store._open_bits(expected + 1)
    else:
        meta |= growth.after(store.key, meta["digest"], row, exact, at)
        if growth.forgets_at_ticks or (growth.hidden and over):
            store._drop([tag for tag, span in _spans(store) if span.left <= expected])
    state = store._state(write=True)
    store._write_state(replace(state, version=state.version + 1))
    store._reseal(meta, shapes)
    return True


def correct(store: "Store", table: Table) -> Corrected:
    """Replace records at the tick that is open; if somebody has no corrections left, nothing is changed."""
    growth = _growing(store)
    if not store.keeps_records:
        problem = "no record can be corrected: this store keeps none."
        raise BadSetting(
            problem, "Let the person leave with the receipt, and join again with the new record."
        )
    growth.require_open("no record can be corrected any more")
    packed = store._records.pack(table, {}, growth.ticks)
    wanted: dict[bytes, list[bytes]] = {}
    for tag, row in zip(_tags_of(store, table), packed, strict=True):
        wanted.setdefault(tag, []).append(row.tobytes())
    there = store._lookup(list(wanted))
    slots, changed, refused = list[bytes](), list[bytes](), 0
    for tag, rows in there.items():
        after = _corrected(growth, store._records, rows, wanted[tag])
        if after is None:
            refused += 1
        elif sorted(after) != sorted(rows):
            changed.append(tag)
            slots += [tag + row for row in after]
    if refused:
        most = growth.first.max_corrections
        people = "1 person has" if refused == 1 else f"{refused:,} people have"
        problem = f"{people} no correction left of {most}; nothing was corrected."
        remedy = "Leave them out: the noise was made for so many corrections (`max_corrections`)."
        raise BadSetting(problem, remedy)
    if changed:
        store._drop(changed)
        store._insert(slots)
    return Corrected(len(changed), len(there) - len(changed), len(wanted) - len(there), growth.ticks)


def _tags_of(store: "Store", table: Table) -> list[bytes]:
    """The tags of a table's rows; a person with more rows than the noise was made for is refused."""
    tags = [tag_of(store.key, person) for person in table.ids or ()]
    most = store.schema.rows_per_person
    over = sum(rows > most for rows in Counter(tags).values())
    if over:
        raise BadBudget("rows_per_person", most, f"at least the rows that {over:,} people have here")
    return tags


def _corrected(
    growth: Growth, records: Records, rows: list[bytes], wanted: Sequence[bytes]
) -> list[bytes] | None:
    """A person's rows after a correction; None if no correction is left."""
    spans = [records.span_of(row) for row in rows]
    current = [row for row, span in zip(rows, spans, strict=True) if span.until == NEVER]
    earlier = [row for row, span in zip(rows, spans, strict=True) if span.until != NEVER]
    if Counter(row[SPAN:] for row in current) == Counter(row[SPAN:] for row in wanted):
        return rows
    since = records.span_of(current[0]).joined
    if since == growth.ticks:  # not published yet: what waits is replaced
        before = [row for row in earlier if records.span_of(row).until == growth.ticks]
        if Counter(row[SPAN:] for row in before) == Counter(row[SPAN:] for row in wanted) and before:
            others = [row for row in earlier if row not in before]  # the correction is taken back
            return others + [row[:4] + NEVER.to_bytes(4, "little") + row[8:] for row in before]
        return earlier + list(wanted)
    if len({span.until for span in spans} - {NEVER}) >= growth.first.max_corrections:
        return None
    ended = [row[:4] + growth.ticks.to_bytes(4, "little") + row[8:] for row in current]
    return earlier + ended + list(wanted)


def _spans(store: "Store") -> Iterator[tuple[bytes, Span]]:
    """The tags of all rows, and their spans."""
    for block in store._slots():
        spans = store._records.spans(np.ascontiguousarray(block[:, TAG:]))
        for slot, span in zip(block, spans, strict=True):
            yield slot[:TAG].tobytes(), Span(*(int(tick) for tick in span))


def _growing(store: "Store") -> Growth:
    if store.growth is None:
        problem = f"{store.path} does not grow: it was published once, without [arrivals]."
        remedy = "Publish newcomers into a new store whose spec has [arrivals]; people can leave either."
        raise BadSetting(problem, remedy)
    if store.facts.get("closed"):
        raise TicksElsewhere(store.path)
    return store.growth
