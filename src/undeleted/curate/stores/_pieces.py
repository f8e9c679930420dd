"""Posts in pieces of one size, each with its own tag: a deleted post leaves no gap that shows its length.

    piece   the post's number, its board, the piece's index, the number of pieces, and 64 bytes

A sealed post is a multiple of 64 bytes, then a mark; the mark is the last piece.
"""

import struct
from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np

from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._contents import Post
from undeleted.curate.stores._sealed import MARK, POST
from undeleted.foundations.types import Given

_HEAD = struct.Struct("<qiii")
SLOT = TAG + _HEAD.size + POST


def pieces_of(key: bytes, posts: Iterable[Post]) -> Given:
    """All pieces of some posts as slots, one per row."""
    slots = list[bytes]()
    for number, board, data in posts:
        parts = [data[at : at + POST] for at in range(0, len(data), POST)]
        for i, part in enumerate(parts):
            head = _HEAD.pack(number, board, i, len(parts))
            slots.append(piece_tag(key, number, i) + head + part.ljust(POST, b"\0"))
    return np.frombuffer(b"".join(slots), dtype=np.uint8).reshape(-1, SLOT)


def piece_tag(key: bytes, number: int, piece: int) -> bytes:
    message = struct.pack("<qi", number, piece)
    return blake2b(message, key=key, person=b"undeleted-piece", digest_size=TAG).digest()


def how_many(piece: bytes) -> int:
    """The number of pieces of the post that this piece belongs to."""
    *_, pieces = _HEAD.unpack_from(piece)
    return int(pieces)


def joined_posts(slots: Iterable[Given]) -> Iterator[Post]:
    """Join pieces into posts; a missing piece raises KeyError."""
    posts: dict[tuple[int, int, int], dict[int, bytes]] = {}
    for block in slots:
        for slot in block:
            piece = slot.tobytes()[TAG:]
            number, board, i, pieces = _HEAD.unpack_from(piece)
            posts.setdefault((number, board, pieces), {})[i] = piece[_HEAD.size :]
    for (number, board, pieces), parts in posts.items():
        whole = b"".join(parts[i] for i in range(pieces))
        yield number, board, whole[: len(whole) - POST + MARK]
