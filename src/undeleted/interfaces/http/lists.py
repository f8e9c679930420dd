"""Bulk deletion: an operator streams a list, one JSON line per id, some hundreds of lines per transaction.

The answer starts while the list is still arriving: one line per second, and one at the end, say how many
lines are durable.  An error before the first deletion is an ordinary error answer; a later one is a line of
this answer.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from undeleted.errors import BadUsage, Busy, UndeletedError
from undeleted.foundations.types import Json
from undeleted.interfaces.http import problems
from undeleted.interfaces.http.service import Service

LINE = 4096  # bytes of a line
LINES = 500  # per transaction, so that nobody else waits long for it
SAY = 1.0  # seconds between two lines of an answer


class DuplexResponse(StreamingResponse):
    """An answer that starts while the request is still arriving; only our code reads the request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def deleted(service: Service, request: Request, stream: str, first: int) -> AsyncIterator[bytes]:
    """Delete part by part; report the progress from time to time, and at the end."""
    with service.stream(stream, restart=first == 0) as progress:
        asked, said, spoken = progress["deleted"] + progress["unknown"], time.monotonic(), False
        try:
            async for part, at in _parts(request, service, first):
                done = await service.delete(part)
                progress["lines"] = max(progress["lines"], at)
                progress["deleted"] += done.deleted
                progress["unknown"] += done.unknown
                if time.monotonic() - said >= SAY:
                    said, spoken = time.monotonic(), True
                    yield _line(progress | {"done": False})
        except UndeletedError as error:
            if not spoken and progress["deleted"] + progress["unknown"] == asked:
                raise
            status = problems.status_of(error)
            wrong = {"status": status, "detail": error.what, "remedy": error.remedy}
            yield _line(progress | {"done": False, "problem": wrong})
            return
        except ClientDisconnect:
            return
        yield _line(progress | {"done": True, "version": await service.version()})


async def _parts(request: Request, service: Service, first: int) -> AsyncIterator[tuple[list[str], int]]:
    """Yield ids, some hundreds at a time, and the next line's number; an error gives the line's number."""
    rest, part, number = b"", list[str](), first
    chunks = aiter(request.stream())
    ended, timeout = False, service.settings.timeout
    while not ended:
        if service.ending:
            raise Busy("the service is shutting down")
        try:
            async with asyncio.timeout(timeout):
                rest += await anext(chunks)
        except StopAsyncIteration:
            ended = True
            rest += b"\n" if rest else b""
        except TimeoutError:
            raise BadUsage("the list stopped arriving.", "Resume after the last durable line.") from None
        *lines, rest = rest.split(b"\n")
        if len(rest) > LINE:
            raise _wrong_line(number + len(lines))
        for line in lines:
            if line.strip():
                part.append(_id_in(line, number))
            number += 1
            if len(part) >= LINES:
                yield part, number
                part = []
    if part:
        yield part, number


def _id_in(line: bytes, number: int) -> str:
    try:
        entry = json.loads(line) if len(line) <= LINE else None
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict) or set(entry) != {"id"} or not isinstance(entry["id"], str):
        raise _wrong_line(number)
    person: str = entry["id"]
    return person


def _wrong_line(number: int) -> BadUsage:
    return BadUsage(
        f'line {number + 1} is not {{"id": "…"}}.',
        "Correct it, and send the list again: that is safe. With curl, -T or --data-binary keeps its lines.",
    )


def _line(facts: Json) -> bytes:
    return json.dumps(facts).encode() + b"\n"
