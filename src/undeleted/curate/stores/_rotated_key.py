"""A store's key, and the keys that it replaced.

    tag     H_new(H_old(id))     so that ids are not needed when the key is replaced

Marks, masks, digests and the seal are made with the new key alone.  Somebody who has an earlier key cannot
compute a tag of the new store.
"""

from collections.abc import Sequence


class RotatedKey(bytes):
    """A key that replaced others, the oldest first."""

    earlier: tuple[bytes, ...] = ()


def rotated(key: bytes, earlier: Sequence[bytes]) -> bytes:
    """The key, with the keys that it replaced."""
    if not earlier:
        return key
    made = RotatedKey(key)
    made.earlier = tuple(earlier)
    return made


def earlier_keys(key: bytes) -> tuple[bytes, ...]:
    """The keys that a key replaced, the oldest first."""
    return key.earlier if isinstance(key, RotatedKey) else ()
