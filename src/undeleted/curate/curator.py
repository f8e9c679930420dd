"""The lifecycle: publish once, honour deletions, show.  Nothing else writes to publications.

    publish   table → totals → mechanism.release, with secure coins → store; the exact totals are dropped
    add       people join a table that grows, and wait for the next tick; so do corrections of records
    tick      the rows of the next tick, from the records of those who remain
    delete    one transaction: remove the person's record if it exists, subtract what it contributed from
              the few cells that it affected, increment the version
    show      a copy of the current release

Deletions cost stayers no ε.  A deleted record is overwritten, and its id is gone.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

from undeleted.curate import files
from undeleted.curate.answers import answers, as_arrow, features_of, predictions, rows
from undeleted.curate.destinations import receipts_to
from undeleted.curate.engines.arrays import Arrays
from undeleted.curate.engines.scan import Scanned, scan
from undeleted.curate.joining import Joining
from undeleted.curate.mechanisms.bulletin_board import BulletinBoard
from undeleted.curate.notebook import as_html
from undeleted.curate.releases.arrivals import Arrivals
from undeleted.curate.releases.exact_totals import ExactTotals
from undeleted.curate.releases.subtracting import Subtracting
from undeleted.curate.spec import Spec
from undeleted.curate.stores import (
    MOST,
    Additions,
    Deleted,
    Fold,
    Publishing,
    Store,
    copy_store,
    create_store,
    grow_store,
    open_store,
    require_a_file,
    store_exists,
    tag_of,
)
from undeleted.curate.stores.sqlite import MEMORY
from undeleted.curate.tick_clock import TickClock
from undeleted.errors import (
    AlreadyExists,
    BadBudget,
    BadColumns,
    BadReceipt,
    BadSetting,
    FalseReceipt,
    KeepsNoRecords,
    MissingExtra,
    Misuse,
    NotStarted,
    StoreError,
    UndeletedError,
    UnknownName,
    VoidReceipt,
    WeakDelta,
    WeakPrivacyWarning,
    WrongType,
)
from undeleted.foundations.coins import Coins, require_secure, secure
from undeleted.foundations.intervals import Estimate
from undeleted.foundations.privacy import Budget, Event, Ledger, as_given
from undeleted.foundations.privacy.cohorts import Cohorts
from undeleted.foundations.schema import Schema, Table, Text, as_text
from undeleted.foundations.schema.first_row import FIRST
from undeleted.foundations.schema.values import is_missing, is_plain
from undeleted.foundations.types import Given, Json, Progress, Sink

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from undeleted.curate.receipts import Issuer
    from undeleted.curate.synthetic.fitting import Model

WEAK_EPSILON, WEAK_DELTA = 10.0, 0.01
SALTS = "salt"  # the column of people's salts
BATCH = 10_000  # most people deleted in one transaction


@dataclass(frozen=True)
class Publication:
    """A mechanism and its release, as they were when `show` was called."""

    mechanism: Given
    release: Given
    version: int
    name: str = ""

    def to_arrow(self, *, confidence: float = 0.95, **questions: Given) -> "pa.Table":
        """The answers as an Arrow table: labels, estimate, low, high, confidence, version.

        Questions are those of `undeleted show`, such as `quantile=0.9` or `by=["city"]`.
        """
        answered = answers(self.mechanism, self.release, questions, confidence)
        return as_arrow(rows(self.name, self.version, answered, confidence))

    def to_pandas(self, *, confidence: float = 0.95, **questions: Given) -> "pd.DataFrame":
        """The same as a pandas frame."""
        return self.to_arrow(confidence=confidence, **questions).to_pandas()

    def to_polars(self, *, confidence: float = 0.95, **questions: Given) -> "pl.DataFrame":
        """The same as a polars frame."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("to_polars", "polars", "frames") from None
        return polars.DataFrame(self.to_arrow(confidence=confidence, **questions))

    def to_csv(self, path: str | Path, *, confidence: float = 0.95, **questions: Given) -> None:
        """The same into a CSV file."""
        import pyarrow.csv

        pyarrow.csv.write_csv(self.to_arrow(confidence=confidence, **questions), str(path))

    def predict(self, rows: Given) -> list[Json]:
        """A prediction for each of these rows, if this is a model: `prediction`, and what else it gives.

        The rows are a frame, a mapping of columns, a list of mappings, or the path of a file.
        """
        schema = features_of(self)
        table = files.read(str(rows), schema) if isinstance(rows, str | Path) else schema.table(rows)
        return predictions(self, table)

    def sample(self, rows: int, *, seed: int = 0, model: "Model" = "mixture", **limits: Given) -> "pa.Table":
        """So many synthetic rows, if this is a publication of kind `synthetic`: an Arrow table.

        The model is computed from what is published now, and from nothing else: "mixture" keeps counts best,
        "tree" is best for training models.  The same release, seed and model give the same rows.  Estimates
        from rows have no intervals.  `limits` are `megabytes` of a tree, `seconds`, and `advance`, which is
        called with the share of the work that is done.
        """
        from undeleted.curate.synthetic.rows import sample

        return sample(self.mechanism, self.release, rows, seed, model, **limits)

    def __repr__(self) -> str:
        return f"Publication({self.name!r}, kind={self.mechanism.kind!r}, version={self.version})"

    def _repr_html_(self) -> str:
        """The answers as a table with bars, in notebooks."""
        return as_html(self.to_arrow().to_pylist())

    def estimate(self, confidence: float = 0.95) -> Estimate:
        """The published value as one number, with its interval."""
        answer: Estimate = self.mechanism.estimate(self.release, confidence)
        return answer


