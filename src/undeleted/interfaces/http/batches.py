"""Work that arrives while a thread is busy is handed to it together, when it is free.

Group commit is this with a thread that commits: deletions share a transaction, and each is acknowledged when
that is durable.  Nobody waits for a timer: an idle thread takes a lone request at once.  If the work fails,
everybody in it is told.  Nobody waits for a thread that is stuck: `expire` tells them, and newcomers at once.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Generic, TypeAlias, TypeVar

from undeleted.errors import Busy, StoreError

Item = TypeVar("Item")
Result = TypeVar("Result")
Waiting: TypeAlias = tuple[Item, asyncio.Future[Any], float]
STUCK = 5.0  # seconds after which newcomers do not queue behind a thread any more


class Batches(Generic[Item, Result]):
    """Requests that wait, and the task that hands them over.

    `then` goes on with each result and the future of whoever asked; without it the future gets the result.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result | Exception]],
        thread: Executor,
        *,
        most: int,
        waiting: int,
        then: Callable[[Result, asyncio.Future[Any]], object] | None = None,
    ) -> None:
        self._work, self._thread, self._then = work, thread, then or _settle
        self._most, self._room = most, waiting
        self._waiting: deque[Waiting[Item]] = deque()
        self._part: list[Waiting[Item]] = []  # what the thread works on
        self._since: float | None = None
        self._some = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self.handed: Callable[[], object] = lambda: None  # told of every batch

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def submit(self, item: Item, done: asyncio.Future[Any]) -> None:
        """Have it worked on; the future hears of it."""
        if self._closing:
            raise Busy("the service is shutting down")
        if len(self._waiting) >= self._room:
            raise Busy(f"{self._room:,} requests are waiting already")
        now = time.monotonic()
        if self._since is not None and now - self._since > STUCK:
            raise Busy("the store has not answered for some seconds")
        self._waiting.append((item, done, now))
        self._some.set()

    def expire(self, patience: float) -> None:
        """Tell those who have waited for so long that they should ask again: who is being worked on may be
        done with or not, and the others are taken off the queue."""
        before = time.monotonic() - patience
        while self._waiting and self._waiting[0][2] < before:
            _settle(Busy("the store has not answered in time"), self._waiting.popleft()[1])
        for _, done, since in self._part:
            if since < before:
                what = "the store has not answered in time: it may have happened, or not."
                _settle(StoreError(what, "Ask again: that is safe."), done)

    async def close(self) -> None:
        """Finish what is waiting, and end."""
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
                if isinstance(result, Exception):  # of this item alone
                    _settle(result, done)
                    continue
                try:
                    self._then(result, done)
                except Busy as error:
                    _settle(error, done)


def _settle(result: Any, done: asyncio.Future[Any]) -> None:
    """Tell whoever asked, if they still listen."""
    if done.done():
        return
    if isinstance(result, Exception):
        done.set_exception(result)
        _ = done.exception()  # somebody who hung up does not ask
    else:
        done.set_result(result)
