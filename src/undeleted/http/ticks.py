"""Answers that come at fixed times after they were asked for, however long the work took.

An event loop's own timers are rounded to milliseconds from when it last woke up, which is when the work was
done: they would tell it.  A thread that sleeps until the very moment does not know of the work.
"""

import asyncio
import math
import threading
import time
from collections import deque
from typing import Any, TypeAlias

GRID = 0.002  # seconds: those who asked at about the same time are woken together
Waiting: TypeAlias = tuple[float, asyncio.Future[Any], asyncio.Future[Any]]


class Ticks:
    """Wakes whoever waits, a tick after they asked; ticks are of one length, so who came first is next."""

    def __init__(self, length: float) -> None:
        self.length = length
        self._waiting: deque[Waiting] = deque()
        self._some = threading.Event()
        self._ended = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="ticks", daemon=True).start()

    def close(self) -> None:
        self._ended = True
        self._some.set()

    def after(self, done: asyncio.Future[Any]) -> asyncio.Future[Any]:
        """A future with the same end, at the first tick after it; to cancel it leaves the work alone."""
        assert self._loop is not None
        told = self._loop.create_future()
        self._add(math.ceil(time.monotonic() / GRID) * GRID + self.length, done, told)
        return told

    def _add(self, until: float, done: asyncio.Future[Any], told: asyncio.Future[Any]) -> None:
        self._waiting.append((until, done, told))
        if not self._some.is_set():
            self._some.set()

    def _run(self) -> None:
        assert self._loop is not None
        while not self._ended:
            if not self._waiting:
                self._some.clear()
                if not self._waiting:  # nobody came in between
                    self._some.wait()
                continue
            pause = self._waiting[0][0] - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            now, due = time.monotonic(), list[Waiting]()
            while self._waiting and self._waiting[0][0] <= now:
                due.append(self._waiting.popleft())
            if due:
                try:
                    self._loop.call_soon_threadsafe(self._wake, due)
                except RuntimeError:  # the loop has ended
                    return

    def _wake(self, due: list[Waiting]) -> None:
        for until, done, told in due:
            if told.done():
                continue
            if not done.done():
                self._add(until + self.length, done, told)
            elif (error := done.exception()) is not None:
                told.set_exception(error)
            else:
                told.set_result(done.result())
