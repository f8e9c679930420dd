"""The store behind the service: one thread writes, one reads, and what was deleted is erased within a second.

A third checks receipts and signs certificates.  Writer and reader have connections of their own, so readers
do not wait for deletions.  Answers are kept for as long as the version stands.  Of the past only how wide
intervals were is remembered: two releases in a row would show who left between them.
"""

import asyncio
import contextlib
import hmac
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from undeleted.curate.curator import Curator, Publication
from undeleted.curate.receipts import Issuer, Receipt, issuer_of
from undeleted.curate.stores import Deleted, Fold, Store, store_there
from undeleted.errors import (
    BadQuestion,
    Busy,
    FalseReceipt,
    NotStarted,
    StoreError,
    StoreGone,
    UndeletedError,
    UnknownName,
)
from undeleted.interfaces.http.batches import Batches
from undeleted.interfaces.http.keys import Keys
from undeleted.interfaces.http.standing import Standing
from undeleted.interfaces.http.ticks import Ticks
from undeleted.interfaces.http.uploads import Uploads
from undeleted.interfaces.report.questions import shown

log = logging.getLogger("undeleted.http")
_PUBLISH = "An operator publishes first: POST /v1/publications."
HURRY = 0.01  # seconds that erasure may hold deletions up
PROBE = 2.0  # seconds for a write that shows whether the store can be written
REMEMBERED = 200  # widths of an interval
QUESTIONS = 512  # answers that are kept
Result = TypeVar("Result")


@dataclass(frozen=True)
class Settings:
    """How a service is run."""

    store: str
    keys: Path
    new: bool = False  # there is no store yet: an operator publishes it
    public: bool = False  # publications, lab and audits need no key
    portal: bool = False  # receipts are taken only from whoever has a key of the role person
    fold: Fold | None = None
    audits: Path | None = None
    hosts: tuple[str, ...] = ()  # names that the service answers to
    https: bool = False  # a proxy before it speaks TLS
    erase_within: float = 1.0  # seconds
    most: int = 512  # deletions that share a transaction
    waiting: int = 16384  # deletions that may wait
    body: int = 64 * 1024  # bytes of a request
    upload: int = 64 * 1024 * 1024  # bytes of a table that is published
    patience: float = 15.0  # seconds for a request
    tick: float = 0.005  # seconds: people are answered at a multiple of it after they asked
    demo: Mapping[str, Any] = field(default_factory=dict)  # what the demo shows: keys and a receipt


