"""The lifecycle: publish once, honour deletions, show.  In memory; the only writer of what is published.

    publish   table → totals → mechanism.release, with secure coins; the exact totals are dropped
    delete    take the person's rows (they exist or they do not), subtract what they contributed
    show      the release as it stands

Deletions cost those who stay no ε.  A record that was deleted is overwritten, and its id is gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from undeleted.coins import Coins, require_secure, secure
from undeleted.engines.arrays import Arrays
from undeleted.errors import AlreadyThere, BadColumns, BadQuestion, NoRecords, NotThere, UnknownName
from undeleted.mechanisms._linear import Cells, Linear
from undeleted.privacy import Budget, Ledger
from undeleted.schema import Schema, Table


@dataclass
class Publication:
    """A mechanism and its current release."""

    mechanism: Linear
    release: Cells
    version: int = 0


class Curator:
    """Publishes a table of people under a budget, and forgets those who ask.

    >>> from undeleted.mechanisms.noisy_count import NoisyCount
    >>> from undeleted.schema import Number
    >>> curator = Curator(Schema([Number("age", min=0, max=120)], id="id"), Budget(1.0))
    >>> curator.publish({"id": ["a", "b"], "age": [41, 17]}, {"people": NoisyCount(Budget(0.5))})
    >>> before = curator.show("people").release.value
    >>> curator.delete("b")
    1
    >>> curator.show("people").release.value - before, curator.left
    (array([-1]), 0.5...)
    """

    def __init__(self, schema: Schema, budget: Budget, coins: Coins | None = None) -> None:
        if schema.id is None:
            raise BadColumns(["id"], "a curator must know whose record is whose.", "Declare an id column.")
        self._coins = secure() if coins is None else coins
        require_secure(self._coins, "a curator that publishes")
        self.schema = schema
        self._ledger = Ledger(budget)
        self._table: Table | None = None
        self._rows: dict[str, list[int]] = {}
        self._published: dict[str, Publication] = {}

    @property
    def left(self) -> float:
        """The ε that is left."""
        return self._ledger.left

    def publish(self, data: Any, publications: Mapping[str, Linear]) -> None:
        """Publish statistics of a table, once; all of them, or none."""
        if self._published:
            remedy = "A deletion updates it; new people form a new cohort with a curator of their own."
            raise AlreadyThere("a publication of this table", remedy)
        table = self.schema.table(data)
        if table.rows == 0:
            raise NoRecords("a publication")
        ledger = Ledger(self._ledger.total)
        for name, mechanism in publications.items():
            if mechanism.events is None:
                problem = f"{name!r} makes no promise of differential privacy."
                raise BadQuestion(problem, "Give its mechanism a budget.")
            ledger.charge(name, mechanism.events)
        released = {n: Publication(m, m.release(Arrays(table), self._coins)) for n, m in publications.items()}
        self._ledger, self._table, self._published = ledger, table, released
        for row, person in enumerate(table.ids or ()):
            self._rows.setdefault(person, []).append(row)

    def delete(self, *ids: str) -> int:
        """Forget these people and all of their rows; how many there were.  All of them, or none."""
        unknown = len(ids) - len(set(ids) & self._rows.keys())
        if unknown or self._table is None:
            raise NotThere(unknown or len(ids))
        rows = np.array([row for person in ids for row in self._rows[person]], dtype=np.int64)
        deleted = self._table.take(rows)
        for publication in self._published.values():
            mechanism = publication.mechanism
            publication.release = mechanism.forget(publication.release, mechanism.contribution(deleted))
            publication.version += 1
        self._table.overwrite(rows)
        for person in ids:
            del self._rows[person]
        return len(ids)

    def show(self, name: str) -> Publication:
        """A publication as it stands."""
        if name not in self._published:
            raise UnknownName("publications", name, tuple(self._published))
        return self._published[name]
