"""/v1: people leave, readers read, operators publish and delete.

    people      POST /v1/deletions                      exchange a receipt for a certificate
                GET  /v1/data-set                       the public key
    readers     GET  /v1/publications[/NAME]            with intervals and versions
                GET  /v1/publications/NAME/export       as CSV, JSON, Parquet or Arrow
                GET  /v1/publications/NAME/sample       synthetic rows, in the same forms
                POST /v1/publications/NAME/predictions  of a model
    operators   POST /v1/publications, /v1/receipts     publish an uploaded table; get its receipts
                GET  /v1/status, /v1/check
                POST /v1/arrivals, /v1/corrections      people join a table that grows; records are corrected
                POST /v1/ticks                          close the ticks that are due
                POST /v1/deletions/bulk                 one JSON line per id, resumable
                GET  /v1/deletions/bulk/STREAM          its progress

Each role may use only its own endpoints; operators may also read.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Literal, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from undeleted.errors import BadQuestion, UnknownName
from undeleted.foundations.types import Json
from undeleted.interfaces.http import leaving
from undeleted.interfaces.http.access import may, person
from undeleted.interfaces.http.lists import DuplexResponse, deleted
from undeleted.interfaces.http.models import (
    Alive,
    Arrived,
    Arriving,
    Checked,
    CorrectedBody,
    Correcting,
    DataSetBody,
    LeavingBody,
    Left,
    Predicted,
    PublicationBody,
    Publications,
    Publish,
    PublishedBody,
    StatusBody,
    Stream,
    TicksBody,
    ToPredict,
)
from undeleted.interfaces.http.problems import documented
from undeleted.interfaces.http.service import Service
from undeleted.interfaces.report.exporting import FORMS

JSON = "the body must be sent as application/json."
NDJSON = "application/x-ndjson"
Name = Annotated[str, Path(max_length=256, description="The name of a publication.")]
Number = Annotated[float | None, Query(allow_inf_nan=False)]
Texts = Annotated[list[str] | None, Query(max_length=16)]
MOST_ROWS = 100_000  # of synthetic rows in one answer
QUESTIONS = {"quantile", "low", "high", "where", "by", "correlation", "regression", "tick", "confidence"}
Body = TypeVar("Body", Publish, ToPredict, Arriving, Correcting)
StreamName = r"^[A-Za-z0-9._-]{1,64}$"

api = APIRouter(prefix="/v1")
outside = APIRouter()


def as_a_file(json: str) -> Json:
    """The description of an answer in every form of a file; as JSON it is of this type."""
    kinds = ((kind, json if form == "json" else "string") for form, kind in FORMS.items())
    return {"content": {kind: {"schema": {"type": of}} for kind, of in kinds}}


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
        "security": [{}],  # only a portal requires a key
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": LeavingBody.model_json_schema()}},
        },
    },
    tags=["people"],
    summary="Leave with a receipt",
)
async def leave(request: Request) -> Response:
    """Delete the person whom the receipt names.  The deletion is durable when it is answered.  The answer is
    the same for every receipt that this data set signed: new, used, or of a person who was never here.  It
    does not reveal who is or was here.  A receipt that the data set did not sign is answered by a problem
    with `"genuine": false`, which anybody can check with the public key.
    """
    service = service_of(request)
    wrong = leaving.refused(service, request.scope, dict(request.headers.raw))
    if wrong is not None:
        return wrong
    try:
        certificate = await leaving.begin(service, await request.body())
        return Response(leaving.success(service, certificate), media_type="application/json")
    except Exception as error:
        return leaving.wrong(service, error)


@api.get("/data-set", responses=documented(409), tags=["people"], summary="The public key of the data set")
async def data_set(request: Request) -> DataSetBody:
    """Return the public key with which receipts and certificates are checked."""
    service = service_of(request)
    return DataSetBody(
        data_set=service.issuer.name,
        key=service.issuer.jwk,
        erased_within_seconds=service.erased_within,
    )


# -- readers

readers: Json = {"dependencies": [Depends(may("reader", "operator"))], "tags": ["readers"]}


@api.get("/publications", responses=documented(401, 403, 409), summary="All current publications", **readers)
async def publications(request: Request) -> Publications:
    service = service_of(request)
    result, status = await service.all(), await service.status()
    return Publications(
        publications=[PublicationBody.model_validate(p) for p in result],
        **{name: status[name] for name in ("epsilon", "delta", "spent", "left")},
    )


@api.get(
    "/publications/{name}",
    responses=documented(401, 403, 404, 409, 422),
    summary="One publication, or its answer to a question",
    **readers,
)
async def publication(
    request: Request,
    name: Name,
    quantile: Annotated[Number, Query(ge=0, le=1, description="For quantiles: the share below.")] = None,
    low: Annotated[Number, Query(description="For quantiles: the count from here …")] = None,
    high: Annotated[Number, Query(description="… to here.")] = None,
    where: Annotated[Texts, Query(description="For a histogram: column=value, or column=low..high.")] = None,
    by: Annotated[Texts, Query(description="For a histogram: columns to show it by.")] = None,
    correlation: Annotated[Texts, Query(description="For products: two columns.")] = None,
    regression: Annotated[str | None, Query(max_length=256, description="For products: the target.")] = None,
    tick: Annotated[
        str | None, Query(max_length=16, description="Of a table that grows: the number of a tick, or all.")
    ] = None,
    confidence: Annotated[float, Query(ge=0.01, le=0.999999, description="Of the intervals.")] = 0.95,
) -> PublicationBody:
    service = service_of(request)
    strange = set(request.query_params) - QUESTIONS
    if strange:
        raise BadQuestion(
            f"unknown parameter {min(strange)[:64]!r}.", f"Use: {', '.join(sorted(QUESTIONS))}."
        )
    if (low is None) != (high is None):
        raise BadQuestion("only one end of the range was given.", "Give both low and high.")
    if correlation is not None and len(correlation) != 2:
        raise BadQuestion("a correlation needs two columns.", "Give correlation=a&correlation=b.")
    asked = {
        "quantile": quantile,
        "range": None if low is None else (low, high),
        "where": where,
        "by": by,
        "correlation": correlation,
        "regression": regression,
        "tick": tick,
    }
    questions = {k: v for k, v in asked.items() if v is not None and v != []}
    answers = await service.read(name, questions, confidence)
    kind = service.curator.store.mechanisms[name].kind
    version = answers[0]["version"] if answers else await service.version()
    return PublicationBody.model_validate(
        {"name": name, "kind": kind, "version": version, "answers": answers}
    )


@api.get(
    "/publications/{name}/export",
    response_class=Response,
    responses={200: as_a_file("object"), **documented(401, 403, 404, 409, 422)},
    summary="The answers of one publication as a file",
    **readers,
)
async def export(
    request: Request,
    name: Name,
    form: Annotated[Literal["json", "csv", "parquet", "arrow"], Query(alias="format")] = "csv",
    confidence: Annotated[float, Query(ge=0.01, le=0.999999, description="Of the intervals.")] = 0.95,
) -> Response:
    """The same table as `undeleted export` writes: labels, estimate, low, high, confidence, version."""
    strange = set(request.query_params) - {"format", "confidence"}
    if strange:
        raise BadQuestion(f"unknown parameter {min(strange)[:64]!r}.", "Use: confidence, format.")
    data = await service_of(request).export(name, form, confidence)
    return Response(data, media_type=FORMS[form])


@api.get(
    "/publications/{name}/sample",
    response_class=Response,
    responses={200: as_a_file("array"), **documented(401, 403, 404, 409, 422)},
    summary="Synthetic rows of a publication",
    **readers,
)
async def sample(
    request: Request,
    name: Name,
    rows: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 1000,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
    model: Annotated[
        Literal["mixture", "tree"], Query(description="tree is for training models.")
    ] = "mixture",
    form: Annotated[Literal["json", "csv", "parquet", "arrow"], Query(alias="format")] = "csv",
) -> Response:
    """Rows of a model of what is published now; the same release, seed and model give the same rows.  The
    first request after a deletion fits the model again, which takes seconds."""
    if strange := set(request.query_params) - {"rows", "seed", "model", "format"}:
        raise BadQuestion(f"unknown parameter {min(strange)[:64]!r}.", "Use: format, model, rows, seed.")
    return Response(await service_of(request).sample(name, rows, seed, model, form), media_type=FORMS[form])


@api.post(
    "/publications/{name}/predictions",
    responses=documented(401, 403, 404, 409, 415, 422),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": ToPredict.model_json_schema()}},
        }
    },
    summary="Predictions of a model",
    **readers,
)
async def predict(request: Request, name: Name) -> Predicted:
    """A prediction for every row, from the current release; null where a feature is missing.  The rows are
    not kept."""
    sent = await _parsed(request, ToPredict)
    return Predicted.model_validate(await service_of(request).predict(name, sent.rows))


# -- operators

_PUBLISH = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": Publish.model_json_schema()}},
    }
}
operators: Json = {"dependencies": [Depends(may("operator"))], "tags": ["operators"]}


@api.post(
    "/publications",
    responses=documented(401, 403, 409, 415, 422),
    openapi_extra=_PUBLISH,
    summary="Publish a table, once",
    **operators,
)
async def publish(request: Request) -> PublishedBody:
    """Publish what the spec describes, from the table that is sent.  Sending it again spends nothing."""
    sent = await _sent(request)
    return PublishedBody.model_validate(await service_of(request).publish(sent.spec, sent.table))


@api.post(
    "/receipts",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {NDJSON: {"schema": {"type": "string"}}},
            "description": "One JSON line per person: person, receipt, opening.",
        },
        **documented(401, 403, 409, 415, 422),
    },
    openapi_extra=_PUBLISH,
    summary="The receipts of a table",
    **operators,
)
async def receipts(request: Request) -> StreamingResponse:
    """Return receipts for the people of the published table who are still here; they are always the same."""
    sent = await _sent(request)
    lines = service_of(request).receipts(sent.spec, sent.table)
    head = await anext(lines, "")

    async def written() -> AsyncIterator[str]:
        yield head
        async for line in lines:
            yield line

    return StreamingResponse(written(), media_type=NDJSON)


async def _sent(request: Request) -> Publish:
    return await _parsed(request, Publish)


async def _parsed(request: Request, kind: type[Body]) -> Body:
    """Read the body after the key is checked, and parse it in a thread: a table may be large."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, JSON)
    body = await request.body()
    try:
        return await asyncio.to_thread(kind.model_validate_json, body)
    except ValidationError as error:
        raise RequestValidationError(error.errors(include_input=False, include_url=False)) from None


