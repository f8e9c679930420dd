"""Runs of the lab, in a separate process: a run that takes too long is killed, and delays nobody.

A thread could not be killed, and would take time from the deletions.
"""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from undeleted.errors import Busy, UndeletedError
from undeleted.foundations.types import Given

AT_ONCE = 8  # runs that may wait
SECONDS = 10.0  # timeout of a run
START = 30.0  # added for the first run, which imports modules


class LabProcess:
    """One process that plays the runs; it starts with the first run, and again after it was killed."""

    def __init__(self, seconds: float = SECONDS, start: float = START) -> None:
        self._seconds, self._start = seconds, start
        self.threads = ThreadPoolExecutor(1, "lab")
        self._process: Given = None
        self._pipe: Connection | None = None
        self._waiting, self._lock = 0, threading.Lock()

    def play(self, *arguments: Given) -> Given:
        """Return the two panels, or raise one of our errors; call it in the lab's thread."""
        pipe, timeout = self._ready()
        try:
            pipe.send(arguments)
            if not pipe.poll(timeout):
                self.close()
                raise Busy("this run took too long")
            result = pipe.recv()
        except (EOFError, OSError):
            self.close()
            raise Busy("this run was stopped") from None
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
        """Refuse a run if too many are waiting."""
        with self._lock:
            if self._waiting >= AT_ONCE:
                raise Busy("too many runs are waiting")
            self._waiting += 1

    def leave(self) -> None:
        with self._lock:
            self._waiting -= 1

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None


def _plays(pipe: Connection) -> None:
    """The main loop of the process: one run per message, until the pipe is closed."""
    from undeleted.interfaces.http import lab

    while True:
        try:
            arguments = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            result: Given = lab.play(*arguments)
        except UndeletedError as error:
            result = error
        pipe.send(result)
