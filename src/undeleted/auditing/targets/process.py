"""A program that answers one line of JSON with one line of JSON, within a timeout.

It runs in its own session, so that processes it started end with it.  Its stderr is kept separately; the last
line is reported when it crashes, unless it may hold somebody's values.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Never

from undeleted.errors import AuditTimeUp, BadTarget, TargetFailed
from undeleted.foundations.types import Json, Output

# Worlds are small: several threads would cost more time than they save.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LONGEST = 64 * 2**20  # bytes of one answer
HANGS = 600.0  # seconds without an answer, whatever the budget
RUNS = 16  # per request, if the budget is in calls


class Clock:
    """The budget of an audit, in seconds or in calls of the target, and the timeout of a single call.

    With a budget of calls an audit does not depend on how fast or busy the machine is.
    """

    def __init__(self, budget: float, timeout: float | None = None, *, calls: int | None = None) -> None:
        self.budget = budget if calls is None else float(calls)
        self._in_calls, self._called, self._began = calls is not None, 0, time.monotonic()
        if timeout is None:
            timeout = HANGS if self._in_calls else min(30.0, budget / 2)
        self.timeout = min(timeout, HANGS if self._in_calls else budget)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that a call may still take."""
        return HANGS if self._in_calls else self.budget - self.seconds

    @property
    def spent(self) -> float:
        """How much of the budget is spent, in its unit."""
        return float(self._called) if self._in_calls else self.seconds

    def __str__(self) -> str:
        return f"{self.budget:,.0f} calls" if self._in_calls else f"{self.budget:g} s"

    def count(self, calls: int) -> None:
        self._called += calls

    def check(self) -> None:
        if self.spent >= self.budget:
            raise AuditTimeUp

    def chunk(self, runs: int, chunk: int, seconds: float) -> int:
        """How many runs to request at a time: for about a quarter of a second, or a fixed number."""
        return RUNS if self._in_calls else max(1, min(4 * chunk, round(runs * 0.25 / max(seconds, 1e-4))))


class TargetProcess:
    """A child process that speaks JSON lines."""

    def __init__(
        self, command: Sequence[str], clock: Clock, *, hide: bool = False, ours: bool = False
    ) -> None:
        self._clock, self._hide, self._ours, self._buffer = clock, hide, ours, b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the program
        try:
            self._child = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
                env=ONE_THREAD | os.environ | {"PYTHONUNBUFFERED": "1"},
            )
        except OSError as error:
            self._errors.close()
            remedy = "Name an existing executable; if it has arguments, quote the whole command."
            raise BadTarget(f"{command[0]} cannot be run ({error.strerror}).", remedy) from None
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._to, self._from = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)

    def ask(self, message: Json, call: str, timeout: float | None = None) -> Json:
        """Return its answer; a reported error, a crash, a timeout or garbage raises `TargetFailed`."""
        self._clock.check()
        request = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        line = self._exchange(request, call, timeout or self._clock.timeout)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            detail = "" if self._hide else f": {_short(line.decode(errors='replace'))}"
            raise TargetFailed(call, f"it printed something that is not JSON{detail}") from None
        if not isinstance(answer, dict):
            raise TargetFailed(call, "it answered with JSON that is not an object")
        if self._ours and "misuse" in answer:
            what, remedy = answer["misuse"]
            raise BadTarget(what, "Use a name that exists." if self._hide else remedy)
        if "error" in answer:
            detail = "" if self._hide else f": {_short(str(answer['error']))}"
            call = str(answer.get("call", call))
            raise TargetFailed(call, f"it reported an error{detail}", reported=True)
        return answer

    def close(self) -> None:
        """End it, and all that it started."""
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _exchange(self, request: bytes, call: str, timeout: float) -> bytes:
        until = time.monotonic() + timeout
        if self._buffer:
            raise TargetFailed(call, "it had printed more than the one line of an answer")
        with selectors.DefaultSelector() as wait:
            wait.register(self._from, selectors.EVENT_READ)
            wait.register(self._to, selectors.EVENT_WRITE)
            while b"\n" not in self._buffer:
                left = min(until - time.monotonic(), self._clock.left)
                if left <= 0:
                    self._too_late(call, timeout)
                for key, _ in wait.select(left):
                    if key.fd == self._to:
                        request = request[self._send(request, call) :]
                        if not request:
                            wait.unregister(self._to)
                    else:
                        self._receive(call)
        if request:
            raise TargetFailed(call, "it answered before it had read the request")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _send(self, request: bytes, call: str) -> int:
        try:
            return os.write(self._to, request[:65536])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            return len(request)  # it no longer reads; what it has written may still arrive

    def _receive(self, call: str) -> None:
        piece = os.read(self._from, 1 << 20)
        if not piece:
            self._died(call)
        self._buffer += piece
        if len(self._buffer) > LONGEST:
            raise TargetFailed(call, f"its answer is longer than {LONGEST >> 20} MiB")

    def _too_late(self, call: str, timeout: float) -> Never:
        if self._clock.left > 0:
            begun = ", and left a line unfinished" if self._buffer else ""
            raise TargetFailed(call, f"it gave no answer within {timeout:.3g} s{begun}")
        raise AuditTimeUp

    def _died(self, call: str) -> Never:
        try:
            code = self._child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            raise TargetFailed(call, "it closed its output") from None
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        detail = "" if self._hide else self._last_error_line()
        raise TargetFailed(call, f"it ended with {how}{detail}")

    def _last_error_line(self) -> str:
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4096))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f": {_short(lines[-1])}" if lines else ""


def refused(outputs: list[Output], batches: Sequence[Output]) -> list[Output]:
    """A transcript that ends in a refusal: the leaver sees it, and it may depend on those who stay."""
    return outputs + [{"refused": True}] * (1 + len(batches) - len(outputs))


def _short(text: str) -> str:
    """The text without control characters, at most 200 characters long, safe to print on a terminal."""
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= 200 else text[:199] + "…"
