"""Errors as RFC 9457's problem+json: what happened, and what to do, in the words of `errors.py`.

Only an operator sees the details of a store's failure; others see that there is one, not where its file is.
"""

import http
import logging
import re
import traceback
from collections.abc import Callable, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from undeleted.errors import (
    AlreadyExists,
    AlreadyPublished,
    BadConnection,
    BadFile,
    BadReceipt,
    Busy,
    FalseReceipt,
    FitFailed,
    NotStarted,
    PrivacyError,
    StoreError,
    TooLarge,
    UndeletedError,
    UnknownName,
    VoidReceipt,
)
from undeleted.foundations.types import Given, Json

log = logging.getLogger("undeleted.http")
MEDIA = "application/problem+json"
_STATUS: tuple[tuple[type[UndeletedError], int], ...] = (
    (UnknownName, 404),
    (AlreadyPublished, 409),
    (AlreadyExists, 409),
    (NotStarted, 409),
    (Busy, 503),
    (FitFailed, 503),
    (StoreError, 503),
    (BadConnection, 503),
    (BadReceipt, 422),
    (FalseReceipt, 422),
    (TooLarge, 422),
    (PrivacyError, 422),
    (BadFile, 422),
)
_WORDS = {
    400: ("the request cannot be read.", "Send it as the OpenAPI document says: /v1/openapi.json."),
    401: ("this needs a key.", "Send Authorization: Bearer …; `undeleted key create` makes one."),
    403: ("this key has another role.", "Ask the operator of the service for a key of the right role."),
    404: ("there is nothing here.", "The addresses are in /v1/openapi.json."),
    405: ("this address does not support the method.", "The methods are in /v1/openapi.json."),
    408: ("the request took too long to arrive.", "Send it again; sending it twice is safe."),
    413: ("the request is too large.", "Send less at once; long lists go to /v1/deletions/bulk."),
    415: ("this content type is not supported.", "Send the Content-Type of /v1/openapi.json."),
    421: (
        "the service does not answer to this host name.",
        "Use the name you were given; the operator sets it with `undeleted serve --hostname`.",
    ),
    500: ("this is a bug in undeleted, not in your request.", "The service's log says where."),
    503: ("the service cannot do this just now.", "Try again in a second: asking twice is safe."),
}


class Problem(BaseModel):
    """What went wrong, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    remedy: str
    genuine: bool | None = None  # of a receipt: whether this data set signed it


def documented(*statuses: int) -> dict[int | str, Json]:
    """The problems of an endpoint, for its OpenAPI document."""
    described = {"content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    return {
        status: {"description": _WORDS.get(status, ("what was sent is not valid.", ""))[0], **described}
        for status in sorted({*statuses, 400, 413, 421, 503})
    }


def problem(
    status: int, what: str = "", remedy: str = "", kind: str = "", genuine: bool | None = None
) -> Response:
    """Return an answer that says what went wrong."""
    usual = _WORDS.get(status, ("this cannot be done.", ""))
    body = Problem(
        type=f"urn:undeleted:{kind or status}",
        title=_title(kind) if kind else usual[0].rstrip("."),
        status=status,
        detail=what or usual[0],
        remedy=remedy or usual[1],
        genuine=genuine,
    )
    headers = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}.get(status)
    return Response(body.model_dump_json(exclude_none=True), status, headers, MEDIA)


def status_of(error: UndeletedError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 422)


def words(error: UndeletedError, *, operator: bool) -> tuple[str, str]:
    """Return what happened and what to do; only operators learn where a store is."""
    if isinstance(error, StoreError | BadConnection) and not operator:
        return _WORDS[503]
    return error.what, error.remedy


def of(error: UndeletedError, *, operator: bool) -> Response:
    """Return one of our errors as an answer."""
    if isinstance(error, StoreError | BadConnection) and not operator:
        return problem(503)
    genuine = {FalseReceipt: False, BadReceipt: False, VoidReceipt: True}.get(type(error))
    return problem(status_of(error), error.what, error.remedy, _slug(type(error).__name__), genuine)


def of_http(error: HTTPException) -> Response:
    """Return the answer for an HTTPException of Starlette or ours; only our own text is used."""
    usual = error.detail == http.HTTPStatus(error.status_code).phrase
    return problem(error.status_code, "" if usual else str(error.detail))


def bug(error: BaseException) -> Response:
    """Log where a bug is, but not its message, which may hold a value; return a problem."""
    places = [
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)[-6:]
    ]
    log.error("bug", extra={"facts": {"error": type(error).__name__, "at": places}})
    return problem(500)


def invalid(errors: Sequence[Given]) -> Response:
    """Say what is wrong and where, without what was sent."""
    if any(e["type"] == "json_invalid" for e in errors):
        return problem(400, "the body is not JSON.", "Send JSON, in UTF-8.", "not-json")
    places = [".".join(str(part)[:64] for part in e["loc"][:4] if part != "body") for e in errors[:5]]
    where = "; ".join(
        f"{place}: {e['msg']}" if place else e["msg"] for place, e in zip(places, errors, strict=False)
    )
    return problem(422, f"{where}.", "Send what /v1/openapi.json describes.", "wrong-type")


def install(app: FastAPI, shown: Callable[[Request, Response], Response]) -> None:
    """Answer every error of the application as a problem; `shown` makes it a page for a browser."""

    @app.exception_handler(UndeletedError)
    async def _ours(request: Request, error: UndeletedError) -> Response:
        request.app.state.service.store_health.failed(error)
        return shown(request, of(error, operator=getattr(request.state, "role", None) == "operator"))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        return shown(request, invalid(error.errors()))

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> Response:
        """Starlette raises it again for the guard, which logs where it was."""
        return shown(request, problem(500))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        answer = of_http(error)
        for name, value in (error.headers or {}).items():
            answer.headers[name] = value
        if error.status_code == 405 and (methods := _methods(app, request.url.path)):
            answer.headers["Allow"] = ", ".join(methods)
        return shown(request, answer)


def _methods(app: FastAPI, path: str) -> list[str]:
    """The methods of a documented address, over all of its routes."""
    patterns = app.openapi()["paths"].items()
    fits = (m for known, m in patterns if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path))
    return sorted({method.upper() for methods in fits for method in methods})


def _slug(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _title(kind: str) -> str:
    return kind.replace("-", " ")
