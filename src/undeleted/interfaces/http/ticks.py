"""Answers that come at fixed times after they were asked for, however long the work took.

An event loop's own timers are rounded to milliseconds from when it last woke up, which is when the work was
done: they would tell it.  A thread that sleeps until the very moment does not know of the work.  Whoever
still waits for their work costs nothing meanwhile, however many they are.
"""

import asyncio
import heapq
import threading
import time
from typing import Any, TypeAlias

GRID = 0.002  # seconds: those who asked at about the same time are woken together
MARGIN = 0.0005  # seconds: work that ends so shortly before a tick is told at the next
TOGETHER = 64  # that are woken before the event loop looks for others
Answer: TypeAlias = tuple[asyncio.Future[Any], asyncio.Future[Any]]


class Ticks:
    """Wakes whoever waits, at the first tick after their work is done; ticks are counted from the asking."""

    def __init__(self, length: float) -> None:
        self.length = length
        self._lock = threading.Lock()
        self._due: list[int] = []  # moments, in microseconds; a heap
        self._at: dict[int, list[Answer]] = {}
        self._sooner = threading.Event()  # than what the thread sleeps for
        self._ended = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="ticks", daemon=True).start()

    def close(self) -> None:
        self._ended = True
        self._sooner.set()

    def after(self, done: asyncio.Future[Any]) -> asyncio.Future[Any]:
        """A future with the same end, at the first tick after it; to cancel it leaves the work alone."""
        assert self._loop is not None
        told = self._loop.create_future()
        asked = -(-time.monotonic() // GRID) * GRID
        if done.done():
            self._add(asked, done, told)
        else:
            done.add_done_callback(lambda done: self._add(asked, done, told))
        return told

    def _add(self, asked: float, done: asyncio.Future[Any], told: asyncio.Future[Any]) -> None:
        ticks = max(1, -(-(time.monotonic() + MARGIN - asked) // self.length))
        moment = round(1e6 * (asked + ticks * self.length))
        with self._lock:
            waiting = self._at.get(moment)
            if waiting is None:
                self._at[moment] = [(done, told)]
                heapq.heappush(self._due, moment)
                if self._due[0] == moment:
                    self._sooner.set()
            else:
                waiting.append((done, told))

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

    def _wake(self, due: list[Answer], first: int) -> None:
        """Some at a time: whoever else asks something meanwhile is heard in between."""
        assert self._loop is not None
        if first + TOGETHER < len(due):
            self._loop.call_soon(self._wake, due, first + TOGETHER)
        for done, told in due[first : first + TOGETHER]:
            if told.done():
                continue
            if (error := done.exception()) is not None:
                told.set_exception(error)
            else:
                told.set_result(done.result())
