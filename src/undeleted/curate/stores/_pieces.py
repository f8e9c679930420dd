"""Posts in pieces of one size, each under a tag of its own: one that came down leaves no hole of its length.

    piece   the post's number, its board, its own number, how many there are, and 64 bytes

A post, as it is sealed, has a multiple of 64 bytes and a mark at its end, which is the last piece.
"""

import struct
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np

from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import Post
from undeleted.curate.stores._sealed import MARK, POST

_HEAD = struct.Struct("<qiii")
SLOT = TAG + _HEAD.size + POST


def pieces_of(key: bytes, posts: Iterable[Post]) -> Any:
    """All pieces of some posts as slots, a row each."""
    found = list[bytes]()
    for number, board, data in posts:
        parts = [data[at : at + POST] for at in range(0, len(data), POST)]
        for i, part in enumerate(parts):
            head = _HEAD.pack(number, board, i, len(parts))
            found.append(piece_tag(key, number, i) + head + part.ljust(POST, b"\0"))
    return np.frombuffer(b"".join(found), dtype=np.uint8).reshape(-1, SLOT)


def piece_tag(key: bytes, number: int, piece: int) -> bytes:
    told = struct.pack("<qi", number, piece)
    return blake2b(told, key=key, person=b"undeleted-piece", digest_size=TAG).digest()


def how_many(piece: bytes) -> int:
    """How many pieces there are of the post of which this is one."""
    *_, pieces = _HEAD.unpack_from(piece)
    return int(pieces)


def joined_posts(slots: Iterable[Any]) -> Iterator[Post]:
    """The posts whose pieces these are; one that lacks a piece is none of ours."""
    found: dict[tuple[int, int, int], dict[int, bytes]] = {}
    for block in slots:
        for slot in block:
            piece = slot.tobytes()[TAG:]
            number, board, i, pieces = _HEAD.unpack_from(piece)
            found.setdefault((number, board, pieces), {})[i] = piece[_HEAD.size :]
    for (number, board, pieces), parts in found.items():
        whole = b"".join(parts[i] for i in range(pieces))
        yield number, board, whole[: len(whole) - POST + MARK]
