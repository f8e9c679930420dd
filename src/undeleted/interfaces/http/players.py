"""Runs of the lab, in a process of its own: one that takes too long is ended, and holds nobody up.

A thread could not be ended, and would take its time from the deletions.
"""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from undeleted.errors import Busy, UndeletedError

AT_ONCE = 8  # runs that may wait
SECONDS = 10.0  # of a run, at the most
START = 30.0  # of the first, which waits for what it imports


class Players:
    """One process that plays; it starts with the first run, and again after one that was ended."""

    def __init__(self, seconds: float = SECONDS, start: float = START) -> None:
        self._seconds, self._start = seconds, start
        self.threads = ThreadPoolExecutor(1, "lab")
        self._process: Any = None
        self._pipe: Connection | None = None
        self._waiting, self._lock = 0, threading.Lock()

    def play(self, *arguments: Any) -> Any:
        """In the thread of the lab: the two panels, or an error of ours."""
        pipe, patience = self._ready()
        try:
            pipe.send(arguments)
            if not pipe.poll(patience):
                self.close()
                raise Busy("this run took too long")
            result = pipe.recv()
        except (EOFError, OSError):
            self.close()
            raise Busy("this run was ended") from None
        if isinstance(result, UndeletedError):
            raise result
        return result

    def _ready(self) -> tuple[Connection, float]:
        if self._process is not None and self._process.is_alive() and self._pipe is not None:
            return self._pipe, self._seconds
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_plays, args=(theirs,), name="undeleted lab", daemon=True)
        self._process.start()
        theirs.close()
        return self._pipe, self._start + self._seconds

    def enter(self) -> None:
        """Refuse a run if too many wait."""
        with self._lock:
            if self._waiting >= AT_ONCE:
                raise Busy("others are playing")
            self._waiting += 1

    def leave(self) -> None:
        with self._lock:
            self._waiting -= 1

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None


def _plays(pipe: Connection) -> None:
    """The process: a run for every line of arguments, until nobody asks any more."""
    from undeleted.interfaces.http import lab

    while True:
        try:
            arguments = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            result: Any = lab.play(*arguments)
        except UndeletedError as error:
            result = error
        pipe.send(result)
