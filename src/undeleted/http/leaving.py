"""POST /v1/deletions, the one address that many people use at once, without the machinery of the others.

It answers as the documented route of `api` would; a test holds the two against each other.  Half of the time
of a request is saved so (`benchmarks/serve.py`).
"""

import asyncio
import json

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope

from undeleted.errors import UndeletedError
from undeleted.http import problems
from undeleted.http.access import person_may
from undeleted.http.models import Leaving
from undeleted.http.service import Service
from undeleted.receipts import Receipt

PATH = "/v1/deletions"


async def answer(service: Service, scope: Scope, receive: Receive) -> Response:
    """What a person hears."""
    headers = dict(scope["headers"])
    try:
        role = person_may(service, headers.get(b"authorization", b"").decode("latin-1"))
    except HTTPException as error:
        return problems.of_http(error)
    scope["state"]["role"] = role
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        return problems.problem(415, "a receipt is sent as application/json.")
    try:
        async with asyncio.timeout(service.settings.patience):
            sent = Leaving.model_validate_json(await _body(receive, service.settings.body))
        return await leave(service, sent)
    except TimeoutError:
        return problems.problem(408)
    except TooMuch:
        return problems.problem(413)
    except ValidationError as error:
        return problems.invalid(error.errors(include_input=False, include_url=False))
    except UndeletedError as error:
        return problems.of(error, operator=False)


async def leave(service: Service, sent: Leaving) -> Response:
    """A certificate for a receipt."""
    certificate = await service.leave(Receipt.parse(sent.receipt))
    told = {
        "certificate": certificate,
        "data_set": service.issuer.name,
        "erased_within_seconds": service.erased_within,
    }
    return Response(json.dumps(told), media_type="application/json")


class TooMuch(Exception):
    """The body is larger than is allowed."""


async def _body(receive: Receive, most: int) -> bytes:
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        parts += message.get("body", b"")
        if len(parts) > most:
            raise TooMuch
        if not message.get("more_body", False):
            return bytes(parts)
