"""uvicorn's protocol with two limits that it has not: how long the head of a request may be, and may take."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from undeleted.http.problems import MEDIA, problem

LONGEST = 32 * 1024  # bytes of a head
PATIENCE = 10.0  # seconds for it


class Bounded(HttpToolsProtocol):
    """A head that is too long or too slow ends the connection; what is no HTTP is a problem like others."""

    _deadline: asyncio.TimerHandle | None = None
    _head = 0
    _inside = False  # of a request whose head has come

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if not self._inside:
            if self._deadline is None:
                self._wait()
            self._head += len(data)  # the beginning of a body may be counted with it
        super().data_received(data)
        if not self._inside and self._head > LONGEST:
            self.send_400_response("")

    def on_headers_complete(self) -> None:
        self._inside = True
        self._stop()
        if sum(len(name) + len(value) for name, value in self.headers) > LONGEST:
            raise ValueError  # the parser tells that it cannot go on
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._inside, self._head = False, 0

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        body = bytes(problem(400).body)
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: {MEDIA}\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(PATIENCE, self._late)

    def _late(self) -> None:
        self._deadline = None
        if not self._inside and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
