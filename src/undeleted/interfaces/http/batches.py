"""Work that arrives while a thread is busy is handed to it as one batch, when it is free.

With a thread that commits, this is group commit: deletions share a transaction, and each is acknowledged when
it is durable.  There is no timer: an idle thread takes a single request at once.  If a batch fails, each of
its requests gets the error.  A stuck thread blocks nobody: `expire` fails those who wait, and new requests
are refused at once.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeAlias, TypeVar

from undeleted.errors import Busy, StoreError
from undeleted.foundations.types import Given

Item = TypeVar("Item")
Result = TypeVar("Result")
Waiting: TypeAlias = tuple[Item, asyncio.Future[Given], float]
STUCK = 5.0  # seconds of one batch after which new requests are refused


class Batches(Generic[Item, Result]):
    """The queue of waiting requests, and the task that hands them to the thread.

    `then` is called with each result and the request's future; without it the future gets the result.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result | Exception]],
        thread: Executor,
        *,
        most: int,
        waiting: int,
        then: Callable[[Result, asyncio.Future[Given]], object] | None = None,
    ) -> None:
        self._work, self._thread, self._then = work, thread, then or _settle
        self._most, self._room = most, waiting
        self._waiting: deque[Waiting[Item]] = deque()
        self._part: list[Waiting[Item]] = []  # what the thread works on
        self._since: float | None = None
        self._some = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self.handed: Callable[[], object] = lambda: None  # called after every batch

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, item: Item, done: asyncio.Future[Given]) -> None:
        """Queue an item; `done` gets its result or an error."""
        if self._closing:
            raise Busy("the service is shutting down")
        if len(self._waiting) >= self._room:
            raise Busy(f"{self._room:,} requests are waiting already")
        now = time.monotonic()
        if self._since is not None and now - self._since > STUCK:
            raise Busy("the store has not answered for some seconds")
        self._waiting.append((item, done, now))
        self._some.set()

    def expire(self, timeout: float) -> None:
        """Fail requests that have waited longer than this many seconds.

        Queued ones are removed; those in the current batch may or may not have been carried out.
        """
        before = time.monotonic() - timeout
        while self._waiting and self._waiting[0][2] < before:
            _settle(Busy("the store has not answered in time"), self._waiting.popleft()[1])
        for _, done, since in self._part:
            if since < before:
                what = "the store has not answered in time: the request may or may not have been done."
                _settle(StoreError(what, "Send it again: that is safe."), done)

    async def close(self) -> None:
        """Finish the waiting requests, and stop."""
        self._closing = True
        self._some.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting or not self._closing:
            if not self._waiting:
                self._some.clear()
                await self._some.wait()
                continue
            part = self._part = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            self._since = time.monotonic()
            try:
                results = await loop.run_in_executor(self._thread, self._work, [item for item, _, _ in part])
                pairs = list(zip(part, results, strict=True))
            except Exception as error:
                for _, done, _ in part:
                    _settle(error, done)
                continue
            finally:
                self._part, self._since = [], None
            self.handed()
            for (_, done, _), result in pairs:
                if isinstance(result, Exception):  # only this item failed
                    _settle(result, done)
                    continue
                try:
                    self._then(result, done)
                except Busy as error:
                    _settle(error, done)


def _settle(result: Given, done: asyncio.Future[Given]) -> None:
    """Set a future's result or error, unless it is done already."""
    if done.done():
        return
    if isinstance(result, Exception):
        done.set_exception(result)
        _ = done.exception()  # mark it as retrieved: the client may have hung up
    else:
        done.set_result(result)