@dataclass(frozen=True)
class Deletion:
    """What a request did.  Deletions are durable; `erased` says that no file of the store holds them now."""

    deleted: int
    unknown: int  # ids that are not there, or no longer there: the two are indistinguishable
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
    ticks: int = 0  # of a table that grows: how many have closed
    horizon: int = 0  # and of how many
    due: datetime | None = None  # when the next one is due


class Curator(Joining):
    """Publishes a table of people under a budget, and forgets those who ask.

    The store is a file, `:memory:`, or a schema of PostgreSQL (`postgresql://…`).  Open an
    existing store with `Curator.open`.

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
        keep: Sequence[str] = (),
        retain: str = "records",
        capacity: int | None = None,
        i_know: bool = False,
    ) -> None:
        """`keep` names columns that records keep for later publications, beside those that are used now.

        With `retain="receipts"` nothing about anybody is kept: people leave with their receipts, of which the
        store has a bit each, for at most `capacity` people; in a table that grows, for each tick.  With
        `retain="tags"` it keeps a salted tag of everybody's rows, and people leave with their rows and salts.
        """
        if schema.id is None:
            raise BadColumns(["id"], "a curator must know which record is whose.", "Declare an id column.")
        if not isinstance(budget, Budget):
            raise BadBudget("budget", budget, "a Budget(epsilon, delta)")
        self._coins = secure() if coins is None else coins
        require_secure(self._coins, "a curator that publishes")
        self.schema, self.budget, self._place = schema, budget, str(store)  # the place may contain a password
        self._store: Store | None = None
        unknown = [name for name in keep if name not in schema.names]
        if unknown:
            raise BadColumns(unknown, "not in the schema.", f"Its columns: {', '.join(schema.names)}.")
        self._keep = tuple(keep)
        self._retained = retained(retain, capacity, keep)
        if retain == "tags":
            require_a_file(self._place)
        self._i_know = i_know  # the caller accepts a large δ
        self._signs: tuple[bytes, Issuer] | None = None  # the store's key, and who signs with it
        self.already = False  # whether the spec was published before, so that nothing was spent

    @classmethod
    def open(cls, store: str | Path, *, read_only: bool = False) -> "Curator":
        """Open a store that was published before; `read_only` to show and check it without changing a file.

        A file that this user cannot write to is opened like that by itself.
        """
        return cls._of(open_store(str(store), read_only=read_only), store)

    @classmethod
    def _of(cls, opened: Store, place: str | Path) -> "Curator":
        curator = cls(opened.schema, Budget(opened.facts["epsilon"], opened.facts["delta"]), place)
        curator._store = opened
        return curator

    @classmethod
    def from_spec(
        cls,
        spec: str | Path | Spec,
        store: str | Path,
        *,
        i_know: bool = False,
        receipts: Given = None,
        progress: Progress = lambda done: None,
    ) -> "Curator":
        """Publish what a spec says.  The same spec again opens the same publication and spends nothing.

        If the store is to keep no records, `receipts` says where people's receipts go: see `publish`.
        """
        spec = spec if isinstance(spec, Spec) else Spec.load(spec)
        if store_exists(str(store)):
            curator = cls.open(store)
            if curator.store.facts.get("spec") != spec.text:
                remedy = "Restore the spec, or publish into a new store, which spends its own budget."
                there = f"a publication of another spec, in {curator.store.path},"
                raise AlreadyExists(there, remedy)
            curator.already = True
            if receipts is not None:
                curator._require_records()
            return curator
        kept = {"keep": spec.keep, "retain": spec.retain, "capacity": spec.capacity}
        rules: Json = kept | {"i_know": i_know}
        curator = cls(spec.schema, spec.budget, store, **rules)
        curator._require_a_promise()
        curator._require_receipts(receipts, spec.mechanisms)
        clock = spec.growing.clock() if spec.growing is not None else None
        hides = spec.growing.budget_of_leavers if spec.growing is not None else None
        growing = curator._growing(spec.mechanisms, clock, hides)
        with _read(spec, spec.mechanisms) as totals:
            curator._publish(totals, spec.mechanisms, {"spec": spec.text, **growing}, receipts, progress)
        return curator

    def __repr__(self) -> str:
        return f"Curator(publications={list(self.publications)}, left={self.left:.4g})"

    def __enter__(self) -> "Curator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Erase what was deleted, and close the store."""
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
    def events(self) -> list[Event]:
        """What the publications cost the people in them."""
        return [e for m in self.store.mechanisms.values() for e in getattr(m, "events", None) or ()]

    @property
    def publications(self) -> tuple[str, ...]:
        """What has been published, by name."""
        return () if self._store is None else tuple(self._store.mechanisms)

    def publish(
        self,
        data: Given,
        publications: Mapping[str, Given],
        clock: TickClock | None = None,
        leavers: Budget | None = None,
        *,
        receipts: Given = None,
    ) -> None:
        """Publish statistics of a table, once; either all of them or none.

        If the store keeps no records, `receipts` says where people's receipts (or salts) go: a new file, a
        folder (a path that ends with /), or a function that is called with a line of JSON each.  They cannot
        be written again.

        An Ibis table is aggregated in its database; any other table is read into memory.  If the mechanisms
        are `Arrivals`, the table grows: this is tick 0, and `clock` says when the next ones close.  If they
        hide leavers, `leavers` is the budget that all of them together may spend on it.
        """
        if self._store is not None:
            remedy = "Deletions update it; publish new people as a new cohort, with a curator of its own."
            raise AlreadyExists("a publication of this table", remedy)
        if not isinstance(publications, Mapping) or not publications:
            raise BadSetting("there is nothing to publish.", 'Give {"a name": a mechanism, …}.')
        self._require_a_promise()
        self._require_receipts(receipts, publications)
        facts = self._growing(publications, clock, leavers)
        used = {column for m in publications.values() for column in getattr(m, "columns", ())}
        if FIRST in used and FIRST not in self.schema.columns:
            self.schema = replace(self.schema, columns=(*self.schema.columns, FIRST))
        if type(data).__module__.startswith("ibis."):
            there = _aggregated_there(self.schema, data, publications, "the table")
            self._publish(there, publications, facts, receipts)
        else:
            table = data if isinstance(data, Table) else self.schema.table(data)
            if table.schema != self.schema:
                problem = "the table was encoded with another schema."
                raise WrongType(problem, "Use the curator's schema: curator.schema.table(rows).")
            self._publish(Arrays(table), publications, facts, receipts)

    def _growing(
        self, publications: Mapping[str, Given], clock: TickClock | None, leavers: Budget | None
    ) -> Json:
        """The clock of a table that grows, and what hides its leavers; what does not fit is refused."""
        growing = [m for m in publications.values() if isinstance(m, Arrivals)]
        if not growing:
            if clock is not None:
                raise BadSetting("a clock needs mechanisms that grow.", "Give Arrivals(mechanism, horizon).")
            return {}
        agreed = {(m.horizon, m.max_corrections, m.leavers is None) for m in growing}
        if len(growing) < len(publications) or len(agreed) > 1:
            problem = "all publications of a table that grows share its horizon, corrections and leavers."
            raise BadSetting(problem, "Give each the same Arrivals(…, horizon, max_corrections, leavers).")
        facts = {"clock": (clock or TickClock("manual", datetime.now(UTC))).as_json()}
        if growing[0].leavers is None:
            return facts
        if leavers is None:
            raise BadSetting("leavers are hidden without a budget.", "Give publish(…, leavers=Budget(ε, δ)).")
        hidden = Ledger(leavers)
        for name, mechanism in publications.items():
            if mechanism.departure_events is None:
                problem = f"{name!r} makes no promise of differential privacy to those who leave."
                raise BadSetting(problem, "Give its `leavers` a budget.")
            hidden.charge(name, mechanism.departure_events)
        return facts | {"leavers": {"epsilon": hidden.spent.epsilon, "delta": leavers.delta}}

    def _require_a_promise(self) -> None:
        """Refuse a δ that promises nothing; warn if ε promises next to nothing."""
        if self.budget.delta >= WEAK_DELTA and not self._i_know:
            raise WeakDelta(self.budget.delta)
        if self.budget.epsilon > WEAK_EPSILON:
            times = f"{math.exp(min(self.budget.epsilon, 700)):.2g}"
            warnings.warn(
                f"ε = {self.budget.epsilon:g} promises next to nothing: an output may be {times} times as "
                "likely with a person's data as without them. Most people choose an ε of 1 or less.",
                WeakPrivacyWarning,
                stacklevel=3,
            )

    def _require_receipts(self, receipts: Given, publications: Mapping[str, Given]) -> None:
        """Refuse a store that nobody could ever leave, and what cannot be published without records."""
        if not self._retained:
            if receipts is not None:
                problem = "receipts are written after publishing, because the store keeps records."
                raise BadSetting(problem, "Use curator.receipts(spec) or `publish --receipts`.")
            return
        if receipts is None:
            what = "salts" if self._retained["retain"] == "tags" else "receipts"
            problem = f"nobody could ever leave: the store keeps no records, and {what} go nowhere."
            raise BadSetting(problem, "Say where they go: --receipts FILE, or receipts=… in Python.")
        refuse_without_records(self._retained, publications)

    def _publish(
        self,
        totals: Given,
        publications: Mapping[str, Given],
        facts: Mapping[str, Given],
        receipts: Given = None,
        progress: Progress = lambda done: None,
    ) -> None:
        ledger = Ledger(self.budget)
        _charge(ledger, publications)
        boards = [m.column.name for m in publications.values() if isinstance(m, BulletinBoard)]
        if len(set(boards)) < len(boards):
            raise BadSetting("two boards show the same column.", "Publish each text column once.")
        releases, exact = self._released(totals, publications)
        publishing = Publishing(
            self.schema,
            publications,
            releases,
            totals,
            {
                "epsilon": self.budget.epsilon,
                "delta": self.budget.delta,
                **_spent(ledger),
                **facts,
                **self._retained,
            },
            self._keep,
            exact,
            recount=not totals.is_snapshot,
            at=_started(facts),
        )
        if not self._retained:
            self._store = create_store(self._place, publishing)
            return
        from undeleted.curate.issuing import IssuingReceipts, IssuingSalts

        kind = IssuingSalts if self._retained["retain"] == "tags" else IssuingReceipts
        with receipts_to(receipts, lambda _: self._surely_no_store()) as written:
            issue = kind(written, self._retained["capacity"], progress)
            self._store = create_store(self._place, replace(publishing, issue=issue))

    def _surely_no_store(self) -> bool:
        """Whether it is known that no store came to be."""
        try:
            return not store_exists(self._place)
        except UndeletedError:
            return False

    def _released(self, totals: Given, publications: Mapping[str, Given]) -> tuple[Json, Json]:
        """The releases, with noise, and the exact totals that it was added to."""
        releases: Json = {}
        exact: Json = {}
        for name, mechanism in publications.items():
            recorded = ExactTotals(totals)
            releases[name] = mechanism.release(recorded, self._coins)
            exact[name] = recorded.of(mechanism, releases[name])
        return releases, exact

    def publish_more(
        self, publications: Mapping[str, Given], facts: Mapping[str, Given] | None = None
    ) -> None:
        """Publish further statistics of the people who are still there, out of what is left of the budget.

        They are computed from the store's own records, without the source, and only over columns that records
        keep.  What is asked now may depend on earlier answers, so its cost is counted by a privacy filter.
        """
        store = self.store
        if not isinstance(publications, Mapping) or not publications:
            raise BadSetting("there is nothing to publish.", 'Give {"a name": a mechanism, …}.')
        if boards := [name for name, m in publications.items() if isinstance(m, BulletinBoard)]:
            problem = f"the posts of {boards[0]!r} are not in the store."
            raise BadSetting(problem, "Publish boards with the first publications.")
        used = {column.name: column for m in publications.values() for column in getattr(m, "columns", ())}
        self.schema.require(*used.values())
        if lacking := [name for name in used if name not in store.kept]:
            remedy = f"Records keep {', '.join(store.kept) or 'no columns'}: only these were used, or kept."
            raise BadColumns(lacking, "not kept in the store.", remedy)

        def publish(records: Table) -> Additions:
            """Inside the store's transaction, which sees what other processes published meanwhile."""
            if store.facts.get("closed"):
                problem = "what is left of the budget is not this store's to spend."
                raise BadSetting(problem, "A copy or a backup has none: publish more in the original.")
            taken = [name for name in publications if name in store.mechanisms]
            if taken:
                raise AlreadyExists(f"a publication {taken[0]!r}", "Choose another name.")
            ledger = Ledger(self.budget, self.events, resumed=True)
            _charge(ledger, publications)
            releases, exact = self._released(Arrays(records), publications)
            return Additions(publications, releases, exact, _spent(ledger) | dict(facts or {}))

        store.extend(publish)

    def receipts_of(self, data: Given) -> Iterator[str]:
        """The same for the people of any table, such as one that was added."""
        from undeleted.curate.receipts import issuer_of

        self._require_records()

        people = self._table(data).ids or []
        yield from issuer_of(self.store).lines(iter(people), self.store.tags())

    def _require_records(self) -> None:
        if not self.store.keeps_records:
            problem = "receipts cannot be written again: the store keeps nothing from which they were made."
            raise BadSetting(problem, "Those that were written when people came are the only ones.")

    def receipts(self, spec: str | Path | Spec) -> Iterator[str]:
        """Yield a line of JSON with the receipt of each person of the spec's table who is in the store.

        A person's receipt is always the same.
        """
        from undeleted.curate.receipts import issuer_of

        self._require_records()
        spec = spec if isinstance(spec, Spec) else Spec.load(spec)
        if self.store.facts.get("spec") != spec.text:
            raise BadSetting("this is not the spec that was published.", "Give the published spec.")
        with _records(spec) as blocks:
            people = (person for block in blocks for person in block.ids or ())
            yield from issuer_of(self.store).lines(people, self.store.tags())

    def delete(
        self,
        *ids: object,
        fold: Fold | None = None,
        progress: Progress | None = None,
        unknown: Sink | None = None,
    ) -> Deletion:
        """Forget these people and all of their rows; ids that are not there are counted and change nothing.

        Ids are compared as text, byte for byte; a number is written in decimal.  A long list is deleted in
        batches; each batch is durable before the next begins.  `unknown` is called with every id that is not
        there, or no longer there.  With `fold`, records are deleted at once, and the publications are updated
        when enough people have left together, which hides each of them among the others.
        """
        store = self.store
        people = iter(_listed_ids(ids))
        deleted = absent = held = 0
        version = store.version
        while True:
            try:
                if not (part := list(islice(people, BATCH))):
                    break
                done = store.delete(part, fold)
            except UndeletedError as error:
                if deleted:  # earlier batches stay deleted, and are reported
                    if isinstance(error, Misuse):  # a bad id: the store itself is well, and can erase
                        with suppress(UndeletedError):
                            store.erase()
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
        except UndeletedError:  # the server was lost after the deletion was committed
            erased = False
        erased = erased and not store.keeps_leavers
        return Deletion(deleted, absent, version, erased, held)

    def delete_with(
        self,
        *receipts: object,
        fold: Fold | None = None,
        progress: Progress = lambda done: None,
    ) -> Deletion:
        """Forget the people whose receipts these are: each a receipt, or the line of JSON that it came in.

        All of them are checked first: if one is not this data set's, nobody is deleted.  A receipt with which
        somebody has left already is counted as unknown, and changes nothing.
        """
        given = receipts[0] if len(receipts) == 1 and not isinstance(receipts[0], str | Mapping) else receipts
        inside = list[bytes]()
        if self.store.retains == "tags":
            raise KeepsNoRecords("tags")
        for position, receipt in enumerate(_listed_receipts(given)):
            try:
                inside.append(self._inside(receipt))
            except (BadReceipt, FalseReceipt, VoidReceipt) as error:
                error.position = position
                raise
        return self._delete_claims(inside, fold, progress)

    def _delete_claims(
        self,
        claims: Sequence[bytes],
        fold: Fold | None,
        progress: Progress,
        unknown: Sink | None = None,
        people: Sequence[str] = (),
    ) -> Deletion:
        """Delete in batches, each durable before the next begins."""
        store, deleted, absent = self.store, 0, 0
        done = None if claims else Deleted(0, 0, *store.progress)
        for start in range(0, len(claims), BATCH):
            part = claims[start : start + BATCH]
            done = store.delete_tagged(part, fold)
            deleted, absent = deleted + done.deleted, absent + done.unknown
            if unknown is not None:
                for place in done.absent:
                    unknown(people[start + place])
            progress(len(part))
        assert done is not None
        erased = store.erase() and not store.keeps_leavers
        return Deletion(deleted, absent, done.version, erased, done.held)

    def delete_rows(
        self,
        data: Given,
        salts: Mapping[str, str] | None = None,
        *,
        fold: Fold | None = None,
        progress: Progress = lambda done: None,
        unknown: Sink | None = None,
    ) -> Deletion:
        """Forget the people whose rows these are, where the store keeps tags: with `retain="tags"`.

        `salts` has everybody's salt by id; without it, the table has them in a column `salt`.  All rows of a
        person must be there, with the values that were published, and with the salt: else the person is
        counted as unknown, and nothing is subtracted.
        """
        store = self.store
        if store.retains != "tags":
            problem = "rows are not deleted by their values: this store does not keep tags."
            raise BadSetting(problem, "Delete by id, or with receipts.")
        table, salted = self._salted(data, salts)
        people: dict[str, list[int]] = {}
        for row, person in enumerate(table.ids or ()):
            people.setdefault(person, []).append(row)
        leavers = [(person, rows, salted(person, rows)) for person, rows in people.items()]
        if without := sum(not salt for _, _, salt in leavers):
            who = "1 person has" if without == 1 else f"{without:,} people have"
            raise BadSetting(f"{who} no salt, or not one salt; nobody was deleted.", "Give everybody's salt.")
        return self._delete_claims(store.presented(table, leavers), fold, progress, unknown, list(people))

    def _salted(
        self, data: Given, salts: Mapping[str, str] | None
    ) -> tuple[Table, Callable[[str, list[int]], bytes]]:
        """Records on the store's grid, and a person's salt; of no bytes if it is not one salt."""
        schema = self.store.schema
        if salts is None:
            schema = replace(schema, columns=(*schema.columns, Text(SALTS)))
        read = isinstance(data, str | Path)
        table = files.read(str(data), schema) if read else schema.table(data)

        def salt_of(person: str, rows: list[int]) -> bytes:
            written = {table.texts[SALTS][row] for row in rows} if salts is None else {salts.get(person, "")}
            try:
                return bytes.fromhex(written.pop()) if len(written) == 1 else b""
            except (ValueError, TypeError):
                return b""

        return table, salt_of

    def certificate(self, receipt: object) -> str:
        """The certificate for a receipt with which somebody has left; ask for it after the deletion."""
        from undeleted.curate.receipts import Receipt, token_in

        inside = self._inside(receipt)
        parsed = Receipt.parse(token_in(_text_of(receipt)))
        if self.store.keeps_records:
            return self._issuer.certificate(parsed)
        if not self.store.is_spent(inside):
            problem = "nobody has left with this receipt; a certificate would be false."
            raise BadSetting(problem, "Delete with it first.")
        return self._issuer.certificate(parsed, self.store.acknowledged)

    @property
    def _issuer(self) -> "Issuer":
        """Who signs receipts and certificates for this store."""
        from undeleted.curate.receipts import issuer_of

        if self._signs is None or self._signs[0] != self.store.key:
            self._signs = self.store.key, issuer_of(self.store)
        return self._signs[1]

    def _inside(self, receipt: object) -> bytes:
        """What a receipt of this data set names; one that is not genuine is refused."""
        from undeleted.curate.receipts import Receipt, token_in

        parsed = Receipt.parse(token_in(_text_of(receipt)))
        inside = self._issuer.inside(parsed)
        if inside is None:
            raise VoidReceipt if self._issuer.is_genuine(parsed) else FalseReceipt
        return inside

    def delete_tagged(
        self, tags: Sequence[bytes], fold: Fold | None = None, *, dummy_work: bool = False
    ) -> Deleted:
        """Forget the people whose ids have these tags, which receipts carry, in one transaction.

        The deletion is durable when this returns; `erase` erases the data.  With `dummy_work`, as much is
        computed and written for people who are not there.
        """
        return self.store.delete_tagged(tags, fold, dummy_work=dummy_work)

    def tag(self, person: str) -> bytes:
        """The tag that replaces an id in the store."""
        return tag_of(self.store.key, person)

    def fold(self) -> None:
        """Apply the deletions that are held back to the publications, if they are due."""
        self.store.fold()

    def erase(self, timeout: float = 30.0) -> bool:
        """Erase every reachable copy of deleted data; return False if this is blocked until the timeout."""
        return self.store.erase(timeout)

    def probe(self) -> None:
        """Refuse if deletions are impossible now; this is tested by a write that changes nothing."""
        self.store.probe()

    def copy_to(self, place: str, *, new_key: bool = False, move_budget: bool = False) -> "Curator":
        """Copy the store, perhaps under a new key; a later deletion reaches only one of the two.

        What is left of the budget stays here, unless it is moved: the two must not spend it twice.
        """
        copied = copy_store(self.store, place, new_key=new_key, move_budget=move_budget)
        return Curator._of(copied, place)

    def grow_into(self, place: str, horizon: int, clock: TickClock | None = None) -> "Curator":
        """Copy the store to a place where people can join; what is published is tick 0, and costs nothing.

        Newcomers are published by batch, each with noise as wide as that of the first release, at the same ε
        per person.  From then on people must leave there.  What is left of the budget stays here.
        """
        clock = clock or TickClock("manual", datetime.now(UTC))
        grown = grow_store(self.store, place, horizon, clock.as_json(), clock.start.timestamp())
        return Curator._of(grown, place)

    @overload
    def show(self, name: str) -> Publication: ...

    @overload
    def show(self, name: None = None) -> dict[str, Publication]: ...

    def show(self, name: str | None = None) -> Publication | dict[str, Publication]:
        """A copy of the current publication, or of all by name; later deletions do not change the copy."""
        if name is None:
            return {each: self.show(each) for each in self.publications}
        if self._store is None:
            raise UnknownName("publications", name, ())
        release, version = self.store.release(name)
        return Publication(self.store.mechanisms[name], release, version, name)

    def to_arrow(self, *, confidence: float = 0.95) -> "pa.Table":
        """The answers of all publications as one Arrow table."""
        every = (each.to_arrow(confidence=confidence).to_pylist() for each in self.show().values())
        return as_arrow(row for several in every for row in several)

    def to_pandas(self, *, confidence: float = 0.95) -> "pd.DataFrame":
        """The same as a pandas frame."""
        return self.to_arrow(confidence=confidence).to_pandas()

    def _repr_html_(self) -> str:
        """All answers as tables with bars, in notebooks."""
        return "".join(each._repr_html_() for each in self.show().values())

    def forget_records(
        self,
        people: Iterable[object],
        capacity: int,
        *,
        receipts: Given,
        progress: Progress = lambda done: None,
    ) -> bool:
        """Write a receipt for everybody in the store, and erase all records, for good.

        `people` must name everybody who is there; others in it are left out.  Earlier receipts are void from
        then on.  Return whether the records are erased from the store's files.
        """
        from undeleted.curate.issuing import IssuingReceipts

        facts = retained("receipts", capacity)
        ids = dict.fromkeys(_listed_ids((people,)))
        with receipts_to(receipts) as written:
            self.store.forget_records(
                ids, facts["capacity"], IssuingReceipts(written, facts["capacity"], progress)
            )
        return self.store.vacuum()

    def status(self) -> Status:
        """What is published, what it has cost, and whether something waits to be erased."""
        if self._store is None:
            epsilon = self.budget.epsilon
            return Status((), 0, epsilon, self.budget.delta, 0.0, epsilon, False, 0)
        store = self.store
        facts = store.facts
        ticks, growth = store.ticks, store.growth
        horizon = 0 if growth is None else growth.first.horizon
        return Status(
            self.publications,
            store.version,
            facts["epsilon"],
            facts["delta"],
            facts["spent"],
            facts["left"],
            store.erasure_pending,
            store.held,
            ticks,
            horizon,
            self.clock.closes(ticks) if ticks < horizon and not facts.get("closed") else None,
        )

    def vacuum(self) -> bool:
        """Erase the old row versions that a database keeps; return False if its tables are locked."""
        return self.store.vacuum()

    def check(self, since: Sequence[str] = ()) -> list[str]:
        """Check format, integrity and conservation of the noise; return the problems, none if intact.

        Without records, noise cannot be checked: nobody can add up what they contributed.  `since` are
        certificates of such a store: it must not be older than the last of them.
        """
        problems = self.store.check()
        if since:
            now = self.store.acknowledged
            given = [self._issuer.progress_in(certificate.strip()) for certificate in since]
            then = tuple(max(each) for each in zip(*given, strict=True))
            if now[0] < then[0] or now[1] < then[1]:
                problems.append(
                    f"this copy has version {now[0]} and {now[1]:,} used receipts, and the certificates say "
                    f"{then[0]} and {then[1]:,}: it is older, and people who left are in it"
                )
        return problems


