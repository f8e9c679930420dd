"""The lifecycle: publish once, honour deletions, show.  In memory; the only writer of what is published.

    publish   table → totals → mechanism.release, with secure coins; the exact totals are dropped
    delete    take the person's rows (they exist or they do not), subtract what they contributed
    show      a copy of the release as it stands

Deletions cost those who stay no ε.  A record that was deleted is overwritten, and its id is gone.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from undeleted.coins import Coins, require_secure, secure
from undeleted.engines.arrays import Arrays
from undeleted.errors import (
    AlreadyThere,
    BadBudget,
    BadColumns,
    BadQuestion,
    NoRecords,
    NotStarted,
    NotThere,
    UnknownName,
)
from undeleted.intervals import Estimate
from undeleted.privacy import Budget, Ledger
from undeleted.schema import Schema, Table, as_text


@dataclass(frozen=True)
class Publication:
    """A mechanism and its release, as they stood when they were shown."""

    mechanism: Any
    release: Any
    version: int

    def estimate(self, confidence: float = 0.95) -> Estimate:
        """What is published as one number, with its interval."""
        if not hasattr(self.mechanism, "estimate"):
            name = type(self.mechanism).__name__
            raise BadQuestion(f"{name} publishes more than one number.", "Ask its mechanism, as in its help.")
        answer: Estimate = self.mechanism.estimate(self.release, confidence)
        return answer


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
        if not isinstance(budget, Budget):
            raise BadBudget("budget", budget, "a Budget(epsilon, delta)")
        self._coins = secure() if coins is None else coins
        require_secure(self._coins, "a curator that publishes")
        self.schema = schema
        self._ledger = Ledger(budget)
        self._table: Table | None = None
        self._rows: dict[str, list[int]] = {}
        self._published: dict[str, Publication] = {}

    def __repr__(self) -> str:
        return f"Curator(publications={list(self._published)}, left={self.left:.4g})"

    @property
    def left(self) -> float:
        """The ε that is left."""
        return self._ledger.left

    @property
    def publications(self) -> tuple[str, ...]:
        """What has been published, by name."""
        return tuple(self._published)

    def publish(self, data: Any, publications: Mapping[str, Any]) -> None:
        """Publish statistics of a table, once; all of them, or none."""
        if self._table is not None:
            remedy = "A deletion updates it; new people form a new cohort with a curator of their own."
            raise AlreadyThere("a publication of this table", remedy)
        if not isinstance(publications, Mapping) or not publications:
            raise BadQuestion("nothing is named that could be published.", 'Give {"a name": a mechanism, …}.')
        table = self.schema.table(data)
        if table.rows == 0:
            raise NoRecords("a publication")
        ledger = Ledger(self._ledger.total)
        for name, mechanism in publications.items():
            events = getattr(mechanism, "events", None)
            if events is None:
                problem = f"{name!r} makes no promise of differential privacy."
                raise BadQuestion(problem, "Publish a noisy mechanism with a budget.")
            ledger.charge(name, events)
        released = {
            n: Publication(m, m.release(Arrays(table), self._coins), 0) for n, m in publications.items()
        }
        for row, person in enumerate(table.ids or ()):
            self._rows.setdefault(person, []).append(row)
        self._ledger, self._table, self._published = ledger, table, released

    def delete(self, *ids: object) -> int:
        """Forget these people and all of their rows; how many there were.  All of them, or none."""
        if self._table is None:
            raise NotStarted("a curator", "Publish a table first.")
        people = _listed_ids(ids)
        if not people:
            return 0
        if len(set(people)) < len(people):
            raise BadQuestion("an id is named twice.", "A person is deleted once; name each id once.")
        unknown = sum(person not in self._rows for person in people)
        if unknown:
            raise NotThere(unknown)
        rows = np.array([row for person in people for row in self._rows[person]], dtype=np.int64)
        deleted = self._table.take(rows)
        after = {}
        for name, publication in self._published.items():
            mechanism = publication.mechanism
            release = mechanism.forget(publication.release, mechanism.contribution(deleted))
            after[name] = Publication(mechanism, release, publication.version + 1)
        self._published = after
        self._table.overwrite(rows)
        for person in people:
            del self._rows[person]
        return len(people)

    def show(self, name: str) -> Publication:
        """A publication as it stands; a copy, which later deletions leave alone."""
        if name not in self._published:
            raise UnknownName("publications", name, tuple(self._published))
        return deepcopy(self._published[name])


def _listed_ids(ids: tuple[object, ...]) -> list[str]:
    """Ids as the table has them, as text; one list of ids is as good as several arguments."""
    if len(ids) == 1 and isinstance(ids[0], Iterable) and not isinstance(ids[0], str | bytes):
        ids = tuple(ids[0])
    return [as_text(person) for person in ids]
