"""What a store deletes by that keeps no records: a mark of who leaves, and which codes to subtract.

    serial      8 bytes: the person's bit
    tag         16 bytes, where there are any: in a table that grows a record waits in the store until its
                tick closes; a store of tags has one for everybody
    rows        how many, then their packed codes, padded to the most that a person may have

In a receipt it is sealed: only the curator can read it.  All claims of a data set have the same length.
"""

from dataclasses import dataclass

from undeleted.curate.stores._buckets import TAG
from undeleted.curate.stores._records import Records

SERIAL, COUNT = 8, 2


@dataclass(frozen=True)
class Claim:
    """The contents of a receipt."""

    serial: int
    rows: tuple[bytes, ...]
    tag: bytes = b""


@dataclass(frozen=True)
class Claims:
    """How the claims of a data set are written."""

    records: Records
    together: int  # most rows of a person
    tagged: bool  # whether they carry tags

    @property
    def _tag(self) -> int:
        return TAG if self.tagged else 0

    @property
    def no_tag(self) -> bytes:
        """A tag that names nobody."""
        return bytes(self._tag)

    @property
    def size(self) -> int:
        """The length of every claim in bytes."""
        return SERIAL + self._tag + COUNT + self.together * self.records.row

    def written(self, claim: Claim) -> bytes:
        """The bytes of a claim."""
        rows = b"".join(claim.rows)
        head = claim.serial.to_bytes(SERIAL, "little") + claim.tag + len(claim.rows).to_bytes(COUNT, "little")
        return head + rows + bytes(self.size - len(head) - len(rows))

    def read(self, data: bytes) -> Claim:
        """A claim from its bytes, which the curator wrote: a receipt's seal was opened with its key."""
        at, row = SERIAL + self._tag, self.records.row
        count = int.from_bytes(data[at : at + COUNT], "little")
        first = at + COUNT
        rows = tuple(data[start : start + row] for start in range(first, first + count * row, row))
        return Claim(int.from_bytes(data[:SERIAL], "little"), rows, data[SERIAL:at])