def refuse_without_records(rules: Mapping[str, Given], publications: Mapping[str, Given]) -> None:
    """Refuse what cannot be published into a store that keeps no records."""
    if not rules:
        return
    if boards := [name for name, m in publications.items() if isinstance(m, BulletinBoard)]:
        problem = f"the posts of {boards[0]!r} would be kept with numbers by which they are found."
        raise BadSetting(problem, 'Publish boards in a store of their own, with retain = "records".')
    grows = any(isinstance(m, Arrivals) for m in publications.values())
    if grows and rules["retain"] == "tags":
        problem = "a table that grows keeps those who wait for a tick, and a tag cannot say which tick."
        raise BadSetting(problem, 'Choose retain = "receipts", whose receipts carry it.')
    for name, mechanism in publications.items():
        if isinstance(mechanism, Arrivals) and not isinstance(mechanism.factors, Cohorts):
            problem = f"rows to come of {name!r} need the exact totals of those who joined earlier."
            raise BadSetting(problem, 'Choose noise = "cohorts": without records nobody can add them up.')
        if isinstance(mechanism, Arrivals) and mechanism.max_corrections:
            problem = "a correction needs the earlier record, which is not kept."
            raise BadSetting(problem, "Leave out max_corrections: people can leave and join again.")


def retained(retain: str, capacity: int | None, keep: Sequence[str] = ()) -> Json:
    """What a store notes if it keeps no records; nothing if it keeps them."""
    if retain not in ("records", "receipts", "tags"):
        raise BadSetting(f"retain = {retain!r} is not a rule.", "Choose records, receipts or tags.")
    if retain == "records":
        if capacity is not None:
            remedy = 'Add retain = "receipts" or "tags", or leave it out.'
            raise BadSetting("`capacity` is for stores that keep no records.", remedy)
        return {}
    if keep:
        raise BadSetting("`keep` needs records, and none are kept.", "Leave it out.")
    if isinstance(capacity, bool) or not isinstance(capacity, int) or not 1 <= capacity <= MOST:
        problem = f"{retain} need a `capacity` between 1 and {MOST:,}: for how many people there is room."
        raise BadSetting(problem, "It is public and stays as it is: choose it from what you know, with room.")
    return {"retain": retain, "capacity": capacity}


