"""Work that arrives while a thread is busy is handed to it together, when it is free.

Group commit is this with a thread that commits: deletions share a transaction, and each is acknowledged when
that is durable.  Nobody waits for a timer: an idle thread takes a lone request at once.  If the work fails,
everybody in it is told.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, Generic, TypeVar

from undeleted.errors import Busy

Item = TypeVar("Item")
Result = TypeVar("Result")


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
        self._waiting: list[tuple[Item, asyncio.Future[Any]]] = []
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
        self._waiting.append((item, done))
        self._some.set()

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
            part, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            try:
                results = await loop.run_in_executor(self._thread, self._work, [item for item, _ in part])
                pairs = list(zip(part, results, strict=True))
            except Exception as error:
                for _, done in part:
                    _settle(error, done)
                continue
            self.handed()
            for (_, done), result in pairs:
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
