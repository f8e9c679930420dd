"""The health of the store: whether it is reachable, when it was last written to, and what is logged.

A service that fails many requests for one reason logs it at once, and then every ten seconds with the number
of failures, not once per request: a log that fills the disk would be another failure.
"""

import logging
import threading
import time

from undeleted.errors import BadConnection, StoreError, StoreGone, UndeletedError

log = logging.getLogger("undeleted.http")
LATELY = 1.0  # seconds
AGAIN = 10.0  # seconds after which the same failure is logged again


class StoreHealth:
    """What threads and requests know about the store."""

    def __init__(self) -> None:
        self.trouble: UndeletedError | None = None  # the store is not reachable
        self.key, self.reached = b"", (0, 0)  # the key of the store, and the progress it had reached
        self._wrote = float("-inf")
        self._lock = threading.Lock()
        self._failures: dict[tuple[str, str], tuple[int, float]] = {}  # how often, and when it was logged
        self._refused, self._told_refused = 0, float("-inf")

    @property
    def wrote_lately(self) -> bool:
        return time.monotonic() - self._wrote < LATELY

    def require(self) -> None:
        """Refuse at once while the store is not reachable."""
        if self.trouble is not None:
            raise self.trouble

    def wrote(self, progress: tuple[int, int]) -> None:
        self._wrote = time.monotonic()
        self.reached = max(self.reached, progress)

    def notice(self, error: UndeletedError) -> None:
        """Record what an error says about the store."""
        if isinstance(error, StoreError | BadConnection):
            self._wrote = float("-inf")
        if isinstance(error, StoreGone | BadConnection) and self.trouble is None:
            self.trouble = error

    def failed(self, error: UndeletedError) -> None:
        """Record an error of a request or of our own work; count it for the log if it is the store's."""
        self.notice(error)
        if isinstance(error, StoreError | BadConnection):
            with self._lock:
                times, logged = self._failures.get((error.what, error.remedy), (0, float("-inf")))
                self._failures[error.what, error.remedy] = times + 1, logged

    def refused(self) -> None:
        """Count a request for which there was no room."""
        self._refused += 1

    def back(self) -> None:
        self.trouble = None
        with self._lock:
            self._failures.clear()
        log.warning("store", extra={"facts": {"what": "the store is back, and deletions continue."}})

    def tell(self) -> None:
        """Log what happened since the last call."""
        now = time.monotonic()
        with self._lock:
            due = {why: times for why, (times, logged) in self._failures.items() if now - logged >= AGAIN}
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