def _listed_receipts(given: Given) -> Iterator[object]:
    if isinstance(given, str | Mapping):
        return iter([given])
    return iter(given)


def _text_of(receipt: object) -> str:
    """The text of a receipt, or of the line that it came in."""
    if isinstance(receipt, Mapping):
        receipt = receipt.get("receipt")
    if not isinstance(receipt, str):
        raise BadReceipt
    return receipt


def _started(facts: Mapping[str, Given]) -> float | None:
    """When tick 0 of a table that grows closed."""
    return TickClock.from_json(facts["clock"]).start.timestamp() if "clock" in facts else None


def _charge(ledger: Ledger, publications: Mapping[str, Given]) -> None:
    """Charge publications to the budget, and refuse what a store cannot keep."""
    for name, mechanism in publications.items():
        if isinstance(mechanism, BulletinBoard):
            continue
        events = getattr(mechanism, "events", None)
        if events is None:
            problem = f"{name!r} makes no promise of differential privacy."
            raise BadSetting(problem, "Publish a noisy mechanism with a budget.")
        if not isinstance(mechanism, Subtracting | Arrivals):
            problem = f"{name!r} combines several releases, which a store cannot keep."
            raise BadSetting(problem, "Publish each of its parts under its own name.")
        ledger.charge(name, events)


