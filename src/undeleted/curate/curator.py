"""The lifecycle: publish once, honour deletions, show.  The only writer of what is published.

    publish   table → totals → mechanism.release, with secure coins → store; the exact totals are dropped
    delete    one transaction: take the person's record (it exists or it does not), subtract what it
              contributed from the release's own few cells, bump the version
    show      a copy of the release as it stands

Deletions cost those who stay no ε.  A record that was deleted is overwritten, and its id is gone.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from undeleted.curate import files
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.engines.scan import Scanned, scan
from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.releases.exact_totals import ExactTotals
from undeleted.curate.releases.subtracting import Subtracting
from undeleted.curate.spec import Spec
from undeleted.curate.stores import (
    Deleted,
    Fold,
    Publishing,
    Store,
    copy_store,
    create_store,
    open_store,
    store_there,
    tag_of,
)
from undeleted.curate.stores.sqlite import MEMORY
from undeleted.errors import (
    AlreadyThere,
    BadBudget,
    BadColumns,
    BadQuestion,
    NotStarted,
    StoreError,
    UndeletedError,
    UnknownName,
    WeakDelta,
    WeakPrivacyWarning,
)
from undeleted.foundations.coins import Coins, require_secure, secure
from undeleted.foundations.intervals import Estimate
from undeleted.foundations.privacy import Budget, Ledger
from undeleted.foundations.schema import Schema, Table, as_text
from undeleted.foundations.schema.values import is_plain

WEAK_EPSILON, WEAK_DELTA = 10.0, 0.01
BATCH = 10_000  # people deleted in one transaction, of a longer list


@dataclass(frozen=True)
class Publication:
    """A mechanism and its release, as they stood when they were shown."""

    mechanism: Any
    release: Any
    version: int

    def estimate(self, confidence: float = 0.95) -> Estimate:
        """What is published as one number, with its interval."""
        answer: Estimate = self.mechanism.estimate(self.release, confidence)
        return answer


@dataclass(frozen=True)
class Deletion:
    """What a request did.  Deleted is durable; erased says that no file of the store holds it any more."""

    deleted: int
    unknown: int  # ids that are not there, or not any more: the two cannot be told apart
    version: int
    erased: bool
    held: int = 0  # people whose deletion is held back, to be folded in with others


@dataclass(frozen=True)
class Status:
    """What is published and what it has cost; never how many people there are."""

    publications: tuple[str, ...]
    version: int
    epsilon: float
    delta: float
    spent: float
    left: float
    erasure_pending: bool
    held: int


class Curator:
    """Publishes a table of people under a budget, and forgets those who ask.

    The store is a file, `:memory:`, or a schema of PostgreSQL (`postgresql://…`).  A store that is there
    already is opened with `Curator.open`.

    >>> from undeleted.curate.mechanisms.noisy_count import NoisyCount
    >>> from undeleted.foundations.schema import Number
    >>> curator = Curator(Schema([Number("age", min=0, max=120)], id="id"), Budget(1.0))
    >>> curator.publish({"id": ["a", "b"], "age": [41, 17]}, {"people": NoisyCount(Budget(0.5))})
    >>> before = curator.show("people").release.value
    >>> curator.delete("b", "nobody")
    Deletion(deleted=1, unknown=1, version=2, erased=True, held=0)
    >>> curator.show("people").release.value - before, curator.left
    (array([-1]), 0.5...)
    """

    def __init__(
        self,
        schema: Schema,
        budget: Budget,
        store: str | Path = MEMORY,
        coins: Coins | None = None,
        *,
        i_know: bool = False,
    ) -> None:
        if schema.id is None:
            raise BadColumns(["id"], "a curator must know whose record is whose.", "Declare an id column.")
        if not isinstance(budget, Budget):
            raise BadBudget("budget", budget, "a Budget(epsilon, delta)")
        self._coins = secure() if coins is None else coins
        require_secure(self._coins, "a curator that publishes")
        self.schema, self.budget, self._place = schema, budget, str(store)  # it may hold a password
        self._store: Store | None = None
        self._i_know = i_know  # what a large δ means
        self.already = False  # whether a spec found its publication there, and spent nothing

    @classmethod
    def open(cls, store: str | Path) -> "Curator":
        """Go on with a store that was published."""
        return cls._of(open_store(str(store)), store)

    @classmethod
    def _of(cls, opened: Store, place: str | Path) -> "Curator":
        curator = cls(opened.schema, Budget(opened.facts["epsilon"], opened.facts["delta"]), place)
        curator._store = opened
        return curator

    @classmethod
    def from_spec(cls, spec: str | Path | Spec, store: str | Path, *, i_know: bool = False) -> "Curator":
        """Publish what a spec says.  The same spec again gives the same publication, and spends nothing."""
        spec = spec if isinstance(spec, Spec) else Spec.load(spec)
        if store_there(str(store)):
            curator = cls.open(store)
            if curator.store.facts.get("spec") != spec.text:
                remedy = "Restore the spec, or publish into a store of its own: that spends its own budget."
                there = f"another publication in {curator.store.path} (the spec has changed since)"
                raise AlreadyThere(there, remedy)
            curator.already = True
            return curator
        curator = cls(spec.schema, spec.budget, store, i_know=i_know)
        curator._require_a_promise()
        with _read(spec, spec.mechanisms) as totals:
            curator._publish(totals, spec.mechanisms, {"spec": spec.text})
        return curator

    def __repr__(self) -> str:
        return f"Curator(publications={list(self.publications)}, left={self.left:.4g})"

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Erase what is deleted and let the store go."""
        if self._store is not None:
            self._store.close()
            self._store = None

    @property
    def store(self) -> Store:
        if self._store is None:
            raise NotStarted("this curator", "Publish a table first.", "has published nothing yet")
        return self._store

    @property
    def left(self) -> float:
        """The ε that is left."""
        return self.budget.epsilon if self._store is None else float(self._store.facts["left"])

    @property
    def publications(self) -> tuple[str, ...]:
        """What has been published, by name."""
        return () if self._store is None else tuple(self._store.mechanisms)

    def publish(self, data: Any, publications: Mapping[str, Any]) -> None:
        """Publish statistics of a table, once; all of them, or none.

        A table of Ibis is added up where it is; anything else is read into memory.
        """
        if self._store is not None:
            remedy = "A deletion updates it; new people form a new cohort with a curator of their own."
            raise AlreadyThere("a publication of this table", remedy)
        if not isinstance(publications, Mapping) or not publications:
            raise BadQuestion("nothing is named that could be published.", 'Give {"a name": a mechanism, …}.')
        self._require_a_promise()
        if type(data).__module__.startswith("ibis."):
            self._publish(_added_up_there(self.schema, data, publications, "the table"), publications, {})
        else:
            self._publish(Arrays(self.schema.table(data)), publications, {})

    def _require_a_promise(self) -> None:
        """Refuse a δ that promises nothing; warn of an ε that does."""
        if self.budget.delta >= WEAK_DELTA and not self._i_know:
            raise WeakDelta(self.budget.delta)
        if self.budget.epsilon > WEAK_EPSILON:
            times = f"{math.exp(min(self.budget.epsilon, 700)):.2g}"
            warnings.warn(
                f"ε = {self.budget.epsilon:g} promises next to nothing: what is published may be {times} "
                "times as likely with a person as without. Most choose an ε of 1 or less.",
                WeakPrivacyWarning,
                stacklevel=3,
            )

    def _publish(self, totals: Any, publications: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        ledger = Ledger(self.budget)
        boards: list[str] = []
        for name, mechanism in publications.items():
            if isinstance(mechanism, BulletinBoard):
                boards.append(mechanism.column.name)
                continue
            events = getattr(mechanism, "events", None)
            if events is None:
                problem = f"{name!r} makes no promise of differential privacy."
                raise BadQuestion(problem, "Publish a noisy mechanism with a budget.")
            if not isinstance(mechanism, Subtracting):
                problem = f"{name!r} is several releases in one, which a store does not keep."
                raise BadQuestion(problem, "Publish its parts, each under a name of its own.")
            ledger.charge(name, events)
        if len(set(boards)) < len(boards):
            raise BadQuestion("two boards show the same column.", "Publish a column of texts once.")
        spent = ledger.spent.epsilon if ledger.events else 0.0
        releases, exact = {}, {}
        for name, mechanism in publications.items():
            asked = ExactTotals(totals)
            releases[name] = mechanism.release(asked, self._coins)
            exact[name] = asked.of(mechanism, releases[name])
        self._store = create_store(
            self._place,
            Publishing(
                self.schema,
                publications,
                releases,
                totals,
                {
                    "epsilon": self.budget.epsilon,
                    "delta": self.budget.delta,
                    "spent": spent,
                    "left": ledger.left
                    if ledger.left > 1e-9 * self.budget.epsilon
                    else 0.0,  # rounding is no ε
                    **facts,
                },
                exact,
                recount=not totals.stands_still,
            ),
        )

    def receipts(self, spec: str | Path | Spec) -> Iterator[str]:
        """A receipt for everybody of the spec's table who is here, a line of JSON each; always the same."""
        from undeleted.curate.receipts import issuer_of

        spec = spec if isinstance(spec, Spec) else Spec.load(spec)
        if self.store.facts.get("spec") != spec.text:
            raise BadQuestion("receipts are for what a spec published.", "Name the spec that was published.")
        with _records(spec) as blocks:
            people = (person for block in blocks for person in block.ids or ())
            yield from issuer_of(self.store).lines(people, self.store.tags())

    def delete(
        self,
        *ids: object,
        fold: Fold | None = None,
        progress: Callable[[int], None] | None = None,
        unknown: Callable[[str], object] | None = None,
    ) -> Deletion:
        """Forget these people and all of their rows; ids that are not there are counted and change nothing.

        An id is text, byte for byte; a number is written in decimals.  A long list is deleted some thousands
        at a time; each part is durable before the next begins.  `unknown` is told every id that is not there,
        or not any more.  With `fold` records go at once, and the publications follow when enough people have
        left together, which hides each of them among the others.
        """
        store = self.store
        people = iter(_listed_ids(ids))
        deleted = absent = held = 0
        version = store.version
        while part := list(islice(people, BATCH)):
            try:
                done = store.delete(part, fold)
            except UndeletedError as error:
                if deleted:  # what was done before stays done, and is told
                    problem = f"{deleted} people were deleted before this: {error.what}"
                    raise StoreError(problem, error.remedy) from None
                raise
            deleted, absent = deleted + done.deleted, absent + done.unknown
            version, held = done.version, done.held
            if unknown is not None:
                for place in done.absent:
                    unknown(part[place])
            if progress is not None:
                progress(len(part))
        try:
            erased = store.erase()
        except UndeletedError:  # the server went away after it had forgotten
            erased = False
        return Deletion(deleted, absent, version, erased, held)

    def delete_tagged(
        self, tags: Sequence[bytes], fold: Fold | None = None, *, alike: bool = False
    ) -> Deleted:
        """Forget those whose ids have these tags, as receipts carry them, in one transaction.

        It is durable when this returns, and erased by `erase`.  With `alike` as much is worked out and
        written for those who are not there.
        """
        return self.store.delete_tagged(tags, fold, alike=alike)

    def tag(self, person: str) -> bytes:
        """What stands for an id in the store."""
        return tag_of(self.store.key, person)

    def fold(self) -> None:
        """Let the publications follow those whose deletion is held back, if it is time."""
        self.store.fold()

    def erase(self, patience: float = 30.0) -> bool:
        """Leave no copy of what was deleted within reach; False if something holds that up for so long."""
        return self.store.erase(patience)

    def probe(self) -> None:
        """Refuse if nothing can be deleted just now: a write that changes nothing."""
        self.store.probe()

    def copy_to(self, place: str) -> "Curator":
        """The same store in another place; deletions go to one of the two from then on."""
        return Curator._of(copy_store(self.store, place), place)

    def show(self, name: str) -> Publication:
        """A publication as it stands; a copy, which later deletions leave alone."""
        if self._store is None:
            raise UnknownName("publications", name, ())
        release, version = self.store.release(name)
        return Publication(self.store.mechanisms[name], release, version)

    def status(self) -> Status:
        """What is published, what it has cost, and whether something waits to be erased."""
        if self._store is None:
            epsilon = self.budget.epsilon
            return Status((), 0, epsilon, self.budget.delta, 0.0, epsilon, False, 0)
        store = self.store
        facts = store.facts
        return Status(
            self.publications,
            store.version,
            facts["epsilon"],
            facts["delta"],
            facts["spent"],
            facts["left"],
            store.erasure_pending,
            store.held,
        )

    def vacuum(self) -> bool:
        """Erase what a database keeps of old rows; False if somebody holds its tables."""
        return self.store.vacuum()

    def check(self) -> list[str]:
        """Format, integrity, conservation of the noise: what is wrong, which is nothing in a whole store."""
        return self.store.check()


def _scanned(spec: Spec, mechanisms: Mapping[str, Any]) -> Arrays:
    """Read a spec's table once: its records, and the totals of all that is published, in one pass."""
    wanted = list(dict.fromkeys(m.statistic for m in mechanisms.values() if hasattr(m, "statistic")))
    parts: list[Table] = []

    def kept() -> Iterator[Table]:
        for block in files.blocks(spec.source, spec.schema):
            yield block
            parts.append(files.small(block))

    totals = scan(kept(), wanted)
    table = files.joined(spec.schema, parts)
    dropped = sum(part.rows for part in parts) > table.rows  # rows beyond a person's cap were added up too
    return Arrays(table) if dropped else Scanned(table, totals)


@contextmanager
def _read(spec: Spec, mechanisms: Mapping[str, Any]) -> Iterator[Any]:
    """A spec's table with its totals: a file is scanned, a table in a database is added up there."""
    if spec.connection is None:
        yield _scanned(spec, mechanisms)
        return
    from undeleted.curate.connections import connected

    table = connected(spec.connection, spec.source, spec.folder)
    engine = _added_up_there(spec.schema, table, mechanisms, spec.source)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def _records(spec: Spec) -> Iterator[Iterator[Table]]:
    """A spec's table, block by block."""
    if spec.connection is None:
        yield files.blocks(spec.source, spec.schema)
        return
    with _read(spec, {}) as engine:
        yield engine.blocks()


def _added_up_there(schema: Schema, table: Any, mechanisms: Mapping[str, Any], name: str) -> Any:
    from undeleted.curate.engines.ibis import Ibis

    engine = Ibis(schema, table, name)
    engine.prepare([m.statistic for m in mechanisms.values() if hasattr(m, "statistic")])
    return engine


def _listed_ids(ids: tuple[object, ...]) -> Iterator[str]:
    """Ids as the table has them, as text; one list (or stream) of ids is as good as several arguments."""
    if len(ids) == 1 and isinstance(ids[0], Iterable) and not isinstance(ids[0], str | bytes):
        return (_as_id(person) for person in ids[0])
    return (_as_id(person) for person in ids)


def _as_id(person: object) -> str:
    if not is_plain(person):
        raise BadQuestion(f"an id of type {type(person).__name__} is none.", "Give texts, or whole numbers.")
    return as_text(person)
