"""Who may do what: API keys of the service, receipts of people, certificates of deletion."""

import json as js
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from undeleted.errors import BadFile, BadQuestion
from undeleted.interfaces.cli.curate import Store, seconds_of, store_at
from undeleted.interfaces.cli.output import AsJson, print_facts, print_json

CREATE = "Example: undeleted key create dashboard --role reader --expires 90d"
LIST = "Example: undeleted key list --json"
REVOKE = "Example: undeleted key revoke dashboard"
PUBLIC = "Example: undeleted receipt key --store people.db > data-set.json"
CHECK = "Example: undeleted receipt check mine.json --key data-set.json --certificate certificate.txt"
KeyFile = Annotated[Path | None, typer.Option("--keys", help="The file of the keys; else beside the store.")]


def keys_group() -> typer.Typer:
    app = typer.Typer(help="API keys of the service: made once, shown once, revoked by name.")
    app.command(name="create", epilog=CREATE)(create)
    app.command(name="list", epilog=LIST)(list_keys)
    app.command(name="revoke", epilog=REVOKE)(revoke)
    return app


def receipts_group() -> typer.Typer:
    app = typer.Typer(help="Receipts, with which people leave, and certificates that they have left.")
    app.command(name="check", epilog=CHECK)(check_receipt)
    app.command(name="key", epilog=PUBLIC)(public_key)
    return app


def create(
    name: Annotated[str, typer.Argument(help="What to call it, in lists and to revoke it.")] = "",
    role: Annotated[
        str, typer.Option(help="operator: publishes, deletes; reader: reads; person: leaves.")
    ] = "",
    expires: Annotated[str, typer.Option(help="After so long: 12h, 90d; never if it is not said.")] = "",
    store: Store = None,
    keys: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Make a key.  It is shown this once; the file keeps its digest."""
    from undeleted.interfaces.http.keys import ROLES, Keys, keys_at

    if not role:
        raise BadQuestion("a key has a role.", f"Say --role {', --role '.join(ROLES)}.")
    until = int(time.time() + seconds_of(expires)) if expires else None
    path = keys_at(store_at(store), keys)
    token = Keys(path).create(name or role, role, until)
    facts = {"key": token, "name": name or role, "role": role, "expires": _when(until)}
    if json:
        print_json(facts | {"file": str(path)})
        return
    print_facts(facts)
    print("\nKeep it now: it is not shown again.  Send it as:  Authorization: Bearer …")


def list_keys(store: Store = None, keys: KeyFile = None, json: AsJson = False) -> None:
    """The keys by name, without the keys themselves."""
    from undeleted.interfaces.http.keys import Keys, keys_at

    found = [
        {
            "name": key.name,
            "role": key.role,
            "created": _when(key.created),
            "expires": _when(key.expires),
            "expired": key.expired,
        }
        for key in Keys(keys_at(store_at(store), keys)).all()
    ]
    if json:
        print_json(found)
        return
    if not found:
        print("there are no keys; `undeleted key create --role reader` makes one")
    width = max((len(str(key["name"])) for key in found), default=0) + 2
    for key in found:
        until = "never expires" if key["expires"] is None else f"expires {key['expires']}"
        late = " (it has)" if key["expired"] else ""
        print(f"{key['name']:<{width}}{key['role']:<10}made {key['created']}, {until}{late}")


def revoke(
    name: Annotated[str, typer.Argument(help="A key's name; `undeleted key list` has them.")],
    store: Store = None,
    keys: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Refuse a key from now on; a running service hears of it at once."""
    from undeleted.interfaces.http.keys import Keys, keys_at

    gone = Keys(keys_at(store_at(store), keys)).revoke(name)
    facts = {"revoked": gone.name, "role": gone.role}
    print_json(facts) if json else print_facts(facts)


def public_key(store: Store = None) -> None:
    """The public key of a data set, as JSON (a JWK): what receipts and certificates are checked with."""
    from undeleted.curate.curator import Curator
    from undeleted.curate.receipts import issuer_of

    with Curator.open(store_at(store)) as curator:
        print_json(issuer_of(curator.store).jwk)


def check_receipt(
    receipt: Annotated[
        Path, typer.Argument(help="A file with a receipt, or with its line; or the text itself.")
    ],
    key: Annotated[
        Path, typer.Option(help="A file with the data set's public key, from `receipt key` or /v1/data-set.")
    ],
    certificate: Annotated[
        Path | None, typer.Option(help="A certificate of deletion to check as well.")
    ] = None,
    person: Annotated[str, typer.Option(help="Whose it should be; the line must hold its opening.")] = "",
    json: AsJson = False,
) -> int:
    """Whether a receipt is genuine, whose it is, and whether a certificate answers it.  Needs no store.

    Exit code 1 if something is not as it should be.
    """
    from undeleted.curate.receipts import DataSet, Receipt, opens

    line = line_of(receipt)
    found = Receipt.parse(line["receipt"])
    data_set = DataSet.of(_read_json(key))
    facts: dict[str, Any] = {"data_set": data_set.name, "genuine": data_set.is_genuine(found)}
    if person:
        facts["theirs"] = opens(found, str(line.get("opening", "")), person)
    if certificate is not None:
        try:
            data_set.check_certificate(_text(certificate).strip(), found)
            facts["certified"] = True
        except BadQuestion as error:
            facts |= {"certified": False, "because": error.what}
    print_json(facts) if json else print_facts(facts)
    return int(not all(value for value in facts.values()))


def line_of(path: Path) -> dict[str, Any]:
    """A receipt as people keep it: the text alone, or the line that it came in."""
    text = str(path) if str(path).count(".") == 2 and len(str(path)) > 255 else _text(path).strip()
    if not text.startswith("{"):
        return {"receipt": text}
    try:
        line = js.loads(text)
        if isinstance(line["receipt"], str):
            return dict(line)
    except (ValueError, KeyError):
        pass
    raise BadFile(
        str(path), "holds no receipt.", "Give one line of the file that `publish --receipts` wrote."
    )


def _read_json(path: Path) -> Any:
    try:
        told = js.loads(_text(path))
        return told["key"] if isinstance(told, dict) and "key" in told else told  # as /v1/data-set has it
    except ValueError:
        raise BadFile(str(path), "is not JSON.", "`undeleted receipt key` prints a public key.") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadFile(str(path), f"cannot be read ({error.strerror}).", "Check the path.") from None
    except UnicodeDecodeError:
        raise BadFile(str(path), "is not text.", "Give the receipt as it was handed out.") from None


def _when(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="minutes")
