"""The process: a socket, uvicorn, and an end that finishes what was begun."""

import gc
import re
import shlex
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from undeleted.errors import BadQuestion
from undeleted.interfaces.http.app import build
from undeleted.interfaces.http.guard import log_to_stderr
from undeleted.interfaces.http.protocol import protocol_of
from undeleted.interfaces.http.service import Settings

GRACE = 8  # seconds for requests that are being answered when the service is told to end
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


def listen(host: str, port: int) -> socket.socket:
    """The socket, before anything else is begun."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host.strip("[]"), port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        problem = f"{host}:{port} cannot be listened on ({error.strerror or error})."
        raise BadQuestion(
            problem, "Choose another with --port or --host; --port 0 finds a free one."
        ) from None
    return sock


def address_of(host: str, sock: socket.socket) -> str:
    """What to open in a browser."""
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"http://{name}:{sock.getsockname()[1]}"


def proxy(name: str, port: int, store: str | None) -> str:
    """The configuration of a proxy for a service with this name on this port."""
    text = (Path(__file__).parent / "nginx.conf").read_text(encoding="utf-8")
    named = f" --store {shlex.quote(store)}" if store else ""
    return text.replace("$NAME", name).replace("$PORT", str(port)).replace("$STORE", named)


def check_name(name: str) -> None:
    """A name as it stands in an address, and in a proxy's configuration."""
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]", name):
        raise BadQuestion(
            f"{name!r} is not the name of a machine.", "Give it alone, such as people.example.org."
        )


def serve(
    settings: Settings,
    sock: socket.socket,
    *,
    log_level: str = "info",
    proxies: str = "",
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve until told to end (SIGTERM, SIGINT): then answer what was begun, write it, erase it."""
    app = build(settings)
    log_to_stderr(log_level)
    sys.setswitchinterval(0.0005)  # a long deletion leaves the others their turn
    gc.collect()
    gc.freeze()  # what is there from the start is never looked through again: that took a tenth of a second
    gc.set_threshold(20_000, 20, 100)  # and what a crowd leaves behind is looked through rarely
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        log_level="critical",  # ours are the only lines
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
    for ending in (signal.SIGTERM, signal.SIGINT):  # uvicorn sends itself the signal again when it has ended
        signal.signal(ending, lambda *_: None)
    server.run(sockets=[sock])


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.config.app.state.service.ending = True  # type: ignore[union-attr]
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()
