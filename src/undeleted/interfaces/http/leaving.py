"""POST /v1/deletions, the endpoint that many people use at once, without the overhead of the others.

The documented route in `api` and the fast path in `protocol` both answer with these functions; a test
compares the answers.  The fast path costs the event loop a third as much (`benchmarks/serve.py`).
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
from undeleted.interfaces.http.models import LeavingBody
from undeleted.interfaces.http.service import Service

PATH = "/v1/deletions"


def refused(service: Service, scope: Scope, headers: Mapping[bytes, bytes]) -> Response | None:
    """Return a problem for a wrong key, a missing key at a portal, or a wrong content type."""
    try:
        role = person_may(service, headers.get(b"authorization", b"").decode("latin-1"))
    except HTTPException as error:
        return problems.of_http(error)
    scope["state"]["role"] = role
    if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        return problems.problem(415, "a receipt must be sent as application/json.")
    return None


def begin(service: Service, body: bytes) -> asyncio.Future[str]:
    """Start a deletion; the future gets the certificate or the error."""
    return service.leave(partial(_receipt_in, body))


def _receipt_in(body: bytes) -> Receipt:
    return Receipt.parse(LeavingBody.model_validate_json(body).receipt)


def success(service: Service, certificate: str) -> bytes:
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
        service.store_health.failed(error)
        return problems.of(error, operator=False)
    return problems.bug(error)


def parsed(receipt: Receipt) -> Callable[[], Receipt]:
    """Wrap a receipt that is already parsed, for `Service.leave`."""
    return lambda: receipt
