"""The web pages: dashboard, leave, lab, audits.  Forms work without scripts; charts need them."""

import asyncio
import json
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.templating import Jinja2Templates

import undeleted
from undeleted.curate.receipts import Receipt
from undeleted.errors import BadReceipt, BadSetting, FalseReceipt, UndeletedError
from undeleted.foundations.digits import in_digits
from undeleted.foundations.types import Given, Json
from undeleted.interfaces.http import audits, charts, lab, leaving, problems
from undeleted.interfaces.http.access import COOKIE, Sessions, key_of
from undeleted.interfaces.http.guard import IMPORTS
from undeleted.interfaces.http.lab_process import LabProcess
from undeleted.interfaces.http.service import Service
from undeleted.interfaces.report.questions import width_note

ROWS = 300  # of a table on the dashboard
FOR_PROGRAMS = ("/v1", "/health", "/metrics", "/static")
pages = APIRouter()
templates = Jinja2Templates(directory=Path(__file__).parent / "templates")
MOST_TICKS = 300  # that a chart by tick draws
templates.env.globals["in_digits"] = in_digits


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _show(request: Request, name: str, status: int = 200, **facts: Given) -> HTMLResponse:
    """Render a page, or a part of one."""
    service, sessions = _service(request), request.app.state.sessions
    role = facts["role"] if "role" in facts else sessions.role(request)
    common = {
        "version_of": undeleted.__version__,
        "imports": IMPORTS,
        "role": role,
        "public": service.settings.public,
        "demo": bool(service.settings.demo),
        "portal": service.settings.portal,
        "rows": ROWS,
    }
    return templates.TemplateResponse(request, name, common | facts, status_code=status)


def _may_read(request: Request) -> bool:
    sessions: Sessions = request.app.state.sessions
    role = sessions.role(request)
    request.state.role = role
    return role in ("reader", "operator")


def _to_login(request: Request) -> Response:
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": "/login"})
    return RedirectResponse("/login?" + urlencode({"next": request.url.path}), 303)


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form from our pages; refuse a form from another site."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403)
    text = (await request.body()).decode("utf-8", "replace")
    try:
        return {name: values[-1] for name, values in parse_qs(text, max_num_fields=16).items()}
    except ValueError:
        raise HTTPException(400) from None


