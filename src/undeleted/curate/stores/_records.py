"""A record as bytes: a tag for its id, and the grid codes that the publications need, and no more.

    tag     16 bytes, a keyed hash of the id: without the key nobody can tell whose record it is
    row     one bit per column that says whether it counts, then the codes, in as few bytes as the grid
            needs; a text is stored as the number of its post on the board

A tag and its row form a slot; all slots have the same size.

In a table that grows a row begins with its span, 4 bytes each: the tick from which it counts, the tick of the
correction that replaced it, and, if leavers are hidden, the tick at which the person left.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._rotated_key import earlier_keys
from undeleted.foundations.schema import Column, Record, Schema, Table, Text
from undeleted.foundations.types import Given, Json

EMPTY = bytes(TAG)
NEVER = 2**32 - 1  # the tick of a correction, or of leaving, that has not come
SPAN = 12  # bytes of a span: from, until, left


@dataclass(frozen=True)
class Span:
    """From which tick a row counts; and until which, or after which its person left, if ever."""

    joined: int
    until: int = NEVER
    left: int = NEVER

    def as_bytes(self) -> bytes:
        return b"".join(tick.to_bytes(4, "little") for tick in (self.joined, self.until, self.left))

    @property
    def end(self) -> int | None:
        """The tick of the correction, if there was one."""
        return None if self.until == NEVER else self.until


def tag_of(key: bytes, person: str) -> bytes:
    """The tag of an id; never all zeros, which means no record."""
    first, *later = (*earlier_keys(key), key)
    tag = _hashed(first, person.encode("utf-8", "surrogatepass"))
    for each in later:
        tag = retagged(each, tag)
    return tag


def retagged(key: bytes, tag: bytes) -> bytes:
    """The tag under a new key, from the tag under the key that it replaces."""
    return _hashed(key, b"undeleted-tag" + tag)


def _hashed(key: bytes, text: bytes) -> bytes:
    tag = blake2b(text, digest_size=TAG, key=bytes(key), person=b"undeleted-id").digest()
    return tag if tag != EMPTY else b"\x01" + tag[1:]


def salted_tag(key: bytes, person: str, salt: bytes, rows: Sequence[bytes]) -> bytes:
    """The tag of a person with exactly these packed rows, in any order.

    Without the salt, somebody with the key could find a record by trying all ids and codes.
    """
    head = struct.pack("<QQQ", len(person.encode("utf-8", "surrogatepass")), len(salt), len(rows))
    text = b"undeleted-salted" + head + person.encode("utf-8", "surrogatepass") + salt
    return _hashed(key, text + b"".join(sorted(rows)))


@dataclass(frozen=True)
class Records:
    """How the records of a schema are packed; only the columns that a publication uses."""

    schema: Schema
    columns: tuple[Column, ...]
    grows: bool = False  # whether rows have spans

    @property
    def lead(self) -> int:
        """Where the codes' own bytes begin."""
        return SPAN if self.grows else 0

    @cached_property
    def widths(self) -> tuple[int, ...]:
        return tuple(8 if isinstance(c, Text) else _width(c.cells) for c in self.columns)

    @cached_property
    def flags(self) -> int:
        """Bytes for the bits that say which columns count; at least one, so that a record is never empty."""
        return max(1, (len(self.columns) + 7) // 8)

    @cached_property
    def row(self) -> int:
        return self.lead + self.flags + sum(self.widths)

    @property
    def slot(self) -> int:
        return TAG + self.row

    @cached_property
    def blank(self) -> bytes:
        """A dummy row that belongs to nobody, in which every column counts."""
        span = Span(0).as_bytes() if self.grows else b""
        return span + b"\xff" * self.flags + bytes(sum(self.widths))

    def pack(self, table: Table, posts: Mapping[str, Sequence[int]], joined: int = 0) -> Given:
        """Pack the rows of a table into an array of bytes; `posts` has the post numbers of its texts."""
        bits = np.zeros((table.rows, 8 * self.flags), dtype=np.uint8)
        for i, column in enumerate(self.columns):
            bits[:, i] = table.kept[column.name]
        span = np.frombuffer(Span(joined).as_bytes() if self.grows else b"", dtype=np.uint8)
        parts = [np.broadcast_to(span, (table.rows, self.lead)), np.packbits(bits, axis=1)]
        for column, width in zip(self.columns, self.widths, strict=True):
            codes: Given = (
                np.asarray(posts[column.name]) if isinstance(column, Text) else table.codes[column.name]
            )
            parts.append(codes.astype(f"<u{width}").reshape(-1, 1).view(np.uint8))
        return np.concatenate(parts, axis=1) if table.rows else np.zeros((0, self.row), dtype=np.uint8)

    def unpack(self, rows: bytes) -> Table:
        """Unpack rows into a table without ids; a text becomes the number of its post."""
        packed = np.frombuffer(rows, dtype=np.uint8).reshape(-1, self.row)
        bits = np.unpackbits(packed[:, self.lead : self.lead + self.flags], axis=1)
        codes: Json = {}
        kept, texts = {}, dict[str, list[str]]()
        at = self.lead + self.flags
        for i, (column, width) in enumerate(zip(self.columns, self.widths, strict=True)):
            numbers = np.ascontiguousarray(packed[:, at : at + width]).view(f"<u{width}").ravel()
            at += width
            kept[column.name] = bits[:, i].astype(bool)
            if isinstance(column, Text):
                texts[column.name] = [str(number) for number in numbers]
            else:
                codes[column.name] = numbers.astype(np.uint64 if column.cells > 2**63 else np.int64)
        return Table(self.schema, len(packed), codes, kept, texts)

    def one(self, row: bytes) -> Record:
        """Unpack one row into plain integers."""
        at, codes, kept = self.lead + self.flags, dict[str, int](), set[str]()
        texts = dict[str, str]()
        for i, (name, width, text) in enumerate(self._layout):
            number = int.from_bytes(row[at : at + width], "little")
            at += width
            if text:
                texts[name] = str(number)
            else:
                codes[name] = number
            if row[self.lead + i // 8] >> (7 - i % 8) & 1:
                kept.add(name)
        return Record(codes, kept, texts)

    def span_of(self, row: bytes) -> Span:
        """The span of a row."""
        return Span(*(int.from_bytes(row[at : at + 4], "little") for at in (0, 4, 8)))

    def spans(self, rows: Given) -> Given:
        """The spans of packed rows: from, until, left."""
        return np.ascontiguousarray(rows[:, :SPAN]).view("<u4").astype(np.int64)

    @cached_property
    def _layout(self) -> list[tuple[str, int, bool]]:
        """Every column's name and width, and whether it is a text."""
        widths = zip(self.columns, self.widths, strict=True)
        return [(column.name, width, isinstance(column, Text)) for column, width in widths]


def needed(schema: Schema, mechanisms: Mapping[str, Given], keep: Sequence[str] = ()) -> tuple[Column, ...]:
    """The columns that a publication uses, or that are kept for later ones, in the schema's order."""
    used: set[str] = set(keep)
    for mechanism in mechanisms.values():
        used |= {column.name for column in mechanism.columns}
    return tuple(column for column in schema.columns if column.name in used)


def _width(cells: int) -> int:
    return next(width for width in (1, 2, 4, 8) if cells <= 1 << (8 * width))
