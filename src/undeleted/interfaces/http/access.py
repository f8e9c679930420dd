"""Authentication: a key in the header, or a session of the pages that was opened with a key."""

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from undeleted.errors import BadFile
from undeleted.foundations.types import Json
from undeleted.interfaces.http.keys import Key
from undeleted.interfaces.http.service import Service

log = logging.getLogger("undeleted.http")
WRONG = "this key is not valid, or no longer."
COOKIE = "undeleted_session"
LASTS = 12 * 3600  # seconds of a session
_bearer = HTTPBearer(auto_error=False, description="An API key; `undeleted key create` makes one.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


def may(*roles: str, public: bool = True) -> Callable[..., Awaitable[None]]:
    """Admit only these roles, by a key in the header; a public service admits readers without a key."""

    async def check(request: Request, credentials: Bearer) -> None:
        service: Service = request.app.state.service
        key = key_of(service, credentials.credentials) if credentials is not None else None
        if key is None and "authorization" in request.headers:
            raise HTTPException(401, WRONG)
        if key is None:
            if public and service.settings.public and "reader" in roles:
                return
            raise HTTPException(401)
        request.state.role = key.role
        if key.role not in roles:
            raise HTTPException(403, f"this key has the role {key.role}; this needs: {', '.join(roles)}.")

    return check


def key_of(service: Service, token: str) -> Key | None:
    """Return the key if it is valid; an unreadable key file admits nobody, and only the log shows it."""
    try:
        return service.keys.find(token)
    except BadFile:
        log.error("keys", extra={"facts": {"error": "BadFile"}})
        raise HTTPException(503) from None


def person() -> Callable[..., Awaitable[None]]:
    """Admit everybody, or at a portal only holders of a person's key; a wrong key is always refused."""

    async def check(request: Request, credentials: Bearer) -> None:
        sent = request.headers.get("authorization", "")
        request.state.role = person_may(request.app.state.service, sent)

    return check


def person_may(service: Service, authorization: str) -> str | None:
    """Return the role of a request to leave, or refuse it."""
    if not authorization and not service.settings.portal:
        return None
    scheme, _, token = authorization.partition(" ")
    key = key_of(service, token) if scheme.lower() == "bearer" else None
    if key is None:
        raise HTTPException(401, WRONG if authorization else None)
    if key.role != "person":
        raise HTTPException(403, f"this key has the role {key.role}; people leave without such a key.")
    return key.role


class Sessions:
    """Sessions of the page, in memory; revoking a key ends its sessions."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._open: OrderedDict[str, tuple[Key, float]] = OrderedDict()

    def begin(self, key: Key) -> str:
        name = secrets.token_urlsafe(24)
        self._open[name] = (key, time.time() + LASTS)
        while len(self._open) > 1000:
            self._open.popitem(last=False)
        return name

    def end(self, request: Request) -> None:
        self._open.pop(request.cookies.get(COOKIE, ""), None)

    def role(self, request: Request) -> str | None:
        """Return the role of the browser that sent the request."""
        key, until = self._open.get(request.cookies.get(COOKIE, ""), (None, 0.0))
        if key is not None and until > time.time():
            try:
                held = self._service.keys.named(key.name, key.digest)
            except BadFile:
                raise HTTPException(503) from None
            if held is not None:
                return held.role
        return "reader" if self._service.settings.public else None

    def cookie(self, name: str) -> Json:
        """The settings of a cookie that scripts cannot read and other sites' requests do not carry."""
        return {
            "key": COOKIE,
            "value": name,
            "max_age": LASTS,
            "httponly": True,
            "samesite": "strict",
            "secure": self._service.settings.https,
        }
