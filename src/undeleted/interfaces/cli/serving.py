"""`undeleted serve`: the service and its page."""

import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from undeleted.errors import BadUsage, MissingExtra, NotFound
from undeleted.foundations.types import Json
from undeleted.interfaces.cli.access import KeyFile
from undeleted.interfaces.cli.curate import Store, fold_of, store_at
from undeleted.interfaces.cli.output import working
from undeleted.interfaces.report.result import Result

EPILOG = """
[bold]Examples[/bold]

undeleted serve --demo

undeleted serve --store people.db --port 8080

undeleted serve --store people.db --hostname people.example.org --behind-proxy 127.0.0.1

undeleted serve --hostname people.example.org --nginx > undeleted.conf
"""


Host: TypeAlias = Annotated[
    str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines in.")
]
Port: TypeAlias = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 selects a free one.")]
Demo: TypeAlias = Annotated[
    bool, typer.Option("--demo", help="Serve generated people from a temporary folder.")
]
New: TypeAlias = Annotated[
    bool, typer.Option("--new", help="Start without a store: an operator will publish it.")
]
Public: TypeAlias = Annotated[
    bool, typer.Option("--public", help="Show publications, lab and audits without a key.")
]
Portal: TypeAlias = Annotated[
    bool, typer.Option("--portal", help="Accept receipts only with a key of the role person.")
]
Audits: TypeAlias = Annotated[
    Path | None, typer.Option(help="The folder with the verdicts of `undeleted audit`.")
]
Hostname: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A name that the service answers to; may be repeated.")
]
BehindProxy: TypeAlias = Annotated[
    str, typer.Option(help="The address of a TLS proxy in front of it; cookies are then Secure.")
]
Nginx: TypeAlias = Annotated[
    bool,
    typer.Option("--nginx", help="Print an nginx configuration for it, with limits per address, and exit."),
]
FoldPeople: TypeAlias = Annotated[
    int | None, typer.Option(help="Hold publication updates back until this many people have left.")
]
FoldAfter: TypeAlias = Annotated[
    str, typer.Option(help="Update at the latest this long after the first deletion: 90s, 24h.")
]
LogLevel: TypeAlias = Annotated[
    Literal["info", "warning", "error"], typer.Option(help="The lowest level that is logged.")
]
OpenBrowser: TypeAlias = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]
AddressAsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the address as JSON.")]


def serve(
    store: Store = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    demo: Demo = False,
    new: New = False,
    public: Public = False,
    portal: Portal = False,
    keys: KeyFile = None,
    audits: Audits = None,
    hostname: Hostname = None,
    behind_proxy: BehindProxy = "",
    nginx: Nginx = False,
    fold: FoldPeople = None,
    fold_after: FoldAfter = "24h",
    log_level: LogLevel = "info",
    open_browser: OpenBrowser = False,
    json: AddressAsJson = False,
) -> None:
    """Serve a store over HTTP: people leave with their receipts, readers read, operators publish and delete.

    SIGTERM stops it gracefully: started requests are answered and durable, and deleted records are erased.
    """
    try:
        from undeleted.interfaces.http import server
    except ImportError as error:
        raise MissingExtra("the service", str(error.name), "serve") from None
    for name in hostname or ():
        server.check_name(name)
    if nginx:
        if not hostname or len(hostname) > 1 or not port:
            raise BadUsage("nginx needs one name and a port.", "Give --hostname once, and no --port 0.")
        print(server.proxy(hostname[0], port, store), end="")
        return
    if audits is not None and not audits.is_dir():
        raise NotFound(f"there is no folder {audits}.", "Create it, or name another with --audits.")
    if demo and (store or new or keys):
        raise BadUsage("--demo creates its own store and keys.", "Leave --store, --new and --keys out.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up, until the service takes over
    loopback = host in server.LOOPBACK
    with ExitStack() as stack:
        sock = stack.enter_context(server.listen(host, port))
        shown = _generated(stack) if demo else {}
        settings = server.settings(
            store_at(shown["store"] if shown else store),
            Path(shown["keys_file"]) if shown else keys,
            new=new,
            public=public or demo,
            portal=portal,
            fold=fold_of(fold, fold_after),
            audits=Path(shown["audits"]) if shown else audits,
            hosts=(*server.LOOPBACK, *(hostname or ())) if loopback or hostname else (),
            https=bool(behind_proxy),
            demo=shown,
        )
        address, safe = server.address_of(host, sock), loopback or bool(behind_proxy)
        ready = partial(_ready, address, settings.store, shown, json=json, safe=safe, browse=open_browser)
        server.serve(settings, sock, log_level=log_level, proxies=behind_proxy, ready=ready)


def _generated(stack: ExitStack) -> Json:
    """A store of generated people, with keys, receipts and audits, in a folder that goes away."""
    from undeleted.interfaces.http import demo

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="undeleted-demo-")))
    with working("generating people"):
        shown = demo.make(folder)
    stack.enter_context(demo.audits(folder))
    return shown | {"audits": str(folder / "audit")}


def _ready(address: str, place: str, shown: Json, *, json: bool, safe: bool, browse: bool) -> None:
    from undeleted.curate.stores import shown as shown_at

    _say(address, "generated people" if shown else shown_at(place), shown, json, safe)
    if browse:
        import webbrowser

        webbrowser.open(address)


def _say(address: str, place: str, shown: Json, json: bool, safe: bool) -> None:
    """Print the address, and what to try."""
    if json:
        facts = {"address": address, "store": place, "pid": os.getpid()}
        print(Result(facts | {name: shown[name] for name in ("keys", "receipts") if shown}).as_json())
        sys.stdout.flush()
        return
    print(f"undeleted serves {place} at {address}")
    if not safe:
        print("keys and receipts are sent unencrypted: put a TLS proxy in front", file=sys.stderr)
    receipts = f", with a receipt from {shown['receipts']}" if shown else ""
    print(f"  the dashboard     {address}/")
    print(f"  leave             {address}/leave{receipts}")
    print(f"  play the attacker {address}/lab")
    print(f"  for programs      {address}/v1/openapi.json")
    if shown:
        for role, key in shown["keys"].items():
            print(f"  {role + ' key':<17} {key}")
    print("stop it with Ctrl-C", flush=True)
