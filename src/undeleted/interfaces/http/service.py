"""The store behind the service: one thread writes, one reads, and what was deleted is erased within a second.

A third thread checks receipts and signs certificates.  Writer and reader have separate connections, so
readers do not wait for deletions.  Answers are cached until the version changes.  Of past versions only the
widths of intervals are kept: two consecutive releases would show who left between them.
"""

import asyncio
import contextlib
import hmac
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

from undeleted.curate.curator import Curator, Publication
from undeleted.curate.receipts import Issuer, Receipt, issuer_of
from undeleted.curate.stores import Deleted, Fold, Store, store_exists
from undeleted.curate.synthetic import fitting
from undeleted.curate.synthetic.fitting import Model
from undeleted.errors import (
    BadSetting,
    Busy,
    FalseReceipt,
    Misuse,
    NotStarted,
    StoreError,
    StoreGone,
    UndeletedError,
    UnknownName,
    VoidReceipt,
)
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.http.batches import Batches
from undeleted.interfaces.http.keys import Keys
from undeleted.interfaces.http.store_health import StoreHealth
from undeleted.interfaces.http.ticks import Ticks
from undeleted.interfaces.http.uploads import Uploads
from undeleted.interfaces.report.exporting import exported, of_table
from undeleted.interfaces.report.questions import shown
from undeleted.interfaces.report.store_results import budget_facts, check_result, ticks_of

log = logging.getLogger("undeleted.http")
_PUBLISH = "An operator must publish first: POST /v1/publications."
HURRY = 0.01  # seconds for which erasure may delay deletions
PROBE = 2.0  # timeout in seconds of a test write
REMEMBERED = 200  # interval widths kept per publication
QUESTIONS = 512  # cached answers
Result = TypeVar("Result")
CheckedReceipt: TypeAlias = tuple[bytes, str | Receipt]  # what a receipt names; its certificate, or itself

FITTING = 120.0  # seconds that a model of synthetic rows may take


@dataclass(frozen=True)
class Settings:
    """How a service is run."""

    store: str
    keys: Path
    new: bool = False  # there is no store yet: an operator publishes it
    public: bool = False  # publications, lab and audits need no key
    portal: bool = False  # receipts are accepted only with a key of the role person
    fold: Fold | None = None
    audits: Path | None = None
    hosts: tuple[str, ...] = ()  # names that the service answers to
    https: bool = False  # a TLS proxy is in front of it
    erase_within: float = 1.0  # seconds
    most: int = 512  # deletions that share a transaction
    waiting: int = 16384  # deletions that may wait
    body: int = 64 * 1024  # bytes of a request
    upload: int = 64 * 1024 * 1024  # bytes of a table that is published
    timeout: float = 15.0  # seconds for a request
    tick: float = 0.005  # seconds: people get answers at multiples of this after their request
    demo: Mapping[str, Given] = field(default_factory=dict)  # what the demo shows: keys and a receipt


