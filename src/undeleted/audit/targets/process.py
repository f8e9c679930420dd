"""A program that answers one line of JSON with one line of JSON, within a time.

It runs in a session of its own, so that what it started ends with it.  Its stderr is kept apart; the last
line of it is told when it crashes, unless it may hold somebody's values.
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
from typing import Any, Never

from undeleted.errors import BadQuestion, BudgetOver, TargetFailed

# Worlds are small: threads that wait for each other would cost more than they bring.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LONGEST = 64 * 2**20  # bytes of one answer
HANGS = 600.0  # seconds without an answer, whatever the budget
RUNS = 16  # that are asked for at a time, where calls are counted


class Clock:
    """How much an audit may spend in all, in seconds or in calls of the target; and how long a single call.

    With a budget of calls an audit does not depend on how fast or busy the machine is.
    """

    def __init__(self, budget: float, patience: float | None = None, *, calls: int | None = None) -> None:
        self.budget = budget if calls is None else float(calls)
        self._in_calls, self._called, self._began = calls is not None, 0, time.monotonic()
        if patience is None:
            patience = HANGS if self._in_calls else min(30.0, budget / 2)
        self.patience = min(patience, HANGS if self._in_calls else budget)

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that a call may still take."""
        return HANGS if self._in_calls else self.budget - self.seconds

    @property
    def spent(self) -> float:
        """Of the budget, in its unit."""
        return float(self._called) if self._in_calls else self.seconds

    def __str__(self) -> str:
        return f"{self.budget:,.0f} calls" if self._in_calls else f"{self.budget:g} s"

    def count(self, calls: int) -> None:
        self._called += calls

    def check(self) -> None:
        if self.spent >= self.budget:
            raise BudgetOver

    def chunk(self, runs: int, chunk: int, seconds: float) -> int:
        """How many runs to ask for at a time: about a quarter of a second, or always as many."""
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
            remedy = "Name a program that is there and may be run; with arguments, quote it all."
            raise BadQuestion(f"{command[0]} cannot be run ({error.strerror}).", remedy) from None
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._to, self._from = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)

    def ask(self, message: dict[str, Any], call: str, patience: float | None = None) -> dict[str, Any]:
        """Its answer; an error it reports, a crash, a hang and garbage all end the call by name."""
        self._clock.check()
        request = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        line = self._exchange(request, call, patience or self._clock.patience)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            told = "" if self._hide else f": {_short(line.decode(errors='replace'))}"
            raise TargetFailed(call, f"it printed something that is not JSON{told}") from None
        if not isinstance(answer, dict):
            raise TargetFailed(call, "it answered with JSON that is no object")
        if self._ours and "misuse" in answer:
            what, remedy = answer["misuse"]
            raise BadQuestion(what, "Name what is there." if self._hide else remedy)
        if "error" in answer:
            told = "" if self._hide else f": {_short(str(answer['error']))}"
            call = str(answer.get("call", call))
            raise TargetFailed(call, f"it reported an error{told}", reported=True)
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

    def _exchange(self, request: bytes, call: str, patience: float) -> bytes:
        until = time.monotonic() + patience
        if self._buffer:
            raise TargetFailed(call, "it had printed more than the one line that it was asked for")
        with selectors.DefaultSelector() as wait:
            wait.register(self._from, selectors.EVENT_READ)
            wait.register(self._to, selectors.EVENT_WRITE)
            while b"\n" not in self._buffer:
                left = min(until - time.monotonic(), self._clock.left)
                if left <= 0:
                    self._too_late(call, patience)
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
            return len(request)  # it reads no more; what it has said may still come

    def _receive(self, call: str) -> None:
        piece = os.read(self._from, 1 << 20)
        if not piece:
            self._died(call)
        self._buffer += piece
        if len(self._buffer) > LONGEST:
            raise TargetFailed(call, f"its answer is longer than {LONGEST >> 20} MiB")

    def _too_late(self, call: str, patience: float) -> Never:
        if self._clock.left > 0:
            begun = ", and began a line that it did not end" if self._buffer else ""
            raise TargetFailed(call, f"it gave no answer within {patience:.3g} s{begun}")
        raise BudgetOver

    def _died(self, call: str) -> Never:
        try:
            code = self._child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            raise TargetFailed(call, "it closed its output") from None
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        told = "" if self._hide else self._last_words()
        raise TargetFailed(call, f"it ended with {how}{told}")

    def _last_words(self) -> str:
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4096))
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f": {_short(lines[-1])}" if lines else ""


def refused(outputs: list[Any], batches: Sequence[Any]) -> list[Any]:
    """A transcript that ends in a refusal: who asked to leave sees it, and it may tell of those who stay."""
    return outputs + [{"refused": True}] * (1 + len(batches) - len(outputs))


def _short(text: str) -> str:
    """A line that cannot play tricks on a terminal."""
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= 200 else text[:199] + "…"
