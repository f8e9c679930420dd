"""Write what people leave with, for a store that keeps no records: once, before the store comes to be.

    receipts   a person's own codes, sealed and signed, with the number of their bit (retain = "receipts")
    salts      a random number; the person's rows are presented with it (retain = "tags")

    begin      the store's key; for receipts a random order of serials, which is thrown away at the end
    take       somebody's receipt or salt, as soon as all of their rows have come
    finish     all of it is durable; only then does the store exist, or take people in

None of it can be issued again: nothing from which it was made is kept.  If publishing fails later, what was
written is void, because its key is gone.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from undeleted.curate.destinations import Destination
from undeleted.curate.receipts import Issuer, is_writable, line_of
from undeleted.curate.stores import Claim, Claims, Reserved, Serials, Store, salted_tag
from undeleted.errors import BadSetting, RejectedValue
from undeleted.foundations.schema import Table
from undeleted.foundations.types import Given, Progress

SALT = 16  # bytes


@dataclass
class Issuing(ABC):
    """Issues what people leave with, when they are published."""

    destination: Destination
    capacity: int
    advance: Progress = lambda done: None
    _next: int = 0
    _digests: list[Given] = field(default_factory=list)  # keyed digests of ids: who came twice?
    _waiting: dict[str, list[bytes]] = field(default_factory=dict)

    def begin(self, key: bytes, claims: Claims) -> None:
        self._key, self._claims = key, claims
        self._secret = os.urandom(32)

    def take(self, people: Sequence[str], rows: Given) -> None:
        if self._claims.together > 1:  # until the last block somebody may have one more row
            for person, row in zip(people, rows, strict=True):
                self._waiting.setdefault(person, []).append(row.tobytes())
            return
        digests = b"".join(self._digest(person) for person in people)
        self._digests.append(np.frombuffer(digests, dtype="<u8"))
        self._issue_all(people, [[row.tobytes()] for row in rows])

    def finish(self) -> None:
        self._check_cap()
        self._issue_all(list(self._waiting), list(self._waiting.values()))
        self._waiting.clear()
        self.destination.finish()

    def _check_cap(self) -> None:
        """Refuse a table in which somebody has more rows than the noise is made for."""
        most = self._claims.together
        over = sum(max(0, len(rows) - most) for rows in self._waiting.values()) + self._came_again()
        if over:
            person = self._claims.records.schema.id or "id"
            rule = f"a person may have {most} row{'s' if most > 1 else ''}"
            remedy = "Raise `rows_per_person` (`max_rows_per_person` in a spec; noise grows with it)."
            raise RejectedValue(person, rule, None, over, remedy)

    def kept(self) -> Iterator[Given]:
        """What the store keeps of it, as slots."""
        return iter(())

    def _issue_all(self, people: Sequence[str], rows: Sequence[list[bytes]]) -> None:
        if self._next + len(people) > self.capacity:
            self._check_cap()
            problem = f"the table has more than {self.capacity:,} people; nothing was changed."
            raise BadSetting(
                problem, "Choose a larger `capacity`: it is public, so choose it from what you know."
            )
        for place, (person, several) in enumerate(zip(people, rows, strict=True), start=self._next):
            self.destination.write(person, self._issue(place, person, several))
            self.advance(1)
        self._next += len(people)

    @abstractmethod
    def _issue(self, place: int, person: str, rows: list[bytes]) -> str:
        """What one person gets, as a line of JSON; `place` counts the people."""

    def _digest(self, person: str) -> bytes:
        data = person.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=16, key=self._secret).digest()

    def _came_again(self) -> int:
        """How many rows are of somebody who had one already."""
        if not self._digests:
            return 0
        digests = np.concatenate(self._digests).reshape(-1, 2)
        self._digests = [digests.ravel()]
        halves = np.sort(digests[:, 0])  # only the few that agree in one half are compared as a whole
        twice = np.unique(halves[1:][halves[1:] == halves[:-1]])
        ordered = digests[np.isin(digests[:, 0], twice)]
        ordered = ordered[np.lexsort(ordered.T)]
        return int(np.count_nonzero((ordered[1:] == ordered[:-1]).all(axis=1)))


class IssuingReceipts(Issuing):
    """Issues receipts, each with a bit of the store."""

    def begin(self, key: bytes, claims: Claims) -> None:
        super().begin(key, claims)
        self._issuer = Issuer(key, keeps_records=False)
        self._serials = Serials(self.capacity)

    def _issue(self, place: int, person: str, rows: list[bytes]) -> str:
        [serial] = self._serials.take(place, 1).tolist()
        receipt, opening = self._issuer.receipt_of(
            person, self._claims.written(Claim(serial, tuple(rows), self._claims.no_tag))
        )
        return line_of(person, receipt, opening)


class IssuingSalts(Issuing):
    """Issues salts; the store keeps a tag for everybody, and random ones up to its capacity."""

    def begin(self, key: bytes, claims: Claims) -> None:
        super().begin(key, claims)
        self._tags: list[bytes] = []

    def _issue(self, place: int, person: str, rows: list[bytes]) -> str:
        salt = os.urandom(SALT)
        self._tags.append(salted_tag(self._key, person, salt, rows))
        return json.dumps({"person": person, "salt": salt.hex()}, ensure_ascii=not is_writable(person))

    def kept(self) -> Iterator[Given]:
        padded = b"".join(self._tags) + os.urandom(16 * (self.capacity - len(self._tags)))
        self._tags.clear()
        yield np.frombuffer(padded, dtype=np.uint8).reshape(-1, 16)


def issue_to_newcomers(store: Store, table: Table, reserved: Reserved, destination: Destination) -> None:
    """The receipts of people who join; they are durable before anybody is taken in."""
    issuer = Issuer(store.key, keeps_records=False)
    ids = table.ids or ()
    for (tag, rows), serial in zip(reserved.rows.items(), reserved.serials, strict=True):
        receipt, opening = issuer.receipt_of(ids[rows[0]], store.claim(table, rows, serial, tag))
        destination.write(ids[rows[0]], line_of(ids[rows[0]], receipt, opening))
    destination.finish()
