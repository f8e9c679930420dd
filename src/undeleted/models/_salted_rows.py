"""Tags of the rows that a model was fitted on, so that it refuses to forget any others.

    tag    a keyed hash of a row's codes and of a random salt, which the caller keeps beside the row

Somebody who has the model alone learns from its tags how many rows are left, and nothing about a row:
without its salt, trying all values finds none.
"""

import os
from collections import Counter
from hashlib import blake2b

import numpy as np

from undeleted.errors import BadSetting, RecordNotFound
from undeleted.foundations.arrays import Array, IntArray
from undeleted.foundations.types import Given, Json

SALT, TAG = 16, 16


class SaltedRows:
    """The tags of the rows that are left.

    >>> codes = np.array([[1, 2], [1, 2], [3, 4]])
    >>> rows, salts = SaltedRows.issued(codes)
    >>> rows.take(codes[:1], salts[:1]), len(rows)
    (None, 2)
    """

    def __init__(self, key: bytes, tags: set[bytes]) -> None:
        self._key, self._tags = key, tags

    @classmethod
    def issued(cls, codes: IntArray) -> "tuple[SaltedRows, Array]":
        """Tags for these rows, and the salts that belong to them: a row of bytes each."""
        salts = np.frombuffer(os.urandom(SALT * len(codes)), dtype=np.uint8).reshape(-1, SALT)
        rows = cls(os.urandom(32), set())
        rows._tags.update(rows._tags_of(codes, salts))
        return rows, salts.copy()

    def __len__(self) -> int:
        return len(self._tags)

    def take(self, codes: IntArray, salts: Given) -> None:
        """Remove these rows; if any of them is not there, none is removed."""
        salts = np.asarray(salts)
        if salts.shape != (len(codes), SALT) or salts.dtype != np.uint8:
            problem = (
                f"salts must be {len(codes):,} rows of {SALT} bytes (uint8), as `fit_salted` returned them."
            )
            raise BadSetting(problem, "Give the salts of these rows, in their order.")
        wanted = Counter(self._tags_of(codes, salts))
        absent = sum(count if tag not in self._tags else count - 1 for tag, count in wanted.items())
        if absent:
            raise RecordNotFound(absent)
        self._tags.difference_update(wanted)

    def _tags_of(self, codes: IntArray, salts: Given) -> list[bytes]:
        rows = np.ascontiguousarray(codes, dtype="<i8")
        parts = zip(rows, np.ascontiguousarray(salts), strict=True)
        return [blake2b(r.tobytes() + s.tobytes(), digest_size=TAG, key=self._key).digest() for r, s in parts]

    def __getstate__(self) -> Json:
        """Sorted, so that a pickle does not tell in which order rows came."""
        return {"key": self._key, "tags": b"".join(sorted(self._tags))}

    def __setstate__(self, state: Json) -> None:
        tags = state["tags"]
        self._key = state["key"]
        self._tags = {tags[at : at + TAG] for at in range(0, len(tags), TAG)}
