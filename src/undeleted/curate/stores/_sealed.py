"""Digests under the store's key: of the noise, of the fixed metadata (the seal), and marks.

A post is padded, so that its length reveals little, and ends with a keyed digest of its text, its number and
its board.  The state and each person's record have their own marks.  So alterations and swaps are detected.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from undeleted.foundations.arrays import IntArray
from undeleted.foundations.types import Given

POST = 64  # posts are padded to a multiple of so many bytes
MARK = 16  # bytes of the digest at their end


def digest(key: bytes, noise: Sequence[IntArray]) -> str:
    digest = blake2b(key=key, person=b"undeleted-noise", digest_size=32)
    for cells in noise:
        digest.update(cells.astype("<i8").tobytes())
    return digest.hexdigest()


def seal(key: bytes, meta: Mapping[str, str], shapes: Sequence[bytes]) -> str:
    """A keyed digest of everything that never changes: what is published, how, and at what price."""
    digest = blake2b(key=key, person=b"undeleted-seal", digest_size=32)
    for part in [*(f"{k}={meta[k]}".encode() for k in sorted(meta) if k != "seal"), *shapes]:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def sealed_post(key: bytes, post: int, board: int, text: str) -> bytes:
    data = text.encode()
    padded = struct.pack("<I", len(data) + 1) + data + bytes(-(len(data) + 4) % POST)
    return padded + mark(key, post, board, padded)


def mark(key: bytes, post: int, board: int, padded: bytes) -> bytes:
    message = struct.pack("<qq", post, board) + padded
    return blake2b(message, key=key, person=b"undeleted-post", digest_size=MARK).digest()


def unsealed(data: bytes) -> str:
    """The text of a post."""
    [length] = struct.unpack_from("<I", data)
    return data[4 : 3 + length].decode()


def state_mark(key: bytes, state: tuple[Given, ...], root: bytes = b"") -> bytes:
    """The mark of the state; it covers the root of all marks, where a store has one."""
    message = struct.pack("<qqdq", *state) + root  # version, people held back, due, enough
    return blake2b(message, key=key, person=b"undeleted-state", digest_size=MARK).digest()


def chunk_mark(key: bytes, table: str, chunk: int, data: bytes) -> bytes:
    message = table.encode() + struct.pack("<q", chunk) + data
    return blake2b(message, key=key, person=b"undeleted-chunk", digest_size=MARK).digest()


def spent_marks(key: bytes, rows: Iterable[tuple[int, bytes]]) -> list[bytes]:
    """The marks of chunks of spent-bits; of none that was altered."""
    marks = ((chunk_mark(key, "spent", number, data[:-MARK]), data[-MARK:]) for number, data in rows)
    return [mark if mark == stored else b"" for mark, stored in marks]


def record_mark(key: bytes, tag: bytes, rows: bytes) -> bytes:
    return blake2b(tag + rows, key=key, person=b"undeleted-record", digest_size=MARK).digest()
