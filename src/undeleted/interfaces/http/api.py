"""/v1: people leave, readers read, operators publish and delete.

    people      POST /v1/deletions                      a receipt for a certificate
                GET  /v1/data-set                       the public key
    readers     GET  /v1/publications[/NAME]            with intervals and versions
    operators   POST /v1/publications, /v1/receipts     publish a table that is sent; its receipts
                GET  /v1/status, /v1/check
                POST /v1/deletions/bulk                 a line of JSON an id, resumable
                GET  /v1/deletions/bulk/STREAM          how far it has come

A role does its own and nothing else; operators read too.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from undeleted.errors import BadQuestion, UnknownName
from undeleted.interfaces.http import leaving
from undeleted.interfaces.http.access import may, person
from undeleted.interfaces.http.lists import WhileItArrives, deleted
from undeleted.interfaces.http.models import (
    Alive,
    Checked,
    DataSetFace,
    Leaving,
    Left,
    PublicationBody,
    Publications,
    Publish,
    PublishedBody,
    StatusBody,
    Stream,
)
from undeleted.interfaces.http.problems import documented
from undeleted.interfaces.http.service import Service

JSON = "this is sent as application/json."
NDJSON = "application/x-ndjson"
Name = Annotated[str, Path(max_length=256, description="A publication.")]
Number = Annotated[float | None, Query(allow_inf_nan=False)]
Texts = Annotated[list[str] | None, Query(max_length=16)]
QUESTIONS = {"quantile", "low", "high", "where", "correlation", "regression", "confidence"}
StreamName = r"^[A-Za-z0-9._-]{1,64}$"

api = APIRouter(prefix="/v1")
outside = APIRouter()


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


# -- people


@api.post(
    "/deletions",
    response_model=Left,
    dependencies=[Depends(person())],
    responses=documented(401, 403, 408, 409, 415, 422),
    openapi_extra={
        "security": [{}],  # a key is asked for at a portal alone
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": Leaving.model_json_schema()}},
        },
    },
    tags=["people"],
    summary="Leave with a receipt",
)
async def leave(request: Request) -> Response:
    """Delete whom the receipt names.  The answer is durable, and the same for every receipt that this data
    set signed: fresh, spent, or of somebody who never was here.  Nobody learns from it who is, or was, here.
    One that it did not sign is a problem that says `"genuine": false`: anybody can tell by the public key.
    """
    service = service_of(request)
    wrong = leaving.refused(service, request.scope, dict(request.headers.raw))
    if wrong is not None:
        return wrong
    try:
        certificate = await leaving.begin(service, await request.body())
        return Response(leaving.told(service, certificate), media_type="application/json")
    except Exception as error:
        return leaving.wrong(service, error)


@api.get("/data-set", responses=documented(409), tags=["people"], summary="The public key of the data set")
async def data_set(request: Request) -> DataSetFace:
    """What receipts and certificates are checked with."""
    service = service_of(request)
    return DataSetFace(
        data_set=service.issuer.name,
        key=service.issuer.jwk,
        erased_within_seconds=service.erased_within,
    )


# -- readers

readers: dict[str, Any] = {"dependencies": [Depends(may("reader", "operator"))], "tags": ["readers"]}


@api.get("/publications", responses=documented(401, 403, 409), summary="Everything as it stands", **readers)
async def publications(request: Request) -> Publications:
    service = service_of(request)
    found, status = await service.all(), await service.status()
    return Publications(
        publications=[PublicationBody.model_validate(p) for p in found],
        **{name: status[name] for name in ("epsilon", "delta", "spent", "left")},
    )


@api.get(
    "/publications/{name}",
    responses=documented(401, 403, 404, 409, 422),
    summary="One publication, or an answer of it to a question",
    **readers,
)
async def publication(
    request: Request,
    name: Name,
    quantile: Annotated[Number, Query(ge=0, le=1, description="Of quantiles: the share below.")] = None,
    low: Annotated[Number, Query(description="Of quantiles: how many lie from here …")] = None,
    high: Annotated[Number, Query(description="… to here.")] = None,
    where: Annotated[Texts, Query(description="Of a histogram: column=value, or column=low..high.")] = None,
    correlation: Annotated[Texts, Query(description="Of products: two columns.")] = None,
    regression: Annotated[str | None, Query(max_length=256, description="Of products: the target.")] = None,
    confidence: Annotated[float, Query(ge=0.01, le=0.999999, description="Of the interval.")] = 0.95,
) -> PublicationBody:
    service = service_of(request)
    strange = set(request.query_params) - QUESTIONS
    if strange:
        raise BadQuestion(
            f"there is no question {min(strange)[:64]!r}.", f"Ask: {', '.join(sorted(QUESTIONS))}."
        )
    if (low is None) != (high is None):
        raise BadQuestion("a range has two ends.", "Give both low and high.")
    if correlation is not None and len(correlation) != 2:
        raise BadQuestion("a correlation is of two columns.", "Give correlation=a&correlation=b.")
    asked = {
        "quantile": quantile,
        "range": None if low is None else (low, high),
        "where": where,
        "correlation": correlation,
        "regression": regression,
    }
    questions = {k: v for k, v in asked.items() if v is not None and v != []}
    answers = await service.read(name, questions, confidence)
    kind = service.curator.store.mechanisms[name].kind
    version = answers[0]["version"] if answers else await service.version()
    return PublicationBody.model_validate(
        {"name": name, "kind": kind, "version": version, "answers": answers}
    )


# -- operators

_PUBLISH = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": Publish.model_json_schema()}},
    }
}
operators: dict[str, Any] = {"dependencies": [Depends(may("operator"))], "tags": ["operators"]}


@api.post(
    "/publications",
    responses=documented(401, 403, 409, 415, 422),
    openapi_extra=_PUBLISH,
    summary="Publish a table, once",
    **operators,
)
async def publish(request: Request) -> PublishedBody:
    """Publish what the spec says of the table that is sent.  The same spec again spends nothing."""
    sent = await _sent(request)
    return PublishedBody.model_validate(await service_of(request).publish(sent.spec, sent.table))


@api.post(
    "/receipts",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {NDJSON: {"schema": {"type": "string"}}},
            "description": "A line of JSON a person: person, receipt, opening.",
        },
        **documented(401, 403, 409, 415, 422),
    },
    openapi_extra=_PUBLISH,
    summary="Everybody's receipt",
    **operators,
)
async def receipts(request: Request) -> StreamingResponse:
    """Receipts for those of the table who are here: send what was published.  They are always the same."""
    sent = await _sent(request)
    lines = service_of(request).receipts(sent.spec, sent.table)
    head = await anext(lines, "")

    async def written() -> AsyncIterator[str]:
        yield head
        async for line in lines:
            yield line

    return StreamingResponse(written(), media_type=NDJSON)


async def _sent(request: Request) -> Publish:
    """A table may be large: it is read when the key has been seen, and parsed while others are answered."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, JSON)
    body = await request.body()
    try:
        return await asyncio.to_thread(Publish.model_validate_json, body)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False, include_url=False)) from None