class Service:
    """Everything that requests share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.keys = Keys(settings.keys)
        self.keys.all()  # fail now if the file cannot be read
        self._writer = ThreadPoolExecutor(1, "writer")
        self._reader = ThreadPoolExecutor(1, "reader")
        self._checker = ThreadPoolExecutor(1, "checker")
        self._writing: Curator | None = None
        self._reading: Curator | None = None
        self.store_health = StoreHealth()
        self._probing: asyncio.Task[None] | None = None
        self._dirty_since: float | None = None
        self._stop, self.ending = asyncio.Event(), False
        self._seen = 0  # the version of the cached answers
        self._answers: dict[tuple[Given, ...], tuple[int, Given]] = {}
        self.widths: dict[str, deque[tuple[int, float]]] = {}
        self.streams: dict[str, dict[str, int]] = {}
        self._checking = False
        self._sampler = ThreadPoolExecutor(1, "sampler")
        self._drawing: Future[bytes] | None = None
        self._ticks = Ticks(settings.tick)
        self.bulk = 0  # streams that are being read
        self._uploads = Uploads(settings.store)
        if not settings.new or store_exists(settings.store):
            self._open()

    def _open(self) -> None:
        self._writing, self._reading = (Curator.open(self.settings.store) for _ in range(2))
        if self.settings.fold is not None and self._writing.store.growth is not None:
            self._writing.close()
            self._reading.close()
            problem = "a table that grows does not hold deletions back."
            raise BadSetting(problem, 'Serve it without --fold; leavers = "hidden" in its spec hides them.')
        for curator in (self._writing, self._reading):
            curator.store.hurry()
        store = self._writing.store
        if not self.store_health.key:
            self.store_health.key, self.store_health.reached = store.key, store.progress
        self.__dict__.pop("issuer", None)

    # -- life

    async def start(self) -> None:
        room = self.settings.waiting
        self.batches = Batches(self._commit, self._writer, most=self.settings.most, waiting=room)
        self._checks = Batches(self._checked, self._checker, most=256, waiting=room, then=self._enqueue)
        self._checks.start()
        self.batches.start()
        self._ticks.start()
        self._tending = asyncio.create_task(self._maintain_loop())
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Commit what was accepted, erase what was deleted, and close the store."""
        try:
            await self._checks.close()
            await self.batches.close()
            self._stop.set()
            await self._tending
            await self._watching
        finally:
            await self._let_go()
            fitting.stop()
            for thread in (self._checker, self._writer, self._reader, self._sampler):
                thread.shutdown()
            self._ticks.close()

    async def _let_go(self) -> None:
        writing, reading = self._writing, self._reading
        self._writing = self._reading = None
        for thread, one in ((self._reader, reading), (self._writer, writing)):
            if one is not None:
                with contextlib.suppress(UndeletedError):
                    await self._in(thread, one.close)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

    async def _maintain_loop(self) -> None:
        """Erase deleted records in time; fold in held-back deletions when due; check that the store is in its
        place, and reopen it when it is back."""
        while not self._stop.is_set():
            await self._pause(self.settings.erase_within / 2)
            try:
                if self.store_health.trouble is not None:
                    await self._come_back()
                elif self._writing is not None:
                    await self._in(self._writer, self._maintain, self._writing)
            except UndeletedError as error:
                self.store_health.failed(error)
            except Exception as error:  # log it, and try again
                log.error("bug", extra={"facts": {"error": type(error).__name__, "at": "tending"}})

    async def _watch(self) -> None:
        """Fail requests that wait for a stuck thread; log repeated errors once."""
        while not self._stop.is_set():
            await self._pause(0.5)
            for batches in (self._checks, self.batches):
                batches.expire(self.settings.timeout)
            self.store_health.tell()

    async def _come_back(self) -> None:
        """Reopen the store if it is the one that was lost, and not an older copy."""
        await self._let_go()
        await self._in(self._writer, self._open)
        assert self._writing is not None
        store_health, store = self.store_health, self._writing.store
        progress = await self._in(self._writer, lambda: store.progress)
        if not hmac.compare_digest(store.key, store_health.key):
            problem = "there is another store at its place now."
        elif progress < store_health.reached:
            problem = f"the store came back at version {progress[0]}, but was at {store_health.reached[0]}"
            problem += ": people who left are in it again."
        else:
            store_health.back()
            return
        await self._let_go()
        raise StoreGone(problem, "Restore the store that was served, or restart the service.")

    def _maintain(self, writer: Curator) -> None:
        trouble: UndeletedError | None = None
        try:
            writer.store.look()
        except StoreGone:
            raise
        except StoreError as error:  # its key is wrong: still erase what was deleted
            trouble = error
        writer.fold()
        self._close_due(writer)
        progress = writer.store.progress
        self.store_health.reached, version = max(self.store_health.reached, progress), progress[0]
        if version != self._seen:  # perhaps by another process: drop the old version's answers
            self._answers.clear()
            self._seen = version
        if self._dirty_since is not None and writer.erase(HURRY):
            self._dirty_since = None
        if trouble is not None:
            raise trouble

    def _close_due(self, writer: Curator) -> None:
        """Close ticks that are due on the clock of a table that grows."""
        growth = writer.store.growth
        if growth is None or writer.clock.every == "manual" or not growth.is_open():
            return
        due = writer.clock.closes(growth.ticks)
        if due is not None and due.timestamp() <= time.time():
            done = writer.tick()
            log.info("ticks", extra={"facts": {"closed": done.closed, "ticks": done.ticks}})

    @property
    def erasure_late(self) -> float:
        """The seconds by which erasure is later than promised."""
        if self._dirty_since is None:
            return 0.0
        return max(0.0, time.monotonic() - self._dirty_since - self.settings.erase_within)

    async def _in(self, thread: ThreadPoolExecutor, work: Callable[..., Result], *arguments: Given) -> Result:
        return await asyncio.get_running_loop().run_in_executor(thread, work, *arguments)

    # -- the store

    @property
    def writer(self) -> Curator:
        """The curator of the thread that writes."""
        return self._there(self._writing)

    @property
    def curator(self) -> Curator:
        """The curator of the thread that reads."""
        return self._there(self._reading)

    def _there(self, curator: Curator | None) -> Curator:
        self.store_health.require()
        if curator is None:
            raise NotStarted("the service", _PUBLISH, "has published nothing yet")
        return curator

    @property
    def store(self) -> Store:
        """The writer's store, for reading its properties."""
        return self.writer.store

    @property
    def erased_within(self) -> float | None:
        """Seconds after which no file of the store holds what was deleted; None if that needs a vacuum."""
        erases = self.store.erases_by_itself and not self.store.keeps_leavers
        return self.settings.erase_within if erases else None

    @property
    def published(self) -> bool:
        return self._writing is not None or self.store_health.trouble is not None

    @cached_property
    def issuer(self) -> Issuer:
        return issuer_of(self.store)

    # -- leaving

    def leave(self, sent: Callable[[], Receipt]) -> asyncio.Future[str]:
        """Delete the person whom the receipt names, if present; return the certificate of a genuine receipt.

        The work and its duration are the same whether the person is present or not.  `sent` parses the
        receipt, outside the event loop.
        """
        _ = self.store  # raises if there is none
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._checks.submit(sent, done)
        return self._ticks.after(done)

    def _checked(self, sent: Sequence[Callable[[], Receipt]]) -> list[CheckedReceipt | Exception]:
        """Return what each receipt names and its certificate, or the error.

        Without records a certificate has the version after the deletion in it, so it is signed after that.
        """

        def one(read: Callable[[], Receipt]) -> CheckedReceipt | Exception:
            try:
                receipt, issuer = read(), self.issuer
                inside = issuer.inside(receipt)
                if inside is None and self._issuer_has_changed():
                    issuer = self.issuer
                    inside = issuer.inside(receipt)
                if inside is None:
                    return VoidReceipt() if issuer.is_genuine(receipt) else FalseReceipt()
                return inside, issuer.certificate(receipt) if issuer.keeps_records else receipt
            except Exception as error:  # only this request fails
                return error

        return [one(read) for read in sent]

    def _issuer_has_changed(self) -> bool:
        """Whether records have become receipts meanwhile, by another process."""
        self.store.refresh()
        if self.issuer.keeps_records == self.store.keeps_records:
            return False
        del self.issuer
        return True

    def _enqueue(self, checked: CheckedReceipt, done: asyncio.Future[str]) -> None:
        self.batches.submit(checked, done)

    def _commit(self, checked: Sequence[CheckedReceipt]) -> list[str]:
        self._mark_dirty()
        with self._writes() as writer:
            done = writer.delete_tagged([tag for tag, _ in checked], self.settings.fold, dummy_work=True)
            self.store_health.wrote((done.version, done.held))
            progress = None if writer.store.keeps_records else writer.store.acknowledged
        return [c if isinstance(c, str) else self.issuer.certificate(c, progress) for _, c in checked]

    @contextlib.contextmanager
    def _writes(self) -> Iterator[Curator]:
        """Write, note whether the store failed, and drop the cached answers."""
        try:
            yield self.writer
        except UndeletedError as error:
            self.store_health.notice(error)
            raise
        finally:
            if self._writing is None or not self._writing.store.keeps_leavers:
                self._answers.clear()  # hidden leavers change no answer; a slow one would tell of them

    def _mark_dirty(self) -> None:
        """Note that something must be erased."""
        self._dirty_since = self._dirty_since or time.monotonic()

    async def delete(self, people: Sequence[str]) -> Deleted:
        """Delete a part of an operator's list."""

        def work() -> Deleted:
            self._mark_dirty()
            with self._writes() as writer:
                done = writer.delete_tagged([writer.tag(p) for p in people], self.settings.fold)
                self.store_health.wrote((done.version, done.held))
                return done

        return await self._in(self._writer, work)

    # -- a table that grows

    async def add(self, table: str, skip_existing: bool) -> Json:
        """Take in the people of a table."""
        return await self._from_table(
            table, lambda curator, file: curator.add(file, skip_existing=skip_existing)
        )

    async def correct(self, table: str) -> Json:
        """Correct the records of people."""
        return await self._from_table(table, lambda curator, file: curator.correct(file))

    async def _from_table(self, table: str, change: Callable[[Curator, Path], Given]) -> Json:
        """Make a change by a table that is sent; return what it did."""

        def work() -> Json:
            self._mark_dirty()
            with self._uploads.file(table) as file, self._writes() as writer:
                done = vars(change(writer, file))
                due = writer.status().due
                return done | {"closes": None if due is None else due.isoformat()}

        _ = self.store  # raises if there is none
        with self._uploads.taken():
            return await self._in(self._writer, work)

    async def tick(self) -> Json:
        """Close the ticks that are due; with a manual clock, one."""

        def work() -> Json:
            self._mark_dirty()
            with self._writes() as writer:
                done = writer.tick()
                self.store_health.wrote(writer.store.progress)
                due = None if done.due is None else done.due.isoformat()
                return {"closed": done.closed, "ticks": done.ticks, "version": done.version, "next": due}

        return await self._in(self._writer, work)

    @contextlib.contextmanager
    def stream(self, name: str, *, restart: bool) -> Iterator[dict[str, int]]:
        """The progress of a bulk deletion; kept in memory, because a list may safely be sent again."""
        if self.bulk >= 2:
            raise Busy("two lists are already being deleted")
        while len(self.streams) >= 256:
            self.streams.pop(next(iter(self.streams)))
        self.bulk += 1
        try:
            begun = {"lines": 0, "deleted": 0, "unknown": 0}
            if name and restart:
                self.streams[name] = begun
            yield self.streams.setdefault(name, begun) if name else begun
        finally:
            self.bulk -= 1

    # -- reading

    async def read(self, name: str, asked: Mapping[str, Given], confidence: float) -> list[Json]:
        """Return a publication's current answers."""
        return await self._in(self._reader, self._read, name, asked, confidence)

    def _read(self, name: str, asked: Mapping[str, Given], confidence: float) -> list[Json]:
        curator = self.curator
        if name not in curator.publications:
            raise UnknownName("publications", name, curator.publications)
        question = (name, confidence, *((k, repr(v)) for k, v in sorted(asked.items())))
        known = self._answers.get(question)
        if known is not None and known[0] == curator.store.version:
            result: list[Json] = known[1]
            return result
        publication = curator.show(name)
        self._answers = {q: kept for q, kept in self._answers.items() if kept[0] == publication.version}
        answers = list(shown(name, publication, asked, confidence))
        if len(self._answers) >= QUESTIONS:
            self._answers.clear()
        self._answers[question] = (publication.version, answers)
        if not asked and confidence == 0.95:
            self._remember(name, publication, answers)
        return answers

    def _remember(self, name: str, publication: Publication, answers: Sequence[Json]) -> None:
        """Keep the mean half-width of the intervals at this version, to three digits; never their ends."""
        both = [(a["low"], a["high"]) for a in answers]
        ends = [(low, high) for low, high in both if all(isinstance(x, int | float) for x in (low, high))]
        if not ends:
            return
        width = float(f"{sum(high - low for low, high in ends) / len(ends) / 2:.3g}")
        past = self.widths.setdefault(name, deque(maxlen=REMEMBERED))
        if not past or past[-1][0] != publication.version:
            past.append((publication.version, width))

    async def export(self, name: str, form: str, confidence: float) -> bytes:
        """A publication's answers as a file."""

        def work() -> bytes:
            return exported({name: self._named(name)}, form, confidence=confidence)

        return await self._in(self._reader, work)

    async def sample(self, name: str, rows: int, seed: int, model: Model, form: str) -> bytes:
        """Synthetic rows as a file; one fit at a time, in a process and a thread of its own."""
        publication = await self._in(self._reader, self._named, name)
        if self._drawing is not None and not self._drawing.done():
            raise Busy("a model is being fitted, or rows are being drawn")

        def work() -> bytes:
            return of_table(publication.sample(rows, seed=seed, model=model, seconds=FITTING), form)

        self._drawing = self._sampler.submit(work)  # it goes on if the request ends: the fit is kept
        return await asyncio.wrap_future(self._drawing)

    async def predict(self, name: str, rows: list[Json]) -> Json:
        """The predictions of a model for these rows."""

        def work() -> Json:
            publication = self._named(name)
            lacking = sorted({c.name for c in publication.mechanism.columns} - set(rows[0]))
            missing: Json = dict.fromkeys(lacking)
            predicted = publication.predict([missing | row for row in rows])
            return {"name": name, "version": publication.version, "predictions": predicted}

        return await self._in(self._reader, work)

    def _named(self, name: str) -> Publication:
        if name not in self.curator.publications:
            raise UnknownName("publications", name, self.curator.publications)
        return self.curator.show(name)

    async def all(self) -> list[Json]:
        """Return every publication with its kind; one that is too large to show has a note that says so."""
        results = []
        for name in self.curator.publications:
            mechanism = self.curator.store.mechanisms[name].kind
            try:
                answers, note = await self.read(name, {}, 0.95), None
            except Misuse as error:
                answers, note = [], error.what
            version = answers[0]["version"] if answers else await self.version()
            results.append(
                {"name": name, "kind": mechanism, "version": version, "answers": answers, "note": note}
            )
        return results

    async def ready(self) -> None:
        """Refuse if deletions cannot be written now; make a test write if there was no recent write."""
        if self.store_health.trouble is None and self.store_health.wrote_lately:
            return
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._in(self._writer, self._probe))
            self._probing.add_done_callback(lambda done: done.exception())
        try:
            await asyncio.wait_for(asyncio.shield(self._probing), PROBE)
        except TimeoutError:
            raise Busy("the store does not answer") from None

    def _probe(self) -> None:
        with self._writes() as writer:
            writer.probe()
            writer.erase(HURRY)
            self.store_health.wrote(writer.store.progress)

    async def version(self) -> int:
        return await self._in(self._reader, lambda: self.curator.store.version)

    async def status(self) -> Json:
        """Return the budget spent and what is pending; never the number of people."""

        def work() -> Json:
            held_back = bool(self.curator.status().held)
            return budget_facts(self.curator) | {"held_back": held_back, "ticks": ticks_of(self.curator)}

        return await self._in(self._reader, work) | {
            "waiting": self.batches.waiting,
            "erased_within_seconds": self.erased_within,
        }

    async def check(self) -> Json:
        """The problems of the store, found on a separate connection because it takes long."""

        def work() -> Json:
            with Curator.open(self.settings.store) as curator:
                facts: Json = check_result(curator.check(), curator.store).facts  # type: ignore[assignment]
                return facts

        _ = self.store  # raises if there is none
        if self._checking:
            raise Busy("a check is already running")
        self._checking = True
        try:
            return await asyncio.to_thread(work)
        finally:
            self._checking = False

    # -- publishing

    async def publish(self, spec: str, table: str) -> Json:
        """Publish an uploaded table; the same spec again shows what is published."""
        if self._writing is None:
            with self._uploads.taken():
                await self._in(self._writer, self._publish, spec, table)
        else:
            self._uploads.check_is_published(self.curator, spec)
        status = await self.status()
        return {name: status[name] for name in ("publications", "version", "spent", "left")}

    def _publish(self, spec: str, table: str) -> None:
        """Publish and open the store in one step, so that what is published is served."""
        self._uploads.publish(spec, table)
        self._open()

    def receipts(self, spec: str, table: str) -> AsyncIterator[str]:
        """Yield receipts for the people of an uploaded table who are in the store; the same every time."""
        self._uploads.check_is_published(self.curator, spec)
        return self._uploads.receipts(spec, table)