def as_page(request: Request, answer: Response) -> Response:
    """Return a problem as a page for a browser, and unchanged for programs."""
    path = request.url.path
    if path.startswith(FOR_PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
        return answer
    problem = json.loads(bytes(answer.body))
    facts = {"number": problem["status"], "what": problem["detail"], "remedy": problem["remedy"]}
    if problem["status"] in (404, 405):
        facts["remedy"] = "Use the links above."
    try:
        facts["role"] = request.app.state.sessions.role(request)
    except HTTPException:  # the key file cannot be read
        facts["role"] = None
    try:
        page = _show(request, "problem.html", answer.status_code, **facts)
    except Exception as error:  # if the page fails, the problem is still sent
        problems.bug(error)
        return answer
    for name in ("retry-after", "allow", "www-authenticate"):
        if name in answer.headers:
            page.headers[name] = answer.headers[name]
    return page


# -- dashboard


@pages.get("/")
async def dashboard(request: Request) -> Response:
    if not _may_read(request):
        return _to_login(request)
    return _show(request, "dashboard.html", **await _standing(_service(request)))


@pages.get("/live")
async def live(request: Request, version: int = 0, pending: bool = False) -> Response:
    """Return the part of the dashboard that changes; 204 if nothing has changed."""
    if not _may_read(request):
        return _to_login(request)
    service = _service(request)
    if service.published:
        status = await service.status()
        if (status["version"], status["erasure_pending"]) == (version, pending):
            return Response(status_code=204)
    return _show(request, "_standing.html", **await _standing(service))


async def _history(service: Service, publication: Json, ticks: int) -> Json | None:
    """A publication by tick, as a chart; none if it has more numbers than a chart by tick can tell apart."""
    if not 1 <= sum(isinstance(a["estimate"], int | float) for a in publication["answers"]) <= charts.LINES:
        return None
    step = max(1, -(-ticks // MOST_TICKS))
    shown = [*range((ticks - 1) % step, ticks, step)]  # evenly spaced, and the last one is there
    return charts.by_tick(await service.read(publication["name"], {"tick": shown}, 0.95))


async def _standing(service: Service) -> Json:
    if not service.published:
        return {"published": False}
    result, status = await service.all(), await service.status()
    for publication in result:
        publication["chart"] = charts.intervals(publication["answers"])
        past = service.widths.get(publication["name"], ())
        publication["widths"], publication["spread"] = charts.widths(past), past[-1][1] if past else None
        ticks = status["ticks"]
        publication["history"] = await _history(service, publication, ticks["closed"]) if ticks else None
        publication["steady"] = width_note(publication["kind"])
        publication["posts"] = [
            a["estimate"]
            for a in publication["answers"]
            if isinstance(a["estimate"], str) and a["confidence"] is None  # dates have intervals
        ]
    return {"published": True, "publications": result, "state": status, "folds": service.settings.fold}


# -- leave


@pages.get("/leave")
async def leave(request: Request) -> Response:
    service = _service(request)
    return _show(request, "leave.html", example=service.settings.demo.get("receipt"))


@pages.post("/leave")
async def look_at_receipt(request: Request) -> Response:
    """Show what will happen.  Anybody can check with the public key that a receipt is genuine."""
    form = await _form(request)
    service = _service(request)
    if service.settings.portal:
        return _at_the_portal(request)
    try:
        receipt = Receipt.parse(_pasted(form.get("receipt", "")))
        if not service.issuer.is_genuine(receipt):
            raise FalseReceipt
    except UndeletedError as error:
        return _refused(request, error)
    return _part(
        request,
        "_confirm.html",
        receipt=receipt.token,
        data_set=service.issuer.name,
        fold=service.settings.fold,
        after=_long(service.settings.fold.after) if service.settings.fold else "",
        within=service.erased_within,
        publications=list(service.curator.publications),
    )


@pages.post("/leave/confirm")
async def confirm(request: Request) -> Response:
    form = await _form(request)
    service = _service(request)
    if service.settings.portal:
        return _at_the_portal(request)
    try:
        receipt = Receipt.parse(_pasted(form.get("receipt", "")))
        certificate = await service.leave(leaving.parsed(receipt))
    except UndeletedError as error:
        return _refused(request, error)
    return _part(request, "_left.html", certificate=certificate, within=service.erased_within)


def _at_the_portal(request: Request) -> Response:
    what, remedy = "people leave here through the portal where they log in.", "Go there with your receipt."
    return _part(request, "_refused.html", 403, what=what, remedy=remedy)


def _refused(request: Request, error: UndeletedError) -> Response:
    """Say what went wrong, without the details that are for operators."""
    _service(request).store_health.failed(error)
    what, remedy = problems.words(error, operator=False)
    return _part(request, "_refused.html", problems.status_of(error), what=what, remedy=remedy)


def _long(seconds: float) -> str:
    """Return a time in words."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}{'s' if seconds > size else ''}"
    return f"{seconds:g} seconds"


def _pasted(text: str) -> str:
    """Return the receipt in a pasted text: alone, quoted, or in its JSON line."""
    text = re.sub(r"(?m)^[ \t]*>[ \t]?", "", text).strip().strip("\"'“”")
    if not text.startswith("{"):
        return "".join(text.split())
    try:
        result = json.loads(text)["receipt"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadReceipt from None
    if not isinstance(result, str):
        raise BadReceipt
    return result


def _part(request: Request, name: str, status: int = 200, **facts: Given) -> Response:
    """Return a part of the page for htmx; the full page for a browser without scripts."""
    if request.headers.get("hx-request"):
        return _show(request, name, 200, **facts)  # htmx shows only successful answers
    return _show(request, "leave.html", status, part=name, **facts)


# -- lab


@pages.get("/lab")
async def laboratory(
    request: Request,
    game: str = "median",
    left: str = "",
    right: str = "",
    deleted: Annotated[int, Query(ge=0, le=10**6)] = 0,
    seed: Annotated[str, Query(max_length=20)] = "7",
) -> Response:
    """Show a game after the player's deletions."""
    if not _may_read(request):
        return _to_login(request)
    chosen = lab.GAMES.get(game) or lab.GAMES["median"]
    left, right = left or chosen.retrains[0], right or chosen.ours[0]
    error = None
    panels: tuple[Given, ...] = ()
    try:
        if not (seed.isascii() and seed.isdigit()):
            raise BadSetting("a seed is a whole number.", "Give one, such as 7.")
        panels = await _played(request, game, left, right, min(deleted, chosen.own), int(seed))
    except UndeletedError as wrong:
        error = wrong
    part = "_run.html" if request.headers.get("hx-target") == "run" else "lab.html"
    status = problems.status_of(error) if error is not None and part == "lab.html" else 200
    return _show(
        request,
        part,
        status,
        games=lab.GAMES,
        game=chosen,
        left=left,
        right=right,
        deleted=min(deleted, chosen.own),
        seed=seed,
        panels=panels,
        error=error,
    )


async def _played(request: Request, *arguments: Given) -> Given:
    """Play a run in the lab's process; drop it if the client disconnects before it starts."""
    lab_process: LabProcess = request.app.state.lab_process
    lab_process.enter()
    running = asyncio.get_running_loop().run_in_executor(lab_process.threads, lab_process.play, *arguments)
    running.add_done_callback(lambda _: lab_process.leave())
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.cancel()
        raise


# -- audits


@pages.get("/audits")
async def audited(request: Request) -> Response:
    if not _may_read(request):
        return _to_login(request)
    folder = _service(request).settings.audits
    result = await asyncio.to_thread(audits.listed, folder)
    return _show(request, "audits.html", found=result, folder=folder is not None)


@pages.get("/audits/{name}")
async def audit(request: Request, name: str) -> Response:
    if not _may_read(request):
        return _to_login(request)
    verdict = await asyncio.to_thread(audits.one, _service(request).settings.audits, name)
    return _show(request, "audit.html", verdict=verdict)


# -- log in and out


@pages.get("/login")
async def login(request: Request, next: str = "/") -> Response:
    return _show(request, "login.html", next=_here(next))


@pages.post("/login")
async def begin(request: Request) -> Response:
    form = await _form(request)
    service, sessions = _service(request), request.app.state.sessions
    key = key_of(service, form.get("key", "").strip())
    if key is None or key.role == "person":
        wrong = "this key is not valid." if key is None else "this key is only for leaving."
        remedy = "Ask the operator of this service for a reader's key."
        return _show(
            request, "login.html", 401, next=_here(form.get("next", "/")), wrong=wrong, remedy=remedy
        )
    answer = RedirectResponse(_here(form.get("next", "/")), 303)
    answer.set_cookie(**sessions.cookie(sessions.begin(key)))
    return answer


@pages.post("/logout")
async def end(request: Request) -> Response:
    await _form(request)
    request.app.state.sessions.end(request)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


def _here(path: str) -> str:
    """Return the path if it is one of our pages; otherwise /."""
    known = ("/", "/lab", "/audits")
    return path if path in known else "/"