@api.get(
    "/status", responses=documented(401, 403, 409), summary="What it has cost, and what waits", **operators
)
async def status(request: Request) -> StatusBody:
    return StatusBody.model_validate(await service_of(request).status())


@api.get("/check", responses=documented(401, 403, 409), summary="Whether the store is whole", **operators)
async def check(request: Request) -> Checked:
    """Integrity, and that the noise is what was drawn.  It reads everything; erasure waits meanwhile."""
    found = await service_of(request).check()
    return Checked(whole=not found, problems=found)


@api.get(
    "/deletions/bulk/{stream}",
    responses=documented(401, 403, 404, 422),
    summary="How far a bulk deletion has come",
    **operators,
)
async def progress(request: Request, stream: Annotated[str, Path(pattern=StreamName)]) -> Stream:
    """So many lines are durable: go on from there.  A service that was restarted has forgotten; then begin
    anew, which is safe."""
    found = service_of(request).streams
    if stream not in found:
        raise UnknownName("streams", stream, tuple(found))
    return Stream.model_validate({"stream": stream, **found[stream]})


@api.post(
    "/deletions/bulk",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {NDJSON: {"schema": {"type": "string"}}},
            "description": "A line of JSON a second and one at the end: how many lines are durable.",
        },
        **documented(401, 403, 408, 409, 415, 422),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                NDJSON: {"schema": {"type": "string", "example": '{"id": "p00017"}\n{"id": "p00042"}\n'}}
            },
        }
    },
    summary="Delete a list of people",
    **operators,
)
async def bulk(
    request: Request,
    stream: Annotated[str, Query(pattern=StreamName, description="A name to ask for the progress by.")] = "",
    first: Annotated[
        int,
        Query(alias="from", ge=0, le=2**53, description="The line of the list that the body begins with."),
    ] = 0,
) -> StreamingResponse:
    """A line of JSON for each: {"id": "p00017"}.  Some hundreds of lines share a transaction; the answer says
    how many lines are durable.  To send a line twice is safe."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (NDJSON, "application/ndjson", "application/jsonl"):
        raise HTTPException(415, f"a list is sent as {NDJSON}.")
    service = service_of(request)
    _ = service.store  # there is one
    known = service.streams.get(stream, {"lines": 0})["lines"]
    if first > known:
        told = f"{known} lines of this stream are durable, and the list would go on after {first}."
        raise BadQuestion(told, f"Send it from there: from={known}.")
    work = deleted(service, request, stream, first)
    head = await anext(work)  # whatever is wrong before anything was deleted is an answer of its own

    async def lines() -> AsyncIterator[bytes]:
        yield head
        async for line in work:
            yield line

    return WhileItArrives(lines(), media_type=NDJSON)


# -- those who look after the machine


@outside.get("/health/live", tags=["health"], responses=documented(), summary="The process answers")
async def live() -> Alive:
    return Alive(status="live")


@outside.get("/health/ready", tags=["health"], responses=documented(), summary="The store can be written")
async def ready(request: Request) -> Alive:
    """Something was written within the last second, by a deletion or for this question; else 503."""
    service = service_of(request)
    if not service.published:
        return Alive(status="waiting for a publication")
    await service.ready()
    return Alive(status="ready")


@outside.get(
    "/metrics",
    dependencies=[Depends(may("operator", "reader", public=False))],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **documented(401, 403)},
    tags=["health"],
    summary="Metrics, for Prometheus",
)
async def metrics(request: Request) -> Response:
    return Response(generate_latest(request.app.state.metrics.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)
