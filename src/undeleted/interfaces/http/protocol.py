"""uvicorn's protocol with additional limits, and a fast path for the most frequent requests.

    the head of a request   is limited in length and time
    connections             are limited; the one that has waited longest for a complete request is closed
    many requests at once   are processed some at a time; health checks are processed at once
    overload                is answered with constant bytes, before any other work; then the connection closes
    deletions, liveness     are answered here, without a task, a router and models for each

The answers are those that the application would give (`leaving`, `problems`); a test compares them.
"""

import asyncio
import resource
import time
from collections import deque
from functools import lru_cache

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from undeleted.foundations.types import Given
from undeleted.interfaces.http import leaving
from undeleted.interfaces.http.guard import HEALTH, HELD, Guard
from undeleted.interfaces.http.problems import problem

LONGEST = 32 * 1024  # bytes of a head
HEAD_TIMEOUT = 10.0  # seconds for a head
MOST = 10_000  # connections
SPARE = 512  # file descriptors for the store and for health checks
AHEAD = 64  # requests that may be pipelined on a connection; their callbacks nest
TOGETHER = 64  # requests processed before the event loop does other work
LIVE = b'{"status":"live"}'
NO_STORE = (b"cache-control", b"no-store")


class Connections:
    """All open connections, and those that wait for the rest of a request, longest first."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.open = most, 0
        self.waiting: dict[Bounded, None] = {}
        self._heard = 0  # in this round of the event loop
        self._later: deque[Bounded] = deque()

    def hear(self, one: "Bounded", data: bytes) -> None:
        """Process received data; if there is much, in a later iteration of the event loop."""
        if not self._heard:
            one.loop.call_soon(self._next_round, one.loop)
        self._heard += 1
        if one.later or (self._heard > TOGETHER and not data.startswith(b"GET /health/")):
            if not one.later:
                self._later.append(one)
            one.later += data
            if len(one.later) > LONGEST:
                one.transport.pause_reading()
        else:
            one.heard(data)

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._heard = min(TOGETHER, len(self._later))
        if self._heard:  # before anything can fail, so that no request blocks the next
            loop.call_soon(self._next_round, loop)
        for _ in range(self._heard):
            one = self._later.popleft()
            data, one.later = one.later, b""
            if one.parser is None:  # disconnected
                continue
            if len(data) > LONGEST:
                one.transport.resume_reading()
            one.heard(data)

    def make_room(self) -> None:
        """If there are too many, close the connection that has waited longest for a complete request."""
        if self.open > self.most and self.waiting:
            oldest = next(iter(self.waiting))
            del self.waiting[oldest]
            oldest.hang_up()

    @property
    def too_many(self) -> bool:
        return self.open > self.most

    @classmethod
    def within_limits(cls) -> "Connections":
        """Allow as many connections as the system's limits permit, up to MOST."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < MOST + SPARE:
            soft = MOST + SPARE if hard == resource.RLIM_INFINITY else min(hard, MOST + SPARE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return cls(min(MOST, max(soft - SPARE, min(100, soft // 2))))


class Bounded(HttpToolsProtocol):
    """One connection."""

    guard: Guard
    all: Connections
    later = b""  # received, but not processed yet
    _deadline: asyncio.TimerHandle | None = None
    _head = 0
    _inside = False  # inside a request whose head is complete
    _leaver: RequestResponseCycle | None = None  # whose receipt is arriving or being processed
    _began = 0.0
    _holds = 0  # bytes of a receipt that is arriving
    _fields = 0  # bytes of the fields of a request
    _wrong = False  # received something that is not HTTP, or too much

    def connection_made(self, transport: Given) -> None:
        super().connection_made(transport)
        self.all.open += 1
        self.all.make_room()
        if self.all.open > self.all.most + SPARE // 2:
            transport.abort()
            return
        self.all.waiting[self] = None
        self._wait(HEAD_TIMEOUT)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._let_go()
        self.all.open -= 1
        self.all.waiting.pop(self, None)
        super().connection_lost(exc)
        if self._leaver is not None:
            self._leaver.disconnected = True
        self.cycle = self._leaver = None  # type: ignore[assignment]  # no cycle: freed at once
        self.pipeline.clear()

    def hang_up(self) -> None:
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        self.all.hear(self, data)

    def heard(self, data: bytes) -> None:
        if not self._inside:
            self._head += len(data)  # the beginning of a body may be counted with it
        super().data_received(data)
        if not self._inside and self._head > LONGEST:
            self.send_400_response("")
        elif self._deadline is None and not self.transport.is_closing():
            if self._leaver is not None and self._leaver.more_body:
                self._wait(self.guard.service.settings.timeout)
            elif self._head or (self._is_answered and self.timeout_keep_alive_task is None):
                self._wait(HEAD_TIMEOUT)

    @property
    def _is_answered(self) -> bool:
        """Whether no request of this connection is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._fields = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a field of the head, or of the trailers of a body."""
        self._fields += len(name) + len(value)
        if self._fields > LONGEST:
            raise ValueError  # the parser reports an error
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._inside = True
        self._stop()
        super().on_headers_complete()
        if len(self.pipeline) > AHEAD:
            raise ValueError

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._inside, self._head = False, 0
        if self._is_answered:
            self.all.waiting[self] = None
        else:
            self.all.waiting.pop(self, None)
        cycle = self._leaver
        if cycle is not None and cycle is self.cycle:
            self._leave(cycle)

    def on_response_complete(self) -> None:
        if self._wrong and not self.pipeline:
            self._end()
            return
        if self._is_answered and not self.transport.is_closing():
            self.all.waiting[self] = None
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer unreadable data with 400, after the answers to earlier requests."""
        if self._wrong:
            return
        self._wrong = True
        self._stop()
        if not self._is_answered and self.cycle.more_body:  # the arriving request is the bad one
            if self.pipeline and self.pipeline[0][0] is self.cycle:
                self.pipeline.popleft()
                return
            self._end()
        elif self._is_answered:
            self._end()

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_whole(problem(400), (*self.guard.headers, NO_STORE)))
            self.transport.close()

    # -- the head of a request

    def _wait(self, seconds: float) -> None:
        self._deadline = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        self._deadline = None
        if self._leaver is not None and self._leaver.more_body:
            self._answer(self._leaver, problem(408), last=True)
        elif self._is_answered:
            self.transport.close()

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # -- the fast path

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Given) -> None:
        """Called when a request's head is complete and earlier requests are answered."""
        scope: Given = cycle.scope
        path, method = scope["path"], scope["method"]
        if path.startswith(HEALTH):
            if path == "/health/live" and method == "GET" and self.guard.refused(scope) is None:
                scope["route"] = _LIVE
                self._began = time.perf_counter()
                self._send(cycle, 200, b"content-type: application/json\r\n", LIVE)
                return
        elif self.all.too_many or self.guard.is_full:
            self._refuse(cycle)
            return
        if path == leaving.PATH and method == "POST":
            self._receive(cycle)
        else:
            if self.guard.is_streamed(scope):
                self.all.waiting.pop(self, None)
            super()._start_asgi_task(cycle, app)

    def _receive(self, cycle: RequestResponseCycle) -> None:
        """Somebody leaves: wait for the receipt."""
        scope: Given = cycle.scope
        scope["route"], self._began = _LEAVING, time.perf_counter()
        headers = dict(scope["headers"])
        wrong = self.guard.refused(scope) or leaving.refused(self.guard.service, scope, headers)
        if wrong is not None:
            self._answer(cycle, wrong)
            return
        if cycle.waiting_for_100_continue:
            cycle.waiting_for_100_continue = False
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._leaver = cycle
        if not cycle.more_body:
            self._leave(cycle)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        cycle = self._leaver
        if cycle is None or cycle is not self.cycle:
            return
        self._holds += len(body)
        self.guard.held += len(body)
        if len(cycle.body) > self.guard.service.settings.body:
            self._answer(cycle, problem(413), last=True)
        elif self.guard.held > HELD:
            self._refuse(cycle)

    def _let_go(self) -> None:
        """Stop counting the body of a request as held."""
        self.guard.held -= self._holds
        self._holds = 0

    def _leave(self, cycle: RequestResponseCycle) -> None:
        """The receipt has arrived: start the deletion."""
        self._stop()
        self._let_go()
        service = self.guard.service
        try:
            certificate = leaving.begin(service, bytes(cycle.body))
        except Exception as error:
            self._answer(cycle, leaving.wrong(service, error))
            return
        certificate.add_done_callback(lambda done: self._left(cycle, done))

    def _left(self, cycle: RequestResponseCycle, certificate: asyncio.Future[str]) -> None:
        service = self.guard.service
        try:
            body = leaving.success(service, certificate.result())
        except Exception as error:
            self._answer(cycle, leaving.wrong(service, error))
            return
        self._send(cycle, 200, b"content-type: application/json\r\n", body)

    # -- answers

    def _refuse(self, cycle: RequestResponseCycle) -> None:
        """Refuse with constant bytes because there is no room; only the refusal is counted."""
        self.guard.service.store_health.refused()
        self._leaver = None if self._leaver is cycle else self._leaver
        self._let_go()
        cycle.response_started = cycle.response_complete = True
        self.transport.write(_no_room(tuple(self.guard.headers)))
        self.transport.close()
        cycle.on_response()

    def _answer(self, cycle: RequestResponseCycle, answer: Response, *, last: bool = False) -> None:
        """Send an error answer."""
        if last:
            cycle.keep_alive = False
        skipped = (b"content-length",)
        head = b"".join(b"%s: %s\r\n" % pair for pair in answer.raw_headers if pair[0] not in skipped)
        self._send(cycle, answer.status_code, head, bytes(answer.body))

    def _send(self, cycle: RequestResponseCycle, status: int, head: bytes, body: bytes) -> None:
        self._leaver = None if self._leaver is cycle else self._leaver
        self._let_go()
        if self.flow.write_paused:  # the client sends but does not read
            self.transport.abort()
        elif not cycle.disconnected:
            cycle.response_started = cycle.response_complete = True
            dated = b"".join(b"%s: %s\r\n" % pair for pair in self.server_state.default_headers)
            closing = b"" if cycle.keep_alive else b"connection: close\r\n"
            common = _common(tuple(self.guard.headers))
            length = b"content-length: %d\r\n\r\n" % len(body)
            self.transport.write(b"".join((STATUS_LINE[status], dated, head, common, closing, length, body)))
            if not cycle.keep_alive:
                self.transport.close()
            cycle.on_response()
        scope: Given = cycle.scope
        self.guard.tell(scope, status, time.perf_counter() - self._began)


class _Route:
    """The route in logs and metrics of a request that was answered here."""

    def __init__(self, path: str) -> None:
        self.path = path


_LEAVING, _LIVE = _Route(leaving.PATH), _Route("/health/live")


def protocol_of(guard: Guard) -> type[Bounded]:
    """Return the protocol class of a server."""
    return type("Protocol", (Bounded,), {"guard": guard, "all": Connections.within_limits()})


@lru_cache(4)
def _common(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return b"".join(b"%s: %s\r\n" % pair for pair in (*headers, NO_STORE))


@lru_cache(4)
def _no_room(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return _whole(problem(503), (*headers, NO_STORE))


def _whole(answer: Response, headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Serialise an answer, after which the connection is closed."""
    lines = [*answer.raw_headers, *headers, (b"connection", b"close")]
    head = b"".join(b"%s: %s\r\n" % pair for pair in lines)
    return STATUS_LINE[answer.status_code] + head + b"\r\n" + bytes(answer.body)
