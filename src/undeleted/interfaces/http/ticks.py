"""Answers at fixed ticks after the request, not at the moment when the work is done.

An event loop rounds its timers to milliseconds from its last wake-up, which is when the work was done: they
would reveal it.  A thread that sleeps until the exact moment does not depend on the work.  Requests whose
work is not done cost nothing while they wait, however many there are.
"""

import asyncio
import heapq
import threading
import time
from typing import TypeAlias

from undeleted.foundations.types import Given

GRID = 0.002  # seconds: requests of about the same time are answered together
MARGIN = 0.0005  # seconds: work that ends this shortly before a tick is answered at the next
TOGETHER = 64  # answers sent before the event loop does other work
Reply: TypeAlias = tuple[asyncio.Future[Given], asyncio.Future[Given]]


class Ticks:
    """Answers each request at the first tick after its work is done; ticks are counted from the request."""

    def __init__(self, length: float) -> None:
        self.length = length
        self._lock = threading.Lock()
        self._due: list[int] = []  # moments, in microseconds; a heap
        self._at: dict[int, list[Reply]] = {}
        self._sooner = threading.Event()  # something is due before the thread would wake
        self._ended = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="ticks", daemon=True).start()

    def close(self) -> None:
        self._ended = True
        self._sooner.set()

    def after(self, done: asyncio.Future[Given]) -> asyncio.Future[Given]:
        """Return a future with the same result at the next tick; cancelling it does not stop the work."""
        assert self._loop is not None
        delayed = self._loop.create_future()
        asked = -(-time.monotonic() // GRID) * GRID
        if done.done():
            self._add(asked, done, delayed)
        else:
            done.add_done_callback(lambda done: self._add(asked, done, delayed))
        return delayed

    def _add(self, asked: float, done: asyncio.Future[Given], delayed: asyncio.Future[Given]) -> None:
        ticks = max(1, -(-(time.monotonic() + MARGIN - asked) // self.length))
        moment = round(1e6 * (asked + ticks * self.length))
        with self._lock:
            waiting = self._at.get(moment)
            if waiting is None:
                self._at[moment] = [(done, delayed)]
                heapq.heappush(self._due, moment)
                if self._due[0] == moment:
                    self._sooner.set()
            else:
                waiting.append((done, delayed))

    def _run(self) -> None:
        assert self._loop is not None
        while not self._ended:
            self._sooner.clear()
            with self._lock:
                first = self._due[0] if self._due else None
            pause = None if first is None else first / 1e6 - time.monotonic()
            if pause is None or pause > 0:
                self._sooner.wait(pause)
                continue
            with self._lock:
                due = self._at.pop(heapq.heappop(self._due))
            try:
                self._loop.call_soon_threadsafe(self._wake, due, 0)
            except RuntimeError:  # the loop has ended
                return

    def _wake(self, due: list[Reply], first: int) -> None:
        """Set some results at a time, so that other requests are processed in between."""
        assert self._loop is not None
        if first + TOGETHER < len(due):
            self._loop.call_soon(self._wake, due, first + TOGETHER)
        for done, delayed in due[first : first + TOGETHER]:
            if delayed.done():
                continue
            if (error := done.exception()) is not None:
                delayed.set_exception(error)
            else:
                delayed.set_result(done.result())
