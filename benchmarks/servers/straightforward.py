"""The server that one would write over the library: a plain function a request, which commits on its own.

    python straightforward.py STORE erase|commit|block

FastAPI runs plain functions in its thread pool, which is its documented way for work that blocks.  `erase`
keeps the promise of `Curator.delete`, durable and erased before it answers; `commit` never erases; `block`
does that in the event loop, without a thread.  The port is the first line that it prints.
"""

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

from undeleted.http.server import listen
from undeleted.receipts import Receipt, issuer_of
from undeleted.stores import open_store


class Leaving(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    receipt: str


class Left(BaseModel):
    certificate: str
    data_set: str


def build(place: str, kind: str) -> FastAPI:
    store = open_store(place)
    issuer = issuer_of(store)
    app = FastAPI()

    def deleted(sent: Leaving) -> Left:
        receipt = Receipt.parse(sent.receipt)
        tag = issuer.tag_in(receipt)
        if tag is not None:
            store.delete_tagged([tag])
            if kind == "erase":
                store.erase()
        return Left(certificate=issuer.certificate(receipt), data_set=issuer.name)

    if kind == "block":

        @app.post("/v1/deletions")
        async def leave(sent: Leaving) -> Left:
            return deleted(sent)

    else:

        @app.post("/v1/deletions")
        def leave_in_a_thread(sent: Leaving) -> Left:
            return deleted(sent)

    return app


class Server(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        print(sockets[0].getsockname()[1], flush=True)


if __name__ == "__main__":
    _, place, kind = sys.argv
    config = uvicorn.Config(
        build(place, kind), access_log=False, log_level="critical", http="httptools", loop="uvloop"
    )
    Server(config).run(sockets=[listen("127.0.0.1", 0)])
