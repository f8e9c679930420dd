"""The outermost layer: limits, security headers, and one log line and a few metrics per request.

Logs and metrics contain the pattern of a route, not the requested path; no header, no body, no key, and no
number of people.
"""

import asyncio
import base64
import hashlib
import json
import logging
import sys
import time
from collections.abc import Callable
from functools import lru_cache

from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from undeleted.errors import BadFile, BodyTooLarge, Busy
from undeleted.foundations.types import Given
from undeleted.interfaces.http import problems
from undeleted.interfaces.http.service import Service

log = logging.getLogger("undeleted.http")
IMPORTS = '{"imports": {"vega-util": "/static/vega-util.js"}}'  # the only inline script
_HASH = base64.b64encode(hashlib.sha256(IMPORTS.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; script-src 'self' 'sha256-{_HASH}'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
STREAMED = "/v1/deletions/bulk"  # unlimited in length and time; its lines are limited
TABLES = ("/v1/publications", "/v1/receipts", "/v1/arrivals", "/v1/corrections")
LARGE = (STREAMED, *TABLES, "/v1/ticks", "/v1/check")
HEALTH = "/health/"
AT_ONCE = 1024  # requests in progress, not counting people's deletions
HELD = 64 * 1024 * 1024  # bytes of requests that are still arriving


class Metrics:
    """The metrics for Prometheus."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], tuple[Given, Given]] = {}
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "undeleted_requests", "Requests.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "undeleted_request_seconds", "Duration of a request.", ("route",), registry=self.registry
        )
        self.batches = Counter(
            "undeleted_batches", "Transactions that deletions shared.", registry=self.registry
        )
        self.waiting = Gauge("undeleted_waiting", "Waiting deletion requests.", registry=self.registry)
        self.late = Gauge(
            "undeleted_erasure_late_seconds", "Seconds by which erasure is late.", registry=self.registry
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; its labelled counters are cached."""
        known = self._known.get((method, route, status))
        if known is None:
            known = self.requests.labels(method, route, status), self.seconds.labels(route)
            self._known[method, route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def watch(self, service: Service) -> None:
        self.waiting.set_function(lambda: service.batches.waiting)
        self.late.set_function(lambda: service.erasure_late)
        service.batches.handed = self.batches.inc


class Guard:
    """The outermost layer of the application.

    A request takes a slot when it has arrived completely, so that a slow sender blocks nobody.
    Health checks need no slot.
    """

    def __init__(
        self, app: FastAPI, service: Service, metrics: Metrics, shown: Callable[[Request, Response], Response]
    ) -> None:
        self._app, self.service, self._metrics, self._shown = app, service, metrics, shown
        self.state = app.state
        settings = self._settings = service.settings
        headers = dict(HEADERS)
        if settings.https:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        self.headers = [(k.lower().encode(), v.encode()) for k, v in headers.items()]
        self._hosts = {host.lower() for host in settings.hosts}
        self._slots = 0
        self.held = 0  # bytes of requests that are still arriving

    @property
    def is_full(self) -> bool:
        return self._slots >= AT_ONCE or self.held > HELD

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})
        started, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name for name, _ in message["headers"]}
                more = [pair for pair in self.headers if pair[0] not in there]
                if b"cache-control" not in there:
                    more.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            wrong = self.refused(scope) or await self._worked(scope, receive, answer)
        except Exception as error:
            wrong = problems.bug(error)
        if wrong is not None and not status:
            scope["app"] = self._app
            await self._shown(Request(scope), wrong)(scope, receive, answer)
        self.tell(scope, status, time.perf_counter() - started)

    def refused(self, scope: Scope) -> Response | None:
        """Return a problem for a wrong host name or a body that is too large; otherwise None."""
        headers = dict(scope["headers"])
        if self._hosts and _name_of(headers.get(b"host", b"")) not in self._hosts:
            return problems.problem(421)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._limits(scope)[0]:
            return problems.problem(413)
        return None

    async def _worked(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Let the application answer; return a problem if it cannot."""
        most, timeout = self._limits(scope)
        if timeout is None:
            return await self._streamed(scope, receive, send, most)
        try:
            async with asyncio.timeout(timeout):
                body = await self._body(receive, most)
        except TimeoutError:
            return problems.problem(408)
        except BodyTooLarge:
            return problems.problem(413)
        except Busy:
            return self._no_room()
        if body is None:  # the client has disconnected
            return problems.problem(400)
        if scope["path"].startswith(HEALTH):
            await self._app(scope, _again(body, receive), send)
            return None
        if self.is_full:
            return self._no_room()
        self._slots += 1
        try:
            async with asyncio.timeout(timeout):
                await self._app(scope, _again(body, receive), send)
        except TimeoutError:
            return problems.problem(503, "the answer took too long.")
        finally:
            self._slots -= 1
        return None

    def _no_room(self) -> Response:
        self.service.store_health.refused()
        return problems.problem(503)

    async def _body(self, receive: Receive, most: int) -> bytes | None:
        """Return the complete body, or None after a disconnect; all arriving bodies share a memory limit."""
        parts = bytearray()
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                parts += part
                self.held += len(part)
                if len(parts) > most:
                    raise BodyTooLarge
                if self.held > HELD:
                    raise Busy("too many bytes are arriving")
                if not message.get("more_body", False):
                    return bytes(parts)
        finally:
            self.held -= len(parts)

    async def _streamed(self, scope: Scope, receive: Receive, send: Send, most: int) -> Response | None:
        """Let the application read an operator's table or list as it arrives."""
        left = most

        async def limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise BodyTooLarge
            return message

        try:
            await self._app(scope, limited, send)
        except BodyTooLarge:
            return problems.problem(413)
        return None

    def is_streamed(self, scope: Scope) -> bool:
        """Whether an operator sends a table or a list, which has no time limit."""
        return scope["path"] in LARGE and self._limits(scope)[1] is None

    def _limits(self, scope: Scope) -> tuple[int, float | None]:
        """Return the limits of a request in bytes and seconds; some paths have wider limits for operators."""
        usual = self._settings.body, self._settings.timeout
        if scope["path"] not in LARGE:
            return usual
        sent = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        try:
            key = self.service.keys.find(sent.partition(" ")[2])
        except BadFile:
            return usual
        if key is None or key.role != "operator":
            return usual
        return (1 << 62 if scope["path"] == STREAMED else self._settings.upload), None

    def tell(self, scope: Scope, status: int, seconds: float) -> None:
        """Log and count a finished request."""
        route = getattr(scope.get("route"), "path", None) or "none"
        self._metrics.count(scope["method"] if route != "none" else "any", route, status, seconds)
        if log.isEnabledFor(logging.INFO):
            facts = {
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round(1000 * seconds, 2),
                "role": scope.get("state", {}).get("role"),
            }
            log.info("request", extra={"facts": facts})


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first replays the body, and then passes on later messages."""
    first = True

    async def replay() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


class Lines(logging.Formatter):
    """Format log records as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _second(int(record.created)),
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name.startswith("undeleted") else record.name,
            **getattr(record, "facts", {}),
        }
        return json.dumps(line, ensure_ascii=False)


@lru_cache(4)
def _second(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def log_to_stderr(level: str) -> None:
    """Log only our own messages: a library's message might contain data of a request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    log.handlers, log.propagate = [handler], False
    log.setLevel(level.upper())


def _name_of(host: bytes) -> str:
    """The name in a Host header, without the port."""
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]
