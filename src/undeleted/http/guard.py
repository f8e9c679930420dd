"""Around everything: limits, security headers, one line of log and a few metrics a request.

Logs and metrics hold the pattern of an address, not the address; no header, no body, no key, no count of
people.
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
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from undeleted.errors import BadFile
from undeleted.http import leaving, problems
from undeleted.http.service import Service

log = logging.getLogger("undeleted.http")
IMPORTS = '{"imports": {"vega-util": "/static/vega-util.js"}}'  # the one script inside the page
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
STREAMED = "/v1/deletions/bulk"  # its length and time are the sender's; a line's are not
LARGE = (STREAMED, "/v1/publications", "/v1/receipts", "/v1/check")
AT_ONCE = 1024  # requests


class Metrics:
    """What Prometheus is told."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "undeleted_requests", "Requests.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "undeleted_request_seconds", "Time of a request.", ("route",), registry=self.registry
        )
        self.batches = Counter(
            "undeleted_batches", "Transactions that deletions shared.", registry=self.registry
        )
        self.waiting = Gauge("undeleted_waiting", "Deletion requests that wait.", registry=self.registry)
        self.late = Gauge(
            "undeleted_erasure_late_seconds", "By how much erasure is late.", registry=self.registry
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request; what it is counted in is looked up once."""
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


class _Leaving:
    """What logs and metrics call the quick way."""

    path = leaving.PATH


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: FastAPI, service: Service, metrics: Metrics) -> None:
        self._app, self._service, self._metrics = app, service, metrics
        self.state = app.state
        settings = self._settings = service.settings
        headers = dict(HEADERS)
        if settings.https:
            headers["Strict-Transport-Security"] = "max-age=31536000"
        self._headers = [(k.lower().encode(), v.encode()) for k, v in headers.items()]
        self._hosts = {host.lower() for host in settings.hosts}
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})
        started, status = time.perf_counter(), 0
        self._now += 1

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name for name, _ in message["headers"]}
                more = [pair for pair in self._headers if pair[0] not in there]
                if b"cache-control" not in there:
                    more.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            refused = self._refused(scope)
            if refused is not None:
                await refused(scope, receive, answer)
            elif scope["path"] == leaving.PATH and scope["method"] == "POST":
                scope["route"] = _Leaving
                await (await self._left(scope, receive))(scope, receive, answer)
            else:
                await self._within_limits(scope, receive, answer, lambda: status)
        finally:
            self._now -= 1
            self._tell(scope, status, time.perf_counter() - started)

    async def _left(self, scope: Scope, receive: Receive) -> Response:
        try:
            return await leaving.answer(self._service, scope, receive)
        except Exception as error:
            return problems.bug(error)

    def _refused(self, scope: Scope) -> Any:
        """Whom the service does not talk to at all."""
        if self._now > AT_ONCE:
            return problems.problem(503)
        headers = dict(scope["headers"])
        if self._hosts and _name_of(headers.get(b"host", b"")) not in self._hosts:
            return problems.problem(421)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._limits(scope)[0]:
            return problems.problem(413)
        return None

    def _limits(self, scope: Scope) -> tuple[int, float | None]:
        """Bytes and seconds of a request; an operator may send more and take longer, where that is needed."""
        usual = self._settings.body, self._settings.patience
        if scope["path"] not in LARGE:
            return usual
        sent = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        try:
            key = self._service.keys.find(sent.partition(" ")[2])
        except BadFile:
            return usual
        if key is None or key.role != "operator":
            return usual
        return (1 << 62 if scope["path"] == STREAMED else self._settings.upload), None

    async def _within_limits(
        self, scope: Scope, receive: Receive, send: Send, status: Callable[[], int]
    ) -> None:
        left, patience = self._limits(scope)

        async def limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise leaving.TooMuch
            return message

        try:
            async with asyncio.timeout(patience):
                await self._app(scope, limited, send)
        except leaving.TooMuch:
            if not status():
                await problems.problem(413)(scope, receive, send)
        except TimeoutError:
            if not status():
                await problems.problem(408)(scope, receive, send)
        except Exception as error:
            answer = problems.bug(error)
            if not status():
                await answer(scope, receive, send)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
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


class Lines(logging.Formatter):
    """A log as lines of JSON."""

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
    """Our lines, and no others: a library's message might hold what a request held."""
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
