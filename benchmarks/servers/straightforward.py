"""The servers that one would write on top of the library: each request commits its own transaction.

    python straightforward.py STORE fastapi|starlette within-a-second|never

FastAPI runs plain functions in its thread pool, which is its documented way for blocking work.  Starlette
alone has no models and no threads: it works in its event loop, which is faster here and blocks all others.

They differ in when they erase: `within-a-second` in a separate thread, as our service does, or `never`.
The first line that it prints is the port.
"""

import json
import sys
import threading
import time
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from undeleted.curate.receipts import Receipt, issuer_of
from undeleted.curate.stores import open_store
from undeleted.interfaces.http.server import listen


class Leaving(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    receipt: str


class Left(BaseModel):
    certificate: str
    data_set: str


def build(place: str, framework: str, erases: str) -> Any:
    store = open_store(place)
    issuer = issuer_of(store)

    def deleted(text: str) -> dict[str, str]:
        receipt = Receipt.parse(text)
        tag = issuer.tag_in(receipt)
        if tag is not None:
            store.delete_tagged([tag])
        return {"certificate": issuer.certificate(receipt), "data_set": issuer.name}

    def erase() -> None:
        while True:
            time.sleep(0.5)
            store.erase(0.01)

    if erases == "within-a-second":
        threading.Thread(target=erase, daemon=True).start()
    return over_fastapi(deleted) if framework == "fastapi" else over_starlette(deleted)


def over_fastapi(deleted: Any) -> FastAPI:
    app = FastAPI()

    @app.post("/v1/deletions")
    def leave(sent: Leaving) -> Left:
        return Left(**deleted(sent.receipt))

    return app


def over_starlette(deleted: Any) -> Starlette:
    async def leave(request: Request) -> JSONResponse:
        return JSONResponse(deleted(json.loads(await request.body())["receipt"]))

    return Starlette(routes=[Route("/v1/deletions", leave, methods=["POST"])])


class Server(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        print(sockets[0].getsockname()[1], flush=True)


if __name__ == "__main__":
    _, place, framework, erases = sys.argv
    app = build(place, framework, erases)
    config = uvicorn.Config(app, access_log=False, log_level="critical", http="httptools", loop="uvloop")
    Server(config).run(sockets=[listen("127.0.0.1", 0)])