def _spent(ledger: Ledger) -> Json:
    """What a store says about its budget."""
    spent = ledger.spent.epsilon if ledger.events else 0.0
    return {"spent": as_given(spent, ledger.total.epsilon), "left": ledger.left}


def _scanned(spec: Spec, mechanisms: Mapping[str, Given]) -> Arrays:
    """Read a spec's table once: its records, and the totals of all that is published, in one pass.

    For receipts it is read twice, and ids are not kept in between: there may be very many.
    """
    twice = spec.retain != "records" and spec.schema.rows_per_person == 1 and spec.schema.excess == "error"
    wanted = list(dict.fromkeys(m.statistic for m in mechanisms.values() if hasattr(m, "statistic")))
    parts: list[Table] = []

    def kept() -> Iterator[Table]:
        for block in files.blocks(spec.source, spec.schema):
            yield block
            parts.append(files.small(replace(block, ids=None) if twice else block))

    totals = scan(kept(), wanted)
    if twice:
        return ReadTwice(files.joined(spec.schema, parts, spec.source), totals, spec.source)
    table = files.joined(spec.schema, parts, spec.source)
    dropped = sum(part.rows for part in parts) > table.rows  # rows beyond a person's cap were added up too
    return Arrays(table) if dropped else Scanned(table, totals)


