"""POST /v1/deletions, the one address that many people use at once, without the machinery of the others.

The documented route of `api` and the quick way of `protocol` both answer with what is here; a test holds them
against each other.  What a request costs the event loop is a third so (`benchmarks/serve.py`).
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from undeleted.curate.receipts import Receipt
from undeleted.errors import UndeletedError
from undeleted.interfaces.http import problems
from undeleted.interfaces.http.access import person_may
from undeleted.interfaces.http.models import Leaving
from undeleted.interfaces.http.service import Service

PATH = "/v1/deletions"


def refused(service: Service, scope: Scope, headers: Mapping[bytes, bytes]) -> Response | None:
    """Whom nobody listens to: a wrong key, at a portal none, or another kind of content."""
    try:
        role = person_may(service, headers.get(b"authorization", b"").decode("latin-1"))
    except HTTPException as error:
        return problems.of_http(error)
    scope["state"]["role"] = role
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        return problems.problem(415, "a receipt is sent as application/json.")
    return None


def begin(service: Service, body: bytes) -> asyncio.Future[str]:
    """The certificate for what was sent, or what is wrong with it."""
    return service.leave(partial(_receipt_in, body))


def _receipt_in(body: bytes) -> Receipt:
    return Receipt.parse(Leaving.model_validate_json(body).receipt)


def told(service: Service, certificate: str) -> bytes:
    """The answer to a genuine receipt."""
    facts = {
        "certificate": certificate,
        "data_set": service.issuer.name,
        "erased_within_seconds": service.erased_within,
        "genuine": True,
    }
    return json.dumps(facts).encode()


def wrong(service: Service, error: BaseException) -> Response:
    """The answer to everything else."""
    if isinstance(error, ValidationError):
        return problems.invalid(error.errors(include_input=False, include_url=False))
    if isinstance(error, UndeletedError):
        service.standing.failed(error)
        return problems.of(error, operator=False)
    return problems.bug(error)


def parsed(receipt: Receipt) -> Callable[[], Receipt]:
    """A receipt that was read already."""
    return lambda: receipt
