"""The page: dashboard, leave, lab, audits.  Forms work without scripts; charts need them."""

import asyncio
import json
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.templating import Jinja2Templates

import undeleted
from undeleted.curate.receipts import Receipt
from undeleted.errors import BadQuestion, BadReceipt, FalseReceipt, UndeletedError
from undeleted.interfaces.http import audits, charts, lab, leaving, problems
from undeleted.interfaces.http.access import COOKIE, Sessions, key_of
from undeleted.interfaces.http.guard import IMPORTS
from undeleted.interfaces.http.players import Players
from undeleted.interfaces.http.service import Service
from undeleted.interfaces.report.questions import steadiness

ROWS = 300  # of a table on the dashboard
FOR_PROGRAMS = ("/v1", "/health", "/metrics", "/static")
pages = APIRouter()
templates = Jinja2Templates(directory=Path(__file__).parent / "templates")


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _show(request: Request, name: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """A page, or a part of one."""
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
    """The fields of a form that this page sent: one from another site is refused."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise HTTPException(403)
    text = (await request.body()).decode("utf-8", "replace")
    try:
        return {name: values[-1] for name, values in parse_qs(text, max_num_fields=16).items()}
    except ValueError:
        raise HTTPException(400) from None


def as_page(request: Request, answer: Response) -> Response:
    """A problem as a page, for a browser; programs get it as it is."""
    path = request.url.path
    if path.startswith(FOR_PROGRAMS) or "text/html" not in request.headers.get("accept", ""):
        return answer
    told = json.loads(bytes(answer.body))
    facts = {"number": told["status"], "what": told["detail"], "remedy": told["remedy"]}
    if told["status"] in (404, 405):
        facts["remedy"] = "The pages are above."
    try:
        facts["role"] = request.app.state.sessions.role(request)
    except HTTPException:  # of the file of keys
        facts["role"] = None
    try:
        page = _show(request, "problem.html", answer.status_code, **facts)
    except Exception as error:  # whatever is wrong with the page, the problem is told
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
    """The dashboard's part that changes; nothing, if nothing has."""
    if not _may_read(request):
        return _to_login(request)
    service = _service(request)
    if service.published:
        status = await service.status()
        if (status["version"], status["erasure_pending"]) == (version, pending):
            return Response(status_code=204)
    return _show(request, "_standing.html", **await _standing(service))


async def _standing(service: Service) -> dict[str, Any]:
    if not service.published:
        return {"published": False}
    found, status = await service.all(), await service.status()
    for publication in found:
        publication["chart"] = charts.intervals(publication["answers"])
        past = service.widths.get(publication["name"], ())
        publication["widths"], publication["spread"] = charts.widths(past), past[-1][1] if past else None
        publication["steady"] = steadiness(publication["kind"])
        publication["posts"] = [
            a["estimate"] for a in publication["answers"] if isinstance(a["estimate"], str)
        ]
    return {"published": True, "publications": found, "state": status, "folds": service.settings.fold}


# -- leave


@pages.get("/leave")
async def leave(request: Request) -> Response:
    service = _service(request)
    return _show(request, "leave.html", example=service.settings.demo.get("receipt"))


@pages.post("/leave")
async def look_at_receipt(request: Request) -> Response:
    """What will happen, before it does.  That a receipt is genuine anybody can tell with the public key."""
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
    what, remedy = "here people leave through the portal where they log in.", "Go there with your receipt."
    return _part(request, "_refused.html", 403, what=what, remedy=remedy)


def _refused(request: Request, error: UndeletedError) -> Response:
    """What went wrong, in the words for a stranger."""
    _service(request).standing.failed(error)
    what, remedy = problems.words(error, operator=False)
    return _part(request, "_refused.html", problems.status_of(error), what=what, remedy=remedy)


def _long(seconds: float) -> str:
    """A time in words."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}{'s' if seconds > size else ''}"
    return f"{seconds:g} seconds"


def _pasted(text: str) -> str:
    """A receipt as people paste it: alone, quoted, or in the line of JSON that it came in."""
    text = re.sub(r"(?m)^[ \t]*>[ \t]?", "", text).strip().strip("\"'“”")
    if not text.startswith("{"):
        return "".join(text.split())
    try:
        found = json.loads(text)["receipt"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadReceipt from None
    if not isinstance(found, str):
        raise BadReceipt
    return found


def _part(request: Request, name: str, status: int = 200, **facts: Any) -> Response:
    """A part of the page for htmx; the whole of it for a browser without scripts."""
    if request.headers.get("hx-request"):
        return _show(request, name, 200, **facts)  # htmx shows answers that are fine
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
    """A game, as far as the player has deleted."""
    if not _may_read(request):
        return _to_login(request)
    chosen = lab.GAMES.get(game) or lab.GAMES["median"]
    left, right = left or chosen.retrains[0], right or chosen.ours[0]
    error = None
    panels: tuple[Any, ...] = ()
    try:
        if not (seed.isascii() and seed.isdigit()):
            raise BadQuestion("a seed is a whole number.", "Give one, such as 7.")
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


async def _played(request: Request, *arguments: Any) -> Any:
    """A run in its own process; one that has not begun when whoever asked has gone is not played."""
    players: Players = request.app.state.players
    players.enter()
    running = asyncio.get_running_loop().run_in_executor(players.threads, players.play, *arguments)
    running.add_done_callback(lambda _: players.leave())
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
    found = await asyncio.to_thread(audits.listed, folder)
    return _show(request, "audits.html", found=found, folder=folder is not None)


@pages.get("/audits/{name}")
async def audit(request: Request, name: str) -> Response:
    if not _may_read(request):
        return _to_login(request)
    verdict = await asyncio.to_thread(audits.one, _service(request).settings.audits, name)
    return _show(request, "audit.html", verdict=verdict)


# -- who is looking


@pages.get("/login")
async def login(request: Request, next: str = "/") -> Response:
    return _show(request, "login.html", next=_here(next))


@pages.post("/login")
async def begin(request: Request) -> Response:
    form = await _form(request)
    service, sessions = _service(request), request.app.state.sessions
    key = key_of(service, form.get("key", "").strip())
    if key is None or key.role == "person":
        wrong = "this is no key." if key is None else "this key is for leaving, and opens no page."
        remedy = "Ask whoever runs this service for a reader's key."
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
    """An address on this page; never somewhere else."""
    known = ("/", "/lab", "/audits")
    return path if path in known else "/"
