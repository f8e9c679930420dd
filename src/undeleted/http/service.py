"""The store behind the service: one thread writes, one reads, and what was deleted is erased within a second.

A third checks receipts and signs certificates.  Writer and reader have connections of their own, so readers
do not wait for deletions.  Answers are kept for as long as the version stands.  Of the past only how wide
intervals were is remembered: two releases in a row would show who left between them.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from undeleted.curator import Curator, Publication
from undeleted.errors import BadQuestion, Busy, NotStarted, UndeletedError, UnknownName
from undeleted.http.batches import Batches
from undeleted.http.keys import Keys
from undeleted.http.ticks import Ticks
from undeleted.http.uploads import Uploads
from undeleted.receipts import Issuer, Receipt, issuer_of
from undeleted.report.questions import kind_of, told
from undeleted.stores import Deleted, Fold, Store, open_store, store_there
from undeleted.stores._records import tag_of

log = logging.getLogger("undeleted.http")
_PUBLISH = "An operator publishes first: POST /v1/publications."
HURRY = 0.01  # seconds that erasure may hold deletions up
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
    waiting: int = 4096  # deletions that may wait
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
        self._writing: Store | None = None
        self._reading: Curator | None = None
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
        self._writing = open_store(self.settings.store)
        self._reading = Curator.open(self.settings.store)
        self.__dict__.pop("issuer", None)

    # -- life

    async def start(self) -> None:
        room = self.settings.waiting
        self.batches = Batches(self._commit, self._writer, most=self.settings.most, waiting=room)
        self._checks = Batches(self._checked, self._checker, most=64, waiting=room, then=self.batches.submit)
        self._checks.start()
        self.batches.start()
        self._ticks.start()
        self._tending = asyncio.create_task(self._tend())

    async def close(self) -> None:
        """Write what was accepted, erase it, and let go."""
        try:
            await self._checks.close()
            await self.batches.close()
            self._stop.set()
            await self._tending
        finally:
            if self._writing is not None:
                await self._in(self._reader, self.curator.close)
                await self._in(self._writer, self._writing.close)
            for thread in (self._checker, self._writer, self._reader):
                thread.shutdown()
            self._ticks.close()

    async def _tend(self) -> None:
        """Erase what was deleted, in time; fold in what was held back, when it is due."""
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), self.settings.erase_within / 2)
            if self._writing is None:
                continue
            try:
                await self._in(self._writer, self._tended, self._writing)
            except UndeletedError:
                log.error("store", extra={"facts": {"error": "StoreError"}})
            except Exception as error:  # it is told, and tried again
                log.error("bug", extra={"facts": {"error": type(error).__name__, "at": "tending"}})

    def _tended(self, store: Store) -> None:
        store.fold()
        version = store.version
        if version != self._seen:  # by another process, perhaps: what it was before is kept nowhere
            self._answers.clear()
            self._seen = version
        if self._dirty_since is not None and store.erase(HURRY):
            self._dirty_since = None

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
    def store(self) -> Store:
        """The writer's."""
        if self._writing is None:
            raise NotStarted("the service", _PUBLISH, "has published nothing yet")
        return self._writing

    @property
    def curator(self) -> Curator:
        """The reader's."""
        if self._reading is None:
            raise NotStarted("the service", _PUBLISH, "has published nothing yet")
        return self._reading

    @property
    def erased_within(self) -> float | None:
        """Seconds after which no file of the store holds what was deleted; none if a vacuum must do it."""
        return self.settings.erase_within if self.store.erases_by_itself else None

    @property
    def published(self) -> bool:
        return self._writing is not None

    @cached_property
    def issuer(self) -> Issuer:
        return issuer_of(self.store)

    # -- leaving

    async def leave(self, receipt: Receipt) -> str:
        """Delete whom the receipt names, if it is genuine and they are there; in any case the certificate.

        What is done, and how long it takes, is the same for receipts that name nobody.
        """
        _ = self.store  # there is one
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._checks.submit(receipt, done)
        certificate: str = await self._ticks.after(done)
        return certificate

    def _checked(self, receipts: Sequence[Receipt]) -> list[tuple[bytes, str] | Exception]:
        """Whom they name, nobody's tag for one that is not genuine, and the certificates they will get."""
        issuer = self.issuer

        def one(receipt: Receipt) -> tuple[bytes, str] | Exception:
            try:
                return issuer.tag(receipt), issuer.certificate(receipt)
            except Exception as error:  # nobody else fails with it
                return error

        return [one(receipt) for receipt in receipts]

    def _commit(self, checked: Sequence[tuple[bytes, str]]) -> list[str]:
        self._soil()
        self.store.delete_tagged([tag for tag, _ in checked], self.settings.fold, alike=True)
        self._answers.clear()
        return [certificate for _, certificate in checked]

    def _soil(self) -> None:
        """Something will have to be erased."""
        self._dirty_since = self._dirty_since or time.monotonic()

    async def delete(self, people: Sequence[str]) -> Deleted:
        """A part of an operator's list."""

        def work() -> Deleted:
            self._soil()
            store = self.store
            done = store.delete_tagged([tag_of(store.key, p) for p in people], self.settings.fold)
            self._answers.clear()
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
        answers = list(told(name, publication, asked, confidence))
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
            mechanism = kind_of(self.curator.store.mechanisms[name])
            try:
                answers, note = await self.read(name, {}, 0.95), None
            except BadQuestion as error:
                answers, note = [], error.what
            version = answers[0]["version"] if answers else await self.version()
            found.append(
                {"name": name, "kind": mechanism, "version": version, "answers": answers, "note": note}
            )
        return found

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