class ReadTwice(Scanned):
    """A file whose records are read again, from the file, after it was added up."""

    is_snapshot = False

    def __init__(self, table: Table, totals: dict[Given, Given], source: str) -> None:
        super().__init__(table, totals)
        object.__setattr__(self, "_source", source)

    def blocks(self) -> Iterator[Table]:
        return files.blocks(self._source, self.table.schema)  # type: ignore[attr-defined]


@contextmanager
def _read(spec: Spec, mechanisms: Mapping[str, Given]) -> Iterator[Given]:
    """A spec's table with its totals: a file is scanned, a database table is aggregated there."""
    if spec.connection is None:
        yield _scanned(spec, mechanisms)
        return
    from undeleted.curate.connections import connected

    table = connected(spec.connection, spec.source, spec.folder)
    engine = _aggregated_there(spec.schema, table, mechanisms, spec.source)
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


def _aggregated_there(schema: Schema, table: Given, mechanisms: Mapping[str, Given], name: str) -> Given:
    from undeleted.curate.engines.ibis import Ibis

    engine = Ibis(schema, table, name)
    engine.prepare([m.statistic for m in mechanisms.values() if hasattr(m, "statistic")])
    return engine


def _listed_ids(ids: tuple[object, ...]) -> Iterator[str]:
    """The ids as text, as the table has them; given as several arguments, or as one list or stream."""
    if any(isinstance(given, Mapping) or hasattr(given, "columns") for given in ids):
        problem = "a table was given where ids are expected."
        raise WrongType(problem, "Give its column of ids, such as frame['person'].")
    if len(ids) == 1 and hasattr(ids[0], "to_pyarrow"):  # a column of a database, through Ibis
        ids = (ids[0].to_pyarrow(),)
    if len(ids) == 1 and hasattr(ids[0], "to_pylist"):  # Arrow
        ids = (ids[0].to_pylist(),)
    if any(isinstance(given, bytes | bytearray | memoryview) for given in ids):
        problem = f"an id cannot be of type {type(ids[0]).__name__}."
        raise WrongType(problem, "Give text or whole numbers: decode bytes first.")
    if len(ids) == 1 and isinstance(ids[0], np.ndarray) and ids[0].ndim != 1:
        problem = f"an array of {ids[0].ndim} dimensions was given where ids are expected."
        raise WrongType(problem, "Give a list of ids: an array of one dimension.")
    if len(ids) == 1 and isinstance(ids[0], Iterable) and not isinstance(ids[0], str):
        return (_as_id(person) for person in ids[0])
    return (_as_id(person) for person in ids)


def _as_id(person: object) -> str:
    if is_missing(person):
        raise WrongType("an id is missing (None or NaN).", "Leave out rows without an id.")
    if isinstance(person, float | np.floating) and abs(float(person)) >= 2**53:
        problem = "an id is a float of 2⁵³ or more, which may be another person's after rounding."
        raise WrongType(problem, "Give ids as text, or as whole numbers.")
    if not is_plain(person):
        raise WrongType(f"an id cannot be of type {type(person).__name__}.", "Give text or whole numbers.")
    return as_text(person)