@api.get(
    "/status", responses=documented(401, 403, 409), summary="Budget spent, and what is pending", **operators
)
async def status(request: Request) -> StatusBody:
    return StatusBody.model_validate(await service_of(request).status())


@api.get("/check", responses=documented(401, 403, 409), summary="Whether the store is intact", **operators)
async def check(request: Request) -> Checked:
    """Check integrity, and that the noise is what was drawn.  It reads everything; erasure waits for it."""
    return Checked.model_validate(await service_of(request).check())


@api.post(
    "/arrivals",
    responses=documented(401, 403, 409, 415, 422),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": Arriving.model_json_schema()}},
        }
    },
    summary="Take people into a table that grows",
    **operators,
)
async def arrive(request: Request) -> Arrived:
    """They wait in the store until the next tick closes.  If somebody is there already, nobody is added,
    unless they are to be skipped.  Somebody who left meanwhile is added again: they are somebody new."""
    sent = await _parsed(request, Arriving)
    return Arrived.model_validate(await service_of(request).add(sent.table, sent.skip_existing))


@api.post(
    "/corrections",
    responses=documented(401, 403, 409, 415, 422),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": Correcting.model_json_schema()}},
        }
    },
    summary="Correct people's records",
    **operators,
)
async def correct(request: Request) -> CorrectedBody:
    """The differences enter the next tick, under its noise.  Sending the same table again is safe."""
    sent = await _parsed(request, Correcting)
    return CorrectedBody.model_validate(await service_of(request).correct(sent.table))


