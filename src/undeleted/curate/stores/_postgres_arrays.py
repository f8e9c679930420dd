"""Long arrays as PostgreSQL's binary protocol has them, made by numpy instead of item by item."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_BYTEA, _BYTEAS, _INT8, _INT8S = 17, 1001, 20, 1016  # types and their arrays, by number


class Tags(list[bytes]):
    """Tags, all of one length."""


class Numbers(list[int]):
    """Whole numbers of 64 bits."""


def array(kind: int, items: Any) -> bytes:
    """One dimension, no nulls; every item a row of bytes, behind its length."""
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


def register(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_dumper(Tags, _TagsDumper)
    connection.adapters.register_dumper(Numbers, _NumbersDumper)
