"""Encode long arrays for PostgreSQL's binary protocol with numpy, instead of item by item."""

import struct
from collections.abc import Sequence

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from undeleted.foundations.types import Given

_BYTEA, _BYTEAS, _INT8, _INT8S = 17, 1001, 20, 1016  # OIDs of the types and their arrays


class Tags(list[bytes]):
    """Tags, all of one length."""


class Numbers(list[int]):
    """64-bit integers."""


def array(kind: int, items: Given) -> bytes:
    """Encode an array of one dimension without nulls; each item is its length and a row of bytes."""
    rows, width = items.shape
    header = struct.pack(">iiiii", 1, 0, kind, rows, 1) if rows else struct.pack(">iii", 0, 0, kind)
    lengths = np.broadcast_to(np.frombuffer(struct.pack(">i", width), dtype=np.uint8), (rows, 4))
    return header + np.concatenate([lengths, items], axis=1).tobytes()


class _TagsDumper(Dumper):
    oid, format = _BYTEAS, Format.BINARY

    def dump(self, obj: Sequence[bytes]) -> bytes:
        width = len(obj[0]) if obj else 1
        return array(_BYTEA, np.frombuffer(b"".join(obj), dtype=np.uint8).reshape(-1, width))


class _NumbersDumper(Dumper):
    oid, format = _INT8S, Format.BINARY

    def dump(self, obj: Sequence[int]) -> bytes:
        return array(_INT8, np.array(obj, dtype=">i8").view(np.uint8).reshape(-1, 8))


def register(connection: "psycopg.Connection[tuple[Given, ...]]") -> None:
    connection.adapters.register_dumper(Tags, _TagsDumper)
    connection.adapters.register_dumper(Numbers, _NumbersDumper)
