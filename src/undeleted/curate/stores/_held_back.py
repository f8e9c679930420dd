"""Deletions that are held back: their sum, by chunks of cells, masked with the store's key.

A sum with only one leaver would reveal what that person contributed.  Every write masks the sum with a new
nonce, so it reveals nothing without the key.  A chunk of zeros means that nothing is held back.
"""

import os
from hashlib import shake_256

import numpy as np

from undeleted.foundations.arrays import IntArray

NONCE = 16


def masked(key: bytes, chunk: int, cells: IntArray) -> bytes:
    """Mask a chunk of the sum; all zeros if nothing is held back in it."""
    data = cells.astype("<i8").tobytes()
    if not cells.any():
        return bytes(NONCE + len(data))
    nonce = os.urandom(NONCE)
    return nonce + _xor(data, _stream(key, nonce, chunk, len(data)))


def unmasked(key: bytes, chunk: int, written: bytes) -> IntArray:
    """Unmask a chunk of the sum."""
    nonce, data = written[:NONCE], written[NONCE:]
    if not any(nonce):
        return np.zeros(len(data) // 8, dtype=np.int64)
    return np.frombuffer(_xor(data, _stream(key, nonce, chunk, len(data))), dtype="<i8").astype(np.int64)


def _stream(key: bytes, nonce: bytes, chunk: int, size: int) -> bytes:
    return shake_256(b"undeleted-held" + key + nonce + chunk.to_bytes(8, "little")).digest(size)


def _xor(one: bytes, other: bytes) -> bytes:
    return (np.frombuffer(one, np.uint8) ^ np.frombuffer(other, np.uint8)).tobytes()
