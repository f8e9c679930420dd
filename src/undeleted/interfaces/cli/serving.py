"""`undeleted serve`: the service and its page."""

import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from undeleted.errors import BadQuestion, StoreError
from undeleted.interfaces.cli.access import KeyFile
from undeleted.interfaces.cli.curate import Store, fold_of, store_at
from undeleted.interfaces.cli.output import print_json, working

EPILOG = """
[bold]Examples[/bold]

undeleted serve --demo

undeleted serve --store people.db --port 8080

undeleted serve --store people.db --hostname people.example.org --behind-proxy 127.0.0.1

undeleted serve --hostname people.example.org --nginx > undeleted.conf
"""


def serve(
    store: Store = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 finds a free one.")] = 8000,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve people that we generate, from a folder that goes away.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="There is no store yet: an operator will publish it.")
    ] = False,
    public: Annotated[
        bool, typer.Option("--public", help="Publications, lab and audits may be seen without a key.")
    ] = False,
    portal: Annotated[
        bool, typer.Option("--portal", help="Receipts are taken only with a key of the role person.")
    ] = False,
    keys: KeyFile = None,
    audits: Annotated[
        Path | None, typer.Option(help="The folder where `undeleted audit` put its verdicts.")
    ] = None,
    hostname: Annotated[
        list[str] | None, typer.Option(help="A name that the service answers to; may be repeated.")
    ] = None,
    behind_proxy: Annotated[
        str, typer.Option(help="The address of a proxy that speaks TLS before it; cookies are then Secure.")
    ] = "",
    nginx: Annotated[
        bool,
        typer.Option(
            "--nginx", help="Print a configuration of nginx for it, with limits by address, and end."
        ),
    ] = False,
    fold: Annotated[
        int | None, typer.Option(help="Hold deletions back until so many people have left.")
    ] = None,
    fold_after: Annotated[
        str, typer.Option(help="At the latest this long after the first of them: 90s, 24h.")
    ] = "24h",
    log_level: Annotated[
        Literal["info", "warning", "error"], typer.Option(help="Which lines of the log.")
    ] = "info",
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Serve a store over HTTP: people leave with their receipts, readers read, operators publish and delete.

    SIGTERM ends it gently: what was begun is answered and durable, and what was deleted is erased.
    """
    try:
        from undeleted.curate.stores import shown as shown_at
        from undeleted.curate.stores import store_there
        from undeleted.interfaces.http import server
        from undeleted.interfaces.http.keys import keys_at
        from undeleted.interfaces.http.service import Settings
    except ImportError as error:
        problem = f"the service needs {error.name}, which is not installed."
        raise BadQuestion(problem, "Install it with: pip install 'undeleted[serve]'.") from None
    for name in hostname or ():
        server.check_name(name)
    if nginx:
        if not hostname or len(hostname) > 1 or not port:
            raise BadQuestion("a proxy needs one name and a port.", "Give --hostname once, and no --port 0.")
        print(server.proxy(hostname[0], port, store), end="")
        return
    if audits is not None and not audits.is_dir():
        raise BadQuestion(f"there is no folder {audits}.", "Make it, or name another with --audits.")
    if demo and (store or new or keys):
        raise BadQuestion(
            "--demo brings a store and keys of its own.", "Leave --store, --new and --keys out."
        )
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the service takes over: nothing is left
    loopback = host in server.LOOPBACK
    names = (*server.LOOPBACK, *(hostname or ())) if loopback or hostname else ()
    with ExitStack() as stack:
        sock = stack.enter_context(server.listen(host, port))
        shown: dict[str, Any] = {}
        if demo:
            from undeleted.interfaces.http import demo as generated

            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="undeleted-demo-")))
            with working("people that never were"):
                shown = generated.make(folder)
            stack.enter_context(generated.audits(folder))
            store, keys, audits, public = shown["store"], Path(shown["keys_file"]), folder / "audit", True
        at = store_at(store)
        if not new and not store_there(at):
            remedy = "Publish first, name another store, or start with --new and publish over HTTP."
            raise StoreError(f"there is no store at {shown_at(at)}.", remedy)
        settings = Settings(
            store=at,
            keys=keys_at(at, keys),
            new=new,
            public=public,
            portal=portal,
            fold=fold_of(fold, fold_after),
            audits=audits or (Path("audit") if Path("audit").is_dir() else None),
            hosts=names,
            https=bool(behind_proxy),
            demo=shown,
        )
        address = server.address_of(host, sock)

        def ready() -> None:
            place = "people that never were" if shown else shown_at(at)
            _say(address, place, shown, json, loopback or bool(behind_proxy))
            if open_browser:
                import webbrowser

                webbrowser.open(address)

        server.serve(settings, sock, log_level=log_level, proxies=behind_proxy, ready=ready)


def _say(address: str, place: str, shown: dict[str, Any], json: bool, safe: bool) -> None:
    """Where it is, and what to try."""
    if json:
        facts = {"address": address, "store": place, "pid": os.getpid()}
        print_json(facts | ({"keys": shown["keys"], "receipts": shown["receipts"]} if shown else {}))
        sys.stdout.flush()
        return
    print(f"undeleted serves {place} at {address}")
    if not safe:
        print("keys and receipts travel in the clear: put a proxy that speaks TLS before it", file=sys.stderr)
    receipts = f", with a receipt from {shown['receipts']}" if shown else ""
    print(f"  the dashboard     {address}/")
    print(f"  leave             {address}/leave{receipts}")
    print(f"  play the attacker {address}/lab")
    print(f"  for programs      {address}/v1/openapi.json")
    if shown:
        for role, key in shown["keys"].items():
            print(f"  {role + ' key':<17} {key}")
    print("stop it with Ctrl-C", flush=True)
