"""The application: the service, its routes, and the guard around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.staticfiles import StaticFiles

import undeleted
from undeleted.foundations.types import Json
from undeleted.interfaces.http import problems
from undeleted.interfaces.http.access import Sessions
from undeleted.interfaces.http.api import api, outside
from undeleted.interfaces.http.guard import Guard, Metrics
from undeleted.interfaces.http.lab_process import LabProcess
from undeleted.interfaces.http.pages import as_page, pages
from undeleted.interfaces.http.service import Service, Settings

ABOUT = """Honour deletions without exposing the people who stay: people leave with a receipt, readers read
what was published once with differential privacy, operators publish and delete."""


def build(settings: Settings) -> Guard:
    """Build the application; a store that cannot be opened raises an error here."""
    service, metrics = Service(settings), Metrics()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        metrics.watch(service)
        try:
            yield
        finally:
            app.state.lab_process.close()
            await service.close()

    app = FastAPI(
        title="undeleted",
        version=undeleted.__version__,
        description=ABOUT,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        strict_content_type=True,
    )
    app.state.service, app.state.metrics = service, metrics
    app.state.sessions, app.state.lab_process = Sessions(service), LabProcess()
    problems.install(app, as_page)
    app.include_router(api)
    app.include_router(outside)
    app.include_router(pages, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return Guard(app, service, metrics, as_page)


def document() -> Json:
    """The OpenAPI document, without a service."""
    app = FastAPI(title="undeleted", version=undeleted.__version__, description=ABOUT)
    app.include_router(api)
    app.include_router(outside)
    return _document(app)


def _document(app: FastAPI) -> Json:
    """The OpenAPI document, with the schema of problems."""
    if app.openapi_schema is None:
        spec = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        schemas = spec.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = problems.Problem.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = spec
    return app.openapi_schema