class Service:
    """Everything that requests share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.keys = Keys(settings.keys)
        self.keys.all()  # a file that cannot be read is told now
        self._writer = ThreadPoolExecutor(1, "writer")
        self._reader = ThreadPoolExecutor(1, "reader")
        self._checker = ThreadPoolExecutor(1, "checker")
        self._writing: Curator | None = None
        self._reading: Curator | None = None
        self.standing = Standing()
        self._probing: asyncio.Task[None] | None = None
        self._dirty_since: float | None = None
        self._stop, self.ending = asyncio.Event(), False
        self._seen = 0  # the version that answers are kept of
        self._answers: dict[tuple[Any, ...], tuple[int, Any]] = {}
        self.widths: dict[str, deque[tuple[int, float]]] = {}
        self.streams: dict[str, dict[str, int]] = {}
        self._checking = False
        self._ticks = Ticks(settings.tick)
        self.bulk = 0  # streams that are being read
        self._uploads = Uploads(settings.store)
        if not settings.new or store_there(settings.store):
            self._open()

    def _open(self) -> None:
        self._writing, self._reading = (Curator.open(self.settings.store) for _ in range(2))
        for curator in (self._writing, self._reading):
            curator.store.hurry()
        store = self._writing.store
        if not self.standing.key:
            self.standing.key, self.standing.reached = store.key, store.progress
        self.__dict__.pop("issuer", None)

    # -- life

    async def start(self) -> None:
        room = self.settings.waiting
        self.batches = Batches(self._commit, self._writer, most=self.settings.most, waiting=room)
        self._checks = Batches(self._checked, self._checker, most=256, waiting=room, then=self._go_on)
        self._checks.start()
        self.batches.start()
        self._ticks.start()
        self._tending = asyncio.create_task(self._tend())
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Write what was accepted, erase it, and let go."""
        try:
            await self._checks.close()
            await self.batches.close()
            self._stop.set()
            await self._tending
            await self._watching
        finally:
            await self._let_go()
            for thread in (self._checker, self._writer, self._reader):
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

    async def _tend(self) -> None:
        """Erase what was deleted, in time; fold in what was held back, when it is due; see that the store is
        where it was, and go on when it is there again."""
        while not self._stop.is_set():
            await self._pause(self.settings.erase_within / 2)
            try:
                if self.standing.trouble is not None:
                    await self._come_back()
                elif self._writing is not None:
                    await self._in(self._writer, self._tended, self._writing)
            except UndeletedError as error:
                self.standing.failed(error)
            except Exception as error:  # it is told, and tried again
                log.error("bug", extra={"facts": {"error": type(error).__name__, "at": "tending"}})

    async def _watch(self) -> None:
        """Nobody waits for a thread that is stuck; what was told many times is told once."""
        while not self._stop.is_set():
            await self._pause(0.5)
            for batches in (self._checks, self.batches):
                batches.expire(self.settings.patience)
            self.standing.tell()

    async def _come_back(self) -> None:
        """Open the store at its place again, if it is the one that was lost, and no older."""
        await self._let_go()
        await self._in(self._writer, self._open)
        assert self._writing is not None
        standing, store = self.standing, self._writing.store
        progress = await self._in(self._writer, lambda: store.progress)
        if not hmac.compare_digest(store.key, standing.key):
            problem = "there is another store at its place now."
        elif progress < standing.reached:
            problem = f"the store came back at version {progress[0]}, and was at {standing.reached[0]}"
            problem += ": people who left are in it again."
        else:
            standing.back()
            return
        await self._let_go()
        raise StoreGone(problem, "Put back the one that was served, or start the service anew.")

    def _tended(self, writer: Curator) -> None:
        trouble: UndeletedError | None = None
        try:
            writer.store.look()
        except StoreGone:
            raise
        except StoreError as error:  # of its key: what is deleted is erased all the same
            trouble = error
        writer.fold()
        progress = writer.store.progress
        self.standing.reached, version = max(self.standing.reached, progress), progress[0]
        if version != self._seen:  # by another process, perhaps: what it was before is kept nowhere
            self._answers.clear()
            self._seen = version
        if self._dirty_since is not None and writer.erase(HURRY):
            self._dirty_since = None
        if trouble is not None:
            raise trouble

    @property
    def erasure_late(self) -> float:
        """By how many seconds erasure is later than was promised."""
        if self._dirty_since is None:
            return 0.0
        return max(0.0, time.monotonic() - self._dirty_since - self.settings.erase_within)

    async def _in(self, thread: ThreadPoolExecutor, work: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(thread, work, *arguments)

    # -- what there is

    @property
    def writer(self) -> Curator:
        """The curator of the thread that writes."""
        return self._there(self._writing)

    @property
    def curator(self) -> Curator:
        """The curator of the thread that reads."""
        return self._there(self._reading)

    def _there(self, curator: Curator | None) -> Curator:
        self.standing.require()
        if curator is None:
            raise NotStarted("the service", _PUBLISH, "has published nothing yet")
        return curator

    @property
    def store(self) -> Store:
        """The writer's, to look at."""
        return self.writer.store

    @property
    def erased_within(self) -> float | None:
        """Seconds after which no file of the store holds what was deleted; none if a vacuum must do it."""
        return self.settings.erase_within if self.store.erases_by_itself else None

    @property
    def published(self) -> bool:
        return self._writing is not None or self.standing.trouble is not None

    @cached_property
    def issuer(self) -> Issuer:
        return issuer_of(self.store)

    # -- leaving

    def leave(self, sent: Callable[[], Receipt]) -> asyncio.Future[str]:
        """Delete whom the receipt names, if they are there; the certificate, if the receipt is genuine.

        What is done, and how long it takes, is the same whether they are there or not.  `sent` reads the
        receipt, away from the event loop.
        """
        _ = self.store  # there is one
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._checks.submit(sent, done)
        return self._ticks.after(done)

    def _checked(self, sent: Sequence[Callable[[], Receipt]]) -> list[tuple[bytes, str] | Exception]:
        """Whom they name, and the certificates they will get."""
        issuer = self.issuer

        def one(read: Callable[[], Receipt]) -> tuple[bytes, str] | Exception:
            try:
                receipt = read()
                tag = issuer.tag_in(receipt)
                return FalseReceipt() if tag is None else (tag, issuer.certificate(receipt))
            except Exception as error:  # nobody else fails with it
                return error

        return [one(read) for read in sent]

    def _go_on(self, checked: tuple[bytes, str], done: asyncio.Future[str]) -> None:
        self.batches.submit(checked, done)

    def _commit(self, checked: Sequence[tuple[bytes, str]]) -> list[str]:
        self._soil()
        with self._writes() as writer:
            done = writer.delete_tagged([tag for tag, _ in checked], self.settings.fold, alike=True)
            self.standing.wrote((done.version, done.held))
        return [certificate for _, certificate in checked]

    @contextlib.contextmanager
    def _writes(self) -> Iterator[Curator]:
        """What comes of a write is what is known of the store."""
        try:
            yield self.writer
        except UndeletedError as error:
            self.standing.notice(error)
            raise
        finally:
            self._answers.clear()

    def _soil(self) -> None:
        """Something will have to be erased."""
        self._dirty_since = self._dirty_since or time.monotonic()

    async def delete(self, people: Sequence[str]) -> Deleted:
        """A part of an operator's list."""

        def work() -> Deleted:
            self._soil()
            with self._writes() as writer:
                done = writer.delete_tagged([writer.tag(p) for p in people], self.settings.fold)
                self.standing.wrote((done.version, done.held))
                return done

        return await self._in(self._writer, work)

    @contextlib.contextmanager
    def stream(self, name: str, *, anew: bool) -> Iterator[dict[str, int]]:
        """How far a bulk deletion has come; kept in memory, since a list may safely be sent again."""
        if self.bulk >= 2:
            raise Busy("two lists are being deleted already")
        while len(self.streams) >= 256:
            self.streams.pop(next(iter(self.streams)))
        self.bulk += 1
        try:
            begun = {"lines": 0, "deleted": 0, "unknown": 0}
            if name and anew:
                self.streams[name] = begun
            yield self.streams.setdefault(name, begun) if name else begun
        finally:
            self.bulk -= 1

    # -- reading

    async def read(self, name: str, asked: Mapping[str, Any], confidence: float) -> list[dict[str, Any]]:
        """A publication's answers, as it stands."""
        return await self._in(self._reader, self._read, name, asked, confidence)

    def _read(self, name: str, asked: Mapping[str, Any], confidence: float) -> list[dict[str, Any]]:
        curator = self.curator
        if name not in curator.publications:
            raise UnknownName("publications", name, curator.publications)
        question = (name, confidence, *((k, repr(v)) for k, v in sorted(asked.items())))
        known = self._answers.get(question)
        if known is not None and known[0] == curator.store.version:
            found: list[dict[str, Any]] = known[1]
            return found
        publication = curator.show(name)
        self._answers = {q: kept for q, kept in self._answers.items() if kept[0] == publication.version}
        answers = list(shown(name, publication, asked, confidence))
        if len(self._answers) >= QUESTIONS:
            self._answers.clear()
        self._answers[question] = (publication.version, answers)
        if not asked and confidence == 0.95:
            self._remember(name, publication, answers)
        return answers

    def _remember(self, name: str, publication: Publication, answers: Sequence[dict[str, Any]]) -> None:
        """How wide the intervals are at this version, to three digits; never what is between their ends."""
        ends = [(a["low"], a["high"]) for a in answers if a["low"] is not None and a["high"] is not None]
        if not ends:
            return
        width = float(f"{sum(high - low for low, high in ends) / len(ends) / 2:.3g}")
        past = self.widths.setdefault(name, deque(maxlen=REMEMBERED))
        if not past or past[-1][0] != publication.version:
            past.append((publication.version, width))

    async def all(self) -> list[dict[str, Any]]:
        """Every publication with its kind; one that is too large to be shown whole says so."""
        found = []
        for name in self.curator.publications:
            mechanism = self.curator.store.mechanisms[name].kind
            try:
                answers, note = await self.read(name, {}, 0.95), None
            except BadQuestion as error:
                answers, note = [], error.what
            version = answers[0]["version"] if answers else await self.version()
            found.append(
                {"name": name, "kind": mechanism, "version": version, "answers": answers, "note": note}
            )
        return found

    async def ready(self) -> None:
        """Refuse if nothing can be deleted just now: something was written a moment ago, or is now."""
        if self.standing.trouble is None and self.standing.wrote_lately:
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
            self.standing.wrote(writer.store.progress)

    async def version(self) -> int:
        return await self._in(self._reader, lambda: self.curator.store.version)

    async def status(self) -> dict[str, Any]:
        """What it has cost, and what waits; never how many people there are."""

        def work() -> dict[str, Any]:
            found = self.curator.status()
            return {
                "publications": list(found.publications),
                "version": found.version,
                "epsilon": found.epsilon,
                "delta": found.delta,
                "spent": found.spent,
                "left": found.left,
                "erasure_pending": found.erasure_pending,
                "held_back": bool(found.held),
            }

        return await self._in(self._reader, work) | {
            "waiting": self.batches.waiting,
            "erased_within_seconds": self.erased_within,
        }

    async def check(self) -> list[str]:
        """Whether the store is whole; with a connection of its own, since it takes its time."""

        def work() -> list[str]:
            with Curator.open(self.settings.store) as curator:
                return curator.check()

        _ = self.store  # there is one
        if self._checking:
            raise Busy("a check is going on already")
        self._checking = True
        try:
            return await asyncio.to_thread(work)
        finally:
            self._checking = False

    # -- publishing

    async def publish(self, spec: str, table: str) -> dict[str, Any]:
        """Publish a table that was sent; the same spec again shows what there is."""
        if self._writing is None:
            with self._uploads.taken():
                await self._in(self._writer, self._publish, spec, table)
        else:
            self._uploads.check_is_published(self.curator, spec)
        status = await self.status()
        return {name: status[name] for name in ("publications", "version", "spent", "left")}

    def _publish(self, spec: str, table: str) -> None:
        """In one go: what is published is served."""
        self._uploads.publish(spec, table)
        self._open()

    def receipts(self, spec: str, table: str) -> AsyncIterator[str]:
        """A receipt for everybody of a table that was sent who is here; the same every time."""
        self._uploads.check_is_published(self.curator, spec)
        return self._uploads.receipts(spec, table)
