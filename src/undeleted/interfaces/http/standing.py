"""How the store stands: whether it is within reach, when it was last written to, and what the log is told.

A service that fails many requests for one reason says so at once, and then every ten seconds with how many
they were, not once a request: a log that fills the disk is a fault of its own.
"""

import logging
import threading
import time

from undeleted.errors import BadConnection, StoreError, StoreGone, UndeletedError

log = logging.getLogger("undeleted.http")
LATELY = 1.0  # seconds
AGAIN = 10.0  # seconds after which the same is told again


class Standing:
    """What threads and requests know of the store."""

    def __init__(self) -> None:
        self.trouble: UndeletedError | None = None  # the store is out of reach
        self.key, self.reached = b"", (0, 0)  # whose store it is, and how far it had come
        self._wrote = float("-inf")
        self._lock = threading.Lock()
        self._failures: dict[tuple[str, str], tuple[int, float]] = {}  # how often, and when it was told
        self._refused, self._told_refused = 0, float("-inf")

    @property
    def wrote_lately(self) -> bool:
        return time.monotonic() - self._wrote < LATELY

    def require(self) -> None:
        """Refuse at once, while the store is out of reach."""
        if self.trouble is not None:
            raise self.trouble

    def wrote(self, progress: tuple[int, int]) -> None:
        self._wrote = time.monotonic()
        self.reached = max(self.reached, progress)

    def notice(self, error: UndeletedError) -> None:
        """What becomes of everybody if this is so."""
        if isinstance(error, StoreError | BadConnection):
            self._wrote = float("-inf")
        if isinstance(error, StoreGone | BadConnection) and self.trouble is None:
            self.trouble = error

    def failed(self, error: UndeletedError) -> None:
        """Somebody's request, or our own work, came to nothing because of the store."""
        self.notice(error)
        if isinstance(error, StoreError | BadConnection):
            with self._lock:
                times, told = self._failures.get((error.what, error.remedy), (0, float("-inf")))
                self._failures[error.what, error.remedy] = times + 1, told

    def refused(self) -> None:
        """There was no room for a request."""
        self._refused += 1

    def back(self) -> None:
        self.trouble = None
        with self._lock:
            self._failures.clear()
        log.warning("store", extra={"facts": {"what": "the store is back, and deletions go on."}})

    def tell(self) -> None:
        """Say what happened since the last time."""
        now = time.monotonic()
        with self._lock:
            due = {why: times for why, (times, told) in self._failures.items() if now - told >= AGAIN}
            for why, times in due.items():
                if times:
                    self._failures[why] = 0, now
                else:
                    del self._failures[why]
        for (what, remedy), times in due.items():
            if times:
                log.error("store", extra={"facts": {"what": what, "remedy": remedy, "times": times}})
        if self._refused and now - self._told_refused >= LATELY:
            refused, self._refused, self._told_refused = self._refused, 0, now
            log.warning("refused", extra={"facts": {"requests": refused, "what": "there was no room."}})