@api.post(
    "/ticks", responses=documented(401, 403, 409, 422), summary="Close the ticks that are due", **operators
)
async def tick(request: Request) -> TicksBody:
    """The service closes ticks by itself when they are due; a manual clock waits for this request."""
    return TicksBody.model_validate(await service_of(request).tick())


@api.get(
    "/deletions/bulk/{stream}",
    responses=documented(401, 403, 404, 422),
    summary="The progress of a bulk deletion",
    **operators,
)
async def progress(request: Request, stream: Annotated[str, Path(pattern=StreamName)]) -> Stream:
    """Return how many lines are durable: continue from there.  A restarted service does not know; then start
    from the first line, which is safe."""
    result = service_of(request).streams
    if stream not in result:
        raise UnknownName("streams", stream, tuple(result))
    return Stream.model_validate({"stream": stream, **result[stream]})


@api.post(
    "/deletions/bulk",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {NDJSON: {"schema": {"type": "string"}}},
            "description": "One JSON line per second and one at the end: how many lines are durable.",
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
    stream: Annotated[str, Query(pattern=StreamName, description="A name to query the progress.")] = "",
    first: Annotated[
        int,
        Query(alias="from", ge=0, le=2**53, description="How many lines of the list come before the body."),
    ] = 0,
) -> StreamingResponse:
    """Send one JSON line per id: {"id": "p00017"}.  Some hundreds of lines share a transaction; the answer
    says how many lines are durable.  Sending a line twice is safe."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (NDJSON, "application/ndjson", "application/jsonl"):
        raise HTTPException(415, f"a list must be sent as {NDJSON}.")
    service = service_of(request)
    _ = service.store  # raises if there is none
    known = service.streams.get(stream, {"lines": 0})["lines"]
    if first > known:
        problem = f"{known} lines of this stream are durable, but the body starts after line {first}."
        raise BadQuestion(problem, f"Send it again with from={known}.")
    work = deleted(service, request, stream, first)
    head = await anext(work)  # an error before the first deletion is an ordinary error answer

    async def lines() -> AsyncIterator[bytes]:
        yield head
        async for line in work:
            yield line

    return DuplexResponse(lines(), media_type=NDJSON)


# -- monitoring


@outside.get("/health/live", tags=["health"], responses=documented(), summary="The process answers")
async def live() -> Alive:
    return Alive(status="live")


@outside.get("/health/ready", tags=["health"], responses=documented(), summary="The store is writable")
async def ready(request: Request) -> Alive:
    """200 if a write succeeded within the last second, by a deletion or by this check; otherwise 503."""
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
