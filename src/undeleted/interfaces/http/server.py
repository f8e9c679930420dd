"""The server process: a socket, uvicorn, and a graceful shutdown."""

import gc
import re
import shlex
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import uvicorn

from undeleted.curate.stores import shown, store_exists
from undeleted.errors import BadSetting, StoreError
from undeleted.foundations.types import Given
from undeleted.interfaces.http.app import build
from undeleted.interfaces.http.guard import log_to_stderr
from undeleted.interfaces.http.keys import keys_at
from undeleted.interfaces.http.protocol import protocol_of
from undeleted.interfaces.http.service import Settings

GRACE = 8  # seconds for requests in progress when the service is stopped
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


def settings(store: str, keys: Path | None, **others: Given) -> Settings:
    """How to serve a store; refuse one that is not there, unless it is to be published over HTTP."""
    if not others["new"] and not store_exists(store):
        remedy = "Publish first, name another store, or start with --new and publish over HTTP."
        raise StoreError(f"there is no store at {shown(store)}.", remedy)
    others["audits"] = others["audits"] or (Path("audit") if Path("audit").is_dir() else None)
    return Settings(store=store, keys=keys_at(store, keys), **others)


def listen(host: str, port: int) -> socket.socket:
    """Open the socket, before anything else is started."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host.strip("[]"), port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        problem = f"cannot listen on {host}:{port} ({error.strerror or error})."
        raise BadSetting(
            problem, "Choose another with --port or --host; --port 0 selects a free one."
        ) from None
    return sock


def address_of(host: str, sock: socket.socket) -> str:
    """Return the address to open in a browser."""
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{name}:{sock.getsockname()[1]}"


def proxy(name: str, port: int, store: str | None) -> str:
    """Return the nginx configuration for a service with this name on this port."""
    text = (Path(__file__).parent / "nginx.conf").read_text(encoding="utf-8")
    named = f" --store {shlex.quote(store)}" if store else ""
    return text.replace("$NAME", name).replace("$PORT", str(port)).replace("$STORE", named)


def check_name(name: str) -> None:
    """Refuse a name that is not a host name; it goes into URLs and a proxy's configuration."""
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]", name):
        raise BadSetting(f"{name!r} is not a host name.", "Give only the name, such as people.example.org.")


def serve(
    settings: Settings,
    sock: socket.socket,
    *,
    log_level: str = "info",
    proxies: str = "",
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT; then answer started requests, write them, and erase deleted records."""
    app = build(settings)
    log_to_stderr(log_level)
    sys.setswitchinterval(0.0005)  # a long deletion does not block other threads
    gc.collect()
    gc.freeze()  # never scan the objects from the start again: that took a tenth of a second
    gc.set_threshold(20_000, 20, 100)  # and scan rarely under load
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="critical",  # only our own lines are logged
        http=protocol_of(app),
        loop="uvloop",
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=15,
        backlog=2048,
    )
    server = _Server(config, ready)
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again after shutdown
        signal.signal(ending, lambda *_: None)
    try:
        server.run(sockets=[sock])
    finally:
        gc.unfreeze()  # else libraries complain at the exit about objects that were never freed


class _Server(uvicorn.Server):
    """A server that calls `ready` when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    def handle_exit(self, sig: int, frame: Given) -> None:
        self.config.app.state.service.ending = True  # type: ignore[union-attr]
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
