"""An operator's list, which streams in: a line of JSON an id, some hundreds of lines a transaction.

The answer begins while the list still arrives: a line a second, and one at the end, that says how many lines
are durable.  What is wrong before anything was deleted is an error like others; later it is a line of it.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from undeleted.errors import BadQuestion, Busy, UndeletedError
from undeleted.interfaces.http import problems
from undeleted.interfaces.http.service import Service

LINE = 4096  # bytes of a line
LINES = 500  # that share a transaction: nobody else waits long for it
SAY = 1.0  # seconds between two lines of an answer


class WhileItArrives(StreamingResponse):
    """An answer that begins while the request still arrives: nobody else may read on from it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


async def deleted(service: Service, request: Request, stream: str, first: int) -> AsyncIterator[bytes]:
    """Delete part by part; say so from time to time, and at the end."""
    with service.stream(stream, anew=first == 0) as told:
        asked, said, spoken = told["deleted"] + told["unknown"], time.monotonic(), False
        try:
            async for part, at in _parts(request, service, first):
                done = await service.delete(part)
                told["lines"] = max(told["lines"], at)
                told["deleted"] += done.deleted
                told["unknown"] += done.unknown
                if time.monotonic() - said >= SAY:
                    said, spoken = time.monotonic(), True
                    yield _line(told | {"done": False})
        except UndeletedError as error:
            if not spoken and told["deleted"] + told["unknown"] == asked:
                raise
            status = problems.status_of(error)
            wrong = {"status": status, "detail": error.what, "remedy": error.remedy}
            yield _line(told | {"done": False, "problem": wrong})
            return
        except ClientDisconnect:
            return
        yield _line(told | {"done": True, "version": await service.version()})


async def _parts(request: Request, service: Service, first: int) -> AsyncIterator[tuple[list[str], int]]:
    """Ids, some hundreds at a time, and the line after them; a line that is wrong is named by its number."""
    rest, part, number = b"", list[str](), first
    chunks = aiter(request.stream())
    ended, patience = False, service.settings.patience
    while not ended:
        if service.ending:
            raise Busy("the service is shutting down")
        try:
            async with asyncio.timeout(patience):
                rest += await anext(chunks)
        except StopAsyncIteration:
            ended = True
            rest += b"\n" if rest else b""
        except TimeoutError:
            raise BadQuestion("the list stopped arriving.", "Send it again from the last line.") from None
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
        found = json.loads(line) if len(line) <= LINE else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or set(found) != {"id"} or not isinstance(found["id"], str):
        raise _wrong_line(number)
    person: str = found["id"]
    return person


def _wrong_line(number: int) -> BadQuestion:
    return BadQuestion(
        f'line {number + 1} is not {{"id": "…"}}.',
        "Correct it, and send the list again: that is safe. With curl, -T or --data-binary keeps its lines.",
    )


def _line(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts).encode() + b"\n"
